"""Protects results of operators in each dtype, on random tensors in any layout, beside NumPy.

NumPy computes every element in the dtype itself; here narrow integers and halves are carried by
wider dtypes (kernels/loops/loop.h), which must not show. Suspect kernels/loops/, then the file of
the operator.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opyard

pytestmark = pytest.mark.once

aten = opyard.ops.aten
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
# The most that two roundings of one element may be apart.
NEAR = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-12, "complex64": 4e-6, "complex128": 1e-12}

SHAPES = st.sampled_from([(), (1,), (0,), (3, 0, 2), (7,), (3, 5), (2, 3, 4), (1, 257), (300, 2)])
LAYOUTS = {
    "row-major": lambda x: x,
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "sliced": lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
    "backwards": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1] if x.ndim else x,
}


def random_array(kind, shape, seed, low=None):
    random = np.random.default_rng(seed)
    if kind in INTEGERS:
        info = np.iinfo(kind)
        return random.integers(info.min if low is None else low, info.max, shape, dtype=kind)
    values = random.normal(size=shape) * 4
    if kind in COMPLEX:
        values = values + 1j * random.normal(size=shape)
    return np.asarray(values).astype(kind)


def same(ours, theirs, kind):
    ours = np.asarray(ours)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    if ours.dtype.kind in "iub":
        assert np.array_equal(ours, theirs)
    else:
        near = NEAR[kind]
        assert np.allclose(ours, theirs, rtol=near, atol=near, equal_nan=True)


BINARY = {
    "add": (aten.add, np.add, "iufc"),
    "sub": (aten.sub, np.subtract, "iufc"),
    "mul": (aten.mul, np.multiply, "iufc"),
    "div": (aten.div, np.divide, "fc"),
    "eq": (aten.eq, np.equal, "iufc"),
    "ne": (aten.ne, np.not_equal, "iufc"),
    "lt": (aten.lt, np.less, "iuf"),
    "ge": (aten.ge, np.greater_equal, "iuf"),
    "maximum": (aten.maximum, np.maximum, "iuf"),
    "minimum": (aten.minimum, np.minimum, "iuf"),
    "bitwise_and": (aten.bitwise_and, np.bitwise_and, "iu"),
    "bitwise_xor": (aten.bitwise_xor, np.bitwise_xor, "iu"),
    "logical_or": (aten.logical_or, np.logical_or, "iufc"),
}
UNARY = {
    "neg": (aten.neg, np.negative, "iufc"),
    "abs": (aten.abs, np.abs, "iufc"),
    "exp": (aten.exp, np.exp, "fc"),
    "sqrt": (aten.sqrt, lambda x: np.sqrt(x), "c"),
    "sin": (aten.sin, np.sin, "fc"),
    "tanh": (aten.tanh, np.tanh, "fc"),
    "log1p": (aten.log1p, np.log1p, "c"),
    "expm1": (aten.expm1, np.expm1, "fc"),
    "sign": (aten.sign, np.sign, "iuf"),
    "isnan": (aten.isnan, np.isnan, "iufc"),
    "logical_not": (aten.logical_not, np.logical_not, "iufc"),
}


def kinds_of(letters):
    return [kind for kind in INTEGERS + FLOATS + COMPLEX if np.dtype(kind).kind in letters]


@pytest.mark.parametrize("name", BINARY)
@given(SHAPES, st.sampled_from(sorted(LAYOUTS)), st.sampled_from(sorted(LAYOUTS)), st.data())
@settings(max_examples=40, deadline=None)
def test_two_tensors_give_what_numpy_gives(name, shape, layout, other_layout, data):
    ours, theirs, letters = BINARY[name]
    kind = data.draw(st.sampled_from(kinds_of(letters)))
    x = LAYOUTS[layout](random_array(kind, shape, 1))
    y = LAYOUTS[other_layout](random_array(kind, shape, 2))
    with np.errstate(all="ignore"):
        expected = np.asarray(theirs(x, y))
    same(ours(opyard.tensor(x), opyard.tensor(y)), expected, kind)


@pytest.mark.parametrize("name", UNARY)
@given(SHAPES, st.sampled_from(sorted(LAYOUTS)), st.data())
@settings(max_examples=40, deadline=None)
def test_one_tensor_gives_what_numpy_gives(name, shape, layout, data):
    ours, theirs, letters = UNARY[name]
    kind = data.draw(st.sampled_from(kinds_of(letters)))
    x = LAYOUTS[layout](random_array(kind, shape, 3))
    with np.errstate(all="ignore"):
        expected = np.asarray(theirs(x))
    same(ours(opyard.tensor(x)), expected, kind)


@pytest.mark.parametrize("kind", INTEGERS + FLOATS + COMPLEX)
@given(st.sampled_from([(7,), (3, 5), (2, 3, 4), (257, 2)]), st.sampled_from(sorted(LAYOUTS)))
@settings(max_examples=20, deadline=None)
def test_reductions_give_what_numpy_gives(kind, shape, layout):
    x = LAYOUTS[layout](random_array(kind, shape, 4))
    tensor = opyard.tensor(x)
    wide = {"i": "int64", "u": "int64"}.get(np.dtype(kind).kind, kind)
    exact = "complex128" if kind in COMPLEX else "int64" if wide == "int64" else "float64"
    with np.errstate(all="ignore"):
        expected = np.asarray(x.sum(-1, dtype=exact)).astype(wide)
    same(aten.sum(tensor, [-1]), expected, kind)
    same(aten.all(tensor, 0), np.all(x, 0).astype("uint8" if kind == "uint8" else "bool"), kind)
    if kind in COMPLEX:
        with pytest.raises(NotImplementedError, match="complex numbers have no order"):
            aten.amax(tensor)
        return
    same(aten.amax(tensor, [-1]), x.max(-1), kind)
    same(aten.argmin(tensor, 0), np.argmin(x, 0), kind)


@pytest.mark.parametrize("kind", INTEGERS + FLOATS + COMPLEX)
def test_matrices_give_what_numpy_gives(kind):
    x, y = random_array(kind, (5, 7), 5), random_array(kind, (7, 3), 6)
    wide = {"f": "float64", "c": "complex128"}.get(np.dtype(kind).kind, "int64")
    with np.errstate(all="ignore"):
        expected = (x.astype(wide) @ y.astype(wide)).astype(kind)
    same(aten.mm(opyard.tensor(x), opyard.tensor(y)), expected, kind)
    same(aten.mm(opyard.tensor(np.ascontiguousarray(x.T)).t(), opyard.tensor(y)), expected, kind)


@pytest.mark.parametrize("kind", INTEGERS + FLOATS + COMPLEX)
@pytest.mark.parametrize("to", ["bool", *INTEGERS, *FLOATS, *COMPLEX])
def test_every_dtype_is_converted_to_every_other(kind, to):
    x = random_array(kind, (301,), 7)
    if np.dtype(kind).kind in "fc":
        x = np.abs(x).astype(kind) if np.dtype(to).kind in "iu" else x
    tensor = opyard.tensor(x).to(getattr(opyard, to))
    with np.errstate(all="ignore"):
        real = x.real if kind in COMPLEX and to not in [*COMPLEX, "bool"] else x
        expected = real.astype(np.float32).astype(to) if to == "float16" else real.astype(to)
    assert np.array_equal(np.asarray(tensor), expected)


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_positions_are_int32_or_int64(index):
    x = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    at = opyard.tensor([[1], [0]], dtype=getattr(opyard, index))
    assert aten.gather(x, 1, at).tolist() == [[2.0], [3.0]]
    assert aten.index_select(x, 0, at[0]).tolist() == [[3.0, 4.0]]
    with pytest.raises(TypeError, match="index is int16.*accepted are int64 and int32"):
        aten.gather(x, 1, at.to(opyard.int16))


def test_every_half_is_widened_and_comes_back():
    bits = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    halves = bits.view(np.float16)
    wide = opyard.tensor(halves).to(opyard.float32)
    assert np.array_equal(np.asarray(wide), halves.astype(np.float32), equal_nan=True)
    back = np.asarray(wide.to(opyard.float16)).view(np.uint16)
    real = ~np.isnan(halves)
    assert np.array_equal(back[real], bits[real])
    wide = opyard.tensor((bits.astype(np.uint32) << 16).view(np.float32))
    again = np.asarray(wide.to(opyard.bfloat16).to(opyard.float32))
    assert np.array_equal(again, np.asarray(wide), equal_nan=True)


def test_gradients_of_complex_tensors_keep_the_dtype():
    for dtype in (np.complex64, np.complex128):
        x = opyard.tensor(np.array([1 + 2j], dtype)).requires_grad_()
        (x * x).backward(opyard.tensor(np.array([1j], dtype)))
        assert x.grad.numpy().dtype == dtype
        assert x.grad.tolist() == [1j * 2 * (1 - 2j)]


@pytest.mark.parametrize(
    ("named", "dtype"),
    [
        (np.float64, opyard.float64),
        (np.dtype("int32"), opyard.int32),
        (np.bool_, opyard.bool),
        (float, opyard.float64),
        (complex, opyard.complex128),
    ],
)
def test_operators_take_dtypes_by_other_names(named, dtype):
    x = opyard.tensor([0.0, 1.0])
    assert x.to(named).dtype is dtype
    assert aten.zeros([2], dtype=named).dtype is dtype


@pytest.mark.parametrize("named", [dict, np.dtype("S3"), np.dtype(">f4"), "flaot64"])
def test_what_names_no_dtype_is_refused(named):
    with pytest.raises(TypeError, match="'ScalarType.?' for argument 'dtype'"):
        aten.zeros([2], dtype=named)
