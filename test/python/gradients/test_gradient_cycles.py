"""Cycles through graphs of gradients: garbage collection of hooks, nodes and contexts.

Each of `CYCLES` makes a graph and drops it, with something in it that leads back; `kept` is held by
what leads back, so that a weak reference to it tells whether the cycle was collected. Suspect
autograd/python/gradients/, what its objects tell the collector.
"""

import gc
import weakref

import pytest
from leaves import leaf

import opyard
from opyard import autograd


class Kept:
    """What a weak reference watches."""


class Doubled(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def result_and_context(kept):
    """The result of a function of Python, and its context, which holds `kept`."""
    contexts = []

    class Keeps(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = kept
            contexts.append(ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

    y = Keeps.apply(leaf([1.0]))
    return y, contexts.pop()


# ---- a hook that holds its own handle


def handle_of_a_leaf(kept):
    x = leaf([1.0])
    handle = x.register_hook(lambda grad: (kept, handle) and None)
    return x


def handle_of_a_result(kept):
    y = leaf([1.0]) * 2
    handle = y.register_hook(lambda grad: (kept, handle) and None)
    return y


def handle_that_removes_itself(kept):
    y = leaf([1.0]) * 2

    def hook(grad):
        handle.remove()
        return kept and None

    handle = y.register_hook(hook)
    return y


def handle_of_a_node(kept):
    y = leaf([1.0]) * 2
    handle = y.grad_fn.register_hook(lambda results, given: (kept, handle) and None)
    return y


def handle_of_a_prehook(kept):
    y = leaf([1.0]) * 2
    handle = y.grad_fn.register_prehook(lambda grads: (kept, handle) and None)
    return y


def handle_after_accumulation(kept):
    x = leaf([1.0])
    handle = x.register_post_accumulate_grad_hook(lambda x: (kept, handle) and None)
    return x * 2


def handles_in_a_list(kept):
    y = leaf([1.0]) * 2
    handles = []
    for _ in range(3):
        handles.append(y.register_hook(lambda grad: (kept, handles) and None))
    return y


def handle_in_a_context(kept):
    y, ctx = result_and_context(kept)
    ctx.handle = y.register_hook(lambda grad: None)
    return y


# ---- a hook that holds a node


def node_of_its_own(kept):
    node = (leaf([1.0]) * 2).grad_fn
    node.register_hook(lambda results, given: (kept, node) and None)
    return node


def node_in_its_prehook(kept):
    node = (leaf([1.0]) * 2).grad_fn
    node.register_prehook(lambda grads: (kept, node) and None)
    return node


def node_in_the_hook_of_its_tensor(kept):
    y = leaf([1.0]) * 2
    node = y.grad_fn
    y.register_hook(lambda grad: (kept, node) and None)
    return node


def node_asked_for_many_times(kept):
    y = leaf([1.0]) * 2
    nodes = [y.grad_fn for _ in range(5)]
    y.grad_fn.register_hook(lambda results, given: (kept, nodes) and None)
    return nodes


def node_and_its_tensor(kept):
    y = leaf([1.0]) * 2
    node = y.grad_fn
    node.register_hook(lambda results, given: (kept, node, y) and None)
    return node


def node_and_tensor_in_an_object(kept):
    class Model:
        def __init__(self):
            self.kept = kept
            self.output = leaf([1.0]) * 2
            self.node = self.output.grad_fn
            self.handle = self.node.register_prehook(self.before)

        def before(self, grads):
            return None

    return Model()


def node_of_a_later_call(kept):
    y = leaf([1.0]) * 2
    later = (y * 3).sum().grad_fn
    y.register_hook(lambda grad: (kept, later) and None)
    return later


def node_of_an_earlier_call(kept):
    y = leaf([1.0]) * 2
    node = (y * 3).sum().grad_fn
    earlier = node.next_functions[0][0]
    node.register_hook(lambda results, given: (kept, earlier, node) and None)
    return node


def node_of_a_leaf(kept):
    accumulates = (leaf([1.0]) * 2).grad_fn.next_functions[0][0]
    accumulates.register_hook(lambda results, given: (kept, accumulates) and None)
    return accumulates


def node_of_a_function_of_python(kept):
    node = Doubled.apply(leaf([1.0])).grad_fn
    node.register_hook(lambda results, given: (kept, node) and None)
    return node


def node_in_its_own_context(kept):
    y, ctx = result_and_context(kept)
    ctx.node = y.grad_fn
    return y


def node_of_what_was_written(kept):
    y = leaf([1.0, 2.0]) * 2
    y.grad_fn  # noqa: B018 - of what it was before
    y[0].mul_(3)
    node = y.grad_fn
    node.register_hook(lambda results, given: (kept, node, y) and None)
    return node


# ---- a hook that holds what was computed later


def later_result(kept):
    y = leaf([1.0]) * 2
    z = (y * 3).sum()
    z.__dict__  # noqa: B018 - so that the collector sees the wrapper
    y.register_hook(lambda grad: (kept, z) and None)
    return z


def later_result_of_both_operands(kept):
    y = leaf([1.0]) * 2
    z = (y * y).sum()
    z.__dict__  # noqa: B018
    y.register_hook(lambda grad: (kept, z) and None)
    return z


def later_result_of_two_ways(kept):
    y = leaf([1.0]) * 2
    z = y.exp() + y * 3
    z.__dict__  # noqa: B018
    y.register_hook(lambda grad: (kept, z) and None)
    return z


def later_result_of_a_leaf_that_was_saved(kept):
    x = leaf([1.0])
    z = x * x
    z.__dict__  # noqa: B018
    x.register_hook(lambda grad: (kept, z) and None)
    return z


def attribute_of_what_was_saved(kept):
    other = opyard.tensor([2.0], dtype=opyard.float64)
    y = leaf([1.0]) * other
    y.__dict__  # noqa: B018
    other.note = (kept, y)
    return y


def attribute_of_what_a_context_saved(kept):
    other = opyard.tensor([2.0], dtype=opyard.float64)

    class Times(autograd.Function):
        @staticmethod
        def forward(ctx, x, other):
            ctx.save_for_backward(other)
            return x * other

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0], None

    y = Times.apply(leaf([1.0]), other)
    other.note = (kept, y)
    return y


CYCLES = [
    make
    for name, make in list(globals().items())
    if name.split("_")[0] in ("handle", "handles", "node", "later", "attribute")
]


@pytest.mark.parametrize("make", CYCLES, ids=lambda make: make.__name__)
def test_G15_cycles_through_handles_nodes_and_graphs_are_collected(make):
    kept = Kept()
    gone = weakref.ref(kept)
    made = make(kept)
    del kept
    for _ in range(3):
        gc.collect()
    assert gone() is not None, "it is in use"
    del made
    gc.collect()
    assert gone() is None


def test_G15_what_a_hook_holds_stays_while_the_graph_may_run():
    """A collection in between takes nothing from a graph that a tensor still leads to."""
    seen = []
    x = leaf([3.0])

    def graph():
        y = x * 2
        node = y.grad_fn
        handle = y.register_hook(lambda grad: seen.append(("tensor", handle.id > 0, node.name())))
        node.register_prehook(lambda grads: seen.append(("before", node.name())))
        return (y * y).sum() + y.exp().sum()

    z = graph()
    gc.collect()
    z.backward(retain_graph=True)
    gc.collect()
    z.backward()
    one = [("tensor", True, "MulBackward"), ("before", "MulBackward")]
    assert sorted(seen) == sorted(2 * one)


def test_G15_a_node_alone_keeps_its_hooks():
    seen = []
    node = (leaf([1.0]) * 2).grad_fn
    node.register_hook(lambda results, given: seen.append(node.name()))
    gc.collect()
    node.register_hook(lambda results, given: None)
    assert node.next_functions[0][0].name() == "AccumulateGrad"
    y = leaf([1.0]) * 2
    y.grad_fn.register_hook(lambda results, given: seen.append("ran"))
    gc.collect()
    y.backward()
    assert seen == ["ran"]


def test_G1_a_function_has_one_object():
    y = leaf([1.0]) * 2
    z = y * 3
    assert y.grad_fn._function is y.grad_fn._function
    assert z.grad_fn.next_functions[0][0]._function is y.grad_fn._function
    assert y.grad_fn == z.grad_fn.next_functions[0][0] != z.grad_fn


def test_G15_a_handle_keeps_nothing_of_the_graph():
    kept = Kept()
    gone = weakref.ref(kept)
    y = leaf([1.0]) * 2
    handle = y.register_hook(lambda grad, kept=kept: None)
    del kept
    assert gone() is not None
    del y
    assert gone() is None, "without a collection"
    handle.remove()
    handle.remove()


def test_G15_a_handle_removes_a_hook_of_a_function_that_lives():
    seen = []
    x = leaf([1.0])
    y = x * 2
    handle = y.register_hook(lambda grad: seen.append(1))
    z = y * 3
    del y
    handle.remove()
    z.backward()
    assert (seen, x.grad.tolist()) == ([], [6.0])
