"""Backwards as written for PyTorch: their arguments and results, and gradients of other dtypes.

Suspect registered.py, functions.py and runs.py of autograd/python/opyard/_autograd/, and
autograd/src/api.cpp.
"""

import warnings

import pytest
from leaves import leaf, single

import opyard
from opyard import autograd
from opyard.library import Library, register_autograd


@pytest.fixture
def lib():
    with Library("ported", "DEF") as made:
        yield made


def test_F19_a_list_of_tensors_needs_as_many_answers(lib):
    lib.define("joined(Tensor x, Tensor[] ys, Tensor? z, int n, Tensor?[] os, int[] k) -> Tensor")
    lib.impl("joined", lambda x, ys, z, n, os, k: x + ys[0] * 2 + ys[1], "CPU")
    seen = []

    def backward(ctx, grad):
        seen.append(ctx.needs_input_grad)
        return grad, [grad * 2 if need else None for need in ctx.needs_input_grad[1]], *[None] * 4

    register_autograd("ported::joined", backward, lib=lib)
    x, y = single([1.0]), single([2.0])
    opyard.ops.ported.joined(x, [y, opyard.ones(1)], None, 3, [None, y], [1]).sum().backward()
    assert seen == [(True, [True, False], False, False, [False, True], False)]
    assert y.grad.tolist() == [2.0]


@pytest.mark.parametrize("answer", [[1], [1, 2, 3], []], ids=len)
def test_F20_the_gradients_of_a_list_are_as_many_as_its_tensors(lib, answer):
    lib.define("added(Tensor[] xs) -> Tensor")
    lib.impl("added", lambda xs: xs[0] + xs[1], "CPU")
    register_autograd("ported::added", lambda ctx, grad: [grad * one for one in answer], lib=lib)
    x, y = single([1.0]), single([2.0])
    with pytest.raises(
        RuntimeError, match="expected the gradient of argument 0 to be a list of 2, as the argument"
    ):
        opyard.ops.ported.added([x, y]).sum().backward()
    assert x.grad is None and y.grad is None


CALLS = {
    "x": (lambda op, x: op(x), 1),
    "a": (lambda op, x: op(x, 1.5), 2),
    "its default": (lambda op, x: op(x, 1.0), 1),
    "b": (lambda op, x: op(x, b=3.0), 3),
    "c": (lambda op, x: op(x, 1.0, 2.0, "two"), 4),
    "k": (lambda op, x: op(x, k=4.0), 1),
}


@pytest.mark.parametrize("count", range(7))
@pytest.mark.parametrize(("call", "least"), CALLS.values(), ids=list(CALLS))
def test_F19_gradients_are_for_the_arguments_that_were_given(lib, call, least, count):
    lib.define(
        "f(Tensor x, float a=1., float b=2., str c='one', *, float k=3.) -> Tensor".replace(
            "'", '"'
        )
    )
    lib.impl("f", lambda x, a=1.0, b=2.0, c="one", *, k=3.0: x * 2, "CPU")
    register_autograd("ported::f", lambda ctx, grad: (grad * 2, *[None] * 9)[:count], lib=lib)
    x = single([1.0])
    y = call(opyard.ops.ported.f, x).sum()
    if count >= least:
        y.backward()
        assert x.grad.tolist() == [2.0]
    else:
        with pytest.raises(RuntimeError, match=rf"expected {least} to 5, got {count}\)"):
            y.backward()


def test_F19_no_gradient_is_for_what_is_no_tensor(lib):
    lib.define("f(Tensor x, float a) -> Tensor")
    lib.impl("f", lambda x, a: x * a, "CPU")
    register_autograd("ported::f", lambda ctx, grad: (grad, grad), lib=lib)
    with pytest.raises(RuntimeError, match="a gradient different than None at position 2"):
        opyard.ops.ported.f(single([1.0]), 2.0).sum().backward()


GIVEN = [opyard.float16, opyard.bfloat16, opyard.float64, opyard.int64, opyard.uint8, opyard.bool]


