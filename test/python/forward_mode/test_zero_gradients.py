"""test_zero_gradients.py: formulas are linear where the gradient that comes to them is zero, too.

A tangent is the derivative of a formula at such a gradient, and so is the second derivative of a
function at its minimum. Suspect the formula: kernels/operators/linalg_gradients.ops,
kernels/src/gradients/quantiles.cpp.
"""

import pytest

import opyard
from opyard import autograd
from opyard.autograd import forward_ad, functional

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.once
aten = opyard.ops.aten
MATRIX = [[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.5]]


def double(values):
    return opyard.tensor(values, dtype=opyard.float64)


FUNCTIONS = {
    "vectors of eigh": lambda x: aten.linalg_eigh((x + x.mT) * 0.5)[1],
    "vectors of eig": lambda x: aten.abs(aten.linalg_eig(x)[1]),
    "left vectors of svd": lambda x: aten.linalg_svd(x)[0],
    "right vectors of svd": lambda x: aten.linalg_svd(x)[2],
    "logcumsumexp": lambda x: aten.logcumsumexp(x, 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_X31_tangents_are_those_of_differences(name):
    fn, x, step = FUNCTIONS[name], double(MATRIX), 1e-6
    along = double([[0.1, 0.2, 0.3], [-0.5, 0.7, 0.4], [0.6, -0.8, 0.2]])
    wanted = (fn(x + along * step) - fn(x - along * step)) / (2 * step)
    found = forward_ad.jvp(fn, x, along)[1]
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_X31_the_second_derivative_at_a_minimum_is_that_of_squares(name):
    fn, x = FUNCTIONS[name], double(MATRIX)
    there = fn(x)
    hessian = functional.hessian(lambda y: ((fn(y) - there) ** 2).sum() * 0.5, x)
    slopes = functional.jacobian(fn, x).reshape(-1, 9)
    wanted = (slopes.mT @ slopes).numpy()
    np.testing.assert_allclose(hessian.reshape(9, 9).numpy(), wanted, rtol=1e-8, atol=1e-9)


def test_X31_equal_eigenvalues_have_tangents_and_their_vectors_huge_ones():
    along = double([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 5.0]])
    values, vectors = forward_ad.jvp(lambda x: aten.linalg_eigh(x), aten.eye(3), along.float())[1]
    assert values.tolist() == [1.0, 1.0, 5.0]
    assert vectors.abs().max().item() > 1e17 and vectors[2].tolist() == [0.0, 0.0, 0.0]


def test_X31_equal_eigenvalues_have_gradients_of_both_orders():
    x = double([[1.0, 0.0], [0.0, 1.0]]).requires_grad_()
    (first,) = autograd.grad((aten.linalg_eigh(x)[0] ** 2).sum(), x, create_graph=True)
    (second,) = autograd.grad((first**2).sum(), x)
    assert (first.tolist(), second.tolist()) == ([[2, 0], [0, 2]], [[8, 0], [0, 8]])


def test_X31_a_gradient_that_is_no_number_stays_none():
    x = double([1.0, 2.0, 3.0]).requires_grad_()
    seed = double([1.0, float("nan"), 0.0])
    (found,) = autograd.grad(aten.logcumsumexp(x, 0), x, seed)
    assert found.isnan().tolist() == [True, True, False]
