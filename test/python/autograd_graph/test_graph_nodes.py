"""Nodes as tensor.grad_fn gives them, and the names that a Function's methods may have.

What programs written for PyTorch rely on. Suspect autograd/python/opyard/_autograd/nodes.py and
functions.py.
"""

import gc
import re
import weakref

import pytest
from leaves import leaf

import opyard
from opyard import autograd
from opyard.autograd import forward_ad


class Square(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x

    @staticmethod
    def vjp(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * 2

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * x * 2


def test_G1_a_node_is_one_object_while_it_is_held():
    x = leaf([1.0, 2.0])
    y = x * 2
    z = (y + 1).exp()
    node = y.grad_fn
    assert y.grad_fn is node
    assert z.grad_fn.next_functions[0][0].next_functions[0][0] is node
    assert autograd.graph.get_gradient_edge(y).node is node
    assert y.grad_fn is not z.grad_fn
    (accumulates,) = {(x * 3).grad_fn.next_functions[0][0], node.next_functions[0][0]}
    assert accumulates.name() == "AccumulateGrad"


def test_G1_the_class_of_a_node_has_its_name():
    x = leaf([1.0])
    y, z = x.exp(), x.exp()
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "ExpBackward"
    assert type(y.grad_fn) is type(z.grad_fn) is not type((y * z).grad_fn)
    assert isinstance(y.grad_fn, autograd.Node) and issubclass(type(y.grad_fn), autograd.Node)
    assert type(Square.apply(x).grad_fn).__name__ == "SquareBackward"

    def described(node):
        inner = ", ".join(described(one) for one, _ in node.next_functions if one is not None)
        return f"{type(node).__name__}({inner})"

    assert described((y * x).sum().grad_fn) == (
        "SumBackward(MulBackward(ExpBackward(AccumulateGrad()), AccumulateGrad()))"
    )


def test_G1_nothing_keeps_a_node_or_its_graph():
    x = leaf([1.0])
    y = x.exp()
    saved = weakref.ref(y.grad_fn)
    assert saved() is None  # no one holds the object
    node = y.grad_fn
    node.metadata["held"] = held = autograd.FunctionCtx()
    dies, held = weakref.ref(held), None
    node.register_hook(lambda *_, node=node: None)
    del y, node
    gc.collect()
    assert dies() is None


def test_G16_a_backward_may_be_called_vjp():
    x = leaf([3.0, -1.0])
    Square.apply(x).sum().backward()
    assert x.grad.tolist() == [6.0, -2.0]
    assert autograd.gradcheck(Square.apply, [x], check_forward_ad=True)
    with forward_ad.dual_level():
        w = forward_ad.make_dual(x.detach().requires_grad_(), opyard.ones(2).double())
        (gradient,) = autograd.grad(Square.apply(w).sum(), w)
        assert forward_ad.unpack_dual(gradient).tangent.tolist() == [2.0, 2.0]


def test_G16_a_function_with_both_names_is_refused():
    class Both(Square):
        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match="Both: Implementing both 'backward' and 'vjp'"):
        Both.apply(leaf([1.0]))
    assert Both.apply(opyard.ones(1)).tolist() == [1.0]  # nothing is taped


def test_G16_a_function_is_not_called():
    for call in (lambda x: Square()(x), lambda x: Square()(x, x=x)):
        with pytest.raises(TypeError, match=re.escape("applied by its class: Square.apply(...)")):
            call(leaf([1.0]))


def test_G16_what_a_function_gives_twice_is_one_tensor():
    class Twice(autograd.Function):
        @staticmethod
        def forward(ctx, x, writes):
            y = x.mul_(2) if writes else x * 2
            if writes:
                ctx.mark_dirty(x)
            return y, 3, y

        @staticmethod
        def backward(ctx, first, _, second):
            return (first + second) * 2, None

    for x, writes in ((leaf([1.0, 2.0]), False), (leaf([1.0, 2.0]), True)):
        given = x.clone() if writes else x
        first, three, second = Twice.apply(given, writes)
        assert first is second and three == 3 and (first is given) is writes
        (first * 5 + second).sum().backward()
        assert x.grad.tolist() == [12.0, 12.0]
    assert autograd.gradgradcheck(lambda x: sum(Twice.apply(x, False)[::2]), [leaf([0.5])])
    constant = opyard.ones(2)
    first, _, second = Twice.apply(constant, False)
    assert first is second


def test_G13_a_mode_that_decorates_a_class_says_what_it_does():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated: no_grad holds while"):

        @autograd.no_grad()
        class Made:
            def __init__(self):
                self.modes = [autograd.is_grad_enabled()]

            def ask(self):
                return [*self.modes, autograd.is_grad_enabled()]

    assert Made().ask() == [False, True]
