"""Hooks: their results, and their order beside captures.

Suspect autograd/src/functions/hooks.cpp, and run_one() of autograd/src/engine.cpp.
"""

import pytest
from leaves import single

import opyard
from opyard import autograd, nn


def on_tensor(y, z, give):
    y.register_hook(give)


def before(y, z, give):
    y.grad_fn.register_prehook(lambda gradients: (give(gradients[0]),))


def after(y, z, give):
    z.grad_fn.register_hook(lambda results, _: (give(results[0]), *results[1:]))


def on_leaf(y, z, give):
    y.grad_fn.next_functions[0][0].register_prehook(lambda gradients: (give(gradients[0]),))


PLACES = [on_tensor, before, after, on_leaf]
WRONG = {
    "more dimensions": lambda g: opyard.ones(4, 2),
    "fewer dimensions": lambda g: opyard.ones(()) if g.shape == (2,) else None,
    "another size": lambda g: opyard.ones(1),
    "empty": lambda g: opyard.ones(0),
    "float64": lambda g: g.to(opyard.float64),
    "float16": lambda g: g.to(opyard.float16),
    "complex": lambda g: g.to(opyard.complex64),
    "int64": lambda g: g.to(opyard.int64),
    "device": lambda g: opyard.ones(2, device="meta"),
}


@pytest.mark.parametrize("place", PLACES, ids=lambda p: p.__name__)
@pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))
def test_G15_what_a_hook_gives_looks_like_what_it_got(place, wrong):
    x = single([1.0, 2.0])
    y = x * 2
    z = y.exp()
    place(y, z, wrong)
    with pytest.raises(RuntimeError, match="a hook of .* has changed gradient 0: it got float32"):
        z.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("place", PLACES, ids=lambda p: p.__name__)
def test_G15_what_looks_alike_takes_its_place(place):
    x = single([0.0, 0.0])
    y = x * 2
    z = y.exp()
    place(y, z, lambda g: opyard.ones(1).expand([2]) * 5)
    z.sum().backward()
    assert x.grad.tolist() == ([10.0, 10.0] if place is not on_leaf else [5.0, 5.0])


def test_G15_there_is_no_gradient_for_none():
    class Two(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return first * 2

    x = single([1.0])
    first, _ = Two.apply(x)
    first.grad_fn.register_prehook(lambda gradients: (gradients[0], opyard.ones(1)))
    with pytest.raises(RuntimeError, match="has changed gradient 1: it got none and gave"):
        first.backward()


def test_G15_hooks_of_modules_are_checked_as_well():
    layer = nn.Linear(2, 1)
    layer.register_full_backward_hook(lambda module, got, given: (got[0].to(opyard.float64),))
    with pytest.raises(RuntimeError, match="a backward hook of Linear has changed gradient 0"):
        layer(single([1.0, 2.0]).reshape([1, 2])).sum().backward()


def watched():
    a = opyard.tensor(1.0, requires_grad=True)
    b = a * 2
    c = b * 3
    log = []

    def tell(name, factor, add=0.0):
        def hook(gradient):
            log.append((name, gradient.item()))
            return gradient * factor + add

        return hook

    def node(gradients):
        log.append(("node", gradients[0].item()))
        return (gradients[0] * 100,)

    b.grad_fn.register_prehook(node)
    b.register_hook(tell("first", 10.0))
    b.retain_grad()
    b.register_hook(tell("second", 1.0, 1.0))
    b.grad_fn.register_hook(lambda results, given: log.append(("after", given[0].item())))
    a.register_hook(tell("leaf", 7.0))
    return a, b, c, log


OF_B = [("first", 3.0), ("second", 30.0)]
ALL = [*OF_B, ("node", 31.0), ("after", 3100.0), ("leaf", 6200.0)]


def test_G15_hooks_of_a_tensor_run_before_those_of_its_function():
    a, b, c, log = watched()
    c.backward()
    assert log == ALL
    assert (a.grad.item(), b.grad.item()) == (43400.0, 31.0)


def test_G15_what_is_only_captured_has_its_tensors_hooks_and_no_others():
    _, b, c, log = watched()
    (found,) = autograd.grad(c, b)
    assert found.item() == 31.0 and log == OF_B


def test_G15_what_is_captured_on_the_way_is_what_its_tensors_hooks_gave():
    a, b, c, log = watched()
    found = autograd.grad(c, [a, b])
    assert [one.item() for one in found] == [43400.0, 31.0] and log == ALL


@pytest.mark.parametrize("leaf_too", [False, True])
def test_G15_accumulating_into_inputs_runs_their_functions(leaf_too):
    a, b, c, log = watched()
    c.backward(inputs=[a, b] if leaf_too else [b])
    assert b.grad.item() == 31.0 and log == (ALL if leaf_too else ALL[:4])
    assert (a.grad is None) is not leaf_too


def test_G15_what_is_told_of_accumulation_runs_before_other_hooks_of_its_function():
    a = single([1.0])
    (accumulate, _), *_ = (a * 1).grad_fn.next_functions
    log = []
    accumulate.register_hook(lambda results, given: log.append("after"))
    accumulate.register_prehook(lambda gradients: log.append("before"))
    a.register_post_accumulate_grad_hook(lambda tensor: log.append("accumulated"))
    a.register_hook(lambda gradient: log.append("tensor"))
    (a * 2).backward()
    assert log == ["tensor", "before", "accumulated", "after"]
    log.clear()
    autograd.grad(a * 2, a)
    assert log == ["tensor"]
