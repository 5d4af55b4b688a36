"""test_tensor_indexing.py: t[index] and t[index] = value. Suspect opyard/_tensor/indexing.py."""

import random

import numpy as np
import pytest

import opyard

pytestmark = pytest.mark.memory

SHAPE = (3, 4, 2)


@pytest.fixture
def array():
    return np.arange(24.0).reshape(SHAPE)


@pytest.fixture
def tensor(array):
    return opyard.from_numpy(array)


def same(result, expected):
    assert result.shape == expected.shape
    assert result.tolist() == expected.tolist()


VIEWS = [
    0,
    -1,
    (),
    ...,
    None,
    slice(None),
    slice(1, None),
    slice(None, -1),
    slice(-2, 100),
    slice(2, 1),
    slice(0, 3, 2),
    slice(None, None, 10**30),
    (1, 2),
    (1, 2, 1),
    (..., 0),
    (0, ...),
    (slice(None), slice(1, 3)),
    (1, ..., slice(None, None, 2)),
    (None, 0, None, ..., None),
    (slice(1), None, 3),
    (0, 1, 1, ...),
    np.int64(2),
    (np.int8(1), 2),
]
COPIES = [
    [0, 2],
    [2, 0, 0, -1],
    [[0, 1], [2, 0]],
    [],
    [True, False, True],
    [False] * 3,
    ([0, 1], [3, 2]),
    ([0, 2], [1, 1], [0, 1]),
    (slice(None), [0, 3]),
    (slice(None), [0, 3], slice(1)),
    (..., [1, 0]),
    (..., [0, 3], [1, 0]),
    ([0, 1], slice(None), [0, 1]),
    (None, [1, 2]),
    ([1, 2], None),
    ([[0], [2]], [1, 3]),
    (slice(1, None), [True, False, False, True]),
    (slice(None, None, 2), ..., [0, 0, 1]),
    True,
    False,
    (..., True),
    (slice(None), True),
    range(2),
    np.array([1, 0], np.int32),
    np.arange(24).reshape(SHAPE) % 3 == 0,
    np.arange(12).reshape(3, 4) > 5,
    (slice(None), np.arange(8).reshape(4, 2) > 5),
]


def numpy_index(index):
    """The index as NumPy means it: a list in a tuple, or a range, is an array."""
    if isinstance(index, tuple):
        return tuple(map(numpy_index, index))
    if isinstance(index, list | range):
        return np.array(index, np.int64 if len(index) == 0 else None)
    return index


def text(index):
    return repr(index).replace("\n", "")[:60]


@pytest.mark.parametrize("index", VIEWS, ids=text)
def test_views(tensor, array, index):
    expected = array[index]
    result = tensor[index]
    same(result, np.asarray(expected))
    if expected.size:
        assert result.data_ptr() == np.asarray(array[index]).__array_interface__["data"][0] or (
            expected.ndim == 0  # a scalar of NumPy is a copy
        )
    assert result is not tensor


@pytest.mark.parametrize("index", COPIES, ids=text)
def test_copies(tensor, array, index):
    result = tensor[index]
    same(result, array[numpy_index(index)])
    result += 100
    assert array.max() < 100


@pytest.mark.parametrize("index", VIEWS + COPIES, ids=text)
def test_writing_a_number(tensor, array, index):
    expected = array.copy()
    expected[numpy_index(index)] = -1
    tensor[index] = -1
    assert array.tolist() == expected.tolist()


@pytest.mark.parametrize("index", VIEWS + COPIES, ids=text)
def test_writing_elements_in_order(tensor, array, index):
    expected = array.copy()
    places = numpy_index(index)
    value = -1.0 - np.arange(expected[places].size).reshape(expected[places].shape)
    expected[places] = value
    tensor[index] = opyard.tensor(value)
    if not _repeats(index):
        assert array.tolist() == expected.tolist()


def _repeats(index):
    """Whether an element is named twice: NumPy does not promise then which value stays."""
    return isinstance(index, list) and index == [2, 0, 0, -1]


def test_of_a_place_that_is_named_twice_the_last_value_stays():
    tensor = opyard.tensor([0, 0, 0])
    tensor[[1, 1, 1]] = opyard.tensor([5, 6, 7])
    assert tensor.tolist() == [0, 7, 0]


