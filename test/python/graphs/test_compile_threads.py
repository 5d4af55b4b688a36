"""Threads that share one compiled function (H47), with its graphs, plans of groups and gradients.

Suspect opyard/_jit/compiled.py, autograd/src/tape/staged.cpp, and jit/src/code/fused_group.cpp.
"""

import warnings

import pytest
from leaves import leaf
from threads import ROUNDS, THREADS, at_once

import opyard
from opyard import autograd, jit

pytestmark = pytest.mark.threads

aten = opyard.ops.aten


def function(x, w):
    return aten.tanh(x * w + x) * w


def result_and_gradients(call, *rows):
    tensors = [leaf(row) for row in rows]
    result = call(*tensors)
    result.sum().backward()
    return [one.tolist() for one in (result, *(tensor.grad for tensor in tensors))]


def test_H47_threads_share_one_compiled_function():
    made = jit.compile(function)

    def run(number):
        for step in range(ROUNDS):
            rows = [float(number), float(step)], [0.5, 0.25]
            assert result_and_gradients(made, *rows) == result_and_gradients(function, *rows)

    at_once(run)
    assert len(made.graphs()) == 1


def test_H47_threads_that_come_first_make_one_graph_of_a_kind():
    rows = [0.5, 1.0, 1.5], [2.0, 3.0, 4.0]
    wanted = result_and_gradients(function, *rows)
    for _ in range(ROUNDS):
        made = jit.compile(function)
        assert at_once(lambda _, made=made: result_and_gradients(made, *rows)) == [wanted] * THREADS
        assert len(made.graphs()) == 1


def test_H47_kinds_are_made_while_others_run():
    made = jit.compile(function)

    def run(number):
        for step in range(ROUNDS):
            size = (number + step) % 17 + 1
            x = opyard.arange(size) * 0.5
            assert made(x, x).tolist() == function(x, x).tolist()
            assert f"float32[{size}]" in made.explain()

    with warnings.catch_warnings():
        warnings.simplefilter("error", jit.CompileWarning)
        at_once(run)
    assert len(made.graphs()) == len({(n + s) % 17 for n in range(THREADS) for s in range(ROUNDS)})


def test_H43_plans_of_one_group_are_made_by_several_threads():
    graph = jit.parse_ir("""graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::tanh(%a)
  %c : Tensor = aten::add(%b, %x)
  return (%c)
""")
    assert jit.passes.fuse(graph) == 1
    code = jit.compile(graph)

    def run(number):
        for step in range(ROUNDS):
            x = opyard.ones((number + step) % 24 + 1) * (step + 1)  # more kinds than are kept
            assert code(x, x).tolist() == (aten.tanh(x * x) + x).tolist()

    at_once(run)


def test_G9_threads_run_one_backward_at_once():
    made = jit.compile(lambda x: aten.exp(x) * x)
    x = leaf([0.5] * 64)
    made(x)
    y = made(x).sum()
    wanted = autograd.grad(y, [x], retain_graph=True)[0].tolist()

    def run(_):
        return [
            autograd.grad(y, [x], retain_graph=True)[0].tolist() == wanted for _ in range(ROUNDS)
        ]

    assert at_once(run) == [[True] * ROUNDS] * THREADS
