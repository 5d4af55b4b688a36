"""Protects fake kernels, in-place and out forms of custom operators, and their direct calls.

Suspect opyard/_library/custom_op.py, contract.py, fake.py, then operators/direct_call.cpp.
"""

import warnings

import pytest
from custom_ops import MADE_IN, add_one_, both_ways, lambda_of, twice, values
from raised import message_of

import opyard
from opyard import Tag, Tensor, ops
from opyard.dispatch import has_kernel
from opyard.library import Library, custom_op, register_fake, register_kernel

aten = ops.aten


# F22 --------------------------------------------------------------------------------------


def test_F22_a_missing_fake_kernel(make, ns, meta):
    f = make(twice)
    assert message_of(RuntimeError, f, meta) == (
        f"{ns}::twice was called with tensors without elements, and has no fake kernel that says "
        f"what it gives for them; add one with register_fake() of <CustomOpDef({ns}::twice)>"
    )


def test_F22_register_fake_of_a_custom_op(make, ns, meta, x):
    f = make(twice)

    @f.register_fake
    def fake(x):
        return opyard.library.get_ctx().op, aten.empty_like(x)

    assert f.register_fake(lambda x: aten.empty_like(x)) is not None
    assert f(meta).device.type == "meta" and f(meta).shape == (3,)
    for name in (f"{ns}::twice", f, f.op, f.op.overloadpacket):
        register_fake(name, lambda x: x)  # replaces
        assert f(meta) is meta
    with_lib = Library(ns, "IMPL")
    message_of(RuntimeError, register_fake, f, twice, lib=with_lib)
    with_lib._destroy()
    assert message_of(TypeError, f.register_fake, 3) == (
        f"register_fake: what is registered for {ns}::twice must be callable, not int"
    )


