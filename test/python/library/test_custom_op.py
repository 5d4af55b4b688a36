"""Protects custom_op(): schemas, tags, kernels by device, what results may be, making it again.

Suspect opyard/_library/custom_op.py, kernels/result_rules.cpp, then
operators/{direct_call,op_caller}.cpp.
"""

import copy
import gc
import inspect
import pickle
import sys
import threading
import warnings
import weakref

import pytest
from raised import message_of

import opyard
from opyard import Tag, Tensor, _bind, ops
from opyard.dispatch import DispatchMode, dangling, dump, dump_table, has_kernel
from opyard.library import CustomOpDef, Library, custom_op, register_fake, register_kernel

aten = ops.aten
CUDA = opyard.device("cuda")


@pytest.fixture
def make(ns):
    """custom_op() in a namespace of this test, unregistered at the end."""
    made = []

    def make(fn=None, /, name=None, *, mutates_args=(), **more):
        def decorate(fn):
            made.append(custom_op(f"{ns}::{name or fn.__name__}", fn, mutates_args=mutates_args,
                                  **more))  # fmt: skip
            return made[-1]

        return decorate if fn is None else decorate(fn)

    yield make
    for each in made:
        each._destroy()


@pytest.fixture
def meta():
    return aten.empty([3], device="meta")


def here(offset=0):
    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno + offset}"


def twice(x: Tensor) -> Tensor:
    """Twice as much."""
    return x * 2


def values(tensor):
    return tensor.tolist()


# F12 --------------------------------------------------------------------------------------


def test_F12_is_callable_and_registered(make, ns, x):
    f = make(twice)
    assert type(f) is CustomOpDef
    assert repr(f) == f"<CustomOpDef({ns}::twice)>"
    assert f.op is getattr(ops, ns).twice.default
    assert values(f(x)) == values(f.op(x)) == values(f(x=x)) == [2.0, 4.0, 6.0]
    assert f.op.declaration == f"{ns}::twice(Tensor x) -> Tensor"
    assert f.__wrapped__ is twice and f.__name__ == "twice"
    assert inspect.signature(f) == inspect.signature(twice)
    assert f.__doc__ == "Twice as much."
    assert f.op.__doc__ == f"{ns}::twice(Tensor x) -> Tensor\n\nTwice as much."


def test_F12_as_a_decorator_and_with_an_overload(ns, x):
    @custom_op(f"{ns}::g.more", mutates_args=(), tags=Tag.pointwise)
    def g(x: Tensor, *, n: int = 2) -> Tensor:
        return x * n

    try:
        assert g.op is getattr(ops, ns).g.more
        assert g.op.tags == [Tag.pointwise]
        assert values(g(x, n=3)) == [3.0, 6.0, 9.0]
    finally:
        g._destroy()


def test_F12_calls_reach_the_function_with_the_same_objects(make, x):
    seen = []

    @make
    def f(a: Tensor, b: Tensor, n: int = 1) -> Tensor:
        seen.append((a, b, n))
        return a + b

    f(x, x, 3)
    f.op._call_boxed(x, x, 3)
    f(b=x, a=x)
    assert len(seen) == 3
    assert all(a is x and b is x for a, b, _ in seen)
    assert [n for *_, n in seen] == [3, 3, 1]


def test_F12_bad_calls_of_custom_op(make, ns):
    assert message_of(TypeError, custom_op, 3, twice, mutates_args=()) == (
        "custom_op: the name is a str such as 'ns::name', not int"
    )
    for name in ("twice", "::twice", f"{ns}::"):
        assert message_of(ValueError, custom_op, name, twice, mutates_args=()) == (
            f"custom_op: {name!r} has no namespace; say 'ns::name'"
        )
    assert message_of(TypeError, make, 3, "f") == (
        f"custom_op: what is registered for {ns}::f must be callable, not int"
    )
    text = message_of(ValueError, make, twice, tags="nope")
    assert text.startswith("'nope' is no tag; the known tags are pointwise, ")
    text = message_of(ValueError, make, lambda x: x, "f")
    assert text == (
        f"custom_op: {ns}::f has no schema: infer_schema(<lambda>): parameter 'x' must have a type "
        "annotation. Got a function with the signature (x)"
    )
    assert not dir(getattr(ops, ns))


