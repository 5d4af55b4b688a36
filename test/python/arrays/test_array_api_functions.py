"""test_array_api_functions.py: functions of the array API against NumPy's of the same name.

Suspect the module of publish/python/opyard/_array_api/ that is named above the tests; if values
are wrong and dtypes are right, the kernel of the operator that it calls.
"""

import numpy as np
import pytest

import opyard
import opyard.array_api as xp

pytestmark = pytest.mark.once

RANDOM = np.random.default_rng(11)
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
REAL = INTEGERS + FLOATS
NUMERIC = REAL + COMPLEX


def made(dtype, *shape, low=-4, high=4):
    numbers = RANDOM.uniform(low, high, shape)
    if dtype.startswith("complex"):
        numbers = numbers + 1j * RANDOM.uniform(low, high, shape)
    if dtype == "bool":
        numbers = numbers > (low + high) / 2
    return np.asarray(np.abs(numbers) if dtype.startswith("uint") else numbers).astype(dtype)


def of(array):
    return xp.asarray(array, copy=True)


def agree(found, expected):
    expected = np.asarray(expected)
    assert isinstance(found, opyard.Tensor)
    assert (found.dtype.name, found.shape) == (expected.dtype.name, expected.shape)
    tolerance = 1e-12 if expected.dtype.name in ("float64", "complex128") else 2e-5
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


# elementwise.py ---------------------------------------------------------------------------

UNARY = {
    "abs negative positive square conj": NUMERIC,
    "cos cosh exp sin sinh sqrt tanh log log10 log2 log1p expm1 acos acosh asin asinh atan atanh "
    "tan reciprocal": FLOATS + COMPLEX,
    "ceil floor trunc": REAL,
    "round": NUMERIC,
    "sign": REAL,
    "signbit": FLOATS,
    "isfinite isinf isnan": NUMERIC,
    "real": NUMERIC,
    "imag": COMPLEX,
    "bitwise_invert": [*INTEGERS, "bool"],
    "logical_not": ["bool"],
}
# Where functions of floats are defined; -4 to 4 for the others.
DOMAINS = {"acos": (-1, 1), "asin": (-1, 1), "atanh": (-0.9, 0.9), "acosh": (1, 4), "sqrt": (0, 4)}
DOMAINS.update(dict.fromkeys(("log", "log2", "log10", "log1p", "reciprocal"), (0.1, 4)))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for names, dtypes in UNARY.items()
        for name in names.split()
        for dtype in dtypes
    ],
)
def test_unary(name, dtype):
    low, high = DOMAINS.get(name, (-4, 4))
    for shape in ((3, 4), (), (0, 2)):
        x = made(dtype, *shape, low=low, high=high)
        agree(getattr(xp, name)(of(x)), getattr(np, name)(x))


BINARY = {
    "add multiply subtract": NUMERIC,
    "divide": FLOATS + COMPLEX,
    "equal not_equal": ["bool", *NUMERIC],
    "greater greater_equal less less_equal maximum minimum": REAL,
    "floor_divide remainder": REAL,
    "pow": FLOATS + COMPLEX,
    "atan2 copysign hypot logaddexp nextafter": FLOATS,
    "bitwise_and bitwise_or bitwise_xor": [*INTEGERS, "bool"],
    "bitwise_left_shift bitwise_right_shift": INTEGERS,
    "logical_and logical_or logical_xor": ["bool"],
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for names, dtypes in BINARY.items()
        for name in names.split()
        for dtype in dtypes
    ],
)
def test_binary(name, dtype):
    low = 1 if name in ("floor_divide", "remainder", "pow") or "shift" in name else -4
    for first, second in (((3, 4), (3, 4)), ((3, 1), (4,)), ((), (2,)), ((0, 2), (2,))):
        x, y = made(dtype, *first, low=low), made(dtype, *second, low=low)
        agree(getattr(xp, name)(of(x), of(y)), getattr(np, name)(x, y))
    if dtype != "bool":
        x = made(dtype, 3, low=low)
        agree(getattr(xp, name)(of(x), 2), getattr(np, name)(x, 2))
        agree(getattr(xp, name)(2, of(x)), getattr(np, name)(2, x))


