"""test_aten_distances.py: distances between points, and windows as columns, beside NumPy.

Suspect kernels/neural/distances.cpp and columns.cpp.
"""

import math

import numpy as np
import pytest
from samples import close, tensors_of

import opyard
from opyard import autograd

aten = opyard.ops.aten
RANDOM = np.random.default_rng(7)
leaf = tensors_of(RANDOM)[1]


@pytest.mark.parametrize("p", [0, 1, 2, 3.5, math.inf])
def test_distances_are_the_norms_of_differences(p):
    a, b = RANDOM.standard_normal((2, 4, 3)), RANDOM.standard_normal((5, 3))
    expected = np.linalg.norm(a[:, :, None] - b, p, axis=-1)
    close(aten.cdist(opyard.from_numpy(a), opyard.from_numpy(b), p), expected)
    close(aten._cdist_forward(opyard.from_numpy(a), opyard.from_numpy(b), p, 1), expected)
    rows, columns = np.triu_indices(5, 1)
    expected = np.linalg.norm(b[rows] - b[columns], p, axis=-1)
    close(aten.pdist(opyard.from_numpy(b), p), expected)
    close(aten._pdist_forward(opyard.from_numpy(b), p), expected)


@pytest.mark.parametrize("sizes", [(3, 2, 1), (1, 7, 8), (20, 17, 19), (2, 3, 0), (0, 2, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances_between_lists_of_one_batch_in_any_layout(sizes, dtype):
    points, others, size = sizes
    a = RANDOM.standard_normal((2, 2, points, size)).astype(dtype)
    b = RANDOM.standard_normal((2, 2, size, others)).astype(dtype)
    result = aten.cdist(opyard.from_numpy(a), opyard.from_numpy(b).transpose(2, 3))
    expected = np.linalg.norm(a[..., :, None, :] - b.swapaxes(2, 3)[..., None, :, :], axis=-1)
    assert result.shape == (2, 2, points, others)
    np.testing.assert_allclose(
        np.asarray(result), expected, rtol=1e-6 if dtype[5] == "3" else 1e-14
    )


def test_points_that_are_the_same_have_no_gradient():
    x = opyard.from_numpy(np.array([[1.0, 2.0], [4.0, 6.0]])).requires_grad_()
    distances = aten.cdist(x, x.detach())
    assert distances.tolist() == [[0, 5], [5, 0]]
    distances.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[-0.6, -0.8], [0.6, 0.8]], rtol=1e-15)


def test_distances_of_no_points_and_of_points_without_coordinates():
    assert aten.cdist(opyard.ones(0, 3), opyard.ones(2, 3)).shape == (0, 2)
    assert aten.cdist(opyard.ones(2, 0), opyard.ones(1, 0), math.inf).tolist() == [[0], [0]]
    assert aten.pdist(opyard.ones(1, 3)).shape == (0,)
    assert aten.pdist(opyard.ones(0, 3)).shape == (0,)
    assert aten.pdist(opyard.ones(4, 3, device="meta")).shape == (6,)
    assert aten.cdist(opyard.ones(4, 3, device="meta"), opyard.ones(2, 3, device="meta")).shape == (
        4,
        2,
    )


def test_what_distances_refuse():
    x = opyard.ones(2, 3)
    with pytest.raises(ValueError, match="p is -1"):
        aten.cdist(x, x, -1)
    with pytest.raises(ValueError, match="compute_mode is 3"):
        aten.cdist(x, x, 2, 3)
    with pytest.raises(ValueError, match="the last of one size, are needed"):
        aten.cdist(x, opyard.ones(2, 4))
    with pytest.raises(ValueError, match="p is nan"):
        aten.pdist(x, math.nan)


def columns_of(image, kernel, dilation, padding, stride):
    image = np.pad(image, [(0, 0), (padding, padding), (padding, padding)])
    reach = [dilation * (each - 1) + 1 for each in kernel]
    windows = np.lib.stride_tricks.sliding_window_view(image, reach, (1, 2))
    windows = windows[:, ::stride, ::stride, ::dilation, ::dilation]
    channels, rows, columns = windows.shape[:3]
    return windows.transpose(0, 3, 4, 1, 2).reshape(-1, rows * columns)


@pytest.mark.parametrize("dilation, padding, stride", [(1, 0, 1), (2, 1, 1), (1, 2, 3), (2, 0, 2)])
def test_columns_are_windows_and_sum_back(dilation, padding, stride):
    image, kernel = RANDOM.standard_normal((2, 7, 6)), (3, 2)
    lists = [[each, each] for each in (dilation, padding, stride)]
    expected = columns_of(image, kernel, dilation, padding, stride)
    x = opyard.from_numpy(image)
    close(aten.im2col(x, kernel, *lists), expected)
    columns = RANDOM.standard_normal(expected.shape)
    back = aten.col2im(opyard.from_numpy(columns), [7, 6], kernel, *lists)
    assert back.shape == (2, 7, 6)
    # One is the transpose of the other.
    assert (back.numpy() * image).sum() == pytest.approx((columns * expected).sum())
    twice = aten.im2col(opyard.from_numpy(np.stack([image, image])), kernel, *lists)
    close(twice, np.stack([expected, expected]))
    close(
        aten.col2im(twice, [7, 6], kernel, *lists)[1], aten.col2im(twice[0], [7, 6], kernel, *lists)
    )


def test_what_columns_refuse():
    with pytest.raises(ValueError, match="at least one window"):
        aten.im2col(opyard.ones(1, 2, 2), [3, 3], [1, 1], [0, 0], [1, 1])
    with pytest.raises(ValueError, match="at least one window"):
        aten.im2col(opyard.ones(1, 2, 2), [1, 1], [1, 1], [0, 0], [0, 1])
    with pytest.raises(ValueError, match="rows in multiples of 4 and 4 columns"):
        aten.col2im(opyard.ones(3, 4), [3, 3], [2, 2], [1, 1], [0, 0], [1, 1])
    x = opyard.ones(4, 4, device="meta")
    assert aten.col2im(x, [3, 3], [2, 2], [1, 1], [0, 0], [1, 1]).shape == (1, 3, 3)


CASES = [
    (lambda x, y: aten.cdist(x, y), [(3, 2), (2, 2)]),
    (lambda x, y: aten.cdist(x, y), [(2, 3, 2), (2, 2, 2)]),
    (lambda x, y: aten.cdist(x, y, 3), [(2, 2, 2), (2, 2)]),
    (lambda x: aten.pdist(x), [(3, 2)]),
    (lambda x: aten.im2col(x, [2, 2], [1, 1], [1, 1], [2, 1]) * 2, [(2, 3, 3)]),
    (lambda x: aten.col2im(x, [3, 3], [2, 2], [1, 1], [0, 0], [1, 1]), [(4, 4)]),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_X31_gradients_are_what_differences_say(case):
    function, shapes = CASES[case]
    assert autograd.gradgradcheck(lambda *x: function(*x) ** 2, [leaf(*shape) for shape in shapes])