def test_F12_names_that_are_read_as_others(make, ns, x):
    everything = _bind.operator_names()
    names = (f"{ns}:: f", f"{ns}::f ", f"{ns} ::f", f" {ns}::f", f"{ns}::f\n", f"{ns}::f #c\n",
             f"{ns}::f #c", f"{ns}::f.", f"{ns}::f(", f"{ns}::f\0", f"{ns}::\ud800")  # fmt: skip
    for name in names:
        assert message_of(ValueError, custom_op, name, twice, mutates_args=()) == (
            f"custom_op: {name!r} is no name of an operator; say 'ns::name' or "
            "'ns::name.overload', of letters, digits and underscores"
        )
    assert _bind.operator_names() == everything
    assert not [text for text in dangling() if f"{ns}::" in text]
    assert values(make(twice, "f")(x)) == [2.0, 4.0, 6.0]


def test_F12_copies_and_pickles_are_the_same(make, ns):
    f = make(twice)
    assert copy.copy(f) is f and copy.deepcopy(f) is f
    assert pickle.loads(pickle.dumps(f)) is f
    data = pickle.dumps(f)
    f._destroy()
    assert message_of(LookupError, pickle.loads, data) == (
        f"no operator {ns}::twice was made by custom_op(); is its module imported?"
    )


def test_F12_the_class_keeps_its_call(make, x):
    class Loud(CustomOpDef):
        def __call__(self, *args):
            return "loud"

    assert Loud.__new__(Loud)(x) == "loud"
    assert make(twice)(x).tolist() == [2.0, 4.0, 6.0]
    text = message_of(RuntimeError, CustomOpDef.__new__(CustomOpDef), x)
    assert text == "this CustomOpDef was given no operator"
    assert "op of opyard" not in message_of(TypeError, make(twice)._bind, 3)


# Made again -------------------------------------------------------------------------------


def test_F12_made_again_with_the_same_schema_keeps_handles(make, ns, x, meta):
    first = make(twice)
    first.register_kernel("cuda", lambda x: x)
    first.register_fake(lambda x: x)
    handle = first.op
    packet = getattr(ops, ns).twice
    second = make(lambda_of(twice, lambda x: x * 3))
    place = here(-1)
    assert second.op is handle is packet.default is getattr(ops, ns).twice.default
    for each in (first, second, handle, packet):
        assert values(each(x)) == [3.0, 6.0, 9.0]
    # Nothing of the first is left.
    assert not has_kernel(handle, "CUDA")
    assert dump(handle).count("registered at") == 3 and "(inactive)" not in dump(handle)
    message_of(RuntimeError, handle, meta)
    text = message_of(RuntimeError, first.register_kernel, "cpu", twice)
    assert text.startswith(f"{ns}::twice was made again by custom_op() at {__file__}:")
    assert text.endswith("register with the newer one")
    assert place.rpartition(":")[0] in text
    message_of(RuntimeError, first.register_fake, twice)
    with pytest.raises(RuntimeError), first.set_kernel_enabled("cpu", False):
        pass
    first._destroy()  # which is not the one any more
    assert values(handle(x)) == [3.0, 6.0, 9.0]
    _bind.check_invariants()


def lambda_of(like, fn):
    """A function with the annotations and the name of another."""

    def made(x: Tensor) -> Tensor:
        return fn(x)

    made.__name__, made.__doc__ = like.__name__, like.__doc__
    return made


def test_F12_made_again_with_another_schema_is_another_operator(make, ns, x):
    first = make(twice)
    handle = first.op

    @make(name="twice")
    def other(x: Tensor, n: int = 4) -> Tensor:
        return x * n

    assert getattr(ops, ns).twice.default is other.op is not handle
    assert values(other(x)) == values(getattr(ops, ns).twice(x)) == [4.0, 8.0, 12.0]
    for gone in (first, handle):
        assert "has ended" in message_of(RuntimeError, gone, x)
    third = make(twice)
    assert third.op is handle
    assert values(handle(x)) == [2.0, 4.0, 6.0]
    assert "has ended" in message_of(RuntimeError, other, x)


def test_F12_made_again_with_other_tags_or_text(make, x):
    first = make(twice)
    second = make(twice, tags=[Tag.pointwise])
    assert first.op is second.op
    assert second.op.tags == [Tag.pointwise]
    third = make(lambda_of(twice, lambda x: x))
    assert third.op.tags == []