def test_special_values():
    nan, inf = xp.nan, xp.inf
    x = xp.asarray([nan, -0.0, inf, -inf])
    assert xp.isnan(xp.sign(x)).tolist() == [True, False, False, False]
    assert xp.sign(x).tolist()[1:] == [0.0, 1.0, -1.0]
    assert xp.signbit(x).tolist()[1:] == [True, False, True]
    assert xp.isnan(xp.maximum(x, 0.0)).tolist() == [True, False, False, False]
    found = xp.expm1(xp.asarray([complex(inf, 0), complex(-inf, inf), 0j]))
    assert found.tolist() == [complex(inf, 0), complex(-1, 0), 0j]
    assert xp.sign(xp.asarray([3 + 4j, 0j])).tolist() == pytest.approx([0.6 + 0.8j, 0j])
    assert xp.round(xp.asarray([0.5, 1.5, -2.5])).tolist() == [0.0, 2.0, -2.0]


def test_clip():
    x = made("float64", 3, 4)
    low, high = made("float64", 4) - 3, made("float64", 3, 1) + 3
    for bounds in ((-1, 1), (None, 0.5), (-0.5, None), (low, high), (low, 2)):
        given = [of(each) if isinstance(each, np.ndarray) else each for each in bounds]
        agree(xp.clip(of(x), *given), np.clip(x, *bounds))
    found = xp.clip(of(x))
    assert found.tolist() == x.tolist() and xp.clip(of(x), max=1).dtype is xp.float64
    assert xp.clip(xp.asarray([1, 5, 9], dtype=xp.int8), 2, 6).dtype is xp.int8


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: xp.exp(1.0), TypeError, "exp: x is of type float; accepted is an opyard.Tensor"),
        (lambda: xp.exp(np.ones(2)), TypeError, "exp: x is of type ndarray"),
        (lambda: xp.add(1, 2), TypeError, "add: x1 and x2 are numbers; at least one is to be"),
        (lambda: xp.add(xp.ones(2), "a"), TypeError, "add: x2 is of type str"),
        (lambda: xp.clip(2.0, 1), TypeError, "clip: x is of type float"),
        (lambda: xp.imag(xp.ones(2)), TypeError, "imag: self is float32"),
        (lambda: xp.bitwise_and(xp.ones(2), 1.0), NotImplementedError, "bitwise_and"),
        (lambda: xp.multiply(xp.ones(2), xp.ones(3)), ValueError, "mul"),
    ],
)
def test_elementwise_functions_refuse(call, error, text):
    with pytest.raises(error, match=text):
        call()


# reductions.py ----------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (), (2, 0, 1)])
@pytest.mark.parametrize("name", "sum prod max min mean var std all any count_nonzero".split())
def test_reductions(name, axis):
    is_float = name in ("mean", "var", "std")
    for dtype in FLOATS if is_float else ("int64", "float32", "float64"):
        x = made(dtype, 2, 3, 4)
        for keepdims in (False, True):
            found = getattr(xp, name)(of(x), axis=axis, keepdims=keepdims)
            expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
            agree(found, np.asarray(expected, "int64" if name == "count_nonzero" else None))


def test_dtypes_of_sums():
    for dtype in (*INTEGERS, "bool"):
        x = of(made(dtype, 3))
        widest = xp.uint64 if dtype.startswith("uint") else xp.int64
        assert xp.sum(x).dtype is xp.prod(x, axis=0).dtype is xp.cumulative_sum(x).dtype is widest
        assert xp.sum(x, axis=()).dtype is widest
    x = xp.ones(2, dtype=xp.int8)
    assert xp.sum(x, dtype=xp.int8).dtype is xp.prod(x, dtype=xp.int8).dtype is xp.int8
    assert xp.mean(x).dtype is xp.float32 and xp.sum(x, dtype=xp.float64).dtype is xp.float64


def test_corrections():
    x = made("float64", 3, 5)
    for correction in (0, 1, 1.5):
        for name in ("var", "std"):
            found = getattr(xp, name)(of(x), axis=1, correction=correction)
            agree(found, getattr(np, name)(x, axis=1, ddof=correction))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_sums(name):
    for dtype in ("int64", "float32", "complex128"):
        x = made(dtype, 3, 4)
        for axis in (0, -1):
            for initial in (False, True):
                found = getattr(xp, name)(of(x), axis=axis, include_initial=initial)
                agree(found, getattr(np, name)(x, axis=axis, include_initial=initial))
    with pytest.raises(ValueError, match=f"{name}: x has 2 dimensions, so axis is to be given"):
        getattr(xp, name)(of(x))