def test_indices_may_be_tensors(tensor, array):
    rows = opyard.tensor([2, 0])
    same(tensor[rows], array[[2, 0]])
    same(tensor[rows, :, rows[1]], array[[2, 0], :, 0])
    same(tensor[opyard.tensor(1)], array[1])
    same(tensor[opyard.tensor(1) :], array[1:])
    same(tensor[opyard.tensor(True)], array[True])
    same(tensor[tensor > 5], array[array > 5])


class Names(opyard.dispatch.DispatchMode):
    def __init__(self):
        self.names = []

    def __opyard_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("index", "names"),
    [
        ((0, 1), ["aten::select.int"] * 2),
        ((slice(None), 1), ["aten::select.int"]),
        (
            (slice(1, 2), -1, slice(0, 1)),
            ["aten::slice.Tensor", "aten::select.int", "aten::slice.Tensor"],
        ),
        ((slice(None), slice(None)), ["aten::alias"]),
        ((slice(0, 100), slice(None, None, 1)), ["aten::alias"]),
        (slice(1, None), ["aten::slice.Tensor"]),
        (-1, ["aten::select.int"]),
        ((), ["aten::alias"]),
    ],
    ids=text,
)
def test_modes_see_an_operator_for_each_int_and_slice(tensor, index, names):
    with Names() as seen:
        tensor[index]
    assert seen.names == names


class Wrapped(opyard.Tensor):
    """What a mode answers with: no plain tensor."""


class Wrapping(opyard.dispatch.DispatchMode):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        return opyard.Tensor.make_subclass(Wrapped, op(*args, **(kwargs or {})))


def test_what_a_mode_answers_is_indexed_on(tensor, array):
    with Wrapping():
        part = tensor[1, 1:3, 0]
    assert type(part) is Wrapped
    same(part, array[1, 1:3, 0])


def test_ints_and_slices_mean_the_same_with_and_without_python(tensor):
    from opyard._tensor import indexing

    rng = random.Random(20)

    def item():
        if rng.random() < 0.4:
            return rng.randrange(-2, 2)
        bounds = [rng.choice([None, *range(-5, 6), 2**62, -(2**62)]) for _ in range(2)]
        return slice(*bounds, rng.choice([None, 1, 2, 3, 2**62]))

    for _ in range(300):
        index = tuple(item() for _ in range(rng.randrange(4)))
        index = index[0] if len(index) == 1 else index
        straight, by_module = tensor[index], indexing.get_item(tensor, index)
        assert straight.shape == by_module.shape
        assert straight.strides == by_module.strides
        assert straight.storage_offset() == by_module.storage_offset()


def test_a_gradient_flows_through_ints_and_slices():
    x = opyard.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    (x[1, 1:] * 2).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [0, 2, 2]]


def test_ints_are_taken_before_indices_that_are_tensors(tensor, array):
    same(tensor[0, :, [1, 0]], array[0][:, [1, 0]])
    same(tensor[[1, 0], :, 0], array[:, :, 0][[1, 0]])


@pytest.mark.parametrize(
    "value", [7, 7.5, True, [7, 8], [[1], [2], [3]], np.float32(2), np.ones((3, 2))], ids=text
)
def test_values_broadcast(tensor, array, value):
    expected = array.copy()
    expected[:, 1] = value
    tensor[:, 1] = value
    assert array.tolist() == expected.tolist()
    places = np.array(value).reshape(-1, 1, np.shape(value)[-1] if np.ndim(value) else 1)
    expected[:, [3, 1]] = places
    tensor[:, [3, 1]] = places
    assert array.tolist() == expected.tolist()


def test_values_are_converted_to_the_dtype_of_the_tensor():
    tensor = opyard.tensor([1, 2, 3])
    tensor[0] = 7.9
    tensor[1:] = opyard.tensor([8.9, -8.9])
    assert tensor.tolist() == [7, 8, -8]
    tensor[[2, 0]] = opyard.tensor([1.5, 2.5])
    tensor[tensor == 8] = 0.5
    assert (tensor.tolist(), tensor.dtype) == ([2, 0, 1], opyard.int64)


