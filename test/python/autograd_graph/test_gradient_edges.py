"""G1, G4, G6, G15: edges from and to which a backward runs, hooks on several tensors, what
functions saved by name, and what is noted at them.

Suspect autograd/python/opyard/_autograd/edges.py and functions.py, and saved_fields.cpp of
autograd/src/saved.
"""

import gc
import weakref

import pytest
from leaves import leaf

import opyard
from opyard import autograd
from opyard.autograd import graph

aten = opyard.ops.aten


# ---- edges


def test_G4_a_backward_begins_and_ends_at_edges():
    x = leaf([2.0, 3.0])
    y = x * x
    at = graph.get_gradient_edge(y)
    assert at.node == y.grad_fn and at.output_nr == 0
    z = (y * 3).sum()
    root = graph.get_gradient_edge(z)
    del y
    (found,) = autograd.grad(root, at, retain_graph=True)
    assert found.tolist() == [3.0, 3.0]
    first, second = autograd.grad(z, [at, x], retain_graph=True)
    assert (first.tolist(), second.tolist()) == ([3.0, 3.0], [12.0, 18.0])
    ones = opyard.ones(2, dtype=opyard.float64)
    (found,) = autograd.grad(at, x, grad_outputs=ones, retain_graph=True)
    assert found.tolist() == [4.0, 6.0]
    autograd.backward(root)
    assert x.grad.tolist() == [12.0, 18.0]


def test_G4_the_edge_of_a_leaf_is_what_accumulates_for_it():
    x = leaf([2.0])
    edge = graph.get_gradient_edge(x)
    assert edge.node.name() == "AccumulateGrad"
    (x * 5).backward(inputs=[edge])
    assert x.grad.tolist() == [5.0]
    (found,) = autograd.grad(x * 7, edge)
    assert found.tolist() == [7.0]


def test_G4_of_several_results_each_has_an_edge_of_its_own():
    x = leaf([1.0, 2.0])
    first, second = aten.unbind(x * 1)
    edges = [graph.get_gradient_edge(one) for one in (first, second)]
    assert [edge.output_nr for edge in edges] == [0, 1]
    assert edges[0].node == edges[1].node
    found = autograd.grad(first * 3 + second * 5, edges)
    assert [one.item() for one in found] == [3.0, 5.0]


def test_G4_what_has_no_edge_is_refused():
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(opyard.ones(2))
    with pytest.raises(TypeError, match="a Tensor is wanted"):
        graph.get_gradient_edge(3)
    x = leaf([1.0])
    y = x.exp()
    with pytest.raises(RuntimeError, match="are those of leaves"):
        (y * 2).backward(inputs=[graph.get_gradient_edge(y)])
    with pytest.raises(ValueError, match="1 inputs"):
        autograd.grad(y, graph.GradientEdge(y.grad_fn, 3))


# ---- hooks on several tensors


def test_G6_a_hook_on_several_tensors_is_called_once_with_all_gradients():
    seen = []
    x, y, z = leaf([1.0]), leaf([2.0]), leaf([3.0])
    product = x * y
    handle = graph.register_multi_grad_hook([x, product, z], seen.append)
    (product * 2 + x).backward(retain_graph=True)
    assert [[None if g is None else g.item() for g in one] for one in seen] == [[5.0, 2.0, None]]
    seen.clear()
    autograd.grad(product * 2 + z, [y, z])
    assert [[None if g is None else g.item() for g in one] for one in seen] == [[None, 2.0, 1.0]]
    seen.clear()
    handle.remove()
    (x * z).backward()
    assert seen == []


def test_G6_a_hook_on_several_tensors_sees_the_first_gradient():
    seen = []
    x, y = leaf([1.0]), leaf([2.0])
    a, b = x * 2, y * 3
    none = opyard.ones(1)
    handle = graph.register_multi_grad_hook([a, none, b], seen.append, mode="any")
    (a * 5 + b * 7).backward()
    assert [one.item() for one in seen] in ([5.0], [7.0])
    a, b = x * 2, y * 3
    with handle:
        pass
    (a * b).backward()
    assert len(seen) == 1


