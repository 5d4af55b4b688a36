"""test_numpy_functions.py: NumPy's functions of tensors are operators of aten.

Suspect pyfallback/opyard/_tensor/ufuncs.py for universal functions, and for all others
publish/python/opyard/_array_api/numpy_functions.py.
"""

import numpy as np
import pytest

import opyard

pytestmark = pytest.mark.once

X = np.array([[0.25, 0.5, 0.75], [0.9, 0.4, 0.1]])


@pytest.fixture
def x():
    return opyard.tensor(X)


def agree(found, expected):
    assert isinstance(found, opyard.Tensor)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


class Seen(opyard.dispatch.DispatchMode):
    """The names of the operators that were called."""

    def __init__(self):
        self.names = []

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        self.names.append(op.name().partition(".")[0])
        return op(*args, **(kwargs or {}))


# Universal functions ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    """
    absolute arccos arcsin arcsinh arctan arctanh ceil conjugate cos cosh deg2rad degrees exp exp2
    expm1 fabs floor isfinite isinf isnan log log10 log1p log2 logical_not negative positive
    rad2deg radians reciprocal rint sign signbit sin sinh sqrt square tan tanh trunc
    """.split(),
)
def test_of_one_array(x, name):
    agree(getattr(np, name)(x), getattr(np, name)(X))


@pytest.mark.parametrize(
    "name",
    """
    add arctan2 copysign divide equal float_power floor_divide fmax fmin fmod greater greater_equal
    heaviside hypot less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum
    minimum multiply nextafter not_equal power remainder subtract
    """.split(),
)
def test_of_two_arrays(x, name):
    function = getattr(np, name)
    y = np.flip(X).copy()
    expected = function(X, y)
    agree(function(x, opyard.tensor(y)), expected)
    agree(function(x, y), expected)
    agree(function(X, opyard.tensor(y)), expected)
    for number in (0.3, np.float64(0.3)):
        agree(function(x, number), function(X, number))
        agree(function(number, x), function(number, X))


def test_of_integers():
    x, y = np.array([6, 4, 9]), np.array([1, 3, 2])
    for name in "bitwise_and bitwise_or bitwise_xor gcd lcm left_shift right_shift".split():
        found = getattr(np, name)(opyard.tensor(x), y)
        agree(found, getattr(np, name)(x, y))
        assert found.dtype is opyard.int64
    agree(np.invert(opyard.tensor(x)), ~x)
    agree(np.matmul(opyard.tensor(X), X.T.copy()), X @ X.T)


def test_the_sign_of_nan_is_nan():
    found = np.sign(opyard.tensor([np.nan, -2.0, 0.0]))
    assert np.isnan(found[0].item()) and found[1:].tolist() == [-1.0, 0.0]


def test_modes_and_gradients_see_them(x):
    with Seen() as seen:
        np.exp(x)
        np.mean(x, axis=0)
        np.maximum(X, x)
    assert seen.names == ["aten::exp", "aten::mean", "aten::maximum"]
    y = opyard.tensor([1.0, 2.0], requires_grad=True)
    np.sum(np.square(y)).backward()
    assert y.grad.tolist() == [2.0, 4.0]


def test_a_result_can_be_stored(x):
    out = opyard.zeros(2, 3, dtype=opyard.float64)
    assert np.multiply(x, 2.0, out=out) is out
    agree(out, X * 2)
    with pytest.raises(TypeError, match=r"numpy.multiply: out is float32 of shape \(2, 3\)"):
        np.multiply(x, 2.0, out=opyard.zeros(2, 3))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.cbrt(x), "numpy.cbrt does not take an opyard.Tensor; call opyard.ops.aten.p"),
        (lambda x: np.cbrt(x), r"or numpy\.cbrt of x\.numpy\(\), which reads and writes the same"),
        (lambda x: np.modf(x), "numpy.modf does not .*aten.trunc and aten.frac"),
        (lambda x: np.divmod(x, 2), "numpy.divmod does not .*aten.floor_divide and aten.rem"),
        (lambda x: np.add.reduce(x), "numpy.add.reduce does not .* call opyard.ops.aten.sum"),
        (lambda x: np.maximum.accumulate(x), "numpy.maximum.accumulate .* call .*aten.cummax"),
        (lambda x: np.add.outer(x, x), "numpy.add.outer .* call an operator of opyard.ops.aten"),
        (lambda x: np.exp(x, dtype="f4"), "numpy.exp .*Tensor with dtype=; call .*aten.exp"),
        (lambda x: np.add(x, x, where=X > 0), r"numpy.add .* with where=; write x \+ y"),
        (lambda x: np.add(X, x, out=X), "with the ndarray that out is; write"),
        (lambda x: np.frompyfunc(abs, 1, 1)(x), "does not take an opyard.Tensor"),
    ],
)
def test_what_no_operator_computes_is_refused(x, call, text):
    with pytest.raises(TypeError, match=text):
        call(x)


def test_special_functions_of_scipy(x):
    special = pytest.importorskip("scipy.special")
    for name in "erf erfc expit gammaln i0".split():
        agree(getattr(special, name)(x), getattr(special, name)(X))
    with pytest.raises(TypeError, match="scipy.special.ellipk does not take"):
        special.ellipk(x)


# All others -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", "sum prod mean std var max min amax amin".split())
def test_reductions(x, name):
    function = getattr(np, name)
    agree(function(x), function(X))
    agree(function(x, axis=0), function(X, axis=0))
    agree(function(x, 1, keepdims=True), function(X, 1, keepdims=True))
    agree(function(x, axis=(0, 1)), function(X, axis=(0, 1)))
    if name in ("std", "var"):
        agree(function(x, 0, ddof=1), function(X, 0, ddof=1))
    if name in ("sum", "prod", "mean", "std", "var"):
        assert function(x, dtype=np.float32).dtype is opyard.float32


def test_places_and_truth(x):
    for function in (np.argmax, np.argmin, np.all, np.any, np.count_nonzero):
        agree(function(x), function(X))
        agree(function(x, axis=1), function(X, axis=1))
    agree(np.argsort(x), np.argsort(X))
    agree(np.sort(x, axis=0), np.sort(X, axis=0))
    agree(np.sort(x, axis=None), np.sort(X, axis=None))
    for found, expected in zip(np.where(x > 0.4), np.where(X > 0.4), strict=True):
        agree(found, expected)
    agree(np.where(x > 0.4, x, 0), np.where(X > 0.4, X, 0))
    assert np.allclose(x, X) is np.array_equal(x, X) is True
    assert np.allclose(x, X + 1) is np.array_equal(x, X + 1) is False
    agree(np.isclose(x, X), np.isclose(X, X))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.reshape(x, (3, 2)),
        lambda x: np.transpose(x),
        lambda x: np.transpose(x, (1, 0)),
        lambda x: np.squeeze(x[None]),
        lambda x: np.expand_dims(x, 0),
        lambda x: np.concatenate([x, x], axis=1),
        lambda x: np.concatenate((x, X)),
        lambda x: np.stack([x, X], axis=-1),
        lambda x: np.flip(x, 0),
        lambda x: np.roll(x, 1),
        lambda x: np.repeat(x, 2, axis=0),
        lambda x: np.tile(x, (2, 1)),
        lambda x: np.moveaxis(x, 0, 1),
        lambda x: np.broadcast_to(x, (2, 2, 3)),
        lambda x: np.cumsum(x),
        lambda x: np.cumprod(x, axis=1),
        lambda x: np.diff(x),
        lambda x: np.clip(x, 0.3, 0.6),
        lambda x: np.clip(x, None, a_max=0.6),
        lambda x: np.round(x, 1),
        lambda x: np.take(x, [0, 2], axis=1),
        lambda x: np.take(x, [0, 5]),
        lambda x: np.dot(x, X.T.copy()),
        lambda x: np.tensordot(x, x, axes=2),
        lambda x: np.trace(x),
        lambda x: np.diagonal(x, 1),
        lambda x: np.tril(x),
        lambda x: np.real(x),
        lambda x: np.imag(x),
        lambda x: np.zeros_like(x),
        lambda x: np.full_like(x, 3),
        lambda x: np.linalg.inv(x[:, :2]),
        lambda x: np.linalg.det(x[:, :2]),
        lambda x: np.linalg.norm(x),
        lambda x: np.linalg.norm(x, axis=1, keepdims=True),
        lambda x: np.around(x, 1),
        lambda x: np.cumulative_sum(x, axis=1, include_initial=True),
        lambda x: np.matrix_transpose(x),
        lambda x: np.ravel(x),
        lambda x: np.swapaxes(x, 0, 1),
        lambda x: np.repeat(x, [1, 0, 2], axis=1),
        lambda x: np.searchsorted(x[0], 0.5),
        lambda x: np.searchsorted(x[0], x, side="right"),
        lambda x: np.dot(x, 2.0),
        lambda x: np.meshgrid(x[0], x[1], indexing="ij")[1],
        lambda x: np.unique_values(x),
        lambda x: np.unstack(x, axis=1)[2],
        lambda x: np.linalg.eigh(x[:, :2]).eigenvalues,
        lambda x: np.linalg.svd(x, full_matrices=False).S,
        lambda x: np.linalg.vector_norm(x, axis=0),
        lambda x: np.linalg.matrix_norm(x, ord="nuc"),
        lambda x: np.linalg.vecdot(x, x, axis=0),
        lambda x: np.linalg.trace(x, offset=1),
        lambda x: np.linalg.slogdet(x[:, :2])[1],
        lambda x: np.fft.fft(x, axis=0),
        lambda x: np.fft.rfftn(x, s=(2, 2), axes=(0, 1)),
        lambda x: np.fft.fftshift(x),
        lambda x: np.fft.rfft(x, 4),
    ],
)
def test_counterparts(x, call):
    agree(call(x), call(X))


def test_a_result_is_no_array_and_no_object(x):
    for found in (np.exp(x), np.mean(x, axis=0), np.concatenate([X, x])):
        assert type(found) is opyard.Tensor


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.sum(x, where=X > 0), "numpy.sum of an opyard.Tensor does not take where="),
        (lambda x: np.sum(x, out=np.zeros(())), "numpy.sum .* does not take out=; call it on x.nu"),
        (lambda x: np.linalg.pinv(x, rcond=0.1), "numpy.linalg.pinv .* does not take rcond="),
        (lambda x: np.mean(x, axis=5), "mean: axis is 5"),
        (lambda x: np.round(opyard.tensor([15]), -1), "numpy.round: decimals is -1"),
    ],
)
def test_arguments_that_have_no_counterpart_are_refused(x, call, text):
    with pytest.raises((TypeError, IndexError), match=text):
        call(x)


def test_without_a_counterpart_numpy_computes_on_the_memory(x):
    counts, edges = np.histogram(x, 3)
    assert counts.tolist() == np.histogram(X, 3)[0].tolist()
    assert type(counts) is type(edges) is np.ndarray
    assert np.shares_memory(x, x.numpy()) and np.shape(x) == (2, 3)
    np.copyto(x, 5.0)
    assert x.tolist() == [[5.0] * 3] * 2
    y = opyard.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(TypeError, match=r"numpy.histogram: .* call it with tensor\.detach\(\)"):
        np.histogram(y)
    with pytest.raises((TypeError, NotImplementedError), match="bfloat16"):
        np.histogram(opyard.tensor([1.0], dtype=opyard.bfloat16))


# Functions of the standard -----------------------------------------------------------------


def test_functions_of_the_standard_are_dispatched():
    """Each of the standard's names that NumPy dispatches has a counterpart here."""
    from opyard import array_api
    from opyard._array_api.numpy_functions import _COUNTERPARTS

    spaces = [(np, array_api), (np.linalg, array_api.linalg), (np.fft, array_api.fft)]
    named = [getattr(theirs, name, None) for theirs, ours in spaces for name in ours.__all__]
    dispatched = [each for each in named if hasattr(each, "_implementation")]
    assert len(dispatched) > 60
    names = {f"{each.__module__}.{each.__name__}" for each in dispatched}
    assert names - _COUNTERPARTS.keys() == set()


