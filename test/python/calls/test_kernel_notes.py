"""test_kernel_notes.py: notes on exceptions of kernels and handlers in Python.

Suspect operators/kernel_notes.cpp.
"""

import os
import sys

import pytest

import opyard
from opyard import jit
from opyard.library import override

pytestmark = pytest.mark.skipif("OPYARD_SANITIZER" in os.environ, reason="a level takes more stack")


@pytest.fixture(autouse=True)
def shallow():
    former = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    yield
    sys.setrecursionlimit(former)


@pytest.fixture
def op(define):
    return define("f(Tensor x, int n=1) -> Tensor", CPU=lambda x, n=1: x + n)


@pytest.fixture
def x():
    return opyard.tensor([1.0])


def notes_of(call):
    with pytest.raises(RecursionError) as caught:
        call()
    return [note for note in getattr(caught.value, "__notes__", []) if "without end" in note]


# Kernels of each kind; each calls `again`.
KINDS = {
    "override": lambda op, again: override(op, "CPU", lambda x, n=1: again(x)),
    "of tensors alone": lambda op, again: override(op, "CPU", lambda x, *n: again(x)),
    "with call_next": lambda op, again: override(
        op, "CPU", lambda call_next, x, n=1: again(x), with_next=True
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("caller", ["packet", "operator", "graph"])
def test_a_kernel_that_calls_its_operator_is_told_what_to_call(op, x, kind, caller):
    name = op.default.name()
    graph = jit.parse_ir(f"graph(%x : Tensor):\n  %y : Tensor = {name}(%x)\n  return (%y)")
    again = {"packet": op, "operator": op.default, "graph": jit.compile(graph)}[caller]
    with KINDS[kind](op, again):
        (note,) = notes_of(lambda: again(x))
    assert note.startswith(f"{name}: the Python kernel registered at {__file__}:")
    assert note.endswith(
        f" calls {name}, and so itself, without end; registered with with_next=True it gets a "
        "function that calls the kernel below it"
    )
    assert op(x).tolist() == [2.0]


def test_kernels_with_rules_and_key_sets_are_told_as_well(library, ns, x):
    library.define("g(Tensor x) -> Tensor")
    library.impl("g", lambda keys, x: getattr(opyard.ops, ns).g(x), "CPU", with_keyset=True)
    assert len(notes_of(lambda: getattr(opyard.ops, ns).g(x))) == 1
    custom = opyard.library.custom_op(
        f"{ns}::c", lambda x: custom(x), mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    assert len(notes_of(lambda: custom(x))) == 1


def test_two_kernels_that_call_each_other_are_told_of_both(define, x):
    first = define("first(Tensor x) -> Tensor", CPU=lambda x: second(x))
    second = define("second(Tensor x) -> Tensor", CPU=lambda x: first(x))
    [note] = notes_of(lambda: first(x))
    names = sorted(note.count(f"{op.default.name()}") for op in (first, second))
    assert names == [1, 1]
    assert note.count(f"registered at {__file__}:") + note.count("conftest.py:") == 2
    assert " call each other without end; registered with with_next=True one of them gets" in note


def test_a_kernel_and_a_handler_that_call_each_other_are_told_of_both(define, x):
    class Calling(opyard.Tensor):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            return second(x)

    first = define("first(Tensor x) -> Tensor")
    second = define("second(Tensor x) -> Tensor", CPU=lambda x: first(wrapped))
    wrapped = opyard.tensor([1.0]).as_subclass(Calling)
    [note] = notes_of(lambda: first(wrapped))
    assert "__opyard_dispatch__ of" in note and "Calling" in note
    assert first.default.name() in note and second.default.name() in note
    assert "call each other without end" in note


def test_other_recursions_are_not_called_so(define, x):
    def deep(x):
        return deep(x)

    own = define("own(Tensor x) -> Tensor", CPU=deep)
    assert notes_of(lambda: own(x)) == []
    assert notes_of(lambda: own(x)) == []
    third = define("third(Tensor x) -> Tensor", CPU=lambda x: fourth(x))
    fourth = define("fourth(Tensor x) -> Tensor", CPU=lambda x: fifth(x))
    fifth = define("fifth(Tensor x) -> Tensor", CPU=lambda x: third(x))
    assert notes_of(lambda: third(x)) == []


def test_one_exception_that_is_raised_again_is_not_called_so(define, x):
    error = RecursionError("mine")

    def kernel(x):
        raise error

    op = define("op(Tensor x) -> Tensor", CPU=kernel)
    for _ in range(3):
        assert notes_of(lambda: op(x)) == []


class Again(opyard.Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return op(*args, **kwargs or {})


def test_a_class_that_calls_its_operator_is_told_what_goes_on_below(x):
    tensor = opyard.Tensor.make_subclass(Again, x)
    (note,) = notes_of(lambda: tensor.sum())
    assert note.startswith(
        f"aten::sum: __opyard_dispatch__ of the class {Again.__name__} calls aten::sum, and so "
        "itself, without end; super().__opyard_dispatch__(op, types, args, kwargs) goes on below it"
    )


def test_a_mode_that_enters_itself_again_is_told_that_it_is_off(x):
    class Twice(opyard.dispatch.DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            with self:
                return op(*args, **kwargs or {})

    with Twice():
        (note,) = notes_of(lambda: x + 1)
    assert " of the mode " in note and note.endswith("the mode is off, unless it is entered again")


def test_where_no_other_kernel_is_nothing_below_is_advised(define, x):
    op = define("alone(Tensor x) -> Tensor", CPU=lambda x: op(x))
    (note,) = notes_of(lambda: op(x))
    assert note.endswith("without end; there is no other kernel of it at CPU to call")


def test_of_a_call_that_a_kernel_does_not_take_the_operator_is_named(define, x):
    op = define("op(Tensor x, int n=3, *, int m=4) -> Tensor", CPU=lambda x, n: x * n)
    name = op.default.name()
    assert op(x, 2).tolist() == [2.0]
    for call in (lambda: op(x), lambda: op(x, 3), lambda: op(x, 2, m=5)):
        with pytest.raises(TypeError) as caught:
            call()
        (note,) = caught.value.__notes__
        assert note.startswith(f"{name}: the Python kernel registered at ")
        assert "arguments that equal their default are left out" in note
        assert note.endswith(f"Declaration: {op.default.declaration}")


def test_a_type_error_of_the_kernel_itself_has_no_such_note(define, x):
    def kernel(x, n=3):
        return len(n)

    op = define("op(Tensor x, int n=3) -> Tensor", CPU=kernel)
    with pytest.raises(TypeError, match="has no len") as caught:
        op(x)
    assert not hasattr(caught.value, "__notes__")
