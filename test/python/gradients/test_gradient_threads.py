"""Gradients on several threads at once (G9, G21, A32).

Suspect autograd/src/tape/engine.cpp, accumulate.cpp, and autograd/python/gradients/functions.cpp.
"""

import threading

import pytest
from leaves import leaf
from threads import ROUNDS, THREADS, at_once

import opyard
from opyard import autograd
from opyard.library import Library

pytestmark = pytest.mark.threads


class Doubles(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 2 + x * 0


def test_G21_one_graph_that_is_kept():
    x = leaf([1.0] * 100)
    y = Doubles.apply((x * x).exp()).sum()
    wanted = autograd.grad(y, x, keep_graph=True)[0].tolist()

    def run(_):
        return [autograd.grad(y, x, keep_graph=True)[0].tolist() for _ in range(ROUNDS)]

    assert at_once(run) == [[wanted] * ROUNDS] * THREADS


def test_G21_graphs_of_their_own_add_to_one_leaf():
    w = leaf([1.0, 2.0])

    def run(number):
        for _ in range(ROUNDS):
            (Doubles.apply(w) * (number + 1)).sum().backward()

    at_once(run)
    total = 2.0 * ROUNDS * sum(range(1, THREADS + 1))
    assert w.grad.tolist() == [total, total]


def test_G9_one_graph_that_is_not_kept_is_run_by_one_of_them():
    for _ in range(ROUNDS):
        x = leaf([1.0, 2.0])
        y = Doubles.apply(x * x).sum()

        def run(_, y=y):
            try:
                y.backward()
            except (ValueError, RuntimeError) as error:
                assert "a second time" in str(error)
                return "refused"
            return "ran"

        results = at_once(run)
        assert results.count("ran") <= 1
        if results.count("ran") == 1:
            assert x.grad.tolist() == [4, 8]


def test_A32_modes_belong_to_threads_and_hooks_run_where_the_backward_does():
    def run(number):
        here = threading.get_ident()
        x = leaf([float(number), 1.0])
        for turn in range(ROUNDS):
            with autograd.set_grad_enabled(turn % 2 == number % 2):
                y = x * x
                assert y.requires_grad == (turn % 2 == number % 2)
            if not y.requires_grad:
                continue
            ran_on = []
            y.register_hook(lambda g, ran_on=ran_on: ran_on.append(threading.get_ident()))
            x.grad = None
            y.sum().backward()
            assert ran_on == [here]
            assert x.grad.tolist() == [2.0 * number, 2.0]

    at_once(run)


def test_operators_are_given_formulas_while_others_run_theirs():
    def run(number):
        for turn in range(ROUNDS // 5):
            with Library(f"threads_{number}", "FRAGMENT") as lib:
                lib.define(f"f{turn}(Tensor x) -> Tensor")
                lib.impl(f"f{turn}", lambda x: x * 3, "CPU")
                lib.derivative(f"f{turn}", {"x": "grad * 3"})
                x = leaf([1.0])
                getattr(getattr(opyard.ops, f"threads_{number}"), f"f{turn}")(x).sum().backward()
                assert x.grad.tolist() == [3.0]

    at_once(run)
