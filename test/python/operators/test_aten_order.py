"""test_aten_order.py: order, running sums and products, truth, new tensors and norms beside NumPy.

Suspect kernels/indexing/sort.cpp, indexing/masks.cpp, reduction/scan.cpp and composition/fresh.cpp.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import close, tensors_of

import opyard
from opyard import autograd

pytestmark = pytest.mark.once

aten = opyard.ops.aten
RANDOM = np.random.default_rng(9)
leaf = tensors_of(RANDOM)[1]


@st.composite
def arrays(draw):
    shape = draw(st.lists(st.sampled_from([0, 1, 2, 5]), min_size=1, max_size=3))
    array = RANDOM.integers(-4, 4, shape).astype(draw(st.sampled_from(["float64", "int64"])))
    return array.T if draw(st.booleans()) else array


@given(array=arrays(), descending=st.booleans(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_sort_is_stable_and_topk_its_beginning(array, descending, data):
    dim = data.draw(st.integers(-array.ndim, array.ndim - 1))
    x = opyard.from_numpy(array)
    order = np.argsort(-array if descending else array, dim, kind="stable")
    values, indices = aten.sort(x, dim, descending)
    close(indices, order)
    close(values, np.take_along_axis(array, order, dim))
    close(aten.argsort(x, dim, descending), order)
    count = data.draw(st.integers(0, array.shape[dim]))
    values, indices = aten.topk(x, count, dim, descending)
    close(indices, order.take(range(count), dim))


def test_nan_is_the_largest():
    x = opyard.tensor([math.nan, 1.0, math.inf, -2.0])
    assert aten.argsort(x).tolist() == [3, 1, 2, 0]
    assert aten.topk(x, 2)[1].tolist() == [0, 2]
    assert aten.kthvalue(x, 2)[0].item() == 1


@given(array=arrays(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_running_sums_and_products_are_numpys(array, data):
    dim = data.draw(st.integers(-array.ndim, array.ndim - 1))
    x = opyard.from_numpy(array)
    close(aten.cumsum(x, dim), np.cumsum(array, dim))
    close(aten.cumprod(x, dim), np.cumprod(array, dim))
    close(aten.prod(x, dim, True), np.prod(array, dim, keepdims=True))
    close(aten.prod(x), np.prod(array))


@given(array=arrays())
@settings(max_examples=40, deadline=None)
def test_truth_picks_places_and_elements(array):
    x, mask = opyard.from_numpy(array), array > 0
    close(aten.nonzero(x), np.argwhere(array))
    close(aten.masked_select(x, opyard.from_numpy(mask)), array[mask])
    source = np.arange(array.size + 1).astype(array.dtype)
    expected = array.copy()
    expected[mask] = source[: mask.sum()]
    close(aten.masked_scatter(x, opyard.from_numpy(mask), opyard.from_numpy(source)), expected)


def test_masked_scatter_needs_as_many_elements():
    x, mask = opyard.zeros(3), opyard.tensor([True, True, False])
    with pytest.raises(IndexError, match="out of range"):
        aten.masked_scatter(x, mask, opyard.ones(1))
    with pytest.raises(ValueError, match="and mask takes elements of it"):
        aten.masked_scatter(x, mask, opyard.ones(0))
    assert aten.masked_scatter(x, opyard.zeros(3) > 0, opyard.ones(0)).tolist() == [0, 0, 0]


def test_index_add_and_fill_go_by_positions():
    x, index = opyard.zeros(3, 2), opyard.tensor([2, 0, 2])
    source = opyard.arange(6, dtype=opyard.float32).reshape([3, 2])
    assert aten.index_add(x, 0, index, source, alpha=2).tolist() == [[4, 6], [0, 0], [8, 12]]
    assert aten.index_fill(x, 0, index, 5).tolist() == [[5, 5], [0, 0], [5, 5]]


@given(array=arrays(), order=st.sampled_from([0, 1, 2, 3, math.inf, -math.inf]))
@settings(max_examples=40, deadline=None)
def test_norms_are_numpys(array, order):
    x = array.astype("float64")
    if math.isinf(order) and 0 in x.shape:
        return
    close(
        aten.linalg_vector_norm(opyard.from_numpy(x), order, [0]), np.linalg.norm(x, order, axis=0)
    )
    if x.size:
        expected = np.log(np.exp(x).sum(-1))
        close(aten.logsumexp(opyard.from_numpy(x), [-1]), expected)


def test_logsumexp_of_what_is_infinite():
    x = opyard.tensor([[-math.inf, -math.inf], [math.inf, 1.0], [1000.0, 1000.0]])
    expected = [-math.inf, math.inf, 1000 + math.log(2)]
    assert aten.logsumexp(x, [1]).tolist() == pytest.approx(expected)


def test_new_tensors_are_like_the_one_they_are_made_beside():
    x = opyard.zeros(2, dtype=opyard.float64)
    assert aten.new_ones(x, [3]).tolist() == [1, 1, 1]
    assert aten.new_full(x, [2], 7, dtype=opyard.int64).tolist() == [7, 7]
    assert aten.new_empty(x, [4]).dtype == opyard.float64
    assert aten.new_zeros(x, [1], device="meta").device.type == "meta"
    assert aten.scalar_tensor(2.5).item() == 2.5
    assert aten.lift_fresh(x) is x
    assert aten.sym_size(x, 0) == 2
    assert aten.sym_stride(x, -1) == 1
    assert aten.sym_is_contiguous(x) is True
    with pytest.raises(IndexError, match="which has no dimensions to ask for"):
        aten.sym_size(opyard.tensor(1.0), 0)


ZERO = opyard.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], dtype=opyard.float64)
MASK = opyard.tensor([[True, False, True], [False, True, False]])
CASES = [
    (lambda x: aten.cumsum(x, 1) * x, [(2, 3)]),
    (lambda x: aten.cumprod(x, 1), [(2, 3)]),
    (lambda x: aten.cumprod(x * ZERO, 1), [(2, 3)]),
    (lambda x: aten.cumprod(x * ZERO, 0), [(2, 3)]),
    (lambda x: aten.prod(x), [(2, 3)]),
    (lambda x: aten.prod(x, 0), [(2, 3)]),
    (lambda x: aten.prod(x * ZERO, 1, True), [(2, 3)]),
    (lambda x: aten.sort(x, 0)[0] * x, [(2, 3)]),
    (lambda x: aten.topk(x, 2)[0], [(2, 3)]),
    (lambda x: aten.kthvalue(x, 2)[0], [(2, 3)]),
    (lambda x: aten.masked_select(x, MASK) * 2, [(2, 3)]),
    (lambda x, y: aten.masked_scatter(x, MASK, y), [(2, 3), (4,)]),
    (lambda x, y: aten.index_add(x, 1, opyard.tensor([2, 0]), y), [(2, 3), (2, 2)]),
    (lambda x: aten.logsumexp(x, [1]), [(2, 3)]),
    (lambda x: aten.linalg_vector_norm(x), [(2, 3)]),
    (lambda x: aten.linalg_vector_norm(x, 3, [1]), [(2, 3)]),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_X31_gradients_are_what_differences_say(case):
    fn, shapes = CASES[case]
    assert autograd.gradcheck(fn, [leaf(*shape) for shape in shapes])
    assert autograd.gradgradcheck(fn, [leaf(*shape) for shape in shapes])


def test_of_a_single_number_the_largest_is_itself():
    for k in (0, 1):
        values, places = opyard.ops.aten.topk(opyard.tensor(3.0), k)
        assert (values.tolist(), places.tolist()) == (3.0, 0)


def in_stable_order(x, descending):
    """Places: NaN of each kind is the largest, zeros of both signs are equal."""
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    return np.argsort(-ranks if descending else ranks, kind="stable")


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int64", "int32", "uint8", "uint64"]
)
def test_long_lines_are_sorted_by_digits_of_keys(dtype, descending):
    for length in (511, 512, 2049, 70_000):
        if dtype.startswith("float"):
            x = (RANDOM.standard_normal(length) * 10.0 ** RANDOM.integers(-3, 4, length)).astype(
                dtype
            )
            x[::5] = np.round(x[::5])
            x[:9] = [np.nan, 0.0, -0.0, np.inf, -np.inf, -np.nan, 1, -1, 0.0]
            x[-9:] = x[:9]
        else:
            info = np.iinfo(dtype)
            x = RANDOM.integers(info.min, info.max, length, dtype, endpoint=True)
            x[::3] = x[0]
            x[:2] = info.min, info.max
        values, indices = aten.sort(opyard.from_numpy(x), 0, descending)
        order = in_stable_order(x, descending)
        assert (indices.numpy() == order).all()
        assert values.numpy().tobytes() == x[order].tobytes()
        # A quarter of a line, and lines that are not next to each other.
        assert (
            aten.topk(opyard.from_numpy(x), length // 4, 0, descending)[1].numpy()
            == order[: length // 4]
        ).all()
        both = opyard.from_numpy(np.stack([x, x[::-1]], 1))
        indices = aten.argsort(both, 0, descending).numpy()
        assert (indices[:, 0] == order).all()
        assert (indices[:, 1] == in_stable_order(x[::-1], descending)).all()


def test_long_lines_of_one_number_keep_their_order():
    x = opyard.zeros(3, 1000, dtype=opyard.int64)
    assert (aten.argsort(x, 1).numpy() == np.arange(1000)).all()