def test_a_part_of_itself_can_be_written():
    tensor = opyard.tensor([1, 2, 3, 4])
    tensor[1:] = tensor[:-1]
    assert tensor.tolist() == [1, 1, 2, 3]
    tensor[[0, 1, 2, 3]] = tensor[[3, 2, 1, 0]]
    assert tensor.tolist() == [3, 2, 1, 1]
    tensor[tensor > 1] = tensor[0]
    assert tensor.tolist() == [3, 3, 1, 1]


def test_augmented_assignment_reaches_the_tensor():
    tensor = opyard.tensor([[1, 2], [3, 4]])
    tensor[0] += 10
    tensor[:, 1] *= 2
    tensor[[1]] -= 1
    assert tensor.tolist() == [[11, 24], [2, 7]]


def test_read_only_memory_is_not_written():
    tensor = opyard.from_numpy(np.frombuffer(b"abc", np.uint8))
    for index in (0, [0], slice(None)):
        with pytest.raises(ValueError, match="read-only"):
            tensor[index] = 1
    assert tensor.tolist() == [97, 98, 99]


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        (3, IndexError, "index"),
        (-4, IndexError, "index"),
        ((0, 4), IndexError, "index"),
        (
            1 << 70,
            IndexError,
            f"^index {1 << 70} is out of range for dimension 0, which has the "
            "size 3; accepted are -3 to 2$",
        ),
        (
            (1, slice(2), -(1 << 63) - 1),
            IndexError,
            "^index -9223372036854775809 is out of range "
            "for dimension 1, which has the size 2; accepted are -2 to 1$",
        ),
        ([0, 1 << 70], ValueError, rf"^tensor: data\[1\] is the int {1 << 70}; accepted are ints"),
        ((0, 0, 0, 0), IndexError, "uses 4 dimensions, and the tensor of shape .* has 3"),
        ((..., 0, 0, 0, 0), IndexError, "uses 4 dimensions"),
        ((..., ...), IndexError, "more than one '...'"),
        (slice(None, None, -1), ValueError, "step -1"),
        (slice(None, None, 0), ValueError, "step"),
        (slice("a"), TypeError, "slice indices must be integers"),
        (1.0, TypeError, "cannot be indexed with a float; ints, slices"),
        ("a", TypeError, "cannot be indexed with a str"),
        ({}, TypeError, "cannot be indexed with a dict"),
        (object(), TypeError, "cannot be indexed with a object"),
        ([0, 3], IndexError, "3"),
        ([0.5], Exception, "float32"),
        ([True, False], Exception, "mask"),
        ([[0, 1], [2]], ValueError, "ragged"),
        (([0, 1], [0, 1, 2]), Exception, "aten::index"),
        (np.zeros((3, 3), bool), Exception, "mask"),
    ],
    ids=text,
)
@pytest.mark.parametrize("write", [False, True], ids=["get", "set"])
def test_wrong_indices(tensor, array, index, error, words, write):
    before = array.tolist()
    with pytest.raises(error, match=words):
        if write:
            tensor[index] = 1
        else:
            tensor[index]
    assert array.tolist() == before


def test_an_empty_dimension_has_no_places():
    with pytest.raises(IndexError) as caught:
        opyard.tensor([])[1 << 70]
    assert str(caught.value) == (
        f"index {1 << 70} is out of range for dimension 0, which has the size 0; it has no elements"
    )


@pytest.mark.parametrize("index", [0, slice(None), [0], (0, 0), 1 << 70], ids=text)
def test_a_tensor_without_dimensions_has_no_places(index):
    with pytest.raises(IndexError, match="and the tensor"):
        opyard.tensor(1)[index]


def test_a_tensor_without_dimensions_is_written_by_empty_indices():
    tensor = opyard.tensor(1)
    tensor[()] = 2
    tensor[...] += 1
    tensor[True] = tensor + 1
    assert tensor.item() == 4
    assert tensor[None].shape == (1,)


@pytest.mark.parametrize(
    "value", [opyard.tensor([1.0, 2.0, 3.0]), [[1, 2, 3]], np.ones((5, 4, 2))], ids=text
)
@pytest.mark.parametrize("index", [0, slice(None), [0, 1], [True, False, True]], ids=text)
def test_values_that_do_not_broadcast(tensor, array, index, value):
    before = array.tolist()
    with pytest.raises(ValueError):
        tensor[index] = value
    assert array.tolist() == before


