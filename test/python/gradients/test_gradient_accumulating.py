"""Accumulation of gradients in a leaf: in place, by a copy, or by taking the tensor (G19).

Suspect autograd/src/accumulate.cpp.
"""

import pytest
from leaves import leaf

import opyard
from opyard import autograd


def test_G19_what_is_accumulated_is_no_one_elses():
    x = leaf([1.0, 2.0])
    seed = opyard.tensor([1.0, 1.0], dtype=opyard.float64)
    (x + 0).backward(seed)
    seed.mul_(10)
    assert x.grad.tolist() == [1, 1]


@pytest.mark.filterwarnings("ignore::UserWarning")  # of the cycle that create_graph makes, once
def test_G19_a_second_gradient_is_added_in_place_unless_it_has_a_gradient_itself():
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    first = x.grad
    address = first.data_ptr()
    (x * x).sum().backward()
    assert x.grad.data_ptr() == address
    assert first.tolist() == x.grad.tolist() == [4, 8]
    (x * x).sum().backward(create_graph=True)
    assert x.grad.data_ptr() != address
    assert (first.tolist(), x.grad.tolist()) == ([4, 8], [6, 12])


@pytest.mark.parametrize("kept", [False, True])
def test_G19_a_gradient_without_another_owner_is_taken_as_it_is(kept):
    addresses, others = [], []

    class Noting(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            made = gradient * 2
            addresses.append(made.data_ptr())
            if kept:
                others.append(made)
            return made

    x = leaf([1.0, 2.0])
    Noting.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert (x.grad.data_ptr() == addresses[0]) is not kept