def test_F12_what_fails_leaves_the_former_as_it_was(make, ns, x, monkeypatch):
    f = make(twice)

    def registry():
        return [(name, dump(name), dump_table(name)) for name in _bind.operator_names()], dangling()

    before, everything = (dump(f.op), dump_table(f.op), dump(f"{ns}::g")), registry()
    message_of(ValueError, make, twice, device_types="nowhere")
    message_of(ValueError, make, twice, mutates_args=["y"])
    message_of(ValueError, make, twice, schema="(Tensor x -> Tensor")
    message_of(ValueError, make, twice, "g", schema="(Tensor x -> Tensor")
    message_of(ValueError, make, twice, "g", tags=Tag.inplace)
    assert registry() == everything

    # Not even if defining itself fails, after the former was unregistered.
    real = Library._define_at

    def failing(self, place, schema, *args):
        if "Int n" in schema:
            raise MemoryError("planted")
        return real(self, place, schema, *args)

    monkeypatch.setattr(Library, "_define_at", failing)

    def more(x: Tensor, n: int) -> Tensor:
        return x * n

    handle = f.op
    message_of(MemoryError, make, more, "twice")
    message_of(MemoryError, make, more, "g")
    assert handle is getattr(ops, ns).twice.default
    assert values(handle(x)) == values(f(x)) == [2.0, 4.0, 6.0]
    assert (dump(f.op), dump_table(f.op)) == before[:2]
    assert registry() == everything
    assert not has_kernel(f"{ns}::g") and not hasattr(getattr(ops, ns), "g")
    f.register_kernel("cuda", twice)  # it is live
    _bind.check_invariants()


def test_F12_a_docstring_that_cannot_be_kept(make, ns, x):
    f = make(twice)

    def more(x: Tensor, n: int = 1) -> Tensor:
        return x * n

    def everything():
        return [(name, dump(name), dump_table(name)) for name in _bind.operator_names()], dangling()

    before = everything()
    for doc, what in (
        ("a\0b", "has a null character or half a surrogate pair, which a definition cannot keep"),
        ("\ud800", "has a null character or half a surrogate pair, which a definition cannot keep"),
        (5, "is a str or None, not int"),
    ):
        more.__doc__ = doc
        text = message_of(ValueError, make, more, "twice")
        assert text == f"custom_op: the docstring of {ns}::twice {what}"
        message_of(ValueError, make, more, "g")
    assert everything() == before
    assert values(f(x)) == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("refused", ["what is new", "all"])
def test_F12_a_listener_that_raises_leaves_the_former_as_it_was(make, ns, x, monkeypatch, refused):
    """Also one that raises for the former too, when it is put back: that goes to the hook."""
    f = make(twice)
    before, reported = (dump(f.op), dump_table(f.op)), []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: reported.append(told.exc_value))
    planted, armed = ValueError("planted"), []

    def raiser(op):
        if armed and op.namespace == ns and (refused == "all" or len(op._schema.arguments) == 2):
            raise planted

    with opyard.dispatch.on_registration(raiser):
        armed.append(True)
        with pytest.raises(ValueError) as caught:

            @make(name="twice")
            def other(x: Tensor, n: int = 4) -> Tensor:
                return x * n

        assert caught.value is planted
        # What puts nothing back is refused as ever.
        with pytest.raises(ValueError):

            @make(name="thrice")
            def thrice(x: Tensor, n: int) -> Tensor:
                return x

    assert (dump(f.op), dump_table(f.op)) == before
    assert values(f(x)) == values(getattr(ops, ns).twice(x)) == [2.0, 4.0, 6.0]
    assert reported == ([planted] if refused == "all" else [])


def test_F12_what_somebody_else_took_back_can_be_made_again(make, ns, x):
    f = make(twice)
    again = dump(f.op)
    f._kernels._destroy()
    f._definition._destroy()
    message_of(LookupError, pickle.loads, pickle.dumps(f))
    assert "was unregistered" in message_of(RuntimeError, f.register_kernel, "cpu", twice)
    f = make(twice)
    assert dump(f.op) == again
    assert values(f(x)) == values(getattr(ops, ns).twice(x)) == [2.0, 4.0, 6.0]
    f.register_kernel("cpu", lambda x: x * 3)

    def other(x: Tensor, n: int = 1) -> Tensor:
        return x * 5

    f._kernels._destroy()  # and the definition lives, as where it was an older one's
    f = make(other, "twice")
    assert values(f(x)) == [5.0, 10.0, 15.0]
    f._kernels._destroy()
    f._definition._destroy()
    f = make(twice)
    assert values(f(x)) == [2.0, 4.0, 6.0]
    assert copy.copy(f) is f and pickle.loads(pickle.dumps(f)) is f
    assert not [text for text in dangling() if f"{ns}::" in text]
    _bind.check_invariants()


