"""test_aten_convolution.py: batches, convolution, padding and their gradients beside NumPy.

Suspect kernels/matrix/batched.cpp, kernels/matrix/matmul.cpp and kernels/neural/convolution*.cpp.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import close, tensors_of

import opyard
from opyard import autograd

pytestmark = pytest.mark.once

aten = opyard.ops.aten
RANDOM = np.random.default_rng(3)
here, leaf = tensors_of(RANDOM)


@given(
    lead=st.lists(st.sampled_from([1, 2, 3]), max_size=2),
    rows=st.sampled_from([0, 1, 2, 5, 13]),
    depth=st.sampled_from([0, 1, 3, 17]),
    columns=st.sampled_from([0, 1, 4, 33]),
    dtype=st.sampled_from(["float32", "float64", "int64"]),
    transposed=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_matmul_broadcasts_batches_as_numpy(lead, rows, depth, columns, dtype, transposed):
    a = (RANDOM.standard_normal((*lead, rows, depth)) * 4).astype(dtype)
    b = (RANDOM.standard_normal((2, 1, depth, columns)) * 4).astype(dtype)
    if len(lead) == 2 and lead[0] == 3:
        b = b[:1]
    left = np.swapaxes(np.ascontiguousarray(np.swapaxes(a, -1, -2)), -1, -2) if transposed else a
    close(aten.matmul(opyard.from_numpy(left), opyard.from_numpy(b)), a @ b, 1e-4)
    if not lead and rows:
        close(aten.matmul(opyard.from_numpy(a[0]), opyard.from_numpy(b)), a[0] @ b, 1e-4)


def convolve(x, w, stride, padding, dilation, groups):
    """The windows of images, one by one."""
    dims = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    count = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride, strict=True)]
    result = np.zeros((x.shape[0], w.shape[0], *count), x.dtype)
    out, into = w.shape[0] // groups, w.shape[1]
    for place in itertools.product(*map(range, count)):
        window = tuple(
            slice(i * s, i * s + r, d)
            for i, s, r, d in zip(place, stride, reach, dilation, strict=True)
        )
        for g in range(groups):
            part = x[(slice(None), slice(g * into, (g + 1) * into), *window)]
            axes = list(range(1, dims + 2))
            result[(slice(None), slice(g * out, (g + 1) * out), *place)] = np.tensordot(
                part, w[g * out : (g + 1) * out], (axes, axes)
            )
    return result


@st.composite
def convolutions(draw):
    dims = draw(st.integers(1, 3))
    small = st.lists(st.integers(1, 2), min_size=dims, max_size=dims)
    groups = draw(st.integers(1, 2))
    kernel = draw(st.lists(st.integers(1, 3), min_size=dims, max_size=dims))
    padding = draw(st.lists(st.integers(0, 2), min_size=dims, max_size=dims))
    sizes = draw(st.lists(st.integers(5, 8), min_size=dims, max_size=dims))
    into, out = groups * draw(st.integers(1, 3)), groups * draw(st.integers(1, 5))
    x = RANDOM.standard_normal((draw(st.integers(0, 2)), into, *sizes))
    w = RANDOM.standard_normal((out, into // groups, *kernel))
    return x, w, draw(small), padding, draw(small), groups


@given(case=convolutions())
@settings(max_examples=60, deadline=None)
def test_convolution_is_what_its_windows_give(case):
    x, w, stride, padding, dilation, groups = case
    expected = convolve(x, w, stride, padding, dilation, groups)
    bias = RANDOM.standard_normal(w.shape[0])
    shape = (-1, *[1] * (x.ndim - 2))
    images, weight = opyard.from_numpy(x), opyard.from_numpy(w)
    zeros = [0] * (x.ndim - 2)
    close(
        aten.convolution(
            images, weight, opyard.from_numpy(bias), stride, padding, dilation, False, zeros, groups
        ),
        expected + bias.reshape(shape),
    )
    # The transposed one is its transpose: <C(x), y> = <x, C^T(y)>.
    y = RANDOM.standard_normal(expected.shape)
    spare = [
        (n + 2 * p - d * (k - 1) - 1) % s
        for n, p, d, k, s in zip(x.shape[2:], padding, dilation, w.shape[2:], stride, strict=True)
    ]
    back = aten.convolution(
        opyard.from_numpy(y), weight, None, stride, padding, dilation, True, spare, groups
    )
    assert tuple(back.shape) == x.shape
    np.testing.assert_allclose((back.numpy() * x).sum(), (expected * y).sum(), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_an_element_of_a_product_has_the_same_bits_in_a_part_of_it(dtype, turned):
    """Blocks at an edge compute fewer rows and columns, by the same steps."""
    random = np.random.default_rng(5)

    def matrix(rows, columns, is_turned):
        sizes = (columns, rows) if is_turned else (rows, columns)
        made = opyard.from_numpy(random.standard_normal(sizes).astype(dtype))
        return made.t() if is_turned else made

    a, b = matrix(29, 37, turned[0]), matrix(37, 70, turned[1])
    whole = a.mm(b).numpy()
    np.testing.assert_allclose(whole, a.numpy() @ b.numpy(), rtol=1e-4, atol=1e-4)
    for rows in (4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 24, 28):
        for columns in (4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 69):
            part = a[1 : rows + 1].mm(b[:, 1 : columns + 1]).numpy()
            assert part.tobytes() == whole[1 : rows + 1, 1 : columns + 1].tobytes(), (rows, columns)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_convolution_has_the_same_bits_with_any_number_of_threads(threads):
    x, w = here(3, 16, 33, 29), here(24, 16, 3, 3)
    before = opyard.get_num_threads()
    try:
        opyard.set_num_threads(1)
        expected = aten.conv2d(x, w, None, 1, 1)
        masks = ([24], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True] * 3)
        gradients = aten.convolution_backward(expected, x, w, *masks)
        opyard.set_num_threads(threads)
        assert aten.conv2d(x, w, None, 1, 1).numpy().tobytes() == expected.numpy().tobytes()
        for a, b in zip(aten.convolution_backward(expected, x, w, *masks), gradients, strict=True):
            assert a.numpy().tobytes() == b.numpy().tobytes()
    finally:
        opyard.set_num_threads(before)


def test_conv_takes_an_image_without_a_batch_and_padding_by_name():
    x, w = here(2, 7), here(3, 2, 4)
    close(aten.conv1d(x, w), aten.conv1d(aten.unsqueeze(x, 0), w)[0].numpy())
    same = aten.conv1d(x, w, None, 1, "same")
    close(same, aten.conv1d(aten.constant_pad_nd(x, [1, 2]), w).numpy())
    close(aten.conv1d(x, w, None, 1, "valid"), aten.conv1d(x, w).numpy())


@given(
    before=st.integers(0, 3),
    after=st.integers(0, 3),
    mode=st.sampled_from(["constant", "reflect", "replicate", "circular"]),
)
@settings(max_examples=60, deadline=None)
def test_pad_is_numpys(before, after, mode):
    x = RANDOM.standard_normal((2, 3, 4, 5))
    names = {"replicate": "edge", "circular": "wrap"}
    expected = np.pad(x, [(0, 0), (0, 0), (after, before), (before, after)], names.get(mode, mode))
    close(aten.pad(opyard.from_numpy(x), [before, after, after, before], mode), expected)


def test_negative_padding_takes_away():
    x = opyard.arange(6)
    assert aten.constant_pad_nd(x, [-1, 2], 9).tolist() == [1, 2, 3, 4, 5, 9, 9]
    assert aten.constant_pad_nd(x, [-4, -2], 9).tolist() == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: aten.bmm(here(2, 3, 4), here(2, 3, 4)), "two batches of as many matrices"),
        (
            lambda: aten.matmul(here(2, 3, 4), here(3, 4, 1)),
            "do not broadcast: dimension -3",
        ),
        (lambda: aten.conv2d(here(1, 2, 3, 3), here(1, 3, 1, 1)), "the channels of input must be"),
        (lambda: aten.conv2d(here(1, 2, 3, 3), here(1, 2, 4, 1)), "would have no elements"),
        (lambda: aten.conv2d(here(1, 2, 3, 3), here(1, 2, 1, 1), here(2)), "a bias needs 1 el"),
        (lambda: aten.conv2d(here(1, 2, 3, 3), here(1, 2, 1, 1), None, 0), "from 1 to 2147483647"),
        (lambda: aten.conv1d(here(2, 3), here(1, 2, 1), None, 1, "x"), 'padding is "x"; accepted'),
        (lambda: aten.pad(here(1, 2), [2, 0], "reflect"), "which is not enough for it"),
        (lambda: aten.pad(here(1, 2), [2, 0], "x"), 'mode is "x"; accepted are'),
        (lambda: aten.constant_pad_nd(here(2), [-2, -1]), "would have the size -1"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_meta_runs_the_same_checks_and_gives_the_same_sizes():
    x, w = opyard.empty([2, 4, 9, 9], device="meta"), opyard.empty([6, 2, 3, 3], device="meta")
    y = aten.conv2d(x, w, None, 2, 1, 1, 2)
    assert str(y.device).startswith("meta")
    assert tuple(y.shape) == (2, 6, 5, 5)
    assert tuple(aten.matmul(x, x).shape) == (2, 4, 9, 9)
    with pytest.raises(ValueError, match="the channels of input must be"):
        aten.conv2d(x, w)


CASES = [
    (lambda x, w, b: aten.conv2d(x, w, b, [2, 1], [1, 0]), [(2, 2, 5, 4), (4, 2, 3, 2), (4,)]),
    (lambda x, w: aten.conv1d(x, w, None, [1], "same", [2], 2), [(1, 4, 5), (2, 2, 2)]),
    (lambda x, w: aten.conv3d(x, w), [(1, 1, 2, 3, 2), (2, 1, 1, 2, 2)]),
    (
        lambda x, w: aten.conv_transpose1d(x, w, None, [2], [1], [1], 2),
        [(1, 4, 3), (4, 1, 3)],
    ),
    (lambda a, b: aten.bmm(a, b), [(2, 2, 3), (2, 3, 2)]),
    (lambda a, b, c: aten.baddbmm(a, b, c, beta=2, alpha=3), [(2, 1), (2, 2, 3), (2, 3, 2)]),
    (lambda a, b: aten.matmul(a, b), [(2, 1, 2, 3), (3, 3, 2)]),
    (lambda a, b, c: aten.linear(a, b, c), [(2, 2, 3), (4, 3), (4,)]),
    (lambda a: aten.pad(a, [1, 2], "reflect") * a.sum(), [(2, 3)]),
    (lambda a: aten.pad(a, [1, 2], "replicate") * a.sum(), [(2, 3)]),
    (lambda a: aten.constant_pad_nd(a, [1, -1, 0, 2], 2.0) * a.sum(), [(2, 3)]),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_X31_gradients_are_what_differences_say(case):
    fn, shapes = CASES[case]
    assert autograd.gradcheck(fn, [leaf(*shape) for shape in shapes])
    assert autograd.gradgradcheck(fn, [leaf(*shape) for shape in shapes])


@pytest.mark.parametrize("dtype", [opyard.int32, opyard.uint8, opyard.int64, opyard.float16])
def test_a_sum_of_products_has_the_dtype_of_its_factors(dtype):
    x, a, b = (opyard.ones(*sizes, dtype=dtype) for sizes in ((2, 2), (3, 2, 4), (3, 4, 2)))
    result = aten.addbmm(x, a, b, alpha=2)
    assert result.dtype is dtype and result.tolist() == [[25, 25], [25, 25]]
    assert aten.addbmm_(x, a, b).dtype is dtype
