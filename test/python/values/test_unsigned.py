"""test_unsigned.py: uint16, uint32 and uint64: values, exchange, conversion and arithmetic.

Suspect kernels/loops/loop.h [Unsigned] and kernels/src/common/copy.cpp [Few loops]; for values
pyfallback/objects/values/element.cpp.
"""

import copy
import operator
import pickle

import numpy as np
import pytest

import opyard

pytestmark = pytest.mark.once

aten = opyard.ops.aten
NAMES = ["uint16", "uint32", "uint64"]
ALL = ["bool", "int8", "int16", "int32", "int64", "uint8", *NAMES, "float16", "float32", "float64"]
MOST = {"uint16": 2**16 - 1, "uint32": 2**32 - 1, "uint64": 2**64 - 1}


def numbers(name):
    """The ends, the middle and small ones: with and without the upper bit."""
    most = MOST[name]
    half = most // 2
    return np.array([0, 1, 2, 3, 7, half - 1, half, half + 1, half + 2, most - 1, most], name)


def pairs(name):
    a, b = np.meshgrid(numbers(name), numbers(name))
    return a.ravel().copy(), b.ravel().copy()


def same(found, expected):
    expected = np.asarray(expected)
    assert isinstance(found, opyard.Tensor)
    assert (found.dtype.name, found.shape) == (expected.dtype.name, expected.shape)
    np.testing.assert_array_equal(found.numpy(), expected)


# Values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_dtype(name):
    dtype = getattr(opyard, name)
    assert repr(dtype) == f"opyard.{name}"
    assert (dtype.itemsize * 8, dtype.is_floating_point) == (int(name[4:]), False)
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.deepcopy(dtype) is dtype


@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_python(name):
    dtype, most = getattr(opyard, name), MOST[name]
    x = opyard.tensor([[0, 1], [most - 1, most]], dtype=dtype)
    assert x.tolist() == [[0, 1], [most - 1, most]]
    assert x[1, 1].item() == int(x[1, 1]) == most
    assert str(most) in repr(x) and name in repr(x)
    assert opyard.tensor([2.9, True], dtype=dtype).tolist() == [2, 1]
    for wrong in (-1, most + 1):
        with pytest.raises((ValueError, TypeError), match=str(wrong).lstrip("-")):
            opyard.tensor([wrong], dtype=dtype)
    with pytest.raises(ValueError, match="1e\\+30"):
        opyard.tensor([1e30], dtype=dtype)


def test_ints_above_int64_need_the_dtype():
    with pytest.raises(ValueError, match="accepted are ints from"):
        opyard.tensor([2**63])
    assert opyard.tensor([2**63], dtype=opyard.uint64).tolist() == [2**63]
    assert opyard.tensor([2**63], dtype=opyard.float64).tolist() == [2.0**63]
    with pytest.raises(ValueError, match="does not fit in int64"):
        opyard.tensor([2**63], dtype=opyard.int64)


def test_schemas_take_what_an_int_holds():
    small, large = opyard.tensor([5, 2**63], dtype=opyard.uint64)
    assert opyard.zeros(3).select(0, 0).fill_(small).item() == 5.0
    assert aten._local_scalar_dense(small) == 5
    with pytest.raises(ValueError, match="9223372036854775808"):
        aten._local_scalar_dense(large)


# Exchange ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_memory_is_shared_with_numpy(name):
    array = numbers(name)
    for x in (opyard.from_numpy(array), opyard.from_dlpack(array)):
        assert x.dtype is getattr(opyard, name)
        assert x.data_ptr() == array.ctypes.data
        same(x, array)
        assert x.numpy().dtype == array.dtype
        back = np.from_dlpack(x)
        assert (back.dtype, back.ctypes.data) == (array.dtype, array.ctypes.data)
        assert memoryview(x).format == memoryview(array).format
    assert type(aten.add(array, array)) is np.ndarray
    assert opyard.tensor(memoryview(array)).dtype is getattr(opyard, name)
    assert opyard.zeros(2, dtype=array.dtype).dtype is getattr(opyard, name)


@pytest.mark.parametrize("name", NAMES)
def test_files(name, tmp_path):
    x = opyard.tensor(numbers(name))
    opyard.save({"x": x}, tmp_path / "x.safetensors")
    same(opyard.load(tmp_path / "x.safetensors")["x"], numbers(name))
    assert f'"U{name[4:]}"'.encode() in (tmp_path / "x.safetensors").read_bytes()
    same(pickle.loads(pickle.dumps(x)), numbers(name))
    same(copy.deepcopy(x), numbers(name))


