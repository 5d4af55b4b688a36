"""Backward functions in profiles.

Suspect profiler/src/functions.cpp, autograd/src/engine.cpp, opyard/_profile/events.py.
"""

import pytest

import opyard
from opyard import autograd
from opyard.profiler import profile


def leaf(*items):
    return opyard.tensor([float(item) for item in items]).requires_grad_()


def backwards_of(prof):
    return [event for event in prof.events() if event.kind == "Backward"]


def trained(x):
    with profile(with_stack=False) as prof:
        (x * x).sum().backward()
    return prof


def test_I35_functions_are_in_the_profile_around_their_operators():
    prof = trained(leaf(1, 2))
    assert [event.name for event in backwards_of(prof)] == [
        "SumBackward",
        "MulBackward",
        "AccumulateGrad",
    ]
    mul = backwards_of(prof)[1]
    inner = [child.name for one in mul.children for child in one.children]
    assert "aten::mul.Tensor" in [*inner, *(child.name for child in mul.children)]
    rows = {row.key: row.count for row in prof.key_averages() if row.kind == "Backward"}
    assert rows["MulBackward"] == 1


def test_I36_functions_have_the_sequence_numbers_of_the_graph():
    x = leaf(1, 2)
    with profile(with_stack=False) as prof:
        y = x * x
        z = y.sum()
        numbers = [z.grad_fn.sequence_nr, y.grad_fn.sequence_nr, -1]
        z.backward()
    assert [event.sequence_number for event in backwards_of(prof)] == numbers
    with profile(with_stack=False) as other:
        opyard.tensor([1.0]) * 2
    assert {event.sequence_number for event in other.events()} == {-1}


def test_I35_a_function_that_raises_ends_its_span():
    class Fails(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            raise ZeroDivisionError

    with profile(with_stack=False) as prof, pytest.raises(ZeroDivisionError):
        Fails.apply(leaf(1)).backward()
    (event,) = [event for event in backwards_of(prof) if event.name == "FailsBackward"]
    assert event.cuts == []
