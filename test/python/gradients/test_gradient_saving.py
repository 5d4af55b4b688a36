"""Saved tensors of functions, and their requirements: second runs (G9), inference tensors (A32),
gradients that are kept (G15), contexts that several threads read.

Suspect autograd/src/tape/formula_function.cpp, saved/saved_tensor.cpp, and
autograd/python/opyard/_autograd.
"""

import threading

import pytest
from leaves import leaf

import opyard
from opyard import autograd

aten = opyard.ops.aten


SAVES_NO_TENSOR = {
    "add": lambda x: x + 1,
    "sub": lambda x: aten.sub.Tensor(x, x, alpha=3),
    "neg": lambda x: -x,
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(),
    "view": lambda x: x.view(9),
    "transpose": lambda x: x.t(),
    "select": lambda x: x[1],
    "slice": lambda x: x[:, 1:],
    "expand": lambda x: x.reshape([3, 1, 3]).expand([3, 2, 3]),
    "cat": lambda x: aten.cat([x, x]),
    "lerp": lambda x: aten.lerp.Scalar(x, x, 0.3),
    "cumsum": lambda x: aten.cumsum(x, 0),
}
SAVES_TENSORS = {
    "mul": lambda x: x * x,
    "exp": lambda x: x.exp(),
    "pow": lambda x: x**2,
    "mm": lambda x: x @ opyard.ones(3, 3, dtype=opyard.float64),
    "clamp": lambda x: aten.clamp(x, 0, 1),
    "max": lambda x: aten.max.dim(x, 0)[0],
    "softmax": lambda x: aten.softmax.int(x, 0),
}


def of_nine(operation):
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0], [-1.0, 0.5, 0.25]])
    return x, operation(x).sum()


@pytest.mark.parametrize("name", SAVES_NO_TENSOR)
def test_G9_a_graph_that_saved_no_tensor_is_run_again(name):
    x, y = of_nine(SAVES_NO_TENSOR[name])
    y.backward()
    first = x.grad.tolist()
    y.backward()
    assert x.grad.tolist() == [[2 * g for g in row] for row in first]


@pytest.mark.parametrize("name", SAVES_TENSORS)
def test_G9_a_graph_that_saved_tensors_is_not(name):
    x, y = of_nine(SAVES_TENSORS[name])
    y.backward()
    first = x.grad.tolist()
    with pytest.raises(ValueError, match="backward through the graph a second time"):
        y.backward()
    assert x.grad.tolist() == first


class Doubles(autograd.Function):
    """Saves a tensor, and looks at it if `reads`."""

    reads = False

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        if Doubles.reads:
            assert len(ctx.saved_tensors) == 1
        return gradient * 2