def test_F22_a_fake_kernel_of_another_library(make, ns, meta):
    f = make(twice)
    lib = Library(ns, "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register_fake(f, lambda x: x, lib=lib)
    assert f(meta) is meta
    lib._destroy()
    message_of(RuntimeError, f, meta)


def test_F22_only_mutation_needs_no_fake_kernel(make, meta):
    @make(mutates_args=["x"])
    def f(x: Tensor) -> None:
        raise AssertionError

    assert f(meta) is None


INPLACE = "has the tag Tag.inplace, so "


def test_F28_inplace(make, ns, x, meta):
    f = make(add_one_, mutates_args=["x"], tags=Tag.inplace)
    assert f.op.declaration == f"{ns}::add_one_(Tensor(a0!) x, SymInt n=1) -> Tensor(a0!)"
    assert f(x) is x and f.op._call_boxed(x, 2) is x and f(x=x) is x
    assert values(x) == [5.0, 6.0, 7.0]
    assert f(meta) is meta  # its fake kernel is made
    written = make(add_one_, "g", mutates_args=["x"], tags=["inplace"],
                   schema="(Tensor(b!) x, int n=1) -> Tensor(b!)")  # fmt: skip
    assert written(x, 1) is x


def test_F28_what_inplace_asks_of_the_schema(make, ns):
    def refused(schema, mutates_args, what):
        text = message_of(ValueError, make, lambda *a: a, "f", schema=schema, tags=Tag.inplace,
                          mutates_args=mutates_args)  # fmt: skip
        assert text == f"custom_op: {ns}::f {INPLACE}{what}. Got {ns}::f{schema}"

    first = "its first positional argument must be a Tensor"
    only = "its first positional argument must be all that it writes to: mutates_args is ['x']"
    annotation = "its return annotation must be a single Tensor"
    refused("(int n, Tensor(a!) x) -> Tensor(a!)", ["x"], first)
    refused("(*, Tensor(a!) x) -> Tensor(a!)", ["x"], first)
    refused("() -> Tensor", [], first)
    refused("(Tensor x) -> Tensor", [], only)
    refused("(Tensor(a!) x, Tensor(b!) y) -> Tensor(a!)", ["x", "y"], only)
    refused("(Tensor(a!) x) -> ()", ["x"], annotation)
    refused("(Tensor(a!) x) -> (Tensor(a!), Tensor)", ["x"], annotation)
    refused("(Tensor(a!) x) -> int", ["x"], annotation)
    refused("(Tensor(a!) x) -> Tensor", ["x"], "its return must alias 'x', as in Tensor(a!)")

    def gives_none(x: Tensor) -> None: ...

    text = message_of(ValueError, make, gives_none, mutates_args=["x"], tags=Tag.inplace)
    assert annotation in text
    assert not has_kernel(f"{ns}::f")


def test_F28_another_object_at_run_time(make, ns, x):
    f = make(lambda x: x.clone(), "f", mutates_args=["x"], tags=Tag.inplace,
             schema="(Tensor(a!) x) -> Tensor(a!)")  # fmt: skip
    text = both_ways(f, x)
    assert text.startswith(f"{ns}::f: the Python kernel registered at {MADE_IN}:")
    assert text.endswith(
        f", a function of the module {__name__}, returned another object than its argument 'x'. An "
        "operator with the tag inplace must return its first argument: end the function with "
        f'"return x".\nDeclaration: {ns}::f(Tensor(a!) x) -> Tensor(a!)'
    )
    f.register_kernel("cpu", lambda x: x[:])
    both_ways(f, x)
    f.register_kernel("cpu", lambda x: x)
    assert f(x) is x


def test_F28_registering_a_fake_kernel_warns(make, ns, meta):
    f = make(add_one_, mutates_args=["x"], tags=Tag.inplace)
    says = (
        f"{ns}::add_one_ has the tag inplace, so its fake kernel is known: it gives its first "
        "argument. The one that is registered now replaces it"
    )
    with pytest.warns(UserWarning) as warned:
        f.register_fake(lambda x, n=1: x)

        @f.register_fake
        def fake(x, n=1):
            return x

    assert [str(each.message) for each in warned] == [says, says]
    assert {each.filename for each in warned} == {__file__}
    assert f(meta) is meta


# F29 --------------------------------------------------------------------------------------


def add_out(x: Tensor, *, out: Tensor) -> Tensor:
    aten.copy_(out, x + 1)
    return out


def test_F29_out(make, ns, x, meta):
    f = make(add_out, mutates_args=["out"], tags=Tag.out)
    assert f.op.declaration == f"{ns}::add_out(Tensor x, *, Tensor(a1!) out) -> Tensor(a1!)"
    out = x.clone()
    assert f(x, out=out) is out and f.op._call_boxed(x, out=out) is out and f(out=out, x=x) is out
    assert values(out) == [2.0, 3.0, 4.0]
    other = aten.empty([3], device="meta")
    assert f(meta, out=other) is other

    @make(mutates_args=["a", "b"], tags=[Tag.out])
    def two(x: Tensor, *, a: Tensor, n: int = 0, b: Tensor) -> "tuple[Tensor, Tensor]":
        return (a, b) if n == 0 else (b, a)

    assert two.op.declaration == (
        f"{ns}::two(Tensor x, *, Tensor(a1!) a, SymInt n=0, Tensor(a3!) b) -> "
        "(Tensor(a1!), Tensor(a3!))"
    )
    y = x.clone()
    assert two(x, a=out, b=y) == two.op._call_boxed(x, a=out, b=y) == (out, y)
    assert two(meta, a=meta, b=other) == (meta, other)
    text = both_ways(two, x, a=out, b=y, n=1)
    assert text.startswith(f"{ns}::two: the Python kernel registered at {MADE_IN}:")
    assert text.endswith(
        f", a function of the module {__name__}, returned another object for result 0. An operator "
        "with the tag out must return its mutable keyword-only arguments, in order: end the "
        f'function with "return a, b".\nDeclaration: {two.op.declaration}'
    )


def test_F29_what_out_asks_of_the_schema(make, ns):
    def refused(schema, mutates_args, what):
        text = message_of(ValueError, make, lambda *a: a, "f", schema=schema, tags=Tag.out,
                          mutates_args=mutates_args)  # fmt: skip
        assert text == f"custom_op: {ns}::f has the tag Tag.out, so {what}. Got {ns}::f{schema}"

    annotation = (
        "its return annotation must be a Tensor for each argument that it writes to, which are "
    )
    refused("(Tensor(a!) x) -> Tensor(a!)", ["x"],
            "what it writes to must be keyword-only; 'x' is not")  # fmt: skip
    refused("(Tensor x) -> Tensor", [], "it must write to at least one keyword-only Tensor")
    refused("(*, Tensor(a!)? out) -> Tensor(a!)", ["out"],
            "it only supports arguments of type Tensor to write to; 'out' is of type Tensor?",
            )  # fmt: skip
    refused("(*, Tensor(a!) a, Tensor(b!) b) -> Tensor(a!)", ["a", "b"], annotation + "a, b")
    refused("(*, Tensor(a!) a) -> int", ["a"], annotation + "a")
    refused("(*, Tensor(a!) a, Tensor(b!) b) -> (Tensor(b!), Tensor(a!))", ["a", "b"],
            "its return must alias the arguments that it writes to, in order: Tensor(a!), "
            "Tensor(b!)")  # fmt: skip
    assert message_of(ValueError, make, add_out, "f", tags=[Tag.inplace, Tag.out]) == (
        f"custom_op: {ns}::f has the tags Tag.inplace and Tag.out, which exclude each other"
    )
    assert not has_kernel(f"{ns}::f")


def test_F29_has_no_autograd_formula(make, ns):
    f = make(add_out, mutates_args=["out"], tags=Tag.out)
    assert message_of(RuntimeError, f.register_autograd, add_out) == (
        f"register_autograd: {ns}::add_out has the tag out, so its results are the caller's "
        "tensors and no formula can be for them; register one for the operator that makes new "
        "tensors"
    )


# What comes later ---------------------------------------------------------------------------


def test_F21_an_operator_that_writes_has_no_formula(make, ns):
    g = make(add_one_, mutates_args=["x"], tags=Tag.inplace)
    assert message_of(RuntimeError, g.register_autograd, twice) == (
        f"register_autograd: {ns}::add_one_ is not functional, so it can have no formula: its "
        "schema says that it writes to an argument or returns a view of one. Got "
        f"{g.op.declaration}"
    )


# F56 --------------------------------------------------------------------------------------


def test_F56_calls_take_the_direct_path(make, x):
    """The very objects, which a boxed call would make anew if nothing holds the wrapper."""

    class Mine(Tensor):
        pass

    kept = []

    @make
    def f(x: Tensor, flag: bool, text: str) -> "tuple[Tensor, str]":
        kept.append((x, text))
        return x.clone(), text

    text = "".join(["not ", "interned"])
    mine = Tensor.make_subclass(Mine, x)
    assert f(mine, True, text)[1] is text
    assert kept[0][0] is mine and kept[0][1] is text


def test_F56_from_cpp(make, ns, plugin, x):
    f = make(twice)
    assert values(plugin.call(f"{ns}::twice", x)) == [2.0, 4.0, 6.0]
    g = make(lambda_of(twice, lambda x: x), "g")
    text = message_of(RuntimeError, plugin.call, f"{ns}::g", x)
    assert text == f"test_plugin::call: in {both_ways(g, x)}"
    assert values(f(x)) == [2.0, 4.0, 6.0]


def test_register_kernel_and_dispatch_rules_of_a_custom_op(make, ns, x):
    f = make(twice)
    register_kernel(f, "cpu", lambda x: x * 5)
    assert values(f(x)) == [5.0, 10.0, 15.0]

    class Mine(Tensor):
        def __new__(cls, data):
            return Tensor.make_subclass(cls, data)

        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            return NotImplemented

    f.register_opyard_dispatch(Mine, lambda cls, op, types, args, kwargs: x)
    assert f(Mine(x)) is x
    make(twice)
    message_of(TypeError, f, Mine(x))  # the rule went with the definition


@pytest.mark.parametrize(
    ("mutates", "schema"),
    [(("x",), "(Tensor(a!) x) -> Tensor"), ((), "(Tensor x) -> ()")],
    ids=["mutates and returns", "neither"],
)
def test_F22_an_operator_that_no_rule_covers_has_no_fake_kernel(ns, meta, mutates, schema):
    op = custom_op(f"{ns}::f", lambda x: None, mutates_args=mutates, schema=schema)
    assert "has no fake kernel" in message_of(RuntimeError, op, meta)
