"""Operators that are blocks of text: values beside NumPy's, gradients, Meta, forms that write.

Suspect the file of kernels/operators/ that has the operator.
"""

import numpy as np
import pytest

import opyard
from opyard import autograd

pytestmark = pytest.mark.once

aten = opyard.ops.aten


def t(*sizes):
    """Numbers that are not round, and differ."""
    count = int(np.prod(sizes))
    return opyard.from_numpy(np.sin(np.arange(1, count + 1) * 1.7).reshape(sizes) + 0.1)


def ints(values):
    return opyard.tensor(values, dtype=opyard.int64)


# Functions of tensors, which have a gradient, and what NumPy makes of their arrays.
ROWS = {
    "max_unpool2d": (
        lambda x: aten.max_unpool2d(x, ints([[[5, 0], [3, 4]]]), [2, 3]), [t(1, 2, 2)],
        lambda x: np.array([[[x[0, 0, 1], 0, 0], [x[0, 1, 0], x[0, 1, 1], x[0, 0, 0]]]]),
    ),
    "max_unpool3d": (
        lambda x: aten.max_unpool3d(x, ints([[[[5]], [[2]]]]), [2, 1, 3], [1, 1, 1], [0, 0, 0]),
        [t(1, 2, 1, 1)],
        lambda x: np.array([[[[0, 0, x[0, 1, 0, 0]]], [[0, 0, x[0, 0, 0, 0]]]]]),
    ),
    "meshgrid": (
        lambda x, y: aten.stack(aten.meshgrid([x, y])), [t(2), t(3)],
        lambda x, y: np.stack(np.meshgrid(x, y, indexing="ij")),
    ),
    "meshgrid.indexing": (
        lambda x, y, z: aten.stack(aten.meshgrid([x, y, z], indexing="xy")), [t(2), t(3), t(4)],
        lambda x, y, z: np.stack(np.meshgrid(x, y, z)),
    ),
    "broadcast_tensors": (
        lambda x, y, z: aten.stack(aten.broadcast_tensors([x, y, z])), [t(2, 1), t(3), t()],
        lambda x, y, z: np.stack(np.broadcast_arrays(x, y, z)),
    ),
    "index_copy": (
        lambda x, y: aten.index_copy(x, -1, ints([2, 0]), y), [t(2, 3), t(2, 2) * 2],
        lambda x, y: np.stack([y[:, 1], x[:, 1], y[:, 0]], 1),
    ),
    "index_copy of a number": (
        lambda x, y: aten.index_copy(x, 0, ints([1]), y), [t(3), t(1) * 2],
        lambda x, y: np.array([x[0], y[0], x[2]]),
    ),
    "numpy_T": (aten.numpy_T, [t(2, 3, 1)], lambda x: x.T),
    "broadcast_to": (lambda x: aten.broadcast_to(x, [2, 3]), [t(3)], lambda x: np.stack([x, x])),
    "ravel": (aten.ravel, [t(2, 3)], np.ravel),
    "atleast_1d": (aten.atleast_1d, [t()], np.atleast_1d),
    "atleast_2d": (aten.atleast_2d, [t(3)], np.atleast_2d),
    "index_reduce": (
        lambda x, y: aten.index_reduce(x, -1, ints([2, 0]), y, "prod"), [t(2, 3), t(2, 2)],
        lambda x, y: x * np.stack([y[:, 1], np.ones(2), y[:, 0]], 1),
    ),
    "index_reduce without self": (
        lambda x, y: aten.index_reduce(x, 0, ints([0, 0]), y, "amax", include_self=False),
        [t(2, 3), t(2, 3)], lambda x, y: np.stack([y.max(0), x[1]]),
    ),
    "dist": (aten.dist, [t(2, 3), t(3) * 2], lambda x, y: np.sqrt(((x - y) ** 2).sum())),
    "dist of p": (
        lambda x, y: aten.dist(x, y, 3), [t(4), t(4) * 2 + 1],
        lambda x, y: (abs(x - y) ** 3).sum() ** (1 / 3),
    ),
    "clamp_max.Tensor": (aten.clamp_max, [t(2, 3), t(3) * 2], np.minimum),
    "clamp_min.Tensor": (aten.clamp_min, [t(2, 3), t(3) * 2], np.maximum),
    "diagonal_scatter": (
        lambda x, y: aten.diagonal_scatter(x, y, 1), [t(2, 3), t(2)],
        lambda x, y: np.array([[x[0, 0], y[0], x[0, 2]], [x[1, 0], x[1, 1], y[1]]]),
    ),
    "put": (
        lambda x, y: aten.put(x, ints([[5], [-6]]), y), [t(2, 3), t(2, 1)],
        lambda x, y: np.array([[y[1, 0], *x[0, 1:]], [*x[1, :2], y[0, 0]]]),
    ),
    "_safe_softmax": (
        lambda x: aten._safe_softmax(x, 1), [t(2, 3)],
        lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
    ),
}  # fmt: skip
# Copies of views: what each is called with, of a tensor of sizes 2, 3 and 1.
COPIES = {
    "alias_copy": (), "as_strided_copy": ([2, 2], [1, 2], 1), "diagonal_copy": (1, 1, 0),
    "expand_copy": ([2, 3, 4],), "narrow_copy": (1, 1, 2), "permute_copy": ([2, 0, 1],),
    "select_copy": (1, -1), "slice_copy": (1, 0, 3, 2), "squeeze_copy": (),
    "transpose_copy": (0, 1), "unfold_copy": (1, 2, 1), "unsqueeze_copy": (0,),
    "view_copy": ([3, 2],),
}  # fmt: skip
ROWS |= {
    name: (
        lambda x, name=name, rest=rest: getattr(aten, name)(x, *rest), [t(2, 3, 1)],
        lambda x, name=name, rest=rest: getattr(aten, name.removesuffix("_copy"))(
            opyard.from_numpy(x), *rest
        ).numpy(),
    )
    for name, rest in COPIES.items()
}  # fmt: skip
REFUSED = {
    "linspace": (lambda: aten.linspace(0, 1, -1), ValueError, "steps is -1; accepted are 0 and"),
    "linspace of bools": (
        lambda: aten.linspace(0, 1, 2, dtype=opyard.bool), NotImplementedError, "dtype is bool"
    ),
    "max_unpool2d": (
        lambda: aten.max_unpool2d(t(2), ints([0, 1]), [2, 2]), ValueError,
        "aten::max_unpool2d: self needs 3 or 4 dimensions",
    ),
    "max_unpool3d": (
        lambda: aten.max_unpool3d(t(2), ints([0, 1]), [2, 2, 2], [1] * 3, [0] * 3), ValueError,
        "aten::max_unpool3d: self needs 4 or 5 dimensions",
    ),
    "meshgrid": (
        lambda: aten.meshgrid([t(2), t(2, 3)]), ValueError,
        r"aten::meshgrid: tensors\[1\] is .*at most one dimension",
    ),
    "meshgrid of nothing": (lambda: aten.meshgrid([]), TypeError, "tensors is an empty list"),
    "meshgrid.indexing": (
        lambda: aten.meshgrid([t(2)], indexing="yx"), ValueError,
        'indexing is "yx"; accepted are "ij" and "xy"',
    ),
    "broadcast_tensors": (
        lambda: aten.broadcast_tensors([t(2), t(1), t(3)]), ValueError,
        r"aten::broadcast_tensors: tensors\[0\] is .* and tensors\[2\] is .*do not broadcast",
    ),
    "linspace.out": (
        lambda: aten.linspace(0, 1, 3, out=t(2)), ValueError,
        "aten::linspace.out: out must be one dimension of 3 elements, and has other sizes",
    ),
    "index_reduce": (
        lambda: aten.index_reduce(t(2), 0, ints([0]), t(1), "sum"), ValueError, "reduce is sum",
    ),
    "index_reduce of other sizes": (
        lambda: aten.index_reduce(t(2, 3), 0, ints([0]), t(1, 2), "prod"), ValueError,
        "self and source need the same sizes but for dimension 0",
    ),
    "diagonal_scatter": (
        lambda: aten.diagonal_scatter(t(2, 3), t(1)), ValueError, "src has other sizes than",
    ),
    "put": (lambda: aten.put(t(2), ints([0]), t(2)), ValueError, "as many elements"),
    "nonzero_static": (lambda: aten.nonzero_static(t(2), size=-1), ValueError, "size is -1"),
    "logspace": (lambda: aten.logspace(0, 1, -1), ValueError, "aten::logspace: .*steps is -1"),
    "dist": (lambda: aten.dist(t(2), t(3)), ValueError, "aten::dist: "),
    "clamp_max.Tensor": (
        lambda: aten.clamp_max(t(2), t(3)), ValueError, "aten::clamp_max.Tensor: "
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_values_are_numpys_and_gradients_right(row):
    function, inputs, wanted = row
    found, expected = function(*inputs), wanted(*(each.numpy() for each in inputs))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)
    assert tuple(found.shape) == np.shape(expected)
    leaves = [each.detach().clone().requires_grad_() for each in inputs]
    assert autograd.gradcheck(function, leaves)
    assert autograd.gradgradcheck(function, leaves)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_on_meta_sizes_are_the_same(row, monkeypatch):
    function, inputs, _ = row
    monkeypatch.setitem(globals(), "ints", lambda values: opyard.tensor(values).to(device="meta"))
    made = function(*(each.to(device="meta") for each in inputs))
    monkeypatch.undo()
    whole = function(*inputs)
    assert (made.dtype, made.shape, made.stride()) == (whole.dtype, whole.shape, whole.stride())
    assert made.device.type == "meta"


@pytest.mark.parametrize(("call", "error", "said"), REFUSED.values(), ids=REFUSED)
def test_what_they_cannot_take_is_refused_with_words(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_linspace_has_both_ends_exactly():
    made = aten.linspace(0.1, 0.7, 7, dtype=opyard.float64)
    np.testing.assert_allclose(made.numpy(), np.linspace(0.1, 0.7, 7), rtol=1e-15)
    assert made[0].item() == 0.1 and made[-1].item() == 0.7
    assert aten.linspace(3, 7, 1).tolist() == [3.0] and aten.linspace(0, 1, 0).tolist() == []
    assert aten.linspace(0, 1, 3).dtype == opyard.float32
    assert aten.linspace(0, 10, 4, dtype=opyard.int64).tolist() == [0, 3, 6, 10]
    assert aten.linspace(5, 0, 4, dtype=opyard.int32).tolist() == [5, 3, 1, 0]
    assert aten.linspace(0, 1j, 3).tolist() == [0j, 0.5j, 1j]
    out = opyard.zeros(3, dtype=opyard.float64)
    assert aten.linspace(1, 2, 3, out=out) is out and out.tolist() == [1.0, 1.5, 2.0]
    meta = aten.linspace(0, 1, 5, device="meta")
    assert (meta.device.type, tuple(meta.shape)) == ("meta", (5,))


def test_index_reduce_joins_as_pytorch_does():
    x, y = opyard.full([3, 2], 2.0), opyard.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    made = aten.index_reduce(x, 0, ints([0, 2, 0]), y, "mean")
    np.testing.assert_allclose(made.numpy(), [[8 / 3, 10 / 3], [2, 2], [2.5, 3]], rtol=1e-6)
    assert aten.index_reduce(x, 0, ints([0, 2, 0]), y, "amin").tolist() == [[1, 2], [2, 2], [2, 2]]
    assert aten.index_reduce_(x, 0, ints([1]), y[:1], "prod") is x
    assert x.tolist() == [[2, 2], [2, 4], [2, 2]]
    number = aten.index_reduce(opyard.tensor(3.0), 0, ints([0]), opyard.tensor(5.0), "amax")
    assert number.item() == 5.0


def test_a_bound_passes_its_gradient_on_to_self():
    x = opyard.tensor([1.0, 5.0, float("nan"), 2.0]).requires_grad_()
    most = opyard.tensor([1.0, 3.0, 2.0, float("nan")]).requires_grad_()
    aten.clamp_max(x, most).sum().backward()
    assert (x.grad.tolist(), most.grad.tolist()) == ([1, 0, 0, 0], [0, 1, 0, 0])
    y = opyard.tensor([1.0, 5.0])
    assert aten.clamp_max_(y, opyard.tensor(2.0)) is y and y.tolist() == [1.0, 2.0]
    out = opyard.tensor([0.0, 0.0])
    assert aten.clamp_max(y, opyard.tensor([0.5, 3.0]), out=out) is out
    assert out.tolist() == [0.5, 2.0]


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_row_major_and_share_nothing(name):
    x = t(3, 2, 1).permute(1, 0, 2)
    rest = ([6],) if name == "view_copy" else COPIES[name]
    x = x.contiguous() if name == "view_copy" else x
    made = getattr(aten, name)(x, *rest)
    assert made.is_contiguous() and made.data_ptr() != x.data_ptr()
    before = x.tolist()
    made.zero_()
    assert x.tolist() == before


def test_rows_without_a_number_are_zeros():
    x = opyard.tensor([[0.0, 0.0], [float("-inf")] * 2])
    assert aten._safe_softmax(x, 1).tolist() == [[0.5, 0.5], [0.0, 0.0]]


def test_nonzero_static_has_the_size_that_is_asked_for():
    x = opyard.tensor([[0.0, 1.0], [2.0, 0.0]])
    assert aten.nonzero_static(x, size=1).tolist() == [[0, 1]]
    assert aten.nonzero_static(x.to("meta"), size=5).shape == (5, 2)
    assert aten.nonzero_static(x, size=3).tolist() == [[0, 1], [1, 0], [-1, -1]]
    assert aten.nonzero_static(x, size=3, fill_value=9).tolist()[2] == [9, 9]


def test_logspace_is_of_powers():
    np.testing.assert_allclose(aten.logspace(0, 3, 4).numpy(), [1, 10, 100, 1000])
    made = aten.logspace(1, 0, 3, 4.0, dtype=opyard.float64)
    assert made.dtype == opyard.float64 and made.tolist() == [4.0, 2.0, 1.0]
    assert aten.logspace(0, 1, 2).dtype == opyard.float32


def test_safe_softmax_has_no_gradient_in_rows_of_minus_infinity():
    x = opyard.tensor([[1.0, 2.0], [-float("inf")] * 2]).requires_grad_()
    y = aten._safe_softmax(x, -1)
    assert y.tolist()[1] == [0.0, 0.0]
    aten.mul(y, opyard.tensor([[1.0, 0.0], [1.0, 0.0]])).sum().backward()
    assert x.grad.tolist()[1] == [0.0, 0.0] and abs(x.grad.tolist()[0][0] - 0.1966) < 1e-4
