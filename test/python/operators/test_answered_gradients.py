"""test_answered_gradients.py: gradients of what NumPy and SciPy compute, of both orders.

Suspect kernels/src/gradients/linalg.cpp for matrices, answered.cpp there for all else.
"""

import numpy as np
import pytest

import opyard
from opyard import autograd

pytestmark = pytest.mark.once

aten = opyard.ops.aten
A = [[[1.2, -0.4, 0.3], [0.5, 0.9, -0.7], [-0.2, 0.8, 1.5]], [[0.7, 0.1, 0.6], [-0.9, 1.4, 0.2],
     [0.3, -0.5, 1.1]]]  # fmt: skip
B = [[[0.3, 1.1], [-0.8, 0.4], [0.6, -0.2]], [[1.0, 0.2], [0.5, -0.6], [-0.1, 0.9]]]
TALL = [[1.2, -0.4, 0.3], [0.5, 0.9, -0.7], [-0.2, 0.8, 1.5], [0.4, 0.1, -0.6], [-1.1, 0.2, 0.5]]
V = [0.45, -1.3, 0.75]


def leaf(values, phase=False):
    array = np.array(values, "float64")
    return opyard.tensor(array + 1j * np.sin(5 * array) if phase else array).requires_grad_()


def gram(x):
    """Positive definite, and symmetric however an element changes."""
    return x @ x.mH


def sizes_of(x):
    """What the phases of vectors do not change."""
    return aten.abs(x)


