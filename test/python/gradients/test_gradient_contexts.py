"""Cycles through hooks and contexts of functions are collected; those in use stay.

Suspect autograd/python/gradients/, what its objects tell the collector.
"""

import gc
import weakref

import pytest
from leaves import leaf

import opyard
from opyard import autograd

aten = opyard.ops.aten


class Kept:
    """Something of which a weak reference says whether it is still there."""


def collected(make):
    """Whether what make(kept) leaves behind is found by the collector."""
    kept = Kept()
    gone = weakref.ref(kept)
    make(kept)
    del kept
    gc.collect()
    return gone() is None


def hook_of_a_leaf(kept):
    x = leaf([1.0])
    x.register_hook(lambda grad: (x, kept) and None)


def hook_of_a_result(kept):
    y = leaf([1.0]) * 2
    y.register_hook(lambda grad: (y, kept) and None)


def hook_of_a_function(kept):
    y = leaf([1.0]) * 2
    y.__dict__  # noqa: B018
    node = y.grad_fn
    node.register_prehook(lambda grads: (y, kept) and None)
    node.register_hook(lambda grads, given: (y, kept) and None)


def context_of_a_function(kept):
    class Doubles(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept, ctx.result = kept, x * 2
            return ctx.result

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    Doubles.apply(leaf([1.0]))


def context_of_an_operator(kept):
    with opyard.library.Library("collected", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x * 2, "CPU")

        def setup(ctx, inputs, output):
            ctx.kept, ctx.result = kept, output

        opyard.library.register_autograd(
            "collected::f", lambda ctx, grad: grad * 2, setup_context=setup, lib=lib
        )
        opyard.ops.collected.f(leaf([1.0]))
        del setup


@pytest.mark.parametrize(
    "make",
    [
        hook_of_a_leaf,
        hook_of_a_result,
        hook_of_a_function,
        context_of_a_function,
        context_of_an_operator,
    ],
    ids=lambda make: make.__name__,
)
def test_G15_cycles_through_hooks_and_contexts_are_collected(make):
    assert collected(make)


def test_G15_what_the_collector_sees_of_a_graph_in_use_stays():
    seen = []
    x = leaf([1.0])
    y = x * 2
    y.register_hook(lambda grad, y=y: seen.append(y.tolist()))
    z = y * 3
    del y
    gc.collect()
    z.backward()
    assert seen == [[2.0]]
    assert x.grad.tolist() == [6.0]