def test_diff():
    x = made("float64", 3, 4)
    y = made("float64", 3, 2)
    for n in (0, 1, 2):
        agree(xp.diff(of(x), n=n), np.diff(x, n))
        agree(xp.diff(of(x), axis=0, n=n), np.diff(x, n, 0))
    agree(xp.diff(of(x), prepend=of(y), append=of(y)), np.diff(x, prepend=y, append=y))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: xp.sum(x, axis=2), IndexError, "sum: axis is 2; accepted are -2 to 1"),
        (lambda x: xp.max(x, axis=(0, 0)), ValueError, "max: axis is .* names a dimension twice"),
        (lambda x: xp.mean(x, axis=1.0), TypeError, "mean: axis is 1.0; accepted is an int"),
        (lambda x: xp.sum(x, dtype="int64"), TypeError, "sum: dtype is 'int64'"),
        (lambda x: xp.max(x[:0]), (ValueError, IndexError), "amax"),
        (lambda x: xp.diff(x, n=-1), ValueError, "diff: n is -1"),
        (lambda x: xp.argmax(x, axis=3), IndexError, "argmax: axis is 3"),
        (lambda x: xp.nonzero(xp.asarray(1)), ValueError, "nonzero: x has no dimensions"),
        (lambda x: xp.take(x, xp.asarray([0])), ValueError, "take: x has 2 dimensions, so axis"),
        (lambda x: xp.take(x, xp.asarray([0.0]), axis=0), TypeError, "take: indices is float32"),
        (lambda x: xp.take(x, xp.asarray([9]), axis=0), IndexError, "9"),
        (lambda x: xp.where(x, x, x), TypeError, "where: condition is float32; accepted is bool"),
        (lambda x: xp.searchsorted(x, x), ValueError, "searchsorted: x1 has 2 dimensions"),
        (lambda x: xp.searchsorted(x[0], x, side="up"), ValueError, "searchsorted: side is 'up'"),
        (lambda x: xp.sort(x, axis=2), IndexError, "sort: axis is 2"),
    ],
)
def test_reductions_and_searches_refuse(call, error, text):
    with pytest.raises(error, match=text):
        call(xp.ones((2, 3)))


# searching.py and sets.py -----------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes(name, axis):
    x = made("int8", 5, 6)  # with equal ones
    for keepdims in (False, True):
        found = getattr(xp, name)(of(x), axis=axis, keepdims=keepdims)
        agree(found, getattr(np, name)(x, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", [*REAL, "bool"])
def test_order(dtype):
    x = made(dtype, 4, 9)
    for axis in (0, -1):
        agree(xp.sort(of(x), axis=axis), np.sort(x, axis=axis))
        agree(xp.argsort(of(x), axis=axis), np.argsort(x, axis=axis, stable=True))
        found = xp.sort(of(x), axis=axis, descending=True)
        agree(found, np.flip(np.sort(x, axis=axis), axis))
    equal = xp.argsort(xp.asarray([1, 0, 1, 0]), descending=True)
    assert equal.tolist() == [0, 2, 1, 3]


def test_searches():
    x = made("float64", 5, 6)
    for found, expected in zip(xp.nonzero(of(x > 0)), np.nonzero(x > 0), strict=True):
        agree(found, expected)
    row = np.sort(x[0])
    for side in ("left", "right"):
        agree(xp.searchsorted(of(row), of(x), side=side), np.searchsorted(row, x, side))
    order = xp.argsort(of(x[0]))
    agree(xp.searchsorted(of(x[0]), of(x), sorter=order), np.searchsorted(row, x))
    agree(xp.where(of(x > 0), of(x), 0), np.where(x > 0, x, 0))
    agree(xp.take(of(x), xp.asarray([1, -1, 0]), axis=1), x[:, [1, -1, 0]])
    places = np.argsort(x, axis=0)[:2]
    agree(xp.take_along_axis(of(x), of(places), axis=0), np.take_along_axis(x, places, 0))
    agree(xp.take_along_axis(of(x), of(places - 5), axis=0), np.take_along_axis(x, places, 0))


@pytest.mark.parametrize("dtype", ["bool", *NUMERIC])
@pytest.mark.parametrize("shape", [(7, 6), (1,), (0, 3), ()])
def test_sets(dtype, shape):
    x = np.round(made(dtype, *shape)).astype(dtype)
    found, expected = xp.unique_all(of(x)), np.unique_all(x)
    for field in ("values", "indices", "inverse_indices", "counts"):
        agree(getattr(found, field), getattr(expected, field))
    agree(xp.unique_values(of(x)), expected.values)
    assert xp.unique_counts(of(x)).counts.tolist() == expected.counts.tolist()
    inverse = xp.unique_inverse(of(x)).inverse_indices
    assert inverse.tolist() == expected.inverse_indices.tolist()


def test_each_nan_is_an_element_of_a_set():
    found = xp.unique_all(xp.asarray([xp.nan, 1.0, xp.nan, -0.0, 0.0]))
    assert (
        found.values.tolist()[:2] == [0.0, 1.0]
        and xp.isnan(found.values[2:]).tolist() == [True] * 2
    )
    assert (found.counts.tolist(), found.indices.tolist()) == ([2, 1, 1, 1], [3, 1, 0, 2])


# linalg.py --------------------------------------------------------------------------------


def positive(dtype, *shape):
    x = made(dtype, *shape)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1], dtype=dtype) * 2


