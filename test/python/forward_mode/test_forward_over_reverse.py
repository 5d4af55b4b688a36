"""A run backward through dual tensors gives dual gradients, also where what was saved is a copy.

A backward that reads what a write in place covers, what a hook has packed, or an output of its own
has to see its tangent: else second derivatives are silently wrong. Suspect copy_of() in
autograd/src/tape/tape.cpp, saved_tensor.cpp, and opyard/_autograd/forward_ad.py; of compiled
functions _jit/compiled.py.
"""

import pytest

import opyard
import opyard.nn.functional as F
from opyard import autograd
from opyard.autograd import forward_ad, functional, graph

pytestmark = pytest.mark.once

WRITES = {
    **{
        f"{name}_": lambda x, name=name: getattr(x * 1, f"{name}_")()
        for name in (
            "sin", "cos", "tan", "exp", "log", "log1p", "sqrt", "rsqrt", "tanh", "sigmoid", "erf",
            "square", "abs", "sinh", "cosh", "asinh", "atan", "expm1", "reciprocal", "digamma",
        )
    },
    "pow_": lambda x: (x * 1).pow_(3.0),
    "mul_": lambda x: (x * 1).mul_(x),
    "mul_ by itself": lambda x: _by_itself(x * 1),
    "div_": lambda x: (x * 1).div_(x * 2 + 1),
    "addcmul_": lambda x: (x * 1).addcmul_(x, x * x),
    "cumprod_": lambda x: (x * 1).cumprod_(0),
    "silu_": lambda x: F.silu(x * 1, inplace=True),
    "hardswish_": lambda x: F.hardswish(x * 1, inplace=True),
    "a slice": lambda x: _slice(x * 1, x),
    "twice": lambda x: (x * 1).sin_().mul_(x),
}  # fmt: skip


def _by_itself(y):
    return y.mul_(y)


def _slice(y, x):
    y[1:].mul_(x[:1].exp())
    return y


class Exp(autograd.Function):
    """Saves its output."""

    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        ctx.save_for_forward(result)
        return result

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, tangent):
        return ctx.saved_tensors[0] * tangent


def packed(call):
    def run(x):
        with graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
            return call(x)

    return run


def on_cpu(call):
    def run(x):
        with graph.save_on_cpu():
            return call(x)

    return run


def cube(x):
    return x**3


def results(x):
    return x.exp() * x.sigmoid().tanh()


CALLS = {
    **WRITES,
    "a Function's output": Exp.apply,
    "packed arguments": packed(cube),
    "packed results": packed(results),
    "packed writes": packed(WRITES["twice"]),
    "packed as they are": lambda x: _with_hooks(x),
    "on the CPU": on_cpu(lambda x: cube(x) + results(x)),
}


def _with_hooks(x):
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return cube(x) + results(x)


def forward_over_reverse(call, x, direction):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, direction)
        (gradient,) = autograd.grad(call(dual).sum(), dual)
        return forward_ad.unpack_dual(gradient).tangent


@pytest.mark.parametrize("name", CALLS)
def test_second_derivatives_are_those_of_two_runs_backward(name):
    call = CALLS[name]
    x = opyard.tensor([0.3, 0.7, 1.2], dtype=opyard.float64).requires_grad_()
    direction = opyard.tensor([1.0, -0.5, 0.25], dtype=opyard.float64)
    found = forward_over_reverse(call, x, direction)
    (first,) = autograd.grad(call(x).sum(), x, create_graph=True)
    (wanted,) = autograd.grad((first * direction).sum(), x, materialize_grads=True)
    found = opyard.ops.aten.zeros_like(wanted) if found is None else found
    assert found.tolist() == pytest.approx(wanted.tolist(), rel=1e-9, abs=1e-12)


@pytest.mark.filterwarnings("ignore:.*it is called with a tensor that has a tangent")
def test_a_compiled_function_keeps_tangents():
    def function(x):
        return (x.sin() * x).sum()

    compiled = opyard.jit.compile(function)
    x = opyard.tensor([0.5, 1.0])
    wanted = functional.jacobian(function, x).tolist()
    for required in (True, False, True, True):
        point = x.clone().requires_grad_(required)
        found = functional.jacobian(compiled, point, strategy="forward-mode")
        assert found.tolist() == pytest.approx(wanted)
        assert functional.jacobian(compiled, point).tolist() == pytest.approx(wanted)
    twice = functional.hessian(compiled, x, outer_jacobian_strategy="forward-mode")
    assert twice.tolist() == [
        pytest.approx(row) for row in functional.hessian(function, x).tolist()
    ]
