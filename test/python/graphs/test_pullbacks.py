"""Pullbacks in graphs: Python functions that a later stage runs backward from.

Suspect autograd/src/tape/pullback.cpp, and jit/python/graphs/python_operation.cpp for the
functions.
"""

import gc
import weakref
from typing import ClassVar

import pytest

import opyard
from opyard import autograd, jit


def t(*items):
    return opyard.tensor([float(item) for item in items])


class Cube(autograd.Function):
    grad_modes: ClassVar[list] = []

    @staticmethod
    def forward(ctx, x, times):
        ctx.save_for_backward(x)
        ctx.times = times
        return x * x * x * times

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        Cube.grad_modes.append(autograd.is_grad_enabled())
        return grad * 3 * x * x * ctx.times, None


def staged(function, *, requires_grad=None, evals=1, **options):
    """Stage 0 calls the function of %x; each later one runs backward from the one before."""
    graph = jit.Graph()
    x = graph.add_input("x")
    node = graph.append_node(jit.create_python_op(graph, function, [x], **options))
    graph.register_output(node.outputs()[0])
    for stage in range(evals):
        count = len(node.outputs())
        pullback = autograd.add_pullback(node, requires_grad)
        graph.advance_stage()
        gradients = [graph.add_input(f"g{stage}_{i}") for i in range(count)]
        node = graph.append_node(autograd.create_eval(graph, gradients, pullback))
        for output in node.outputs():
            graph.register_output(output)
    return graph


def run_stage(state, inputs):
    """The outputs, which are one object if there is one."""
    outputs = state.run_one_stage(*inputs)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def run(graph, *stages):
    state = jit.InterpreterState(jit.compile(graph))
    return [run_stage(state, inputs) for inputs in stages]


def test_H36_a_python_function_is_run_backward_by_a_later_stage():
    graph = staged(Cube, scalars=[2.0])
    (y,), (dx,) = run(graph, [t(1, 2)], [t(1, 10)])
    assert y.tolist() == [2.0, 16.0]
    assert dx.tolist() == [6.0, 240.0]
    assert Cube.grad_modes[-1] is True  # create_graph, so that it can give a pullback
    assert not y.requires_grad and not dx.requires_grad


def test_H38_the_function_gets_what_requires_a_gradient_and_gives_it_without():
    seen = []

    def function(x):
        seen.append((x.requires_grad, autograd.is_grad_enabled()))
        return x * 2

    x = t(3).requires_grad_()
    (y,), (dx,) = run(staged(function), [x], [t(1)])
    assert seen == [(True, True)]
    assert (y.requires_grad, dx.tolist(), x.grad) == (False, [2.0], None)
    run(staged(function, requires_grad=[False]), [x], [t(1)])
    assert seen[1] == (False, True)


def test_H37_a_pullback_that_is_not_used_is_not_made():
    seen = []

    def function(x):
        seen.append((x.requires_grad, autograd.is_grad_enabled()))
        return x * 2

    graph = jit.Graph()
    node = graph.append_node(jit.create_python_op(graph, function, [graph.add_input("x")]))
    pullback = autograd.add_pullback(node)
    graph.register_output(node.outputs()[0])
    assert jit.compile(graph)(t(3)).tolist() == [6.0]
    assert seen == [(False, False)]
    assert not pullback.uses()


def test_H40_derivatives_of_derivatives_by_stages():
    graph = staged(lambda x: x * x * x, evals=2)
    (_,), (first,), (second,) = run(graph, [t(2)], [t(1)], [t(10)])
    assert first.tolist() == [12.0]  # 3 x x g
    assert second.tolist() == [120.0]  # its derivative for g, times 10


def test_H40_states_share_functions_and_each_runs_them():
    state = jit.InterpreterState(jit.compile(staged(Cube, scalars=[1.0])))
    run_stage(state, [t(2)])
    others = [state.clone() for _ in range(3)]
    for number, one in enumerate([state, *others]):
        (dx,) = run_stage(one, [t(number)])
        assert dx.tolist() == [12.0 * number]


def test_H36_an_exception_of_backward_is_the_one_that_comes_out():
    wrong = ZeroDivisionError("here")

    class Fails(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            raise wrong

    with pytest.raises(ZeroDivisionError) as caught:
        run(staged(Fails), [t(1)], [t(1)])
    assert caught.value is wrong


def test_H40_wrong_gradients_and_nodes_are_named():
    graph = staged(lambda x: x * 2)
    with pytest.raises(ValueError, match="gradient 0 is .*sizes"):
        run(graph, [t(1, 2)], [t(1)])
    nodes = list(graph.nodes())
    x = graph.inputs()[0]
    pullback = nodes[0].outputs()[1]
    with pytest.raises(ValueError, match="0 gradients were given for a call with 1 outputs"):
        autograd.create_eval(graph, [], pullback)
    with pytest.raises(ValueError, match="a pullback is wanted"):
        autograd.create_eval(graph, [x], x)
    with pytest.raises(ValueError, match="gives a pullback already"):
        autograd.add_pullback(nodes[0])
    with pytest.raises(ValueError, match="has none: its operator has a derivative"):
        autograd.add_pullback(graph.create("aten::relu", [x]))
    with pytest.raises(TypeError, match="a Node of a graph is wanted, not int"):
        autograd.add_pullback(3)


def test_H36_the_text_shows_pullbacks_and_an_eval_is_read_from_it():
    text = str(staged(lambda x: x * 2))
    assert "Pullback" in text and "prim::Eval(%g0_0, %" in text
    read = jit.parse_ir(
        "graph(%h : Pullback):\n  return ()\nstage 1(%g : Tensor):\n"
        "  %x : Tensor = prim::Eval(%g, %h)\n  return (%x)\n"
    )
    with pytest.raises(TypeError, match="Pullback"):
        run(read, [t(1)])
    jit.compile(read)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ("%g, %h", "its last input %h is declared as Tensor"),
        ("", "it has no inputs"),
    ],
)
def test_H40_an_eval_of_a_text_has_a_pullback_last(inputs, said):
    read = jit.parse_ir(
        f"graph(%g : Tensor, %h : Tensor):\n  %x : Tensor = prim::Eval({inputs})\n  return (%x)\n"
    )
    with pytest.raises(ValueError, match=f"takes gradients and, last, a pullback, and {said}"):
        jit.compile(read)


def test_G20_the_function_dies_with_its_graph_and_cycles_are_collected():
    class Held:
        def __call__(self, x):
            return x * 2

    function = Held()
    gone = weakref.ref(function)
    graph = staged(function)
    function.graph = graph
    run(graph, [t(1)], [t(1)])
    del function, graph
    gc.collect()
    assert gone() is None