MATRICES = [
    ("linalg_inv", lambda x: aten.linalg_inv(x), [A]),
    ("inverse", lambda x: aten.inverse(x), [A]),
    ("linalg_inv_ex", lambda x: aten.linalg_inv_ex(x)[0], [A]),
    ("linalg_det", lambda x: aten.linalg_det(x), [A]),
    ("det", lambda x: aten.det(x), [A]),
    ("logdet", lambda x: aten.logdet(gram(x)), [A]),
    ("linalg_slogdet", lambda x: aten.linalg_slogdet(x)[1], [A]),
    ("slogdet", lambda x: aten.slogdet(x)[1], [A]),
    ("linalg_cholesky", lambda x: aten.linalg_cholesky(gram(x)), [A]),
    ("linalg_cholesky upper", lambda x: aten.linalg_cholesky(gram(x), upper=True), [A]),
    ("linalg_cholesky_ex", lambda x: aten.linalg_cholesky_ex(gram(x))[0], [A]),
    ("cholesky", lambda x: aten.cholesky(gram(x), True), [A]),
    ("cholesky_solve", lambda x, y: aten.cholesky_solve(y, aten.tril(x)), [A, B]),
    ("cholesky_solve upper", lambda x, y: aten.cholesky_solve(y, aten.triu(x), True), [A, B]),
    ("cholesky_inverse", lambda x: aten.cholesky_inverse(aten.tril(x)), [A[0]]),
    ("cholesky_inverse upper", lambda x: aten.cholesky_inverse(aten.triu(x), True), [A[0]]),
    ("linalg_solve", lambda x, y: aten.linalg_solve(x, y), [A, B]),
    ("linalg_solve right", lambda x, y: aten.linalg_solve(x, y.mT, left=False), [A, B]),
    ("linalg_solve vector", lambda x, y: aten.linalg_solve(x, y), [A[0], V]),
    ("linalg_solve vectors", lambda x, y: aten.linalg_solve(x, y[:, :, 0]), [A, B]),
    ("linalg_solve of a batch", lambda x, y: aten.linalg_solve(x, y), [A, B[0]]),
    ("linalg_solve_ex", lambda x, y: aten.linalg_solve_ex(x, y)[0], [A, B]),
    ("linalg_eigh values", lambda x: aten.linalg_eigh(gram(x))[0], [A]),
    ("linalg_eigh", lambda x: sizes_of(aten.linalg_eigh(gram(x))[1]), [A]),
    ("_linalg_eigh", lambda x: sizes_of(aten._linalg_eigh(gram(x))[1]), [A]),
    ("linalg_eigvalsh", lambda x: aten.linalg_eigvalsh(gram(x)), [A]),
    ("linalg_eig values", lambda x: sizes_of(aten.linalg_eig(x)[0]), [A]),
    ("linalg_eig", lambda x: sizes_of(aten.linalg_eig(x)[1]), [A]),
    ("linalg_eigvals", lambda x: sizes_of(aten.linalg_eigvals(x)), [A]),
    ("_linalg_eigvals", lambda x: sizes_of(aten._linalg_eigvals(x)), [A]),
    ("linalg_svd values", lambda x: aten.linalg_svd(x, False)[1], [TALL]),
    ("linalg_svd u", lambda x: sizes_of(aten.linalg_svd(x, False)[0]), [TALL]),
    ("linalg_svd v", lambda x: sizes_of(aten.linalg_svd(x, False)[2]), [TALL]),
    ("linalg_svd wide", lambda x: sizes_of(aten.linalg_svd(x.mT, False)[2]), [TALL]),
    ("linalg_svd square", lambda x: sizes_of(aten.linalg_svd(x)[0]), [A]),
    ("_linalg_svd", lambda x: aten._linalg_svd(x)[1], [A]),
    ("linalg_svdvals", lambda x: aten.linalg_svdvals(x), [TALL]),
    ("linalg_qr", lambda x: sizes_of(aten.linalg_qr(x)[0]), [TALL]),
    ("linalg_qr r", lambda x: sizes_of(aten.linalg_qr(x)[1]), [A]),
    ("qr", lambda x: sizes_of(aten.qr(x)[1]), [TALL]),
    ("linalg_pinv", lambda x: aten.linalg_pinv(x, 1e-15), [TALL]),
    ("linalg_pinv wide", lambda x: aten.linalg_pinv(x.mT, rtol=1e-15), [TALL]),
    ("linalg_pinv.atol_rtol_tensor",
     lambda x: aten.linalg_pinv.atol_rtol_tensor(x, rtol=opyard.tensor(1e-15)), [TALL]),
    ("linalg_norm", lambda x: aten.linalg_norm(x), [TALL]),
    ("linalg_norm of rows", lambda x: aten.linalg_norm(x, 3, [1], True), [TALL]),
    ("linalg_norm 2", lambda x: aten.linalg_norm(x, 2), [TALL]),
    ("linalg_matrix_norm", lambda x: aten.linalg_matrix_norm(x, 1, [2, 0], True), [A]),
    ("linalg_matrix_norm -2", lambda x: aten.linalg_matrix_norm(x, -2), [A]),
    ("linalg_matrix_norm nuc", lambda x: aten.linalg_matrix_norm(x, "nuc", [0, 2], True), [A]),
    ("linalg_matrix_norm fro", lambda x: aten.linalg_matrix_norm(x), [A]),
    ("var_mean", lambda x: aten.var_mean(x)[0], [TALL]),
    ("var_mean.dim", lambda x: aten.var_mean(x, [0], False, True)[0], [TALL]),
    ("std_mean", lambda x: aten.std_mean(x, False)[0], [TALL]),
    ("std_mean.correction", lambda x: aten.std_mean(x, [1], correction=2)[0], [TALL]),
    ("nansum", lambda x: aten.nansum(x, [0], True), [TALL]),
]  # fmt: skip
REAL = [
    ("nanmean", lambda x: aten.nanmean(x, [1]), [TALL]),
    ("nanmean of all", lambda x: aten.nanmean(x), [TALL]),
    ("median", lambda x: aten.median(x), [TALL]),
    ("nanmedian", lambda x: aten.nanmedian(x), [TALL]),
    ("median.dim", lambda x: aten.median(x, 0, True)[0], [TALL]),
    ("nanmedian.dim", lambda x: aten.nanmedian(x, 1)[0], [TALL]),
    ("mode", lambda x: aten.mode(x, 0)[0], [TALL]),
    ("cummax", lambda x: aten.cummax(x, 0)[0], [TALL]),
    ("cummin", lambda x: aten.cummin(x, 1)[0], [TALL]),
    ("logcumsumexp", lambda x: aten.logcumsumexp(x, 0), [TALL]),
    ("aminmax", lambda x: aten.aminmax(x, dim=0)[1], [TALL]),
    ("cov", lambda x: aten.cov(x), [TALL]),
    ("quantile", lambda x: aten.quantile(x, opyard.tensor([0.3, 0.8], dtype=x.dtype), 1), [TALL]),
    ("nanquantile", lambda x: aten.nanquantile(x, opyard.tensor(0.3, dtype=x.dtype)), [TALL]),
    ("quantile of a number", lambda x: aten.quantile(x, 0.3, 0), [TALL]),
    ("nanquantile of a number", lambda x: aten.nanquantile(x, 0.3, 0), [TALL]),
    ("linalg_tensorinv", lambda x: aten.linalg_tensorinv(x.reshape([3, 1, 3]), 1), [A[0]]),
    ("fmax", lambda x, y: aten.fmax(x, y), [TALL, V]),
    ("fmin", lambda x, y: aten.fmin(x, y), [TALL, V]),
    ("logaddexp2", lambda x, y: aten.logaddexp2(x, y), [TALL, V]),
    ("ldexp", lambda x, y: aten.ldexp(x, y), [TALL, V]),
    ("nan_to_num", lambda x: aten.nan_to_num(x), [TALL]),
]
WITHIN = [[0.3, 0.8, 0.15], [0.55, 0.4, 0.7]]
BY_SCIPY = [
    (name, lambda x, name=name: getattr(aten, name)(x), [WITHIN])
    for name in (
        *("erfinv", "special_erfinv", "i0", "special_i0", "special_i0e", "special_i1"),
        *("special_i1e", "special_entr", "special_erfcx", "special_ndtr", "special_log_ndtr"),
        "special_ndtri",
    )
] + [
    ("linalg_matrix_exp", lambda x: aten.linalg_matrix_exp(x), [A]),
    ("matrix_exp", lambda x: aten.matrix_exp(x), [A[0]]),
    ("linalg_lu", lambda x: aten.linalg_lu(x)[1] @ aten.linalg_lu(x)[2], [A]),
    ("linalg_solve_triangular",
     lambda x, y: aten.linalg_solve_triangular(x, y, upper=True), [A, B]),
    ("linalg_solve_triangular right",
     lambda x, y: aten.linalg_solve_triangular(x, y.mT, upper=False, left=False), [A, B]),
    ("linalg_solve_triangular with ones",
     lambda x, y: aten.linalg_solve_triangular(x, y, upper=False, unitriangular=True), [A, B]),
    ("polygamma", lambda x: aten.polygamma(1, x), [WITHIN]),
    ("special_polygamma", lambda x: aten.special_polygamma(2, x), [WITHIN]),
    ("special_xlog1py", lambda x, y: aten.special_xlog1py(x, y), [WITHIN, WITHIN[0]]),
]  # fmt: skip


