"""Handlers that write: the caller gets the argument, and the write is counted.

Suspect pyfallback/kernels/handlers.cpp, [Returned], and operators/direct_call.cpp.
"""

import numpy as np
import pytest
from wrapped import Wrapped

import opyard
from opyard import autograd
from opyard.dispatch import DispatchMode
from opyard.library import Library

aten = opyard.ops.aten


def wrapped(*values, **options):
    return Wrapped.of(opyard.tensor(values), **options)


IN_PLACE = {
    "method": lambda w: w.mul_(3),
    "operator": lambda w: aten.mul_.Tensor(w, wrapped(3.0, 3.0)),
    "stack": lambda w: aten.mul_.Tensor(w, np.array([3.0, 3.0], np.float32)),
    "out": lambda w: aten.mul.out(wrapped(1.0, 2.0), wrapped(3.0, 3.0), out=w),
    "augmented": lambda w: w.__imul__(3),
}


@pytest.mark.parametrize("write", IN_PLACE.values(), ids=list(IN_PLACE))
def test_E4_the_caller_gets_the_argument_that_a_handler_wrote(write):
    w = wrapped(1.0, 2.0)
    assert write(w) is w
    assert w.inner.tolist() == [3.0, 6.0] and w._version == 1


def test_E4_so_it_does_for_several_results_and_fresh_ones_stay():
    def kernel(x, *, first, second):
        np.copyto(first.numpy(), x.numpy())
        np.copyto(second.numpy(), x.numpy() * 2)
        return first, x * 3, second

    first, second = wrapped(0.0), wrapped(0.0)
    with Library("written_pair", "DEF") as lib:
        lib.define(
            "pair(Tensor x, *, Tensor(a!) first, Tensor(b!) second)"
            " -> (Tensor(a!), Tensor, Tensor(b!))"
        )
        lib.impl("pair", kernel, "CPU")
        given = opyard.ops.written_pair.pair(wrapped(5.0), first=first, second=second)
    assert given[0] is first and given[2] is second and type(given[1]) is Wrapped
    assert [one.inner.tolist() for one in given] == [[5.0], [15.0], [10.0]]


class Giving(DispatchMode):
    def __init__(self, answer):
        self.answer = answer

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        op(*args, **(kwargs or {}))
        return self.answer


@pytest.mark.parametrize("answer", [None, opyard.ones(1)], ids=["None", "another"])
def test_E4_whatever_a_mode_gives_for_an_argument(answer):
    x, out = opyard.tensor([1.0, 2.0]), opyard.zeros(2)
    with Giving(answer):
        assert x.add_(1) is x
        assert aten.add_.Tensor(x, np.ones(2, np.float32)) is x
        assert aten.add.out(x, x, out=out) is out
    assert x.tolist() == [3.0, 4.0] and out.tolist() == [6.0, 8.0]
    with Giving("text"), pytest.raises(RuntimeError, match="returned a value of type 'str'"):
        x.add_(1)


def test_G19_a_wrapper_subclass_gets_a_second_gradient():
    x = wrapped(1.0, 2.0, requires_grad=True)
    (x * x).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first and first.inner.tolist() == [5.0, 7.0]


def test_G11_a_write_to_a_wrapper_is_found_by_its_graph():
    x = wrapped(1.0, 2.0, requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    with autograd.no_grad():
        y.mul_(2)
    with pytest.raises(ValueError, match="modified by an inplace operation"):
        z.backward()