# Conversion --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("other", ALL)
@pytest.mark.parametrize("step", [1, 2])
def test_conversion(name, other, step):
    array = np.tile(numbers(name), 9)
    x = opyard.tensor(array)[::step]
    with np.errstate(over="ignore"):
        same(x.to(getattr(opyard, other)), array[::step].astype(other))
    signs = np.array([0, 1, 2, 100, 127, -1, -128] * 9)
    given = signs.astype(other) if not other.startswith("u") else np.abs(signs).astype(other)
    with np.errstate(invalid="ignore"):
        expected = given.astype("int64").astype(name)  # which wraps
    same(opyard.tensor(given)[::step].to(getattr(opyard, name)), expected[::step])


def test_conversion_of_large_floats():
    x = opyard.tensor([2.0**63, 2.0**64 - 2048, 1.5, 0.0], dtype=opyard.float64)
    assert x.to(opyard.uint64).tolist() == [2**63, 2**64 - 2048, 1, 0]
    assert x.to(opyard.uint64).to(opyard.complex128).tolist() == [2.0**63, 2.0**64 - 2048, 1, 0]


# Arithmetic --------------------------------------------------------------------------------

EXACT = "add subtract multiply bitwise_and bitwise_or bitwise_xor maximum minimum".split()
COMPARED = "equal not_equal less less_equal greater greater_equal".split()
SYMBOLS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "maximum": aten.maximum,
    "minimum": aten.minimum,
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", [*EXACT, *COMPARED])
def test_two_tensors(name, function):
    a, b = pairs(name)
    x, y = opyard.tensor(a), opyard.tensor(b)
    same(SYMBOLS[function](x, y), getattr(np, function)(a, b))
    same(SYMBOLS[function](x[::2], y[1:62]), getattr(np, function)(a[::2], b[1:62]))


