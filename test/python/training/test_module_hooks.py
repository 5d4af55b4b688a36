"""Hooks of modules run in the order of PyTorch's, and give what those give.

A program registers hooks of all kinds and is run with each library. Suspect opyard/_nn/hooks.py.
"""

import pytest

import opyard
from opyard import nn

pytestmark = pytest.mark.once


def run_of_all_kinds(library):
    """What hooks of all kinds see, in order; then the output, and the gradient of the input."""
    seen = []

    class Scaled(library.nn.Module):
        def forward(self, x, *, by):
            seen.append(("forward", x.tolist(), by))
            return x * by

    def pre(name, change):
        def hook(module, args):
            seen.append((name, args[0].tolist()))
            return change(args[0])

        return hook

    def pre_with_kwargs(module, args, kwargs):
        seen.append(("pre kwargs", args[0].tolist(), kwargs))
        return (args[0] + 1,), {"by": kwargs["by"] + 1}

    def post(name, change):
        def hook(module, args, output):
            seen.append((name, args[0].tolist(), output.tolist()))
            return change(output)

        return hook

    def post_with_kwargs(module, args, kwargs, output):
        seen.append(("post kwargs", args[0].tolist(), kwargs, output.tolist()))

    def before_backward(name, change):
        def hook(module, grad_output):
            seen.append((name, [one.tolist() for one in grad_output]))
            return change(grad_output[0])

        return hook

    def backward(name, change):
        def hook(module, grad_input, grad_output):
            given = [one.tolist() for one in grad_input], [one.tolist() for one in grad_output]
            seen.append((name, *given))
            return change(grad_input[0])

        return hook

    model = Scaled()
    model.register_full_backward_hook(backward("backward 2", lambda g: (g * 10,)))
    model.register_full_backward_hook(backward("backward 1", lambda g: (g + 1,)), prepend=True)
    model.register_full_backward_pre_hook(before_backward("before 2", lambda g: None))
    first = before_backward("before 1", lambda g: (g * 2,))
    model.register_full_backward_pre_hook(first, prepend=True)
    model.register_forward_hook(post("post 2", lambda y: y * 5))
    model.register_forward_hook(post("post 1", lambda y: None), prepend=True)
    model.register_forward_hook(post_with_kwargs, with_kwargs=True)
    model.register_forward_pre_hook(pre("pre 2", lambda x: (x * 2,)))
    model.register_forward_pre_hook(pre("pre 1", lambda x: x + 0.5), prepend=True)
    model.register_forward_pre_hook(pre_with_kwargs, with_kwargs=True)
    x = library.tensor([1.0, 2.0], requires_grad=True)
    y = model(x, by=3)
    y.sum().backward()
    return seen, y.tolist(), x.grad.tolist()


def test_hooks_of_all_kinds_run_in_one_order():
    seen, y, gradient = run_of_all_kinds(opyard)
    assert [each[0] for each in seen] == [
        "pre 1",
        "pre 2",
        "pre kwargs",
        "forward",
        "post 1",
        "post 2",
        "post kwargs",
        "before 1",
        "before 2",
        "backward 1",
        "backward 2",
    ]
    # y = 5 * 4 * (2 * (x + 0.5) + 1); of 2, behind the hooks: (2 * 20 + 1) * 10, and twice that.
    assert y == [80.0, 120.0] and gradient == [820.0, 820.0]
    assert seen[7][1] == [[1.0, 1.0]] and seen[8][1] == [[2.0, 2.0]]


def test_hooks_of_all_kinds_are_those_of_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert run_of_all_kinds(opyard) == run_of_all_kinds(torch)


def run_that_fails(library):
    seen = []

    class Fails(library.nn.Module):
        def forward(self, x):
            raise ArithmeticError("as it is")

    def first(module, args, output):
        seen.append(("first", output))

    def last(module, args, kwargs, output):
        seen.append(("last", kwargs, output))
        raise ValueError("of a hook")

    model = Fails()
    model.register_forward_hook(lambda *_: seen.append("never"))
    model.register_forward_hook(last, always_call=True, with_kwargs=True)
    model.register_forward_hook(first, always_call=True, prepend=True)
    with pytest.warns(match="of a hook"), pytest.raises(ArithmeticError, match="^as it is$"):
        model(library.ones(1))
    return seen


def test_hooks_that_are_always_called_see_a_call_that_fails():
    wanted = [("first", None), ("last", {}, None)]
    assert run_that_fails(opyard) == wanted
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert run_that_fails(torch) == wanted


def test_a_hook_that_fails_itself_is_not_called_again():
    layer, seen = nn.Identity(), []

    def hook(module, args, output):
        seen.append(output)
        raise ArithmeticError("of the hook")

    layer.register_forward_hook(hook, always_call=True)
    with pytest.raises(ArithmeticError, match="of the hook"):
        layer(opyard.ones(1))
    assert len(seen) == 1 and seen[0] is not None


def test_what_hooks_may_give_and_take_is_said():
    layer = nn.Identity()
    x = opyard.ones(2).requires_grad_()
    with pytest.raises(TypeError, match="register_full_backward_pre_hook: a hook must be a func"):
        layer.register_full_backward_pre_hook(3)
    with pytest.raises(TypeError, match="register_forward_hook: prepend must be True or False"):
        layer.register_forward_hook(print, prepend=1)
    with pytest.raises(TypeError, match="register_forward_hook: with_kwargs must be True or False"):
        layer.register_forward_hook(print, with_kwargs="yes")
    with layer.register_forward_pre_hook(lambda m, a, k: a, with_kwargs=True):
        with pytest.raises(RuntimeError, match=r"must return None or a pair \(args, kwargs\)"):
            layer(x)
    with layer.register_full_backward_pre_hook(lambda m, g: (None, None)):
        message = "a backward pre-hook of Identity returned 2 gradients for 1 outputs"
        with pytest.raises(RuntimeError, match=message):
            layer(x).sum().backward()
    with layer.register_full_backward_pre_hook(lambda m, g: g[0].sum()):
        message = r"has changed gradient 0: it got opyard.float32 of shape \[2\]"
        with pytest.raises(RuntimeError, match=message):
            layer(x).sum().backward()