def test_dtypes_of_numpy_and_tensors(x):
    agree(np.astype(x, np.float32), X.astype(np.float32))
    assert np.astype(x, np.int8).dtype is opyard.int8
    assert np.result_type(x, np.float32) is opyard.float64
    assert np.result_type(opyard.tensor([1], dtype=opyard.uint16), 1) is opyard.uint16
    assert np.can_cast(x, np.float64) and not np.can_cast(x, np.float32)


def test_linspace_and_vecdot(x):
    agree(np.linspace(x, 2.0, 5), np.linspace(X, 2.0, 5))
    agree(
        np.linspace(x[0], x[1], 4, endpoint=False, axis=1),
        np.linspace(X[0], X[1], 4, False, axis=1),
    )
    with pytest.raises(TypeError, match="retstep"):
        np.linspace(x, 2.0, 5, retstep=True)
    if hasattr(np, "vecdot"):
        agree(np.vecdot(x, x), np.vecdot(X, X))


@pytest.mark.parametrize(
    "write",
    [
        lambda s: np.copyto(s, 7),
        lambda s: np.copyto(dst=s, src=7),
        lambda s: np.fill_diagonal(s, 7),
        lambda s: np.place(s, np.ones((2, 2), bool), [7]),
        lambda s: np.put(s, [0], [7]),
        lambda s: np.put_along_axis(s, np.zeros((2, 1), int), 7, 1),
        lambda s: np.putmask(s, np.ones((2, 2), bool), 7),
        lambda s: np.median(s, axis=0, out=s[0]),
    ],
)
def test_G11_what_numpy_writes_is_counted(write):
    w, s = opyard.ones(2, 2, requires_grad=True), opyard.ones(2, 2)
    y = w * s
    write(s)
    assert s._version == 1
    with pytest.raises(ValueError, match="modified by an inplace operation"):
        y.sum().backward()
