"""test_own_recursion.py: a kernel in Python that calls its own operator without end.

Suspect operators/own_recursion.cpp.
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


def test_other_recursions_are_not_called_so(define, x):
    first = define("first(Tensor x) -> Tensor", CPU=lambda x: second(x))
    second = define("second(Tensor x) -> Tensor", CPU=lambda x: first(x))

    def deep(x):
        return deep(x)

    own = define("own(Tensor x) -> Tensor", CPU=deep)
    assert notes_of(lambda: first(x)) == []
    assert notes_of(lambda: own(x)) == []
    assert notes_of(lambda: own(x)) == []


def test_one_exception_that_is_raised_again_is_not_called_so(define, x):
    error = RecursionError("mine")

    def kernel(x):
        raise error

    op = define("op(Tensor x) -> Tensor", CPU=kernel)
    for _ in range(3):
        assert notes_of(lambda: op(x)) == []