def test_F12_an_operator_of_another_library_is_not_replaced(make, ns, define, library, x):
    op = define("twice(Tensor x) -> Tensor", CPU=lambda x: x)
    before = dump(op)
    assert f"{ns}::twice" in message_of(RuntimeError, make, twice)
    assert dump(op) == before
    assert op(x) is x


def test_F12_made_again_while_other_threads_call(make, x):
    f = make(twice)
    results, errors, done = set(), [], threading.Event()

    def call():
        while not done.is_set():
            try:
                results.add(f(x)[0].item())
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for factor in range(50):
        make(lambda_of(twice, lambda x, factor=factor: x * factor))
    done.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert results <= {float(n) for n in range(50)}


def test_F12_what_was_replaced_is_freed(make, ns, x):
    def kernel(x: Tensor) -> Tensor:
        return x * 2

    f = make(kernel, "f")
    dead = weakref.ref(kernel)
    del kernel
    make(twice, "f")
    f = None
    f(x) if f else None
    gc.collect()
    from opyard._library import custom_op as _custom_op

    assert _custom_op.definitions[f"{ns}::f"].__wrapped__ is twice
    assert dead() is not None  # `make` holds the first one until the end of the test


# F13 --------------------------------------------------------------------------------------


def test_F13_the_schema_agrees_with_mutates_args(make, ns, x):
    def f(x: Tensor, y: Tensor) -> None:
        x += y

    written = "(Tensor(a!) x, Tensor y) -> ()"
    made = make(f, mutates_args=["x"], schema=written)
    made(x, x)
    assert values(x) == [2.0, 4.0, 6.0]
    make(f, mutates_args="unknown", schema=written)
    text = message_of(ValueError, make, f, mutates_args=[], schema=written)
    assert text == (
        f"custom_op: of {ns}::f, mutates_args says that it writes to nothing, and the schema "
        f"{written} that it writes to 'x'; make the two agree, with a '!' for each that is written "
        "to"
    )
    text = message_of(ValueError, make, f, mutates_args=["y", "x"], schema=written)
    assert "writes to 'x', 'y', and" in text
    assert message_of(ValueError, make, f, mutates_args="x", schema=written) == (
        f'custom_op: mutates_args of {ns}::f is "x"; accepted are "unknown" and names in a list'
    )
    assert message_of(ValueError, make, f, mutates_args=["x"], schema="f" + written) == (
        f"custom_op(schema=...): the schema of {ns}::f begins with its arguments, as in '(Tensor x)"
        " -> Tensor', since the name is given besides; got 'f(Tensor(a!) x, Tensor y) -> ()'"
    )
    assert make(f, mutates_args=["y", "x"]).op.declaration == (
        f"{ns}::f(Tensor(a0!) x, Tensor(a1!) y) -> ()"
    )
    assert make(f, "g", mutates_args="unknown").op.declaration == (
        f"{ns}::g(Tensor(a0!) x, Tensor(a1!) y) -> ()"
    )


def test_F13_tensors_by_position_only_or_by_name_only(make, ns):
    def by_position(x: Tensor, /) -> Tensor:
        return x

    def by_name(x: Tensor, *, y: "list[Tensor] | None" = None) -> Tensor:
        return x

    text = message_of(ValueError, make, by_position)
    assert "parameter 'x' takes its argument by position only" in text
    assert message_of(NotImplementedError, make, by_name) == (
        f"custom_op: {ns}::by_name takes the tensor 'y' by keyword only, and a backward gives its "
        "gradients by position. Take it by position; only what results are written to may be "
        "keyword-only, with Tag.out"
    )


# F14, F15, F16 ----------------------------------------------------------------------------


def test_F14_without_tensors_the_device_chooses(make, ns):
    def full(n: int, device: "opyard.device | None" = None) -> Tensor:
        return opyard.tensor([0.0])

    f = make(full, device_types="cpu")
    f.register_kernel("cuda", lambda n, device=None: opyard.tensor([1.0]))
    assert values(f(1)) == values(f(1, "cpu")) == values(f(1, device="cpu")) == [0.0]
    assert values(f(1, "cuda:1")) == values(f(1, device=opyard.device("cuda"))) == [1.0]
    assert message_of(RuntimeError, f, 1, "xla") == (
        f"{ns}::full has no kernel for the device type 'xla', only for cpu, cuda; add one with "
        "register_kernel()"
    )
    f.register_kernel(None, lambda n, device=None: opyard.tensor([2.0]))
    assert values(f(1, "xla")) == [2.0]
    f.register_fake(lambda n, device=None: aten.empty([n], device="meta"))
    assert f(7, "meta").shape == (7,)