@pytest.mark.parametrize("dtype", NUMERIC)
def test_products(dtype):
    x, y, v = made(dtype, 2, 3, 4), made(dtype, 2, 4, 3), made(dtype, 4)
    agree(xp.matmul(of(x), of(y)), np.matmul(x, y))
    agree(xp.matmul(of(x), of(v)), np.matmul(x, v))
    agree(xp.vecdot(of(x), of(v)), np.vecdot(x, v))
    agree(xp.vecdot(of(x), of(x), axis=-2), np.vecdot(x, x, axis=-2))
    agree(xp.tensordot(of(x), of(y), axes=((2, 0), (1, 0))), np.tensordot(x, y, ((2, 0), (1, 0))))
    agree(xp.tensordot(of(v), of(v), axes=1), np.tensordot(v, v, 1))
    agree(xp.tensordot(of(v), of(v), axes=0), np.tensordot(v, v, 0))
    agree(xp.matrix_transpose(of(x)), np.matrix_transpose(x))
    agree(xp.linalg.outer(of(v), of(v)), np.linalg.outer(v, v))
    agree(xp.linalg.diagonal(of(x), offset=1), np.linalg.diagonal(x, offset=1))
    agree(xp.linalg.trace(of(x), dtype=of(x).dtype), np.linalg.trace(x, dtype=dtype))
    agree(
        xp.linalg.cross(of(x), of(x[:1] + x[1:]), axis=1), np.linalg.cross(x, x[:1] + x[1:], axis=1)
    )


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_decompositions(dtype):
    x, square = made(dtype, 2, 4, 3), positive(dtype, 2, 3, 3)
    linalg = xp.linalg
    for name in ("det", "inv", "cholesky", "eigvalsh"):
        agree(getattr(linalg, name)(of(square)), getattr(np.linalg, name)(square))
    agree(linalg.svdvals(of(x)), np.linalg.svdvals(x))
    agree(linalg.pinv(of(x)), np.linalg.pinv(x))
    agree(linalg.matrix_rank(of(x)), np.linalg.matrix_rank(x))
    assert linalg.matrix_rank(of(x), rtol=2.0).tolist() == [0, 0]
    agree(linalg.matrix_power(of(square), -2), np.linalg.matrix_power(square, -2))
    agree(linalg.cholesky(of(square), upper=True), np.linalg.cholesky(square, upper=True))
    u, s, vh = linalg.svd(of(x), full_matrices=False)
    agree(xp.matmul(u * s[:, None, :], vh), x)
    assert linalg.svd(of(x)).U.shape == (2, 4, 4)
    q, r = linalg.qr(of(x))
    agree(xp.matmul(q, r), x)
    assert linalg.qr(of(x), mode="complete").Q.shape == (2, 4, 4)
    values, vectors = linalg.eigh(of(square))
    agree(xp.matmul(of(square), vectors) - vectors * values[:, None, :], np.zeros_like(square))
    sign, logarithm = linalg.slogdet(of(square))
    agree(sign * xp.exp(logarithm), np.linalg.det(square))


@pytest.mark.parametrize(("left", "right"), [((2, 3, 3), (3,)), ((2, 3, 3), (3, 2)),
                                             ((3, 3, 3), (3, 3)), ((3, 3), (2, 3, 1))])  # fmt: skip
