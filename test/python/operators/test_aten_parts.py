"""test_aten_parts.py: views of parts, copies with a part replaced, scatter and var beside NumPy.

Suspect kernels/geometry/parts.cpp, indexing/scatter.cpp and composition/basics.cpp.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opyard
from opyard import autograd

pytestmark = pytest.mark.once

aten = opyard.ops.aten
A = [[0.5, -1.2, 2.0], [1.5, 0.7, -0.4]]
B = [[1.1, 0.3, -0.9], [-1.4, 2.2, 0.8]]
INDEX = opyard.tensor([[0, 2, 0]])
APART = opyard.tensor([[2, 0, 1]])  # of two for one place, either could stay


@st.composite
def arrays(draw, dims=3):
    shape = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5]), min_size=1, max_size=dims))
    array = np.arange(np.prod(shape) * 2, dtype="float64").reshape([*shape, 2])[..., 0]
    return array.T if draw(st.booleans()) else array


def same(result, expected):
    np.testing.assert_array_equal(result.numpy(), expected)


@given(array=arrays(), parts=st.integers(1, 6), data=st.data())
@settings(max_examples=60)
def test_parts_are_views_that_cover_the_dimension(array, parts, data):
    x, dim = opyard.from_numpy(array), data.draw(st.integers(-array.ndim, array.ndim - 1))
    for expected, part in zip(
        np.array_split(array, parts, dim), aten.tensor_split(x, parts, dim), strict=True
    ):
        same(part, expected)
    for whole in (aten.chunk(x, parts, dim), aten.split(x, parts, dim)):
        same(aten.cat(list(whole), dim), array)
    for i, part in enumerate(aten.unbind(x, dim)):
        same(part, array.take(i, dim))
        assert array.size == 0 or np.shares_memory(part.numpy(), array)
    same(aten.flip(x, [dim]), np.flip(array, dim))
    same(aten.roll(x, [parts], [dim]), np.roll(array, parts, dim))
    same(aten.repeat(x, [parts] * array.ndim), np.tile(array, [parts] * array.ndim))


def test_flip_keeps_the_order_of_dimensions_and_repeat_gives_rows():
    turned = opyard.ones(3, 2).t()
    assert aten.flip(turned, [0]).stride() == turned.stride() == (1, 2)
    cube = opyard.arange(24).reshape(2, 3, 4).permute(2, 0, 1)
    flipped = aten.flip(cube, [0, 2])
    assert flipped.stride() == cube.stride() == (1, 12, 4)
    same(flipped, np.flip(cube.numpy(), (0, 2)))
    for number in (opyard.tensor(1.0), opyard.tensor([1.0])):
        assert not np.shares_memory(aten.flip(number, [0]).numpy(), number.numpy())
    assert aten.repeat(turned, [1, 1]).is_contiguous()


@given(array=arrays(), offset=st.integers(-4, 4))
@settings(max_examples=60)
def test_diagonals_and_triangles_are_numpys(array, offset):
    if array.ndim < 2:
        return
    x = opyard.from_numpy(array)
    same(aten.diagonal(x, offset, -2, -1), np.diagonal(array, offset, -2, -1))
    same(aten.tril(x, offset), np.tril(array, offset))
    same(aten.triu(x, offset), np.triu(array, offset))


@given(array=arrays(), keepdim=st.booleans(), correction=st.sampled_from([0, 1]))
@settings(max_examples=60)
def test_var_std_any_and_all_are_numpys(array, keepdim, correction):
    x = opyard.from_numpy(array)
    with np.errstate(all="ignore"):
        for dims in ([0], [-1], list(range(array.ndim))):
            axis = tuple(dims)
            if np.prod([array.shape[d] for d in dims]) > 1:
                expected = np.var(array, axis=axis, ddof=correction, keepdims=keepdim)
                got = aten.var.correction(x, dims, correction=correction, keepdim=keepdim)
                np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12)
                got = aten.std.correction(x, dims, correction=correction, keepdim=keepdim)
                np.testing.assert_allclose(got.numpy(), np.sqrt(expected), rtol=1e-12)
            same(aten.any.dims(x, dims, keepdim), np.any(array, axis, keepdims=keepdim))
            same(aten.all.dims(x, dims, keepdim), np.all(array, axis, keepdims=keepdim))


@given(rows=st.integers(0, 5), data=st.data())
@settings(max_examples=60)
def test_scatter_writes_adds_and_reduces_row_by_row(rows, data):
    index = np.array(data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)), "int64")
    src = np.arange(1.0, rows + 1)
    self = np.array([10.0, -2.0, 0.5, 7.0])
    x, i, s = (opyard.from_numpy(a) for a in (self, index, src))
    written, added, largest = self.copy(), self.copy(), self.copy()
    mean = [[v] for v in self]
    for at, value in zip(index, src, strict=True):
        written[at] = value
        added[at] += value
        largest[at] = max(largest[at], value)
        mean[at].append(value)
    same(aten.scatter(x, 0, i, s), written)
    same(aten.scatter_add(x, 0, i, s), added)
    same(aten.scatter_reduce(x, 0, i, s, "amax"), largest)
    np.testing.assert_allclose(
        aten.scatter_reduce(x, 0, i, s, "mean").numpy(), [np.mean(m) for m in mean]
    )
    fresh = [np.prod(m[1:]) if m[1:] else m[0] for m in mean]
    same(aten.scatter_reduce(x, 0, i, s, "prod", include_self=False), fresh)
    same(x, self)


def test_scatter_takes_int32_and_no_place_outside():
    x = opyard.zeros(3)
    assert aten.scatter(x, 0, opyard.tensor([2], dtype=opyard.int32), 5).tolist() == [0, 0, 5]
    with pytest.raises(
        IndexError, match=r"index contains 3 at \[1\], out of range for dimension 0"
    ):
        aten.scatter_add(x, 0, opyard.tensor([0, 3]), opyard.ones(2))
    with pytest.raises(ValueError, match="src is float32\\[1\\] and index is int64\\[2\\]"):
        aten.scatter(x, 0, opyard.tensor([0, 1]), opyard.ones(1))
    with pytest.raises(ValueError, match='reduce is "max"; accepted are "sum", "prod", "mean"'):
        aten.scatter_reduce(x, 0, opyard.tensor([0]), opyard.ones(1), "max")
    assert x.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: aten.split_with_sizes(x, [1, 1], 1),
            r"split_sizes are \[1, 1\], and dimension 1",
        ),
        (lambda x: aten.split(x, 0), "split_size is 0"),
        (lambda x: aten.chunk(x, 0), "chunks is 0; 1 or more is needed"),
        (lambda x: aten.diagonal(x, 0, 1, 1), "two different dimensions are needed"),
        (lambda x: aten.unfold(x, 0, 3, 1), "accepted are a size of 0 to 2"),
        (lambda x: aten.tril(x[0]), "at least two dimensions are needed"),
        (lambda x: aten.repeat(x, [2]), "a number is needed for each of its dimensions"),
        (
            lambda x: aten.slice_scatter(x, x, 1, 0, 2),
            "the part of self is .* not fit src",
        ),
        (lambda x: aten.movedim(x, [0], [0, 1]), "as many of each are needed"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call(opyard.tensor(A))


def t(values):
    return opyard.tensor(values, dtype=opyard.float64).requires_grad_()


CASES = [
    (lambda a: aten.split(a, 2, 1)[1] * 2, [A]),
    (lambda a: aten.diagonal(a, 1) * 2, [A]),
    (lambda a: aten.unfold(a, 1, 2, 1) * 2, [A]),
    (lambda a: aten.squeeze(aten.unsqueeze(a, 0), [0]) * a, [A]),
    (lambda a, b: aten.scatter(a, 1, APART, b), [A, B]),
    (lambda a, b: aten.scatter_add(a, 1, INDEX, b), [A, B]),
    (lambda a, b: aten.scatter_reduce(a, 1, INDEX, b, "mean"), [A, B]),
    (lambda a, b: aten.scatter_reduce(a, 1, INDEX, b, "sum", include_self=False), [A, B]),
    (lambda a, b: aten.scatter_reduce(a, 1, INDEX, b, "amax"), [A, B]),
    (lambda a: aten.var(a, [1], correction=1), [A]),
    (lambda a: aten.std(a, [1]), [A]),
    (lambda a: aten.repeat(a, [2, 1, 2]) * 2, [A]),
    (lambda a: aten.flip(a, [1]) * a, [A]),
    (lambda a: aten.roll(a, [1], [1]) * a, [A]),
    (lambda a: aten.tril(a) * a, [A]),
    (lambda a, b: aten.select_scatter(a, b, 0, 1) * 2, [A, [0.1, 0.2, 0.3]]),
    (lambda a, b: aten.slice_scatter(a, b, 1, 0, 2) * 2, [A, [[0.1, 0.2], [0.3, 0.4]]]),
    (lambda a, b: aten.index_put(a, [opyard.tensor([1])], b), [A, [0.1, 0.2, 0.3]]),
    (lambda a, b: aten.clamp(a, b), [A, [0.1, 0.2, 0.3]]),
    (lambda a, b: aten.addcmul(a, a, b, value=2), [A, B]),
    (lambda a, b: aten.lerp(a, b, 0.3), [A, B]),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_X31_gradients_are_what_differences_say(case):
    fn, inputs = CASES[case]
    assert autograd.gradcheck(fn, [t(values) for values in inputs])
    assert autograd.gradgradcheck(fn, [t(values) for values in inputs])


# Factors of which none, one, two and three are zero in a place; INTO begins with a factor itself.
INTO, FACTORS = [[2.0, 0.0, 0.0, -1.0]], [[3.0, 0.0, 0.5, 0.0, 4.0, 0.0]]
BY_FEW = opyard.tensor([[0, 0, 1, 1, 1]])


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("index", [[0, 1, 1, 3, 3, 3], [3, 3, 3, 3, 3, 3], [0, 0, 0, 1, 2, 3]])
def test_gradients_of_products_by_scatter_are_right_at_zeros(include_self, index):
    def product(a, b):
        return aten.scatter_reduce(a, 1, at, b, "prod", include_self=include_self)

    at = opyard.tensor([index])
    assert autograd.gradcheck(product, [t(INTO), t(FACTORS)])
    assert autograd.gradgradcheck(product, [t(INTO), t(FACTORS)])
    at = BY_FEW
    assert autograd.gradgradcheck(product, [t(INTO), t(FACTORS)])