def test_G6_a_backward_that_failed_leaves_nothing_to_the_next():
    seen = []
    x, y = leaf([1.0]), leaf([2.0])
    fails = [True]

    def fail(gradient):
        if fails[0]:
            raise KeyError("once")

    graph.register_multi_grad_hook([x, y], seen.append)
    y.register_hook(fail)
    for _ in range(2):
        with pytest.raises(KeyError):
            (x * y).backward()
    fails[0] = False
    seen.clear()
    (x * y).backward()
    assert [[g.item() for g in one] for one in seen] == [[2.0, 1.0]]


def test_G6_arguments_of_a_hook_on_several_tensors_are_checked():
    x = leaf([1.0])
    with pytest.raises(ValueError, match=r"one of \('all', 'any'\) but got 'some'"):
        graph.register_multi_grad_hook([x], print, mode="some")
    with pytest.raises(TypeError, match="fn must be a function"):
        graph.register_multi_grad_hook([x], 3)
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.register_multi_grad_hook([opyard.ones(1)], print)


def test_G15_hooks_on_several_tensors_keep_no_graph():
    x = leaf([1.0])
    y = x.exp()
    graph.register_multi_grad_hook([x, y], lambda gradients: None)
    seen = weakref.ref(y)
    del x, y
    gc.collect()
    assert seen() is None


# ---- what functions saved, and what is noted


def test_G10_what_a_function_saved_has_the_names_of_the_call():
    x, w = leaf([2.0, 3.0]), leaf([5.0, 7.0])
    node = (x * w).grad_fn
    assert (node._saved_self.tolist(), node._saved_other.tolist()) == ([2.0, 3.0], [5.0, 7.0])
    assert node._saved_self is x
    y = x.exp()
    assert y.grad_fn._saved_result.tolist() == y.tolist()
    assert (x * opyard.ones(2, dtype=opyard.float64)).grad_fn._saved_self is None
    values, indices = aten.max.dim(x, 0)
    assert values.grad_fn._saved_result1.tolist() == indices.tolist()
    assert values.grad_fn._saved_dim == 0
    node = aten.clamp(x, 1, 3).grad_fn
    assert (node._saved_min, node._saved_max) == (1, 3)


def test_G10_a_saved_result_leads_back_to_its_function():
    y = leaf([2.0]).exp()
    assert y.grad_fn._saved_result.grad_fn == y.grad_fn
    with autograd.no_grad():
        assert y.grad_fn._saved_result.grad_fn is None


def test_G10_what_was_freed_or_written_is_not_shown():
    x = leaf([2.0])
    y = x.exp()
    node = y.grad_fn
    y.backward()
    with pytest.raises(RuntimeError, match="they have already been freed"):
        node._saved_result  # noqa: B018
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.grad_fn.next_functions[0][0]._saved_result  # noqa: B018


def test_G10_names_that_are_not_there_are_refused_with_those_that_are():
    node = leaf([2.0]).exp().grad_fn
    with pytest.raises(AttributeError, match=r"Exp.* has no attribute '_saved_self'.*_result"):
        node._saved_self  # noqa: B018
    with pytest.raises(AttributeError, match=r"no saved_tensors; what it saved are _saved_result"):
        node.saved_tensors  # noqa: B018
    assert "_saved_result" in dir(node) and "_raw_saved_result" in dir(node)


def test_G1_what_is_noted_at_a_function_stays_with_it():
    x = leaf([2.0])
    y = x.exp()
    y.grad_fn.metadata["name"] = "exp"
    gc.collect()
    assert y.grad_fn.metadata == {"name": "exp"}
    y.backward()
    assert x.grad.tolist() == [pytest.approx(7.38905609893065)]

    class Noted:
        pass

    noted = Noted()
    noted.graph = y = x.exp()
    y.grad_fn.metadata["cycle"] = noted
    seen = weakref.ref(noted)
    del y, noted
    gc.collect()
    assert seen() is None