def test_solve(left, right):
    x1, x2 = positive("float64", *left), made("float64", *right)
    found = xp.linalg.solve(of(x1), of(x2))
    agree(found, np.linalg.solve(x1, x2))


def test_norms():
    x = made("float64", 2, 3, 4)
    for order in (0, 1, 2, 3.5, xp.inf, -xp.inf, -1):
        for axis in (None, 1, (0, 2), ()):
            found = xp.linalg.vector_norm(of(x), axis=axis, ord=order, keepdims=axis == 1)
            expected = np.linalg.vector_norm(x, axis=axis or None, ord=order, keepdims=axis == 1)
            if axis == ():
                expected = np.abs(x) if order else (x != 0).astype(x.dtype)
            agree(found, expected)
    for order in ("fro", "nuc", 1, -1, 2, -2, xp.inf, -xp.inf):
        agree(xp.linalg.matrix_norm(of(x), ord=order), np.linalg.matrix_norm(x, ord=order))
        found = xp.linalg.matrix_norm(of(x), ord=order, keepdims=True)
        agree(found, np.linalg.matrix_norm(x, ord=order, keepdims=True))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: xp.linalg.det(x[0]), ValueError, "det: x has 1 dimensions; a matrix has two"),
        (lambda x: xp.linalg.inv(xp.astype(x, xp.int64)), TypeError, "inv: x is int64; accepted"),
        (lambda x: xp.linalg.cross(x, x), ValueError, "cross: the vectors have 2 elements"),
        (lambda x: xp.vecdot(x, x[:, :1]), ValueError, "vecdot: .* sizes 2 and 1 along axis -1"),
        (lambda x: xp.vecdot(x, x[0], axis=-2), IndexError, "vecdot: axis is -2; accepted are -1"),
        (lambda x: xp.tensordot(x, x, axes=3), ValueError, "tensordot: axes is 3"),
        (lambda x: xp.tensordot(x, x, axes=([0], [0, 1])), ValueError, "tensordot: 1 and 2"),
        (lambda x: xp.linalg.qr(x, mode="r"), ValueError, "qr: mode is 'r'"),
        (lambda x: xp.linalg.matrix_norm(x, ord=3), ValueError, "matrix_norm: ord is 3"),
        (lambda x: xp.linalg.outer(x, x), ValueError, "outer: x1 has 2 dimensions"),
        (lambda x: xp.linalg.vector_norm(xp.asarray([1])), TypeError, "vector_norm: x is int64"),
        (lambda x: xp.fft.fft(x, norm="none"), ValueError, "fft: norm is 'none'"),
        (lambda x: xp.fft.fft(xp.asarray([1])), TypeError, "fft: x is int64; accepted are float"),
        (lambda x: xp.fft.fftn(x, s=(1,), axes=(0, 1)), ValueError, "fftn: 1 and 2 numbers"),
        (lambda x: xp.fft.fftfreq(0), ValueError, "fftfreq: n is 0"),
    ],
)
def test_extensions_refuse(call, error, text):
    with pytest.raises(error, match=text):
        call(xp.ones((2, 2)))


# fft.py -----------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", "fft ifft rfft irfft hfft ihfft".split())
def test_transforms(name, norm):
    x = made("float64" if name in ("rfft", "ihfft") else "complex128", 4, 6)
    for options in ({}, {"n": 5}, {"axis": 0}, {"n": 9, "axis": 0}):
        found = getattr(xp.fft, name)(of(x), norm=norm, **options)
        agree(found, getattr(np.fft, name)(x, norm=norm, **options))


@pytest.mark.parametrize("name", "fftn ifftn rfftn irfftn".split())
def test_transforms_of_several_axes(name):
    x = made("float64" if name == "rfftn" else "complex128", 4, 6, 3)
    for options in ({}, {"axes": (0, 1)}, {"s": (3, 8), "axes": (0, 2)}):
        agree(getattr(xp.fft, name)(of(x), **options), getattr(np.fft, name)(x, **options))


def test_frequencies():
    x = made("float32", 4, 5)
    for n in (1, 4, 7):
        for name in ("fftfreq", "rfftfreq"):
            found = getattr(xp.fft, name)(n, d=0.5, dtype=xp.float64)
            agree(found, getattr(np.fft, name)(n, 0.5))
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 0, (1,)):
            agree(getattr(xp.fft, name)(of(x), axes=axes), getattr(np.fft, name)(x, axes))
    assert xp.fft.fft(of(x)).dtype is xp.complex64
