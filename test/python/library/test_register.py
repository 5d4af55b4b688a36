"""Protects the register functions of opyard.library: names of operators, refused arguments, and
what a failed call leaves: nothing. And autocast.

Suspect opyard/_library/shortcuts.py, opyard/_dispatch/autocast.py, opyard/_library/fake.py.
"""

import functools
import gc
import sys
import threading
import warnings

import pytest
from processes import volume
from raised import message_of

import opyard
from opyard import Tensor, _bind, ops
from opyard._library import custom_op as _custom_op
from opyard._library import shortcuts as _register
from opyard.dispatch import (
    DispatchKey,
    dump,
    has_kernel,
    tls_is_dispatch_key_excluded,
    tls_is_dispatch_key_included,
)
from opyard.library import (
    EffectType,
    Library,
    custom_op,
    define,
    effect_of,
    impl,
    register_autocast,
    register_autograd,
    register_effect,
    register_fake,
    register_kernel,
    register_opyard_dispatch,
    register_vmap,
    scoped_library,
)


@pytest.fixture
def kept(ns):
    """Ends what is registered in the namespace of the test for good: others look at all kernels."""
    yield
    if ns in _register._libraries:
        _register._libraries.pop(ns)._destroy()


@pytest.fixture
def op(define_op, library):
    return define_op("f(Tensor x) -> Tensor")


@pytest.fixture
def define_op(define):
    return define


@pytest.fixture
def custom(ns):
    def scale(x: Tensor) -> Tensor:
        return x * 2

    made = custom_op(f"{ns}::scale", scale, mutates_args=())
    yield made
    made._destroy()


# F8 ---------------------------------------------------------------------------------------


def test_F8_define_by_a_function_call(ns, kept, x):
    assert define(f"{ns}::f", "(Tensor x) -> Tensor") == f"{ns}::f"
    assert define(f"{ns}::f.ov", " (Tensor x, int n) -> Tensor", tags=opyard.Tag.core) == (
        f"{ns}::f.ov"
    )
    packet = getattr(ops, ns).f
    assert packet.overloads() == ["default", "ov"]
    assert packet.ov.tags == [opyard.Tag.core]
    impl(f"{ns}::f.ov", "cpu", lambda x, n: x * n)
    assert packet(x, 3).tolist() == [3.0, 6.0, 9.0]
    assert f"debug: registered at {__file__}:" in dump(packet.default)


def test_F8_a_library_ends_it(ns, library):
    define(f"{ns}::f", "(Tensor x) -> Tensor", lib=library)
    assert ns not in _register._libraries
    library._destroy()
    assert not hasattr(getattr(ops, ns), "f")


def test_F8_what_is_refused(ns, library, kept):
    for name in ("f", "::f", f"{ns}::"):
        assert message_of(ValueError, define, name, "(Tensor x) -> Tensor") == (
            f"define(qualname, schema): {name!r} has no namespace; say 'ns::name'"
        )
    assert message_of(ValueError, define, 3, "(Tensor x) -> Tensor") == (
        "define(qualname, schema): the name must be a str such as 'ns::name', not <class 'int'>"
    )
    for schema in ("f(Tensor x) -> Tensor", 3):
        assert message_of(ValueError, define, f"{ns}::f", schema) == (
            f"define(qualname, schema): the schema of {ns}::f begins with its arguments, as in "
            f"'(Tensor x) -> Tensor', since the name is given besides; got {schema!r}"
        )
    assert message_of(ValueError, define, "other::f", "() -> ()", lib=library) == (
        "define(qualname, schema): other::f is of another namespace than its library, which is "
        f"for {ns}"
    )
    message_of(ValueError, define, f"{ns}::f", "(Tensor x -> Tensor", lib=library)
    message_of(ValueError, define, f"{ns}::f", "() -> ()", lib=library, tags="nope")
    assert not hasattr(getattr(ops, ns), "f")
    define(f"{ns}::f", "() -> ()", lib=library)
    message_of(RuntimeError, define, f"{ns}::f", "() -> ()")