@pytest.mark.parametrize("name", NAMES)
def test_division(name):
    a, b = pairs(name)
    a, b = a[b != 0], b[b != 0]
    x, y = opyard.tensor(a), opyard.tensor(b)
    same(x // y, a // b)
    same(x % y, a % b)
    same(aten.fmod(x, y), np.fmod(a, b))
    same(aten.div(x, y, rounding_mode="trunc"), a // b)
    same(x / y, (a.astype("float32") / b.astype("float32")))
    with pytest.raises(ValueError, match="contains a zero"):
        x // opyard.zeros(1, dtype=x.dtype)


@pytest.mark.parametrize("name", NAMES)
def test_shifts_and_powers(name):
    a = numbers(name)
    x = opyard.tensor(a)
    bits = int(name[4:])
    for by in (0, 1, bits - 1):
        same(x << by, a << np.array(by, name))
        same(x >> by, a >> np.array(by, name))
    same(x >> opyard.tensor(np.full(len(a), 3, name)), a >> np.array(3, name))
    with np.errstate(over="ignore"):
        same(x**2, a**2)
        same(aten.pow(x, opyard.tensor(np.full(len(a), 3, name))), a ** np.array(3, name))


@pytest.mark.parametrize("name", NAMES)
def test_one_tensor(name):
    a = numbers(name)
    x = opyard.tensor(a)
    same(abs(x), a)
    same(-x, (0 - a).astype(name))
    same(~x, ~a)
    for same_function in ("floor", "ceil", "trunc", "sign", "square"):
        same(getattr(aten, same_function)(x), getattr(np, same_function)(a).astype(name))
    same(aten.sgn(x), np.sign(a))
    same(aten.signbit(x), np.zeros(len(a), bool))
    same(aten.isfinite(x), np.ones(len(a), bool))
    same(aten.logical_not(x), a == 0)
    same(aten.sqrt(x), np.sqrt(a.astype("float32")))


@pytest.mark.parametrize("name", NAMES)
def test_numbers_beside_tensors(name):
    a, most = numbers(name), MOST[name]
    x = opyard.tensor(a)
    same(x + 3, a + np.array(3, name))
    same(5 - x, np.array(5, name) - a)
    same(7 % (x + 1)[:-1], np.array(7, name) % (a + np.array(1, name))[:-1])
    same(x < 3, a < 3)
    same(x + 0.5, a.astype("float32") + np.float32(0.5))
    same(x == most, a == most)
    same(x < most, a < most)
    same(x & most, a)
    y = opyard.tensor(a)
    y += most
    same(y, a + np.array(most, name))
    same(aten.clamp(x, 2), np.maximum(a, np.array(2, name)))
    same(aten.clamp(x, 1, 7), np.clip(a, np.array(1, name), np.array(7, name)))
    same(aten.clamp(x, None, 7), np.minimum(a, np.array(7, name)))
    same(aten.where(x > 3, x, 0), np.where(a > 3, a, np.array(0, name)))
    with pytest.raises((TypeError, ValueError)):
        x + (2**64)


# Reductions, order and places --------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_reductions(name):
    a = RNG.permutation(np.tile(numbers(name), 7)).reshape(7, 11)
    x = opyard.tensor(a)
    for dim in (0, 1):
        same(x.amax(dim), a.max(dim))
        same(x.amin(dim), a.min(dim))
        same(x.argmax(dim), a.argmax(dim))
        same(x.argmin(dim), a.argmin(dim))
        with np.errstate(over="ignore"):
            same(x.sum(dim, dtype=x.dtype), a.sum(dim, dtype=name))
            same(x.prod(dim, dtype=x.dtype), a.prod(dim, dtype=name))
            same(x.cumsum(dim, dtype=x.dtype), a.cumsum(dim, dtype=name))
            assert x.sum(dim).dtype is opyard.int64  # as PyTorch
        same(x.any(dim), a.any(dim))
        same(x.all(dim), a.all(dim))
    values, places = x.max(1)
    same(values, a.max(1))
    same(places, a.argmax(1))
    same(aten.mean(x, dtype=opyard.float64), a.astype("float64").mean())


@pytest.mark.parametrize("name", NAMES)
def test_order(name):
    a = RNG.permutation(np.tile(numbers(name), 3))
    x = opyard.tensor(a)
    same(aten.sort(x)[0], np.sort(a))
    same(aten.sort(x, descending=True)[0], np.sort(a)[::-1])
    same(aten.argsort(x, stable=True), np.argsort(a, kind="stable"))
    same(aten.topk(x, 5)[0], np.sort(a)[::-1][:5])
    edges = np.sort(numbers(name))
    same(aten.searchsorted(opyard.tensor(edges), x), np.searchsorted(edges, a))


@pytest.mark.parametrize("name", NAMES)
def test_places(name):
    a = numbers(name)
    x = opyard.tensor(a)
    same(x[[3, 1, 1]], a[[3, 1, 1]])
    same(x[x > 3], a[a > 3])
    same(opyard.stack([x, x]), np.stack([a, a]))
    same(aten.cat([x, x[:2]]), np.concatenate([a, a[:2]]))
    same(aten.flip(x, [0]), a[::-1])
    same(aten.gather(x, 0, opyard.tensor([2, 2])), a[[2, 2]])
    with np.errstate(over="ignore"):
        added = aten.index_put(x, [opyard.tensor([0, 0])], x[-2:], True)
        same(added[0], a[0] + a[-2] + a[-1])
        same(aten.matmul(x, x), (a * a).sum(dtype=name))
    assert aten.equal(x, x.clone()) and not aten.equal(x, x + 1)
    same(opyard.arange(5, dtype=x.dtype), np.arange(5, dtype=name))
    same(aten.full([2], 3, dtype=x.dtype), np.full(2, 3, name))


RNG = np.random.default_rng(5)


# Promotion ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("other", ALL)
def test_promotion(name, other):
    x = opyard.zeros(2, dtype=getattr(opyard, name))
    y = opyard.zeros(2, dtype=getattr(opyard, other))
    if name == "uint64" and other.startswith("int"):
        with pytest.raises(TypeError, match="meet in no integer dtype"):
            x + y
        return
    expected = other if other.startswith("float") else np.result_type(name, other).name
    assert (x + y).dtype.name == (y + x).dtype.name == expected


def test_uint64_is_refused_where_its_order_would_be_lost():
    x = opyard.tensor([1, 2**63], dtype=opyard.uint64)
    index = opyard.tensor([0, 0])
    with pytest.raises(NotImplementedError, match="uint64"):
        aten.scatter_reduce(x, 0, index, x, "amax")
    with pytest.raises(NotImplementedError, match="uint64"):
        aten.relu(x)