def test_F14_a_device_by_keyword_only_with_a_default(make):
    @make(device_types=["cpu"])
    def f(*, device: opyard.device = CUDA) -> Tensor:
        return opyard.tensor([0.0])

    f.register_kernel("cuda", lambda **given: opyard.tensor([1.0]))
    assert values(f()) == [1.0]
    assert values(f(device="cpu")) == [0.0]


def test_F14_without_a_device_argument(make, ns):
    def f(n: int) -> Tensor:
        return opyard.tensor([n])

    text = (
        f"{ns}::f takes no tensors, so only an argument `device: opyard.device` could tell which "
        "kernel of several device types is meant, and it has none. Add one, or register for all "
        f"device types, with None. Got {ns}::f(SymInt n) -> Tensor"
    )
    assert message_of(ValueError, make, f, device_types="cpu") == text
    assert not has_kernel(f"{ns}::f")
    made = make(f)
    before = dump(made.op)
    assert message_of(ValueError, made.register_kernel, "cpu", f) == text
    assert dump(made.op) == before
    assert values(made(3)) == [3]


def test_F15_kernels_by_device_type(make, ns, x):
    f = make(twice)

    @f.register_kernel("cpu")
    def on_cpu(x):
        return x * 10

    assert on_cpu(x).tolist() == values(f(x)) == [10.0, 20.0, 30.0]
    assert f.register_kernel(["cpu", "cuda"], lambda x: x * 20) is not None
    assert has_kernel(f.op, "CUDA")
    assert values(f(x)) == [20.0, 40.0, 60.0]  # which replaced the first
    assert dump(f.op).count("\nCPU: ") == 1 and "inactive" not in dump(f.op)
    f.register_kernel(None, lambda x: x * 30)
    assert values(f(x)) == [20.0, 40.0, 60.0]  # the default is not asked
    g = make(twice, "g", device_types="cuda")
    assert "no kernel" in message_of(NotImplementedError, g, x)
    g.register_kernel("cpu", twice)
    assert values(g(x)) == [2.0, 4.0, 6.0]


def test_F15_what_is_no_device_type(make, ns):
    f = make(twice)
    before = dump(f.op)
    message_of(ValueError, f.register_kernel, "nowhere", twice)
    assert message_of(ValueError, f.register_kernel, ["cpu", "cuda:1"], twice) == (
        "'cuda:1' is one device; a kernel is for all devices of a type"
    )
    assert message_of(TypeError, f.register_kernel, [3], twice) == (
        "a device type is a str, such as 'cpu', not int"
    )
    assert message_of(ValueError, f.register_kernel, [], twice) == (
        f"{ns}::twice: device_types is empty; None stands for all of them"
    )
    assert message_of(ValueError, f.register_kernel, "meta", twice) == (
        f"{ns}::twice: a kernel for 'meta' tensors, which have no elements, is a fake kernel; "
        "register it with register_fake()"
    )
    assert message_of(TypeError, f.register_kernel, "cpu", 3) == (
        f"register_kernel: what is registered for {ns}::twice must be callable, not int"
    )
    assert dump(f.op) == before


def test_F16_a_kernel_switched_off(make, x):
    f = make(twice)
    f.register_kernel("cpu", lambda x: x * 10)
    handle = f.op
    with f.set_kernel_enabled("cpu", False):
        assert values(f(x)) == values(handle(x)) == [2.0, 4.0, 6.0]
        with f.set_kernel_enabled("cpu"):
            assert values(f(x)) == [10.0, 20.0, 30.0]
        assert values(f(x)) == [2.0, 4.0, 6.0]
        f.register_kernel("cpu", lambda x: x * 20)  # for later
        assert values(f(x)) == [2.0, 4.0, 6.0]
    assert values(f(x)) == [20.0, 40.0, 60.0]
    with pytest.raises(KeyError), f.set_kernel_enabled("cpu", False):
        raise KeyError
    assert values(f(x)) == [20.0, 40.0, 60.0]


