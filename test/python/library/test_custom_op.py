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
import weakref

import pytest
from custom_ops import MADE_IN, lambda_of, twice, values
from raised import message_of

import opyard
from opyard import Tag, Tensor, _bind, ops
from opyard.dispatch import dangling, dump, dump_table, has_kernel
from opyard.library import CustomOpDef, Library, custom_op

aten = ops.aten
CUDA = opyard.device("cuda")


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
        "custom_op: the name must be a str such as 'ns::name', not int"
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
    assert second.op is handle is packet.default is getattr(ops, ns).twice.default
    for each in (first, second, handle, packet):
        assert values(each(x)) == [3.0, 6.0, 9.0]
    # Nothing of the first is left.
    assert not has_kernel(handle, "CUDA")
    assert dump(handle).count("registered at") == 3 and "(inactive)" not in dump(handle)
    message_of(RuntimeError, handle, meta)
    text = message_of(RuntimeError, first.register_kernel, "cpu", twice)
    assert text.startswith(f"{ns}::twice was made again by custom_op() at {MADE_IN}:")
    assert text.endswith("register with the newer one")
    assert f", which replaced this definition of {MADE_IN}:" in text
    message_of(RuntimeError, first.register_fake, twice)
    with pytest.raises(RuntimeError), first.set_kernel_enabled("cpu", False):
        pass
    first._destroy()  # which is not the one any more
    assert values(handle(x)) == [3.0, 6.0, 9.0]
    _bind.check_invariants()


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

    before, everything = (dump(f.op), dump_table(f.op)), registry()
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
    assert (dump(f.op), dump_table(f.op)) == before
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
        (5, "must be a str or None, not int"),
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