def are_right(fn, leaves):
    return autograd.gradcheck(fn, leaves) and autograd.gradgradcheck(fn, leaves)


@pytest.mark.parametrize("phase", [False, True])
@pytest.mark.parametrize(("name", "fn", "inputs"), MATRICES, ids=[case[0] for case in MATRICES])
def test_X31_gradients_of_matrices_are_what_differences_say(name, fn, inputs, phase):
    if phase and name == "nansum":
        pytest.skip("of real numbers")
    assert are_right(fn, [leaf(values, phase) for values in inputs])


@pytest.mark.parametrize(("name", "fn", "inputs"), REAL, ids=[case[0] for case in REAL])
def test_X31_gradients_of_answers_are_what_differences_say(name, fn, inputs):
    assert are_right(fn, [leaf(values) for values in inputs])


@pytest.mark.parametrize(("name", "fn", "inputs"), BY_SCIPY, ids=[case[0] for case in BY_SCIPY])
def test_X31_gradients_of_what_scipy_answers_are_what_differences_say(name, fn, inputs):
    pytest.importorskip("scipy")
    assert are_right(fn, [leaf(values) for values in inputs])


def test_the_sign_of_a_complex_determinant_has_a_gradient():
    assert are_right(lambda x: aten.linalg_slogdet(x)[0], [leaf(A, True)])


def test_equal_values_have_a_gradient_though_their_vectors_have_none():
    x = leaf([[2.0, 0.0], [0.0, 2.0]])
    for values in (aten.linalg_eigh(x)[0], aten.linalg_svd(x)[1], aten.linalg_eigvalsh(x)):
        x.grad = None
        values.sum().backward()
        assert np.allclose(x.grad.numpy(), np.eye(2))
    x.grad = None
    aten.linalg_eigh(x)[1][0].sum().backward()
    assert not np.isfinite(x.grad.numpy()).all()


def test_nan_has_no_part_in_what_leaves_it_out():
    x = leaf([[1.0, float("nan"), 3.0]])
    for result in (aten.nansum(x), aten.nanmean(x) * 2, aten.fmax(x, leaf([[0.0, 0.0, 0.0]]))):
        x.grad = None
        result.sum().backward()
        assert x.grad.tolist() == [[1.0, 0.0, 1.0]]


def test_the_slopes_of_bessel_functions_at_zero_are_theirs():
    pytest.importorskip("scipy")
    for name, slope in (("i0", 0.0), ("special_i1", 0.5), ("special_i1e", 0.5)):
        x = leaf([0.0])
        getattr(aten, name)(x).backward(opyard.ones(1, dtype=opyard.float64))
        assert x.grad.tolist() == [slope], name


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: aten._linalg_eigh(x, "L", False)[0], ValueError, "compute_v was False"),
        (lambda x: aten._linalg_svd(x, False, False)[1], ValueError, "compute_uv was False"),
        (
            lambda x: aten.linalg_qr(x[:, :2], "complete")[1],
            NotImplementedError,
            "columns as rows or more",
        ),
        (
            lambda x: aten.linalg_qr(x, "r")[1],
            NotImplementedError,
            "the gradient is of the reduced",
        ),
        (lambda x: aten.linalg_slogdet(x * 0)[1], ValueError, "Singular matrix"),
    ],
)
def test_what_has_no_gradient_says_so(call, kind, message):
    result = call(leaf(A[0]))
    with pytest.raises(kind, match=message):
        result.sum().backward()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: aten.linalg_norm(x, 4), "accepted are 1, -1, 2, -2, inf and -inf"),
        (lambda x: aten.linalg_norm(x, "max"), 'ord is "max"; accepted are "fro" and "nuc"'),
        (lambda x: aten.linalg_norm(x[0], "fro"), "without dim a matrix is needed"),
        (lambda x: aten.linalg_norm(x.reshape([1, 3, 3]), 2), "with an ord it is of one or two"),
        (lambda x: aten.linalg_matrix_norm(x, 1, [0]), "is of two dimensions"),
        (lambda x: aten.linalg_matrix_norm(x, 1, [0, -2]), "two different dimensions are needed"),
        (lambda x: aten.linalg_matrix_norm(x.int(), 1), "a float is needed"),
    ],
)
def test_norms_that_are_not_there_are_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(opyard.tensor(A[0]))