@pytest.mark.parametrize("dtype", GIVEN, ids=str)
@pytest.mark.parametrize("create_graph", [False, True])
def test_G14_a_gradient_of_another_dtype_is_converted(dtype, create_graph):
    x = single([1.0, 2.0])
    given = opyard.ones(2).to(dtype)
    (found,) = autograd.grad(x * 3, x, given, create_graph=create_graph)
    assert found.dtype is opyard.float32 and found.tolist() == [3.0, 3.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the cycle that create_graph makes
        (x * 3).backward(given, create_graph=create_graph)
    assert x.grad.dtype is opyard.float32 and x.grad.tolist() == [3.0, 3.0]


def test_G12_a_converted_gradient_has_a_gradient():
    x, given = single([1.0, 2.0]), leaf([5.0, 7.0], dtype=opyard.float64)
    (found,) = autograd.grad(x * x, x, given, create_graph=True)
    (again,) = autograd.grad(found.sum(), given)
    assert again.dtype is opyard.float64 and again.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("to_complex", [False, True])
def test_G14_no_complex_gradient_is_made_real_nor_the_other_way(to_complex):
    x = leaf([1.0], dtype=opyard.float32 if to_complex else opyard.complex64)
    given = opyard.ones(1, dtype=opyard.complex64 if to_complex else opyard.float32)
    with pytest.raises(TypeError, match="one of them is complex. Convert it with to"):
        (x * 3).backward(given)


class Several(autograd.Function):
    """One output with a gradient, and those that have none."""

    @staticmethod
    def forward(ctx, x, given):
        whole = opyard.tensor([1, 2])
        marked = x * 3
        ctx.mark_non_differentiable(marked, whole)
        ctx.given = given
        return x * 2, marked, whole, x > 0, 5

    @staticmethod
    def backward(ctx, *gradients):
        ctx.given.extend(gradients)
        return gradients[0] * 2 + gradients[1], None


def test_G16_every_tensor_that_forward_gave_has_zeros():
    given, x = [], single([1.0, 2.0, 3.0])
    Several.apply(x, given)[0].sum().backward()
    assert [None if g is None else (g.dtype, g.tolist()) for g in given] == [
        (opyard.float32, [1.0] * 3),
        (opyard.float32, [0.0] * 3),
        (opyard.int64, [0, 0]),
        (opyard.bool, [False] * 3),
        None,
    ]
    assert x.grad.tolist() == [2.0] * 3


def test_G12_zeros_for_what_was_not_used_are_differentiated_again():
    x, y = single([1.0]), single([2.0])
    first, zeros = autograd.grad(x * x, [x, y], create_graph=True, materialize_grads=True)
    assert zeros.requires_grad and zeros.tolist() == [0.0]
    assert autograd.grad(zeros, y, allow_unused=True) == (None,)
    assert autograd.grad(first + zeros, x)[0].tolist() == [2.0]
    _, zeros = autograd.grad(x * x, [x, y], materialize_grads=True)
    assert not zeros.requires_grad


class Cube(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * x * 3


class Textual(Cube):
    @staticmethod
    def backward(ctx, grad):
        return "text"


def freed(operation):
    y = operation(single([1.0, 2.0])).sum()
    y.backward()
    y.backward()


def written(operation):
    x = single([1.0, 2.0]) * 1
    y = operation(x).sum()
    x.mul_(2)
    y.backward()


def registered(x):
    return opyard.ops.ported.cube(x)


OPERATIONS = {"formula": lambda x: x * x * x, "Function": Cube.apply, "registered": registered}
REFUSED = {
    "no history": (ValueError, lambda: opyard.ones(1).backward()),
    "not one element": (ValueError, lambda: (single([1.0, 2.0]) * 2).backward()),
    "shape": (ValueError, lambda: (single([1.0, 2.0]) * 2).backward(opyard.ones(3))),
    "complex": (TypeError, lambda: single([1.0]).backward(opyard.ones(1, dtype=opyard.complex64))),
    "input without": (ValueError, lambda: autograd.grad(single([1.0]).sum(), opyard.ones(1))),
    "unused input": (ValueError, lambda: autograd.grad(single([1.0]).sum(), single([1.0]))),
    "no gradient": (TypeError, lambda: Textual.apply(single([1.0])).backward()),
}


class Double(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Keeping(Cube):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(y)
        return x * y


def made_under_inference():
    with autograd.inference_mode():
        return opyard.ones(1)


REFUSED |= {
    "leaf": (ValueError, lambda: single([1.0]).mul_(2)),
    "view of a leaf": (ValueError, lambda: single([1.0, 2.0])[0].mul_(2)),
    "dirty leaf": (ValueError, lambda: Double.apply(single([1.0]))),
    "inference": (ValueError, lambda: single([1.0]) * made_under_inference()),
    "saved inference": (ValueError, lambda: Keeping.apply(single([1.0]), made_under_inference())),
    "detached view": (ValueError, lambda: (single([1.0, 2.0]) * 1)[0].detach_()),
}


@pytest.mark.parametrize(("kind", "run"), REFUSED.values(), ids=list(REFUSED))
def test_G14_what_gradients_refuse_is_a_runtime_error_as_well(kind, run):
    with pytest.raises(RuntimeError) as raised:
        run()
    assert isinstance(raised.value, kind)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=list(OPERATIONS))
@pytest.mark.parametrize("fault", [freed, written], ids=["freed", "written"])
def test_G9_so_are_a_graph_that_was_freed_and_a_tensor_that_was_written(lib, fault, operation):
    lib.define("cube(Tensor x) -> Tensor")
    lib.impl("cube", lambda x: x * x * x, "CPU")
    register_autograd(
        "ported::cube",
        Cube.backward,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
        lib=lib,
    )
    words = "second time" if fault is freed else "modified by an inplace operation"
    with pytest.raises(RuntimeError, match=words):
        fault(operation)
