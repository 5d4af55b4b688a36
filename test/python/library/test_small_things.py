"""test_small_things.py: first steps of registering: common mistakes, reprs and small helpers.

Suspect opyard/_library/library.py, shortcuts.py, fake.py, _dispatch/autocast.py, bind/schema.cpp.
"""

import warnings

import pytest

import opyard
from opyard import Tag, Tensor
from opyard.library import Library, custom_op, override, register_fake


def test_a_device_type_stands_for_the_key_of_its_kernels(library, define, x):
    f = define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x * 2, "cpu")
    assert f(x).tolist() == (x * 2).tolist()
    assert library.kernels == [(f.default.name(), "CPU")]
    with override(f, "cpu", lambda x: x):
        assert f(x) is x
    with override(f, ["cpu", "cuda"], lambda x: x) as both:
        assert both.dispatch_keys == ("CPU", "CUDA")
    with pytest.raises(LookupError, match=r"could not parse dispatch key: Cpu. Did you mean CPU\?"):
        library.impl("f", lambda x: x, "Cpu")
    with pytest.raises(
        LookupError, match="could not parse dispatch key: gpu. A key is a name such as CPU"
    ):
        library.impl("f", lambda x: x, "gpu")


def test_a_library_lists_what_it_holds_and_closes(ns, x):
    with Library(ns, "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.define("f.two(Tensor x, Tensor y) -> Tensor")
        library.impl("f", lambda x: x, "CPU")
        assert library.operators == [f"{ns}::f", f"{ns}::f.two"]
        assert library.kernels == [(f"{ns}::f", "CPU")]
        f = getattr(opyard.ops, ns).f
        assert f(x) is x
    assert library.operators == library.kernels == []
    assert f.overloads() == []
    library.close()
    with pytest.raises(RuntimeError, match="was closed already; make a new one"):
        library.__enter__()


def test_a_library_lists_c_functions_and_fallbacks(library):
    library.define("cosine(float x) -> float")
    library.impl_c("cosine", "libm.so.6", "cos")
    assert [key for _, key in library.kernels] == ["CompositeImplicitAutograd"]
    with Library("_", "IMPL", "OnTop2") as all_operators:
        all_operators.fallback(lambda op, *args: None)
        assert all_operators.kernels == [("*", "OnTop2")]


def test_the_default_of_a_device_is_a_device(define):
    f = define('f(Device d="cpu", Device[] more=["cuda:1"], Device? none=None) -> ()').default
    assert [each.default_value for each in f._schema.arguments] == [
        opyard.device("cpu"), [opyard.device("cuda:1")], None,
    ]  # fmt: skip


def test_what_writes_to_elements_writes(define):
    f = define("f(Tensor(a!)[] x, Tensor(b) y, Tensor(c!)?[] z) -> ()").default
    assert [each.alias_info.is_write for each in f._schema.arguments] == [True, False, True]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"\f\v\a\b\?", "\f\v\a\b?"), (r"\0", "\0"), (r"\101\7", "A\7"), (r"\1011", "A1"),
        (r"\177\x41\n\t\r\\\"\'", "\177A\n\t\r\\\"'"),
    ],
)  # fmt: skip
def test_the_escapes_of_c_are_known_in_defaults(text, value):
    schema = opyard.schema.parse(f'f(str s="{text}") -> ()')
    assert schema.arguments[0].default_value == value
    again = opyard.schema.parse(str(schema))
    assert again.arguments[0].default_value == value


@pytest.mark.parametrize("text", [r"\q", r"\200", r"\377", r"\8", r"\xff"])
def test_other_escapes_are_refused(text):
    with pytest.raises(ValueError, match="unknown escape; known are"):
        opyard.schema.parse(f'f(str s="{text}") -> ()')


def test_a_second_fake_kernel_is_told_where_the_first_is(define):
    f = define("f(Tensor x) -> Tensor").default
    import sys

    line = sys._getframe().f_lineno + 1
    register_fake(f, lambda x: x)
    with pytest.raises(RuntimeError) as refused:
        register_fake(f, lambda x: x)
    assert f"already has a Meta implementation, registered at {__file__}:{line};" in str(
        refused.value
    )


def test_a_fake_kernel_of_a_composite_is_told_where_that_is(define):
    f = define("f(Tensor x) -> Tensor", CompositeImplicitAutograd=lambda x: x).default
    with pytest.raises(RuntimeError, match=r"CompositeImplicitAutograd, registered at .*conftest"):
        register_fake(f, lambda x: x)


@pytest.mark.parametrize(
    ("tag", "gives"), [("inplace", "its first argument"), ("out", "what it writes to")]
)
def test_a_fake_kernel_that_is_known_gives_a_warning(ns, tag, gives):
    def add_(x: Tensor) -> Tensor:
        return x

    def add(x: Tensor, *, out: Tensor) -> Tensor:
        return out

    fn, written = (add_, "x") if tag == "inplace" else (add, "out")
    f = custom_op(f"{ns}::f", fn, mutates_args=[written], tags=tag)
    with pytest.warns(
        UserWarning, match=f"has the tag {tag}, so its fake kernel is known: it gives {gives}"
    ):
        f.register_fake(fn)


def test_autocast_says_what_smaller_dtypes_are_cast_to(define):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x)
    g = define("g(Tensor x) -> Tensor", CPU=lambda x: x)
    opyard.library.register_autocast(f.default, "cpu", opyard.bfloat16)
    opyard.library.register_autocast(g.default, "cpu", opyard.float32)
    x = opyard.ones(2)
    # No kernel of ours converts to the smaller dtypes.
    converts = override("aten::_to_copy", "CPU", lambda x, dtype, **_: opyard.empty(2, dtype=dtype))
    with converts, opyard.autocast("cpu", dtype=opyard.float16):
        assert f(x).dtype is opyard.float16
        assert g(f(x)).dtype is opyard.float32
        with opyard.autocast("cpu"):
            assert f(x).dtype is opyard.float16
        with opyard.autocast("cpu", dtype=opyard.bfloat16):
            assert f(x).dtype is opyard.bfloat16
        assert f(x).dtype is opyard.float16
        with opyard.autocast("cpu", dtype=opyard.float32):
            assert f(x).dtype is opyard.float32
    with pytest.raises(ValueError, match="autocast casts to bfloat16, float16 or float32, not to"):
        opyard.autocast("cpu", dtype=opyard.int64)
    with pytest.raises(TypeError, match="must be a dtype, such as opyard.bfloat16, not str"):
        opyard.autocast("cpu", dtype="half")


def test_the_marks_of_packets_and_operators(define):
    f = define("f.two(Tensor x) -> Tensor")
    assert f.__name__ == "f"
    assert f.two.__name__ == "f.two"
    assert f.two.op is f.two
    assert f.two._defined_in_python
    assert not opyard.ops.aten.add.Tensor._defined_in_python


def test_no_name_with_two_underscores_reaches_the_registry(monkeypatch, define):
    from opyard._core import ops

    f = define("f(Tensor x) -> Tensor")
    asked = []
    monkeypatch.setattr(ops, "find_packet", lambda name: asked.append(name))
    for owner in [f, f.default, getattr(opyard.ops, f.default.namespace)]:
        with pytest.raises(AttributeError):
            getattr(owner, "__nowhere__")  # noqa: B009
    assert asked == []


def test_nothing_warns_meanwhile(ns):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Library(ns, "DEF") as library:
            library.define("f(Tensor x) -> Tensor", tags=[Tag.pointwise])
            library.impl("f", lambda x: x, "cpu")