@pytest.mark.filterwarnings("ignore:the kernel of")
def test_F16_switched_off_by_several_at_once(make, x):
    f = make(twice)
    f.register_kernel("cpu", lambda x: x * 10)
    off, on = [2.0, 4.0, 6.0], [10.0, 20.0, 30.0]
    first, second = f.set_kernel_enabled("cpu", False), f.set_kernel_enabled("cpu", False)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert values(f(x)) == off  # for the second
    second.__exit__(None, None, None)
    assert values(f(x)) == on

    first, second = f.set_kernel_enabled("cpu", False), f.set_kernel_enabled("cpu", True)
    first.__enter__()
    second.__enter__()
    assert values(f(x)) == on
    first.__exit__(None, None, None)
    assert values(f(x)) == on
    with first:
        assert values(f(x)) == off
    second.__exit__(None, None, None)
    assert values(f(x)) == on

    region, entered = f.set_kernel_enabled("cpu", False), threading.Barrier(3)
    wrong = []

    def stay(rounds):
        entered.wait()
        for _ in range(rounds):
            with region:
                if values(f(x)) != off:
                    wrong.append(values(f(x)))

    threads = [threading.Thread(target=stay, args=(rounds,)) for rounds in (200, 200, 200)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    assert values(f(x)) == on


def test_F16_no_lock_is_held_while_a_replaced_kernel_ends(make, x):
    f = make(twice)
    free = []

    class Kernel:
        def __call__(self, x):
            return x

        def __del__(self):
            def switch():
                with f.set_kernel_enabled("cpu", False):
                    free.append(True)

            thread = threading.Thread(target=switch, daemon=True)
            thread.start()
            thread.join(2)
            free.append(not thread.is_alive())

    f.register_kernel("cpu", Kernel())
    f.register_kernel("cpu", lambda x: x)
    gc.collect()
    assert free == [True, True]


def test_F16_a_with_block_that_outlives_its_operator(make, x):
    f = make(twice)
    f.register_kernel("cpu", lambda x: x * 10)
    with f.set_kernel_enabled("cpu", False):
        f._destroy()
    message_of(RuntimeError, f.set_kernel_enabled("cpu", False).__enter__)


def test_F16_what_changes_nothing_is_warned_of(make, ns, x):
    f = make(twice)
    f.register_kernel("cpu", lambda x: x * 10)
    with pytest.warns(UserWarning) as warned:
        with f.set_kernel_enabled("cuda", False):
            pass
        with f.set_kernel_enabled("cpu", True):
            pass
        with f.set_kernel_enabled("cpu", False), f.set_kernel_enabled("cpu", False):
            assert values(f(x)) == [2.0, 4.0, 6.0]
    assert [str(each.message) for each in warned] == [
        f"{ns}::twice has no kernel for 'cuda' that could be disabled",
        f"the kernel of {ns}::twice for 'cpu' is enabled already",
        f"the kernel of {ns}::twice for 'cpu' is disabled already",
    ]
    assert {each.filename for each in warned} == {__file__}
    assert values(f(x)) == [10.0, 20.0, 30.0]
    message_of(ValueError, f.set_kernel_enabled, "nowhere")


# F17 --------------------------------------------------------------------------------------


def both_ways(f, *args, **kwargs):
    """The message of the direct call, which is that of the boxed one."""
    text = message_of(RuntimeError, f, *args, **kwargs)
    assert message_of(RuntimeError, f.op._call_boxed, *args, **kwargs) == text
    return text


def aliasing(ns, name, place, result, other, declaration):
    return (
        f"{ns}::{name}: the Python kernel registered at {place}, a function of the module "
        f"{__name__}, returned for result {result} a tensor with the memory of {other}. Results of "
        "a custom operator may not alias its arguments or each other, unless the schema says so: "
        f"return a copy, such as .clone().\nDeclaration: {ns}::{name}{declaration}"
    )


def test_F17_an_argument_itself_or_a_view_of_it(make, ns, x):
    def f(x: Tensor, y: Tensor, view: bool) -> Tensor:
        return y[1:] if view else y

    made = make(f)
    place = here(-1)
    # The nearest caller outside of the package is `make` above.
    place = dump(made.op).partition("CompositeExplicitAutograd[alias]: registered at ")[2]
    place = place.partition(" ")[0]
    y = x.clone()
    says = aliasing(ns, "f", place, 0, "argument 'y'", "(Tensor x, Tensor y, bool view) -> Tensor")
    assert both_ways(made, x, y, False) == both_ways(made, x, y, True) == says
    assert both_ways(made, x, view=False, y=y) == says


def test_F17_every_place_of_arguments_and_results(make, x):
    y = x.clone()
    answer = None

    @make
    def several(
        a: "list[Tensor]", b: "Tensor | None" = None, n: int = 1
    ) -> "tuple[Tensor, Tensor]":
        return answer

    @make
    def listed(a: Tensor, b: Tensor) -> "list[Tensor]":
        return answer

    @make
    def pair(a: Tensor, b: "Tensor | None" = None) -> "tuple[Tensor, Tensor, int]":
        return answer

    answer = (x.clone(), y)
    assert "result 1 a tensor with the memory of argument 'a'" in both_ways(several, [x, y])
    assert "result 1 a tensor with the memory of argument 'b'" in both_ways(several, [x], y)
    assert several([x], n=2) == answer
    z = x.clone()
    answer = (z, z[1:])
    assert "result 1 a tensor with the memory of result 0" in both_ways(several, [x, y])
    answer = (z, z[1:], 3)
    assert "result 1 a tensor with the memory of result 0" in both_ways(pair, x)
    assert "result 0 a tensor with the memory of argument 'b'" in both_ways(pair, x, z)
    answer = (y, y, 3)
    assert "result 1 a tensor with the memory of result 0" in both_ways(pair, x)
    assert "result 0 a tensor with the memory of argument 'a'" in both_ways(pair, y)
    answer = (x, z, 3)
    assert "result 0 a tensor with the memory of argument 'a'" in both_ways(pair, x)
    answer = (z, x.clone(), 3)
    assert pair(x) == answer
    assert pair(x, y) == answer
    answer = [z, x[0]]
    assert "result 0 a tensor with the memory of argument 'a'" in both_ways(listed, x, y)
    for given in ([z, z], [x.clone(), z, z[1:]]):  # within one result
        answer = given
        assert "returned for result 0 several tensors with the same memory" in both_ways(
            listed, x, y
        )
    answer = [z, x.clone()]
    assert all(map(is_same, listed(x, y), answer))


def test_F17_memory_that_went_through_an_array(make, x):
    answer = None

    @make
    def one(a: Tensor) -> Tensor:
        return answer

    @make
    def pair(a: Tensor, b: Tensor) -> "tuple[Tensor, Tensor]":
        return answer

    array = x.numpy()
    for given in (opyard.from_numpy(array), opyard.from_numpy(array[1:])):
        answer = given
        assert "result 0 a tensor with the memory of argument 'a'" in both_ways(one, x)
    y = x.clone()
    answer = (y.clone(), opyard.from_numpy(array[1:]))
    assert "result 1 a tensor with the memory of argument 'b'" in both_ways(pair, y, x)
    answer = (opyard.from_numpy(array), opyard.from_numpy(array))
    assert "result 1 a tensor with the memory of result 0" in both_ways(pair, y, y)
    answer = opyard.from_numpy(array.copy())
    assert one(x) is answer


def is_same(one, other):
    return one is other


def test_F17_within_lists_of_lists_and_dicts(make, x):
    y = x.clone()
    answer = None
    nested = make(lambda x: answer, "nested", schema="(Tensor x) -> Tensor[][]")
    named = make(lambda x: answer, "named", schema="(Tensor x) -> Dict(str, Tensor)")
    inner = [y]
    for given in ([[y], [y]], [inner, inner], [[y, y[:1]]]):
        answer = given
        assert "result 0 several tensors with the same memory" in both_ways(nested, x)
    answer = [[x.clone()], [x]]
    assert "result 0 a tensor with the memory of argument 'x'" in both_ways(nested, x)
    answer = [[y], [x.clone()], []]
    assert len(nested(x)) == 3
    answer = {"a": y, "b": y}
    assert "result 0 several tensors with the same memory" in both_ways(named, x)
    answer = {"a": y, "b": x.clone()}
    assert set(named(x)) == {"a", "b"}
    declared = make(lambda x: [x, x], "declared", schema="(Tensor(a) x) -> Tensor(a)[]")
    assert len(declared(x)) == 2


def test_F17_memory_that_two_storages_share(make, x):
    np = pytest.importorskip("numpy")
    array = np.ones(4)
    answer = None
    one = make(lambda x: answer(x), "one", schema="(Tensor x) -> Tensor")
    two = make(lambda x: answer(x), "two", schema="(Tensor x) -> (Tensor, Tensor)")
    for given in (np.asarray, lambda x: np.asarray(x)[1:]):
        answer = given
        assert "result 0 a tensor with the memory of argument 'x'" in both_ways(one, x)
        assert "result 0 a tensor with the memory of argument 'x'" in message_of(
            RuntimeError, one, array
        )
    answer = lambda _: array  # noqa: E731
    message_of(RuntimeError, one, array[:3])
    message_of(RuntimeError, one, array[3:])
    answer = lambda _: array[2:]  # noqa: E731
    assert values(one(opyard.from_numpy(array[:2]))) == [1.0, 1.0]  # side by side
    answer = lambda _: (array, array[1:])  # noqa: E731
    assert "result 1 a tensor with the memory of result 0" in both_ways(two, x)
    answer = lambda _: (array[:1], array[1:])  # noqa: E731
    assert [len(each) for each in two(x)] == [1, 3]
    listed = make(lambda x: answer(x), "listed", schema="(Tensor x) -> Tensor[]")
    parts = [array[3:], array[:1], array[1:1], array[1:3]]
    answer = lambda _: parts  # noqa: E731
    assert [len(each) for each in listed(x)] == [1, 1, 0, 2]
    parts.append(array[2:3])
    assert "result 0 several tensors with the same memory" in both_ways(listed, x)
    empty = aten.empty([0])
    parts[:] = [empty, x.clone(), empty]
    both_ways(listed, x)
    answer = lambda _: array[:0]  # noqa: E731
    assert values(one(opyard.from_numpy(array))) == []


def test_F17_a_mutated_argument_may_not_be_returned_either(make, x):
    @make(mutates_args=["x"])
    def f(x: Tensor) -> Tensor:
        x += 1
        return x

    assert "the memory of argument 'x'" in both_ways(f, x)


def test_F17_unless_the_schema_says_so(make, x):
    view = make(lambda x: x[1:], "view", schema="(Tensor(a) x) -> Tensor(a)")
    assert values(view(x)) == values(view.op._call_boxed(x)) == [2.0, 3.0]

    part = make(
        lambda x, y: (x, y), "part", schema="(Tensor(a) x, Tensor y) -> (Tensor(a), Tensor)"
    )
    assert "result 1 a tensor with the memory of argument 'y'" in both_ways(part, x, x.clone())
    assert both_ways(part, x, x).count("result 1 a tensor with the memory of argument 'x'")
    fresh = make(lambda x, y: (x, y.clone()), "fresh",
                 schema="(Tensor(a) x, Tensor y) -> (Tensor(a), Tensor)")  # fmt: skip
    assert fresh(x, x)[0] is x


def test_F17_fresh_results_of_every_kind(make, x):
    kept = x.clone()

    @make
    def f(x: Tensor) -> "tuple[Tensor, Tensor]":
        return kept, x.clone()

    assert f(x)[0] is f(x)[0] is kept

    @make
    def none(x: Tensor, y: "Tensor | None") -> "Tensor | None":
        return None

    assert none(x, x) is none(x, None) is none.op._call_boxed(x, x) is None

    @make
    def number(x: Tensor) -> int:
        return 3

    assert number(x) == 3


def test_F17_can_be_left_out(make, x):
    def f(x: Tensor) -> Tensor:
        return x

    made = make(f, check_aliasing=False)
    assert made(x) is made.op._call_boxed(x) is x
    made.register_kernel("cpu", lambda x: x)
    assert made(x) is x
    again = make(f)
    both_ways(again, x)
    again.register_kernel("cpu", lambda x: x)
    both_ways(again, x)


def test_F17_kernels_by_device_and_the_original_one_are_watched(make, x):
    f = make(lambda_of(twice, lambda x: x))
    f.register_kernel("cpu", lambda x: x * 2)
    f(x)
    with f.set_kernel_enabled("cpu", False):
        both_ways(f, x)
    f.register_kernel("cpu", lambda x: x)
    both_ways(f, x)


def test_F17_with_the_python_dispatcher_and_in_a_mode(make, x):
    from opyard.dispatch import enable_python_dispatcher

    f = make(lambda_of(twice, lambda x: x))

    class Through(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            return op(*args, **(kwargs or {}))

    text = both_ways(f, x)
    with enable_python_dispatcher():
        assert message_of(RuntimeError, f, x) == text
    with Through():
        assert message_of(RuntimeError, f, x) == text


def test_F17_other_kernels_are_not_watched(define, x):
    assert define("f(Tensor x) -> Tensor", CPU=lambda x: x)(x) is x


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


# F28 --------------------------------------------------------------------------------------


def add_one_(x: Tensor, n: int = 1) -> Tensor:
    x += n
    return x


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
    assert text.startswith(f"{ns}::f: the Python kernel registered at {__file__}:")
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
    assert text.startswith(f"{ns}::two: the Python kernel registered at {__file__}:")
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
    assert message_of(RuntimeError, plugin.call, f"{ns}::g", x) == both_ways(g, x)
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
