"""Functions of a graph called by hand, their numbers, and the order in which they run (G1, G3).

Suspect autograd/src/tape/engine.cpp, and [Sequence] in autograd/include/opyard/autograd/function.h.
"""

import threading

import pytest
from leaves import leaf

import opyard
from opyard import autograd

aten = opyard.ops.aten


def test_G1_a_function_takes_a_gradient_for_each_result_and_gives_one_for_each_argument():
    x, w = leaf([2.0]), leaf([3.0])
    function = (x * w).grad_fn
    assert function.num_inputs == 1
    given, other = function(opyard.tensor([10.0], dtype=opyard.float64))
    assert (given.tolist(), other.tolist()) == ([30.0], [20.0])
    assert x.grad is None, "nothing is accumulated"
    parts = aten.unbind(leaf([[1.0], [2.0], [3.0]]))
    function = parts[0].grad_fn
    assert function.num_inputs == 3
    whole = function(None, opyard.tensor([5.0], dtype=opyard.float64), None)
    assert whole.tolist() == [[0.0], [5.0], [0.0]]
    with pytest.raises((TypeError, ValueError), match="expected 3 arguments, got 1"):
        function(None)


def test_G3_sequence_numbers_grow():
    x = leaf([1.0])
    a = x * 2
    b = a * 2
    assert b.grad_fn.sequence_nr > a.grad_fn.sequence_nr
    [(accumulate, _)] = {*a.grad_fn.next_functions} - {(None, 0)}
    assert accumulate.sequence_nr == 2**64 - 1, "so that it runs as soon as it is ready"


def test_G3_sequence_numbers_are_each_threads_own():
    x = leaf([1.0])
    for _ in range(10):
        x * 2
    there = []

    def work():
        there.extend([(x * 2).grad_fn.sequence_nr, (x * 2).grad_fn.sequence_nr])

    before = (x * 2).grad_fn.sequence_nr
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert there == [0, 1]
    assert (x * 2).grad_fn.sequence_nr == before + 1


def test_G3_a_run_inside_of_a_run_has_ended_before_another_function_of_the_outer_one_runs():
    ran = []

    class Noting(autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name = name
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            ran.append(ctx.name)
            if ctx.name == "begins another":
                old.backward()
            return gradient, None

    x, y = leaf([1.0]), leaf([1.0])
    y.register_post_accumulate_grad_hook(lambda _: ran.append("inner leaf"))
    old = Noting.apply(Noting.apply(y, "inner, oldest"), "inner")
    first = Noting.apply(x, "outer, younger than the inner ones")
    last = Noting.apply(x, "begins another")
    (first + last).sum().backward()
    assert ran == [
        "begins another",
        "inner",
        "inner, oldest",
        "inner leaf",
        "outer, younger than the inner ones",
    ]


def test_G3_of_functions_that_are_ready_the_youngest_runs_first():
    ran = []

    class Noting(autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name = name
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            ran.append(ctx.name)
            return gradient, None

    x = leaf([1.0])
    first, second, third = (Noting.apply(x, name) for name in ("first", "second", "third"))
    (third + first + second).sum().backward()
    assert ran == ["third", "second", "first"]
    # A leaf is as young as can be: its gradient is added up before an older function runs.
    a, b = leaf([1.0]), leaf([1.0])
    for one in (a, b):
        one.register_post_accumulate_grad_hook(
            lambda tensor: ran.append("a" if tensor is a else "b")
        )
    old, young = Noting.apply(b, "old"), Noting.apply(a, "young")
    ran.clear()
    (old + young).sum().backward()
    assert ran == ["young", "a", "old", "b"]