def test_values_must_be_numbers(tensor):
    with pytest.raises(TypeError, match="data is a str"):
        tensor[0] = "text"
    with pytest.raises(TypeError, match="data is a NoneType"):
        tensor[[0]] = None


def random_index(choose, shape):
    """A random index of a tensor of this shape, in NumPy's and in our words alike."""
    items, advanced = [], choose.random() < 0.5
    for size in shape[: choose.randint(0, len(shape))]:
        kind = choose.choice(["slice", "list", "slice"] if advanced else ["slice", "int", "none"])
        if kind == "none":
            items.append(None)
        elif kind == "int":
            items.append(choose.randrange(-size, size))
        elif kind == "list":
            items.append([choose.randrange(-size, size) for _ in range(2)])
        else:
            ends = [choose.choice([None, choose.randint(-size - 1, size + 1)]) for _ in range(2)]
            items.append(slice(*ends, choose.choice([None, 1, 2, 3])))
    if choose.random() < 0.3:
        # Between lists NumPy takes even an empty Ellipsis for a gap.
        place = choose.choice([0, len(items)]) if advanced else choose.randint(0, len(items))
        items.insert(place, ...)
    return tuple(items)


@pytest.mark.parametrize("seed", range(20))
def test_random_indices_mean_what_numpy_means(seed):
    choose = random.Random(seed)
    for _ in range(25):
        shape = tuple(choose.randint(1, 4) for _ in range(choose.randint(1, 4)))
        array = np.arange(np.prod(shape)).reshape(shape)
        base = array.T if choose.random() < 0.5 else array
        index = random_index(choose, base.shape)
        try:
            expected = base[index]
        except (IndexError, DeprecationWarning):
            continue  # the Ellipsis moved an int or a list beyond its dimension
        tensor = opyard.from_numpy(base)
        same(tensor[index], np.asarray(expected))
        copy = base.copy()
        copy[index] = -1
        tensor[index] = -1
        assert base.tolist() == copy.tolist(), index


class Lent:
    """An array of a library that has no buffer, as PyTorch's."""

    ndim = 0

    def __init__(self, data):
        self.tensor = opyard.tensor(data)

    def __dlpack__(self, **how):
        return self.tensor.__dlpack__(**how)

    def __dlpack_device__(self):
        return (1, 0)

    def __index__(self):
        return int(self.tensor)


def test_arrays_without_a_buffer_are_indices():
    x = opyard.tensor([1.0, 2.0, 3.0])
    assert x[Lent(1)].item() == 2.0
    assert x[Lent([2, 0])].tolist() == [3.0, 1.0]
    assert x[Lent([True, False, True])].tolist() == [1.0, 3.0]
    x[Lent([0, 1])] = 5.0
    assert x.tolist() == [5.0, 5.0, 3.0]
    with pytest.raises(TypeError, match="cannot be indexed with a Lent"):
        x[Lent(1.0)]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("uint8", "int64(300)"),
        ("uint8", "uint64(2**40)"),
        ("uint8", "float32('nan')"),
        ("int8", "float64(1e10)"),
        ("float32", "complex64(1j)"),
    ],
)
def test_a_number_of_numpy_that_the_dtype_cannot_hold_is_refused(dtype, value):
    number = eval(value, vars(np))
    dtype = getattr(opyard, dtype)
    x = opyard.zeros(3, dtype=dtype)
    for write in (
        lambda: x.__setitem__(0, number),
        lambda: x.__setitem__(slice(None), number),
        lambda: x.__setitem__([0, 1], number),
        lambda: opyard.tensor(number, dtype=dtype),
        lambda: opyard.tensor([number], dtype=dtype),
    ):
        with pytest.raises((ValueError, TypeError, NotImplementedError)):
            write()
    assert x.tolist() == [0, 0, 0]
    x[0] = np.int64(7)
    x[[1]] = np.float32(2.0)
    assert x.tolist() == [7, 2, 0] and opyard.tensor(np.int64(7), dtype=dtype).item() == 7
