"""Gradients, of both orders, of quantiles, running logarithms, covariances, LU and QR factors,
inverses of tensors and determinants of singular matrices.

They are compared with differences of values, and at corners with PyTorch's answers. Suspect
kernels/src/gradients/quantiles.cpp and linalg.cpp.
"""

import math

import pytest

import opyard
from opyard import autograd

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.once
aten = opyard.ops.aten
Q = opyard.tensor([0.1, 0.5, 0.83], dtype=opyard.float64)
REGULAR = [[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 1.0]]
SINGULAR = [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]]


def wave(*shape, phase=0.0):
    numbers = [math.sin(1.3 * i * i + 0.7 + phase) + 0.1 * i for i in range(math.prod(shape))]
    return opyard.tensor(numbers, dtype=opyard.float64).reshape(list(shape))


def near_one(*shape):
    return (opyard.eye(6, dtype=opyard.float64) * 2 + wave(6, 6) * 0.2).reshape(list(shape))


def quantile(mode, *args, name="quantile"):
    return lambda x: getattr(aten, name)(x, *args, interpolation=mode)


CASES = {
    "logcumsumexp": (lambda x: aten.logcumsumexp(x, 1), wave(3, 5)),
    "logcumsumexp of a row": (lambda x: aten.logcumsumexp(x, 0), wave(4)),
    "aminmax": (lambda x: sum(aten.aminmax(x)), wave(3, 4)),
    "aminmax of lines": (lambda x: list(aten.aminmax(x, dim=1)), wave(3, 4)),
    "aminmax kept": (lambda x: list(aten.aminmax(x, dim=0, keepdim=True)), wave(3, 4)),
    "cov": (lambda x: aten.cov(x), wave(3, 6)),
    "cov of a row": (lambda x: aten.cov(x, correction=0), wave(6)),
    "cov with weights": (
        lambda x: aten.cov(
            x, fweights=opyard.tensor([1, 2, 1, 3, 1, 1]), aweights=wave(6, phase=1).abs() + 0.1
        ),
        wave(3, 6),
    ),
    "qr wide": (lambda x: list(aten.linalg_qr(x)), wave(3, 5)),
    "qr wide complete": (lambda x: list(aten.linalg_qr(x, "complete")), wave(3, 5)),
    "qr wide of a batch": (lambda x: list(aten.linalg_qr(x)), wave(2, 2, 3)),
    "tensorinv": (lambda x: aten.linalg_tensorinv(x, 2), near_one(2, 3, 6)),
    "tensorinv of rows": (lambda x: aten.linalg_tensorinv(x, 1), near_one(6, 2, 3)),
    "det of a singular matrix": (
        lambda x: aten.linalg_det(x),
        opyard.tensor(SINGULAR, dtype=opyard.float64),
    ),
    "det of zeros": (lambda x: aten.det(x), opyard.zeros(2, 2, dtype=opyard.float64)),
    "det of some singular ones": (
        lambda x: aten.det(x),
        opyard.tensor([SINGULAR, REGULAR], dtype=opyard.float64),
    ),
    "quantile of all": (lambda x: aten.quantile(x, Q), wave(3, 4)),
    "quantile kept": (lambda x: aten.quantile(x, Q, 0, True), wave(3, 4, 2)),
    "quantile between": (lambda x: aten.quantile(x, Q, 1), wave(3, 4, 2)),
    "quantile of a number": (lambda x: aten.quantile(x, 0.3, 1), wave(3, 4, 2)),
    "quantile of a number kept": (lambda x: aten.quantile(x, 0.3, -1, True), wave(3, 4)),
    "nanquantile": (lambda x: aten.nanquantile(x, Q, 1), wave(3, 4)),
    **{
        f"quantile {mode}": (quantile(mode, Q, 1), wave(3, 5))
        for mode in ("linear", "lower", "higher", "midpoint", "nearest")
    },
}
LU = {
    "square": wave(4, 4),
    "wide": wave(3, 5),
    "tall": wave(5, 3),
    "of a batch": wave(2, 3, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_differences(name):
    function, x = CASES[name]
    x = x.clone().requires_grad_()
    assert autograd.gradcheck(function, x)
    assert autograd.gradgradcheck(function, x)


@pytest.mark.parametrize("name", LU)
def test_gradients_of_lu_are_those_of_differences(name):
    pytest.importorskip("scipy")
    x = LU[name].clone().requires_grad_()
    assert autograd.gradcheck(lambda x: list(aten.linalg_lu(x)[1:]), x)
    assert autograd.gradgradcheck(lambda x: list(aten.linalg_lu(x)[1:]), x)


def gradient_of(function, values):
    x = opyard.tensor(values, dtype=opyard.float64).requires_grad_()
    results = function(x)
    results = results if isinstance(results, (tuple, list)) else [results]
    total = sum((one * wave(*one.shape)).sum() for one in results)
    return autograd.grad(total, x)[0].tolist()


@pytest.mark.filterwarnings("ignore:All-NaN")
def test_a_line_with_nan_gives_its_gradient_to_the_nan():
    nan = math.nan
    rows = [[1.0, nan, 3.0], [5.0, 4.0, 6.0]]
    first = gradient_of(lambda x: aten.quantile(x, 0.25, 1), rows)
    weights = wave(2).tolist()
    assert first[0] == [0.0, weights[0], 0.0]
    assert first[1] == pytest.approx([weights[1] / 2, weights[1] / 2, 0.0])
    first = gradient_of(lambda x: aten.nanquantile(x, 0.25, 1), [[1.0, nan, 3.0], [nan] * 3])
    assert first[0] == pytest.approx([weights[0] * 0.75, 0.0, weights[0] * 0.25])
    assert first[1] == pytest.approx([weights[1], 0.0, 0.0])


def test_large_numbers_have_gradients_of_logcumsumexp():
    first = gradient_of(lambda x: aten.logcumsumexp(x, 0), [1000.0, -1000.0, 1001.0])
    weights = wave(3).tolist()
    share = 1 / (1 + math.e)
    assert first == pytest.approx(
        [weights[0] + weights[1] + weights[2] * share, 0.0, weights[2] * (1 - share)]
    )


TIES = [[1.0, 1.0, 0.5], [2.0, 0.5, 2.0]]
CORNERS = {  # PyTorch's, of float64
    "aminmax": (
        lambda x: aten.aminmax(x),
        TIES,
        [
            0.0,
            0.0,
            0.322108843618846,
            0.322108843618846,
            0.322108843618846,
            0.322108843618846,
        ],
    ),
    "quantile": (
        lambda x: aten.quantile(x, Q, 1),
        TIES,
        [
            0.251324133669329,
            0.575281742042169,
            0.515374149790153,
            0.838551764130195,
            0.807437941460545,
            0.975046058178891,
        ],
    ),
    "det": (
        lambda x: aten.linalg_det(x),
        SINGULAR,
        [
            2.57687074895076,
            2.57687074895076,
            -2.57687074895076,
            -1.28843537447538,
            -1.28843537447538,
            1.28843537447538,
            -4.29135185545231e-16,
            2.14567592772616e-16,
            -7.94059606115174e-33,
        ],
    ),
}


@pytest.mark.parametrize("name", CORNERS)
def test_gradients_at_corners_are_those_of_pytorch(name):
    function, values, wanted = CORNERS[name]
    found = np.array(gradient_of(function, values)).reshape(-1).tolist()
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def test_what_has_no_gradient_is_refused():
    x = wave(5, 3).requires_grad_()
    with pytest.raises(NotImplementedError, match="the reduced form, and of the complete one"):
        aten.linalg_qr(x, "complete")[0].sum().backward()
    x = opyard.zeros(20, 20, dtype=opyard.float64).requires_grad_()
    (first,) = autograd.grad(aten.det(x), x)
    assert not first.any().item()
    with pytest.raises(NotImplementedError, match="computed for up to 16 rows"):
        autograd.grad(aten.det(x), x, create_graph=True)


# ---- what gradcheck finds besides


class Restless(autograd.Function):
    """Other gradients each time."""

    runs = 0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        Restless.runs += 1
        return gradient * (2 + 1e-7 * Restless.runs)


class Two(autograd.Function):
    """Two results, whose backward takes both gradients for granted, or gives what is not there."""

    gives = None

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, first, second):
        if Two.gives is not None and first is None and second is None:
            return opyard.tensor(Two.gives, dtype=opyard.float64)
        return first * 2 + second * 3


def test_gradcheck_finds_backwards_that_are_not_repeatable():
    x = wave(3).requires_grad_()
    with pytest.raises(autograd.GradcheckError, match="Backward is not reentrant"):
        autograd.gradcheck(Restless.apply, x)
    assert autograd.gradcheck(Restless.apply, x, nondet_tol=1e-5)
    assert not autograd.gradcheck(Restless.apply, x, raise_exception=False)


def test_gradcheck_finds_backwards_that_need_all_gradients():
    x = wave(2).requires_grad_()

    def sums(x):
        one, other = Two.apply(x)
        return one + other, one - other

    with pytest.raises(autograd.GradcheckError, match="handle undefined output grads"):
        autograd.gradcheck(sums, x)
    assert autograd.gradcheck(sums, x, check_undefined_grad=False)


def test_gradcheck_says_that_shapes_depend_on_values():
    x = opyard.tensor([1.0, 1e-7], dtype=opyard.float64).requires_grad_()
    with pytest.raises(ValueError, match=r"outputs of the shapes \[\[2\]\], and of \[\[1\]\]"):
        autograd.gradcheck(lambda x: x[x > 0] * 2, x)


# ---- random complex numbers, and transposes in place


@pytest.mark.parametrize("dtype", [opyard.complex64, opyard.complex128])
def test_random_complex_numbers_have_the_variance_one(dtype):
    opyard.manual_seed(4)
    x = opyard.randn(20000, dtype=dtype)
    assert x.dtype == dtype and x.shape == (20000,)
    for part in (x.real, x.imag):
        assert abs(part.mean().item()) < 0.02
        assert abs(part.pow(2).mean().item() - 0.5) < 0.02
    assert abs((x.real * x.imag).mean().item()) < 0.02
    y = opyard.rand(20000, dtype=dtype)
    for part in (y.real, y.imag):
        assert part.min().item() >= 0 and part.max().item() < 1
        assert abs(part.mean().item() - 0.5) < 0.02
    z = aten.randn_like(x)
    assert z.dtype == dtype and z.tolist() != x.tolist()
    opyard.manual_seed(4)
    assert opyard.randn(20000, dtype=dtype).tolist() == x.tolist()


@pytest.mark.parametrize("name", ["swapaxes_", "swapdims_", "transpose_"])
def test_a_tensor_becomes_its_transpose(name):
    x = wave(2, 3).requires_grad_()
    y = x * 1
    assert getattr(y, name)(0, 1) is y and y.shape == (3, 2)
    (y * wave(3, 2)).sum().backward()
    assert x.grad.tolist() == wave(3, 2).t().tolist()
    z = (x * 1).unsqueeze_(0).unsqueeze_(3)
    assert z.squeeze_([0, 3]).shape == (2, 3)