def test_G9_a_function_in_python_is_run_again_if_it_does_not_read_what_it_saved(monkeypatch):
    x = leaf([1.0, 2.0])
    y = Doubles.apply(x).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [4.0, 4.0]
    monkeypatch.setattr(Doubles, "reads", True)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_G9_a_run_that_fails_gives_nothing_up():
    x = leaf([1.0, 2.0])
    with opyard.library.Library("fails_once", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.define("f_backward(Tensor gradient, Tensor x) -> Tensor")
        failures = [KeyError("mine")]

        def backward(gradient, x):
            if failures:
                raise failures.pop()
            return gradient * x * 2

        lib.impl("f", lambda x: x * x, "CPU")
        lib.impl("f_backward", backward, "CPU")
        lib.derivative("f", {"x": "f_backward(grad, x)"})
        y = opyard.ops.fails_once.f(x).sum()
        with pytest.raises(KeyError):
            y.backward()
        y.backward()
        assert x.grad.tolist() == [2.0, 4.0]
        with pytest.raises(ValueError, match="a second time"):
            y.backward()


def of_inference():
    with autograd.inference_mode():
        return opyard.tensor([3.0, 4.0], dtype=opyard.float64)


def test_A32_an_inference_tensor_is_refused_only_where_it_is_saved():
    x, made = leaf([1.0, 2.0]), of_inference()
    for y in (x + made, made - x, x.clone().add_(made), x.clone().copy_(made), aten.cat([x, made])):
        assert y.requires_grad and not y.is_inference()
    (aten.cat([x, made]).sum() + (x + made).sum()).backward()
    assert x.grad.tolist() == [2.0, 2.0]
    for call in (lambda: x * made, lambda: made * x, lambda: x.clone().mul_(made)):
        with pytest.raises(ValueError, match=r"aten::mul_?.Tensor: argument '\w+' is an inference"):
            call()
    assert (x.detach() * made).tolist() == [3.0, 8.0]
    assert (x * made.clone()).requires_grad
    with autograd.no_grad():
        assert (x * made).tolist() == [3.0, 8.0]


def test_A32_an_inference_tensor_of_a_list_is_refused_only_where_it_is_saved():
    with opyard.library.Library("of_lists_18", "DEF") as lib:
        formulas = {"added": "[grad, grad]", "times": "[grad * xs[1], grad * xs[0]]"}
        for name, formula in formulas.items():
            lib.define(f"{name}(Tensor[] xs) -> Tensor")
            lib.impl(name, lambda xs: xs[0] + xs[1], "CPU")
            lib.derivative(name, {"xs": formula})
        x, made = leaf([1.0, 2.0]), of_inference()
        opyard.ops.of_lists_18.added([x, made]).sum().backward()
        assert x.grad.tolist() == [1.0, 1.0]
        with pytest.raises(ValueError, match="times: argument 'xs' is an inference tensor"):
            opyard.ops.of_lists_18.times([x, made])


def test_A32_an_inference_tensor_is_not_saved_by_a_function_in_python():
    class Saves(autograd.Function):
        @staticmethod
        def forward(ctx, x, other):
            ctx.save_for_backward(other)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2, None

    with pytest.raises(ValueError, match="inference tensor, which cannot be saved for backward"):
        Saves.apply(leaf([1.0]), of_inference())


def test_G15_a_tensor_named_as_an_input_of_backward_retains_its_gradient():
    x = leaf([1.0, 2.0])
    y = x * 2
    assert not y.retains_grad
    (y * y).sum().backward(inputs=[y])
    assert y.retains_grad
    assert not x.retains_grad and not y.view(2).retains_grad and not y.detach().retains_grad
    (y * 3).sum().backward()
    assert y.grad.tolist() == [4.0 + 3.0, 8.0 + 3.0]
    y.mul_(2)
    assert y.retains_grad


def test_G21_a_function_that_two_threads_run_gives_each_what_was_saved_with_its_history():
    """The one that began first reads what was saved after the other one has ended."""
    began, ended = threading.Event(), threading.Event()
    has_history = []

    class Waits(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            if threading.current_thread() is first:
                began.set()
                assert ended.wait(10)
            (x,) = ctx.saved_tensors
            has_history.append(x.requires_grad)
            return gradient * x * 2

    x = leaf([3.0])
    y = Waits.apply(x * 1)
    run = lambda: autograd.grad(y, x, keep_graph=True, create_graph=True)  # noqa: E731
    first = threading.Thread(target=run)
    first.start()
    assert began.wait(10)
    run()
    ended.set()
    first.join()
    assert has_history == [True, True]


def test_A32_a_module_may_be_made_and_run_under_inference_mode():
    with autograd.inference_mode():
        linear = opyard.nn.Linear(2, 3)
        assert linear.weight.requires_grad and linear.weight.is_inference()
        assert linear(opyard.ones(1, 2)).shape == (1, 3)
    with pytest.raises(ValueError, match="an inference tensor cannot require a gradient"):
        of_inference().requires_grad_()


def test_G11_an_inference_tensor_counts_no_writes():
    with autograd.inference_mode():
        made = opyard.tensor([1.0, 2.0])
        view = made[0]
        autograd.increment_version(made)
        with pytest.raises(RuntimeError, match="an inference tensor does not count its writes"):
            made._version  # noqa: B018
    for tensor in (made, view):
        with pytest.raises(RuntimeError, match="it has no _version; it was made under inference"):
            tensor._version  # noqa: B018
        with pytest.raises(RuntimeError, match="increment_version: an inference tensor does not"):
            autograd.increment_version(tensor)
    assert made.clone()._version == 0