# F9 ---------------------------------------------------------------------------------------


def test_F9_types(op, ns, kept):
    name = f"{ns}::f"
    impl(name, "cpu", lambda x: "cpu")
    impl(name, ["cuda", "AutogradCPU", DispatchKey.XLA, "cuda"], lambda x: "several")
    impl(name, "default", lambda x: "default")
    for key in ("CPU", "CUDA", "AutogradCPU", "XLA", "CompositeExplicitAutograd"):
        assert has_kernel(name, key), key
    assert not has_kernel(name, "Meta")
    assert dump(name).count("CUDA: ") == 1


def test_F9_as_a_decorator_and_with_a_library(op, ns, library, x):
    @impl(f"{ns}::f", "cpu", lib=library)
    def f(x):
        return x

    assert f(3) == 3
    assert op(x) is x
    assert ns not in _register._libraries
    library._destroy()
    assert not has_kernel(f"{ns}::f")


def test_F9_registered_again_it_replaces(op, ns, kept, x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        impl(f"{ns}::f", "cpu", lambda x: x * 2)
        impl(f"{ns}::f", ["cpu", "cuda"], lambda x: x * 3)
    assert op(x).tolist() == [3.0, 6.0, 9.0]
    assert "inactive" not in dump(op)


def test_F9_all_of_the_types_or_none(op, ns, kept, x):
    before = dump(op)
    assert message_of(ValueError, impl, f"{ns}::f", ["cpu", "nowhere"], lambda x: x) == (
        "impl: 'nowhere' is neither a device type, such as 'cpu', nor a dispatch key, such as "
        "'AutogradCPU', nor 'default'"
    )
    assert message_of(ValueError, impl, f"{ns}::f", [], lambda x: x) == (
        "impl: types is empty; give a device type, a dispatch key or 'default'"
    )
    # A whole layer of a kind that each backend has its own key of holds no kernel.
    message_of(RuntimeError, impl, f"{ns}::f", ["cpu", "Dense"], lambda x: x)
    assert dump(op) == before
    assert message_of(TypeError, impl, f"{ns}::f", "cpu", 3) == (
        f"impl: what is registered for {ns}::f must be callable, not int"
    )
    message_of(LookupError, impl, f"{ns}::nope", "cpu", lambda x: x)
    assert dump(op) == before

    _bind.check_invariants()


@pytest.mark.parametrize("types", ["cpu", ["cpu", "cuda"]])
def test_F9_an_exclusive_kernel_covers_none_of_another_library(op, ns, library, kept, x, types):
    impl(f"{ns}::f", types, lambda x: x * 2, exclusive=True)
    impl(f"{ns}::f", types, lambda x: x * 3, exclusive=True)  # its own one is replaced
    before = dump(op)
    text = message_of(
        RuntimeError, impl, f"{ns}::f", types, lambda x: x, lib=library, exclusive=True
    )
    assert "an exclusive kernel covers none" in text
    assert dump(op) == before and op(x).tolist() == (x * 3).tolist()


def test_F9_exclusive_kernels_come_at_all_keys_or_at_none(op, ns, library, kept, x):
    """Also if it is the second of its own kernels that another library covers."""
    impl(f"{ns}::f", ["cpu", "cuda"], lambda x: x * 2, exclusive=True)
    library.impl("f", lambda x: x * 9, "CUDA", allow_override=True)
    before = dump(op)
    for types in (["cpu", "cuda"], ["Meta", "cuda"], ["cpu", "xla", "cuda"]):
        text = message_of(RuntimeError, impl, f"{ns}::f", types, lambda x: x * 3, exclusive=True)
        assert f"{ns}::f has a kernel at CUDA of another library, registered at {__file__}" in text
        assert dump(op) == before
    assert op(x).tolist() == (x * 2).tolist()


def test_F9_of_threads_that_register_exclusively_at_many_keys_one_succeeds(op, ns, request):
    request.addfinalizer(functools.partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1e-6)  # so that they meet in the middle of it
    types = ["cpu", "cuda", "xla", "Lazy"]
    start = threading.Barrier(4)

    def register(lib, order):
        start.wait()
        try:
            impl(f"{ns}::f", order, lambda x: x, lib=lib, exclusive=True)
        except RuntimeError as error:
            assert "an exclusive kernel covers none" in str(error)

    for _ in range(volume(50)):
        libraries = [Library(ns, "FRAGMENT") for _ in range(4)]
        threads = [
            threading.Thread(target=register, args=(lib, types if number % 2 else types[::-1]))
            for number, lib in enumerate(libraries)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counts = sorted(len(lib.kernels) for lib in libraries)
        assert counts in ([0, 0, 0, 0], [0, 0, 0, 4])  # each may have met a trial of another
        for lib in libraries:
            lib.close()


def both_kernels(op):
    return [line for line in dump(op).splitlines() if line.startswith(("CPU", "CUDA", "Meta"))]


def test_F9_what_the_real_call_would_refuse_is_refused_first(op, ns, define_op, library, kept, x):
    made_of_others = define_op("made(Tensor x) -> Tensor", CompositeImplicitAutograd=lambda x: x)
    for keys in (["cpu", "Meta"], ["Meta", "cpu"]):
        text = message_of(RuntimeError, impl, made_of_others, keys, lambda x: x * 2)
        assert text.startswith("We should not register a meta kernel directly to the operator")
    assert both_kernels(made_of_others) == []
    # A library that has a key of its own takes no other one.
    with scoped_library(ns, "IMPL", "CPU") as cpu:
        assert "(CUDA) is inconsistent with the dispatch key" in message_of(
            RuntimeError, impl, op, ["cpu", "cuda"], lambda x: x, lib=cpu
        )
        assert both_kernels(op) == []
    with scoped_library("elsewhere", "FRAGMENT") as other:
        single = message_of(RuntimeError, impl, op, "cpu", lambda x: x, lib=other)
        assert message_of(RuntimeError, impl, op, ["cpu", "cuda"], lambda x: x, lib=other) == single
    assert both_kernels(op) == []


def test_F9_warnings_come_once_and_may_be_errors(op, ns, library, kept, x):
    library.impl("f", lambda x: x * 6, "CUDA")
    before = dump(op)
    with scoped_library(ns, "IMPL") as mine:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            text = message_of(UserWarning, impl, op, ["cpu", "cuda"], lambda x: x * 9, lib=mine)
        assert "dispatch key: CUDA" in text
        assert dump(op) == before
        with pytest.warns(UserWarning) as warned:
            impl(op, ["cpu", "cuda"], lambda x: x * 9, lib=mine)
        assert len(warned) == 1
        assert warned[0].filename == __file__
        assert op(x).tolist() == [9.0, 18.0, 27.0]
        with warnings.catch_warnings():  # its own are replaced
            warnings.simplefilter("error")
            impl(op, ["cuda", "cpu"], lambda x: x * 10, lib=mine)
            mine.impl("f", lambda x: x, "XLA")
            impl(op, ["XLA", "Lazy"], lambda x: x * 10, lib=mine)
        assert op(x).tolist() == [10.0, 20.0, 30.0]
        assert dump(op).count("inactive") == 1
    assert dump(op) == before


def test_F9_threads_share_the_library_that_stays(monkeypatch, ns, kept):
    made, real = [], Library

    class Slow(real):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)
            if len(made) == 1:  # another thread comes in between
                other = threading.Thread(target=define, args=(f"{ns}::second", "() -> ()"))
                other.start()
                other.join()

    monkeypatch.setattr(_register, "Library", Slow)
    define(f"{ns}::first", "() -> ()")
    made.clear()
    gc.collect()
    assert dir(getattr(ops, ns)) == ["first", "second"]


# F10 --------------------------------------------------------------------------------------


class Mine(Tensor):
    def __new__(cls, data):
        return Tensor.make_subclass(cls, data)

    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return NotImplemented


def wanted(function, op, lib):
    """Calls a register function for an operator."""
    if function is impl or function is register_kernel:
        return function(op, "cpu", lambda x: x, lib=lib)
    if function is register_fake:
        return function(op, lambda x: x, lib=lib)
    if function is register_autocast:
        return function(op, "cpu", opyard.float64, lib=lib)
    if function is register_opyard_dispatch:
        return function(op, Mine, lambda *args: args[3][0], lib=lib)
    if function is register_effect:
        return function(op, EffectType.ORDERED)
    return function(op, lambda *args: args[0], lib=lib)


FUNCTIONS = (impl, register_kernel, register_fake, register_autocast, register_opyard_dispatch,
             register_effect, register_autograd, register_vmap)  # fmt: skip
LATER = (register_vmap,)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_F10_ways_to_name_an_operator(function, op, custom, ns, library):
    packet = getattr(ops, ns).f
    for one in (f"{ns}::f", packet, packet.default, custom):
        lib = Library(ns, "IMPL")
        if function in LATER:
            message_of(NotImplementedError, wanted, function, one, lib)
        else:
            wanted(function, one, lib)
        lib._destroy()
        if function is register_effect:
            assert effect_of(one) is EffectType.ORDERED
            register_effect(one, None)
    text = message_of(ValueError, wanted, function, 3, None)
    assert text == (
        f"{function.__name__}(op): got unexpected type for op: <class 'int'>; an operator is named "
        "by a str such as 'ns::name', by an object of opyard.ops, or by what custom_op() gave"
    )
    assert f"{ns}::nope" in message_of(LookupError, wanted, function, f"{ns}::nope", None)


def test_F10_register_kernel(op, ns, kept, x):
    register_kernel(op, None, lambda x: x * 2)
    assert has_kernel(op, "CompositeExplicitAutograd")
    assert op(x).tolist() == [2.0, 4.0, 6.0]

    @register_kernel(f"{ns}::f", ["cpu"])
    def f(x):
        return x

    assert op(x) is f(x) is x


def test_F10_of_a_custom_op_they_belong_to_it(custom, ns, x):
    register_kernel(f"{ns}::scale", "cpu", lambda x: x * 3)
    assert custom(x).tolist() == [3.0, 6.0, 9.0]
    with custom.set_kernel_enabled("cpu", False):
        assert custom(x).tolist() == [2.0, 4.0, 6.0]
    assert ns not in _register._libraries
    lib = Library(ns, "IMPL")
    register_kernel(custom, "cuda", lambda x: x, lib=lib)  # which ends with that
    assert has_kernel(custom.op, "CUDA")
    lib._destroy()
    assert not has_kernel(custom.op, "CUDA")


def test_F10_what_takes_an_operator_takes_a_custom_op(custom, x):
    from opyard.dispatch import explain, metadata
    from opyard.library import override

    assert metadata(custom)["name"] == custom.op.name()
    assert str(explain(custom, x)) == str(explain(custom.op, x))
    with override(custom, "CPU", lambda x: x):
        assert custom(x) is x


# F23 --------------------------------------------------------------------------------------


def test_F23_a_failed_fake_kernel_leaves_nothing(define_op, ns, kept):
    composite = define_op("c(Tensor x) -> Tensor", CompositeImplicitAutograd=lambda x: x)
    has_meta = define_op("m(Tensor x) -> Tensor", Meta=lambda x: x)
    for op, what in ((composite, "CompositeImplicitAutograd"), (has_meta, "Meta implementation")):
        before = dump(op)
        text = message_of(RuntimeError, register_fake, op, lambda x: x)
        assert op.default.name() in text and what in text
        assert dump(op) == before
        register_fake(op, lambda x: x, allow_override=True)
        assert dump(op) != before
    assert f"Meta: registered at {__file__}:" in dump(has_meta)


def test_F24_another_module_than_was_said(ns, library, kept):
    library.set_python_module("some.module")
    library.define("f(Tensor x) -> Tensor")
    before = dump(f"{ns}::f")
    text = message_of(RuntimeError, register_fake, f"{ns}::f", lambda x: x)
    assert __name__ in text and "some.module" in text and __file__ in text
    assert dump(f"{ns}::f") == before


# F26 --------------------------------------------------------------------------------------


def test_F26_batching_rules_wait_for_the_layer(custom, ns):
    says = (
        f"register_vmap: {ns}::scale can have no batching rule yet, since Opyard has no batching "
        "layer; a kernel at the key Batched, by impl(), sees every call of tensors with that key"
    )
    assert message_of(NotImplementedError, register_vmap, custom) == says
    assert message_of(NotImplementedError, custom.register_vmap, len) == says


@pytest.fixture
def seen(define_op):
    """A list of the dtypes that the kernel of the operator "g" was called with."""
    dtypes = []

    def kernel(x, more, flag=False, *, extra=None):
        dtypes.append([each.dtype for each in (x, *more, *([] if extra is None else [extra]))])
        return x

    define_op("g(Tensor x, Tensor[] more, bool flag=False, *, Tensor? extra=None) -> Tensor",
              CPU=kernel)  # fmt: skip
    return dtypes


def test_F26_autocast(seen, ns, library, x):
    g = getattr(ops, ns).g
    ints, doubles = opyard.tensor([1]), opyard.tensor([1.0], dtype=opyard.float64)
    register_autocast(g, "cpu", opyard.float64, lib=library)
    g(x, [x], extra=x)
    with opyard.autocast("cpu"):
        result = g(x, [x, ints, doubles], True, extra=x)
        with opyard.autocast("cpu", enabled=False):
            g(x, [x])
        g(x, [])
    g(x, [x])
    single, double, integer = opyard.float32, opyard.float64, opyard.int64
    assert seen == [
        [single] * 3,
        [double, double, integer, double, double],
        [single] * 2,
        [double],
        [single] * 2,
    ]
    assert result.dtype == double and result.tolist() == x.tolist()


def test_F26_autocast_leaves_float64_alone_and_can_be_set_again(seen, ns, library, x):
    g = getattr(ops, ns).g
    doubles = x.to(opyard.float64)
    register_autocast(g, "cpu", opyard.float32, lib=library)
    with opyard.autocast("cpu"):
        g(doubles, [x])
        register_autocast(g, "cpu", opyard.float64, lib=library)
        g(doubles, [x])
        with opyard.autocast("cuda"):
            g(doubles, [x])
    register_autocast(g, "cuda", opyard.float64, lib=library)
    with opyard.autocast("cuda"):  # casts only tensors of that device
        g(x, [x])
    single, double = opyard.float32, opyard.float64
    assert seen == [[double, single], [double, double], [double, double], [single, single]]


def test_F26_autocast_of_a_custom_op_ends_with_it(custom, ns, x):
    custom.register_autocast("cpu", opyard.float64)
    with opyard.autocast("cpu"):
        assert custom(x).dtype == custom.op(x).dtype == opyard.float64

    def again(x: Tensor) -> Tensor:
        return x * 2

    made = custom_op(f"{ns}::scale", again, mutates_args=())
    with opyard.autocast("cpu"):
        assert made(x).dtype == opyard.float32
    made._destroy()


def test_F26_autocast_is_of_this_thread_and_is_put_back(x):
    def state():
        return (tls_is_dispatch_key_included("AutocastCPU"),
                tls_is_dispatch_key_excluded("AutocastCPU"))  # fmt: skip

    assert state() == (False, True)
    region = opyard.autocast("cpu")
    with pytest.raises(KeyError), region:
        assert state() == (True, False)
        with opyard.autocast("cpu", enabled=False):
            assert state() == (False, True)
            with region:
                assert state() == (True, False)
        assert state() == (True, False)
        raise KeyError
    assert state() == (False, True)


def test_F26_autocast_refuses(op, ns, library):
    before = dump(op)
    assert message_of(ValueError, opyard.autocast, "xla") == (
        "autocast knows the device types 'cpu' and 'cuda', not 'xla'"
    )
    assert message_of(ValueError, register_autocast, op, "xla", opyard.int8, lib=library) == (
        f"register_autocast: {ns}::f: autocast knows the device types 'cpu' and 'cuda', not 'xla'"
    )
    assert message_of(ValueError, register_autocast, op, 3, opyard.float32, lib=library) == (
        f"register_autocast: the device type of {ns}::f is a str, such as 'cpu', not <class 'int'>"
    )
    assert message_of(TypeError, register_autocast, op, "cpu", "float32", lib=library) == (
        f"register_autocast: what {ns}::f casts to must be a dtype, such as opyard.bfloat16, not "
        "str"
    )
    assert dump(op) == before


def test_F26_autocast_of_what_writes_to_an_argument(define_op, custom, ns, library):
    written = define_op("w(Tensor x, *, Tensor(a!) o) -> Tensor(a!)", CPU=lambda x, o: o)
    before = dump(written)
    assert message_of(
        NotImplementedError, register_autocast, written, "cpu", opyard.float64, lib=library
    ) == (
        f"register_autocast: {ns}::w writes to its argument 'o', and a tensor that is cast is a "
        "copy, in which the write would be lost. Register it for an operator that makes new "
        "tensors; this one can cast in its own kernel. Got "
        f"{ns}::w(Tensor x, *, Tensor(a!) o) -> Tensor(a!)"
    )
    assert dump(written) == before

    def write(x: Tensor) -> Tensor:
        return x

    for tags, annotation in (((), None), ("inplace", Tensor)):
        write.__annotations__["return"] = annotation
        made = custom_op(f"{ns}::write", write, mutates_args=["x"], tags=tags)
        try:
            assert "writes to its argument 'x'" in message_of(
                NotImplementedError, made.register_autocast, "cpu", opyard.float64
            )
        finally:
            made._destroy()


def test_F26_effects(op, ns):
    assert effect_of(op) is None
    register_effect(f"{ns}::f", EffectType.ORDERED)
    assert effect_of(op.default) is EffectType.ORDERED
    assert message_of(ValueError, register_effect, op, "Ordered") == (
        f"register_effect: 'Ordered' is no effect for {ns}::f; there are EffectType.ORDERED, and "
        "None for no effect"
    )
    assert effect_of(op) is EffectType.ORDERED
    register_effect(op, None)
    register_effect(op, None)
    assert effect_of(op) is None


def test_F26_an_effect_ends_with_its_custom_op(custom, ns):
    def scale(x: Tensor) -> Tensor:
        return x * 2

    register_effect(custom, EffectType.ORDERED)
    again = custom_op(f"{ns}::scale", scale, mutates_args=())
    assert effect_of(again) is None
    register_effect(again, EffectType.ORDERED)
    again._destroy()
    assert effect_of(custom_op(f"{ns}::scale", scale, mutates_args=())) is None
    _custom_op.definitions[f"{ns}::scale"]._destroy()


# F27 --------------------------------------------------------------------------------------


def test_F27_nothing_remains_of_a_scoped_library(ns, x):
    scope = scoped_library(ns, "FRAGMENT")
    with scope as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x, "CPU")
        handle = getattr(ops, ns).f.default
        assert handle(x) is x
    assert not hasattr(getattr(ops, ns), "f") and "f" not in vars(getattr(ops, ns))
    message_of(RuntimeError, handle, x)
    with pytest.raises(KeyError), scope as lib:
        assert lib.define("f(Tensor x, int n) -> Tensor") == f"{ns}::f"
        assert getattr(ops, ns).f.default is not handle  # found anew
        raise KeyError
    assert not hasattr(getattr(ops, ns), "f")
    with scoped_library(ns, "IMPL", "CPU") as lib:
        assert lib.dispatch_key == "CPU"
    message_of(ValueError, scoped_library(ns, "ALL").__enter__)
