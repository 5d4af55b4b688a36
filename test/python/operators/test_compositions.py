"""test_compositions.py: operators that are a few others in a row: values, gradients, and meta.

Suspect kernels/src/composition, in the file that has the operator.
"""

import math

import numpy as np
import pytest

import opyard
from opyard import autograd

pytestmark = pytest.mark.once

aten = opyard.ops.aten
INF, NAN = math.inf, math.nan


def t(*sizes, dtype="float64", turned=False):
    """Numbers that are not round, and differ; of another order of dimensions if it is turned."""
    sizes = sizes[::-1] if turned else sizes
    array = np.sin(np.arange(1, math.prod(sizes) + 1) * 1.7).reshape(sizes) + 0.1
    if dtype.startswith("complex"):
        array = array + 1j * np.cos(array * 3)
    made = opyard.from_numpy(np.asarray(array, dtype))
    return made.permute(*reversed(range(made.ndim))) if turned else made


def ints(values):
    return opyard.tensor(values, dtype=opyard.int64)


# The function, its tensors, and what NumPy makes of their arrays.
ROWS = {
    # stacking.cpp
    "hstack": (lambda *x: aten.hstack(list(x)), [t(2), t(3)], lambda *x: np.hstack(x)),
    "hstack of matrices": (
        lambda *x: aten.hstack(list(x)), [t(2, 3), t(2, 1)], lambda *x: np.hstack(x)
    ),
    "vstack": (lambda *x: aten.vstack(list(x)), [t(3), t(2, 3)], lambda *x: np.vstack(x)),
    "dstack": (lambda *x: aten.dstack(list(x)), [t(3), t(1, 3)], lambda *x: np.dstack(x)),
    "column_stack": (
        lambda *x: aten.column_stack(list(x)), [t(3), t(3, 2)], lambda *x: np.column_stack(x)
    ),
    "block_diag": (
        lambda *x: aten.block_diag(list(x)), [t(2, 1), t(), t(2)],
        lambda a, b, c: np.array(
            [[a[0, 0], 0, 0, 0], [a[1, 0], 0, 0, 0], [0, b, 0, 0], [0, 0, c[0], c[1]]]
        ),
    ),
    "tile": (lambda x: aten.tile(x, [2]), [t(2, 3)], lambda x: np.tile(x, [2])),
    "tile to more": (lambda x: aten.tile(x, [2, 1, 2]), [t(3)], lambda x: np.tile(x, [2, 1, 2])),
    "cartesian_prod": (
        lambda *x: aten.cartesian_prod(list(x)), [t(2), t(3)],
        lambda a, b: np.array([[i, j] for i in a for j in b]),
    ),
    "combinations": (
        lambda x: aten.combinations(x), [t(3)],
        lambda x: np.array([[x[0], x[1]], [x[0], x[2]], [x[1], x[2]]]),
    ),
    "combinations with replacement": (
        lambda x: aten.combinations(x, 2, True), [t(2)],
        lambda x: np.array([[x[0], x[0]], [x[0], x[1]], [x[1], x[1]]]),
    ),
    # diagonals.cpp
    "trace": (aten.trace, [t(2, 3)], np.trace),
    "diag": (lambda x: aten.diag(x, -1), [t(2)], lambda x: np.diag(x, -1)),
    "diag of a matrix": (lambda x: aten.diag(x, 1), [t(2, 3)], lambda x: np.diag(x, 1)),
    "diagflat": (lambda x: aten.diagflat(x, 1), [t(2, 2)], lambda x: np.diagflat(x, 1)),
    "diag_embed": (
        lambda x: aten.diag_embed(x, 1, 0, 2), [t(2, 3)],
        lambda x: np.stack([np.diag(row, 1) for row in x], 1),
    ),
    # shuffling.cpp
    "fliplr": (aten.fliplr, [t(2, 3)], np.fliplr),
    "flipud": (aten.flipud, [t(3)], np.flipud),
    "rot90": (lambda x: aten.rot90(x, 1, [0, 2]), [t(2, 1, 3)], lambda x: np.rot90(x, 1, (0, 2))),
    "rot90 back": (lambda x: aten.rot90(x, -1), [t(2, 3)], lambda x: np.rot90(x, -1)),
    "pixel_shuffle": (
        lambda x: aten.pixel_shuffle(x, 2), [t(1, 4, 1, 3)],
        lambda x: x.reshape(1, 1, 2, 2, 1, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 1, 2, 6),
    ),
    "pixel_unshuffle": (
        lambda x: aten.pixel_unshuffle(x, 2), [t(1, 2, 6)],
        lambda x: x.reshape(1, 1, 2, 3, 2).transpose(0, 2, 4, 1, 3).reshape(4, 1, 3),
    ),
    "channel_shuffle": (
        lambda x: aten.channel_shuffle(x, 2), [t(2, 6, 2)], lambda x: x[:, [0, 3, 1, 4, 2, 5]]
    ),
    "take": (
        lambda x: aten.take(x, ints([[0, -1], [3, 0]])), [t(2, 3)],
        lambda x: np.take(x, [[0, -1], [3, 0]]),
    ),
    "take_along_dim": (
        lambda x: aten.take_along_dim(x, ints([[2, -1]]), 1), [t(2, 3)], lambda x: x[:, [2, 2]]
    ),
    # products.cpp
    "kron": (aten.kron, [t(2, 1), t(3)], np.kron),
    "inner": (aten.inner, [t(2, 3), t(4, 3)], np.inner),
    "inner with a number": (aten.inner, [t(), t(2)], np.multiply),
    "tensordot": (
        lambda x, y: aten.tensordot(x, y, [1, 2], [1, 0]), [t(2, 3, 2), t(2, 3, 4)],
        lambda x, y: np.tensordot(x, y, ([1, 2], [1, 0])),
    ),
    "tensordot by 1": (
        lambda x, y: aten.tensordot(x, y, [1], [0]), [t(2, 3), t(1, 4)],
        lambda x, y: np.outer(x.sum(1), y[0]),
    ),
    "linalg_vecdot": (
        aten.linalg_vecdot, [t(2, 3), t(3)], lambda x, y: (x.conj() * y).sum(-1)
    ),
    "linalg_cross": (
        lambda x, y: aten.linalg_cross(x, y, dim=0), [t(3, 2), t(3, 1)],
        lambda x, y: np.cross(x, np.broadcast_to(y, x.shape), axis=0),
    ),
    "cross": (aten.cross, [t(3, 1), t(3, 1)], lambda x, y: np.cross(x, y, axis=0)),
    "vander": (lambda x: aten.vander(x, 4), [t(3)], lambda x: np.vander(x, 4)),
    "linalg_vander": (
        lambda x: aten.linalg_vander(x, N=4), [t(3)], lambda x: np.vander(x, 4, increasing=True)
    ),
    # matrices.cpp
    "linalg_matmul": (aten.linalg_matmul, [t(2, 3), t(3)], np.matmul),
    "linalg_multi_dot": (
        lambda *x: aten.linalg_multi_dot(list(x)), [t(3), t(3, 2), t(2, 4), t(4)],
        lambda a, b, c, d: a @ b @ c @ d,
    ),
    "chain_matmul": (
        lambda *x: aten.chain_matmul(list(x)), [t(2, 3), t(3, 1), t(1, 2)],
        lambda a, b, c: a @ b @ c,
    ),
    "linalg_matrix_power": (
        lambda x: aten.linalg_matrix_power(x, 5), [t(2, 2)],
        lambda x: np.linalg.matrix_power(x, 5),
    ),
    "matrix_power 0": (
        lambda x: aten.matrix_power(x, 0), [t(2, 2)], lambda x: np.eye(2, dtype=x.dtype)
    ),
    # areas.cpp
    "diff": (lambda x: aten.diff(x, 2, 1), [t(2, 4)], lambda x: np.diff(x, 2, 1)),
    "diff between": (
        lambda x, y: aten.diff(x, 1, 0, y, y), [t(2, 3), t(1, 3)],
        lambda x, y: np.diff(x, 1, 0, y, y),
    ),
    "trapezoid": (
        lambda y: aten.trapezoid(y, dx=0.5, dim=0), [t(3, 2)],
        lambda y: ((y[1:] + y[:-1]) * 0.25).sum(0),
    ),
    "trapz": (
        lambda y, x: aten.trapz(y, x), [t(2, 3), t(3)],
        lambda y, x: ((y[:, 1:] + y[:, :-1]) * np.diff(x) / 2).sum(1),
    ),
    "cumulative_trapezoid": (
        lambda y: aten.cumulative_trapezoid(y, dx=3), [t(2, 3)],
        lambda y: np.cumsum((y[:, 1:] + y[:, :-1]) * 1.5, 1),
    ),
    "cumulative_trapezoid at": (
        lambda y, x: aten.cumulative_trapezoid(y, x, dim=0), [t(3, 2), t(3)],
        lambda y, x: np.cumsum((y[1:] + y[:-1]) * np.diff(x)[:, None] / 2, 0),
    ),
    # nearness.cpp
    "float_power": (
        aten.float_power, [t(2) * t(2) + 0.5, t(2)], lambda x, y: np.power(x, y)
    ),
    "float_power by 3": (lambda x: aten.float_power(x, 3), [t(2)], lambda x: x * x * x),
}  # fmt: skip
REAL = {
    "deg2rad": (aten.deg2rad, [t(2)], np.deg2rad),
    "rad2deg": (aten.rad2deg, [t(2)], np.rad2deg),
    "float_power of 2": (lambda x: aten.float_power(2, x), [t(2)], lambda x: 2.0**x),
}


@pytest.mark.parametrize("row", [*ROWS.values(), *REAL.values()], ids=[*ROWS, *REAL])
def test_values_are_numpys_and_gradients_right(row):
    function, inputs, wanted = row
    found, expected = function(*inputs), wanted(*(each.numpy() for each in inputs))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)
    leaves = [each.detach().clone().requires_grad_() for each in inputs]
    assert autograd.gradcheck(function, leaves)
    assert autograd.gradgradcheck(function, leaves)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_complex_numbers_have_values_and_gradients(row):
    function, inputs, wanted = row
    inputs = [t(*each.shape, dtype="complex128") for each in inputs]
    found, expected = function(*inputs), wanted(*(each.numpy() for each in inputs))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-10)
    assert autograd.gradcheck(function, [each.requires_grad_() for each in inputs])


def on_meta(x):
    return aten.empty_strided(list(x.shape), list(x.stride()), dtype=x.dtype, device="meta")


def geometry(x):
    return x.dtype, tuple(x.shape), tuple(x.stride())


@pytest.mark.parametrize("row", [*ROWS.values(), *REAL.values()], ids=[*ROWS, *REAL])
def test_on_meta_they_are_of_the_same_geometry(row, monkeypatch):
    function, inputs, _ = row
    monkeypatch.setitem(globals(), "ints", lambda values: on_meta(opyard.tensor(values)))
    made = function(*map(on_meta, inputs))
    monkeypatch.undo()
    assert geometry(made) == geometry(function(*inputs)) and made.device.type == "meta"


def test_dtypes_are_those_of_pytorch():
    whole, halves = ints([1, 2, 3]), opyard.tensor([0.5, 1.5]).to(opyard.float16)
    flags = opyard.tensor([True, False, True])
    assert aten.trace(opyard.ones(2, 2).int()).dtype is opyard.int64
    assert aten.vander(flags).dtype is opyard.int64
    assert aten.vander(halves).dtype is aten.deg2rad(halves).dtype is opyard.float16
    assert aten.deg2rad(whole).dtype is opyard.float32
    assert aten.float_power(halves, 2).dtype is opyard.float64
    assert aten.diff(flags).tolist() == [True, True]
    assert aten.trapezoid(whole).item() == 4.0 and aten.trapezoid(whole).dtype is opyard.float32
    assert aten.kron(ints([1, 2]), ints([1, 10])).tolist() == [1, 10, 2, 20]
    assert aten.hstack([whole, halves]).dtype is opyard.float16
    assert aten.block_diag([opyard.tensor(2), halves]).dtype is opyard.float16
    assert geometry(aten.block_diag([])) == (opyard.float32, (1, 0), (1, 1))


def test_copies_keep_the_order_of_dimensions_as_pytorchs_do():
    turned = t(2, 3, turned=True)
    assert tuple(turned.stride()) == (1, 2)
    for result in (aten.fliplr(turned), aten.flipud(turned), aten.rot90(turned, 2)):
        assert tuple(result.stride()) == (1, 2)
    assert tuple(aten.rot90(turned, 0).stride()) == (3, 1)
    assert tuple(aten.rot90(opyard.ones(2, 3)).stride()) == (1, 3)
    assert tuple(aten.flip(t(2, 3, 4).permute(2, 0, 1), [0, 2]).stride()) == (1, 12, 4)
    assert tuple(aten.tile(turned, []).stride()) == tuple(aten.repeat(turned, [1, 1]).stride())
    assert aten.repeat(turned, [1, 1]).is_contiguous()
    images = t(2, 2, 3, 8).permute(0, 3, 1, 2)
    assert tuple(aten.pixel_shuffle(images, 2).stride()) == (48, 1, 12, 2)
    assert tuple(aten.channel_shuffle(images, 4).stride()) == (48, 1, 24, 8)


def test_what_is_given_is_not_what_is_made():
    x = t(2, 2)
    for function in (aten.diag, aten.rot90, aten.chain_matmul, aten.matrix_power, aten.diff):
        given = [x] if function is aten.chain_matmul else x
        last = [0] if function in (aten.rot90, aten.diff) else []
        last = [1] if function is aten.matrix_power else last
        made = function(given, *last)
        assert not np.shares_memory(made.numpy(), x.numpy()), function
    assert not np.shares_memory(aten.pixel_unshuffle(t(1, 2, 2), 1).numpy(), t(1, 2, 2).numpy())


def test_nothing_is_stacked_multiplied_and_chosen():
    assert tuple(aten.linalg_multi_dot([t(2, 0), t(0, 3)]).shape) == (2, 3)
    assert aten.inner(t(2, 0), t(3, 0)).tolist() == [[0.0] * 3] * 2
    assert aten.matrix_power(t(0, 0), 5).numel() == aten.trace(t(0, 3)).item() == 0
    assert tuple(aten.combinations(t(2), 3).shape) == (0, 3)
    assert tuple(aten.combinations(t(2), 2**50).shape) == (0, 2**50)
    assert tuple(aten.combinations(t(0), 1, True).shape) == (0, 1)
    assert tuple(aten.combinations(t(2), 0).shape) == (0,)
    assert tuple(aten.diag_embed(t(2, 0), 2).shape) == (2, 2, 2)
    assert tuple(aten.vander(t(3), 0).shape) == (3, 0)
    assert aten.trapezoid(t(2, 0)).tolist() == [0.0, 0.0]
    assert aten.diff(t(3), 5).numel() == 0


def test_combinations_are_those_of_itertools():
    from itertools import combinations, combinations_with_replacement

    for count in range(6):
        for r in range(1, 5):
            x = ints(list(range(count)))
            for way, repeats in ((combinations, False), (combinations_with_replacement, True)):
                found = aten.combinations(x, r, repeats).tolist()
                assert found == [list(each) for each in way(range(count), r)]


def test_nothing_times_infinity_is_not_a_number_in_inner():
    infinite = opyard.tensor([INF, NAN, 2.0])
    zero = opyard.tensor(0.0)
    for answer in (aten.inner(zero, infinite), aten.inner(infinite, zero)):
        assert np.isnan(answer.numpy()).tolist() == [True, True, False]


def test_places_of_a_trapezoid_are_along_the_dimension_of_the_values():
    y = opyard.tensor([[[1.0, 2.0], [3.0, 5.0]], [[0.0, 1.0], [4.0, 2.0]]])
    x = opyard.tensor([[0.0, 1.0], [2.0, 5.0]])  # along dimension 1 of y, its own dimension 0
    assert aten.trapezoid(y, x, dim=1).tolist() == [[4.0, 14.0], [4.0, 6.0]]
    assert aten.trapezoid(y, x, dim=-2).tolist() == [[4.0, 14.0], [4.0, 6.0]]
    assert aten.cumulative_trapezoid(y, x, dim=1).tolist() == [[[4.0, 14.0]], [[4.0, 6.0]]]


def test_nearness_is_of_finite_numbers_and_of_equal_ones():
    a, b = opyard.tensor([1.0, INF, NAN, INF, 1.0]), opyard.tensor([1.0 + 1e-6, INF, NAN, -INF, 2])
    assert aten.isclose(a, b).tolist() == [True, True, False, False, False]
    assert aten.isclose(a, b, equal_nan=True).tolist() == [True, True, True, False, False]
    assert aten.isclose(ints([10, 11]), ints([11, 13]), 0, 1).tolist() == [True, False]
    assert aten.isclose(a, b, 0, 0).tolist() == [False, True, False, False, False]
    assert aten.allclose(a[:2], b[:2]) is True and aten.allclose(a, b) is False
    assert aten.isreal(opyard.tensor([1 + 0j, 1j])).tolist() == [True, False]
    assert aten.isreal(a).tolist() == [True] * 5


SPECIAL = {
    "digamma": aten.digamma, "erf": aten.erf, "erfc": aten.erfc, "exp2": aten.exp2,
    "expit": aten.sigmoid, "expm1": aten.expm1, "gammaln": aten.lgamma, "log1p": aten.log1p,
    "logit": aten.logit, "psi": aten.digamma, "sinc": aten.sinc,
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_special_names_are_of_the_same_operators(name):
    x = opyard.tensor([0.25, 0.75], dtype=opyard.float64).requires_grad_()
    special = getattr(aten, f"special_{name}")
    assert special(x).tolist() == SPECIAL[name](x).tolist()
    assert special(opyard.tensor([2, 3])).dtype is opyard.float32
    assert geometry(special(on_meta(x))) == geometry(x)
    assert autograd.gradcheck(special, [x])


def test_special_names_take_what_their_operators_take():
    x, y = t(2, 3), t(2, 3) * t(2, 3) + 0.5
    same = {
        aten.special_softmax(x, 1, opyard.float32): aten.softmax(x, 1, opyard.float32),
        aten.special_log_softmax(x, 0, dtype=opyard.float32): aten.log_softmax(
            x, 0, opyard.float32
        ),
        aten.special_logsumexp(x, [1], True): aten.logsumexp(x, [1], True),
        aten.special_logit(y, 0.1): aten.logit(y, 0.1),
        aten.special_xlogy(x, y): aten.xlogy(x, y),
        aten.special_xlogy(x, 2): aten.xlogy(x, 2),
        aten.special_xlogy(2, y): aten.xlogy(2, y),
    }
    for found, wanted in same.items():
        assert geometry(found) == geometry(wanted) and found.tolist() == wanted.tolist()


REFUSED = {
    "hstack": (lambda: aten.hstack([]), "aten::hstack: tensors is an empty list"),
    "vstack": (lambda: aten.vstack([t(2), t(3)]), "aten::vstack: "),
    "block_diag": (lambda: aten.block_diag([t(1, 1, 1)]), r"tensors\[0\] is .*at most two dim"),
    "block_diag past 64 bits": (
        lambda: aten.block_diag([t(1).expand(2**62)] * 2), "must fit in 64 bits"
    ),
    "tile": (lambda: aten.tile(t(2), [-1]), "aten::tile: "),
    "tile past 64 bits": (lambda: aten.tile(t(4, 3, 2), [4, 3, 2, 2**62]), "64 bits"),
    "cartesian_prod": (lambda: aten.cartesian_prod([t(2), ints([1])]), "all need one dtype"),
    "combinations": (lambda: aten.combinations(t(2), -1), "r is -1; accepted are 0 and more"),
    "combinations past 64 bits": (
        lambda: aten.combinations(t(1).expand(2**40), 3), "combinations must fit in 64 bits"
    ),
    "trace": (lambda: aten.trace(t(2)), "aten::trace: self is .*a matrix is needed"),
    "diag": (lambda: aten.diag(t(1, 1, 1)), "one or two dimensions are needed"),
    "diag_embed": (lambda: aten.diag_embed(t(2), 0, 1, -1), "the same dimension"),
    "diag_embed past 64 bits": (lambda: aten.diag_embed(t(2), 2**63 - 1), "fit in 64 bits"),
    "diagflat": (lambda: aten.diagflat(t(2), -(2**63)), "fit in 64 bits"),
    "fliplr": (lambda: aten.fliplr(t(2)), "at least 2 dimensions are needed"),
    "rot90": (lambda: aten.rot90(t(2, 2), 1, [0, -2]), "named twice"),
    "pixel_shuffle": (lambda: aten.pixel_shuffle(t(2, 2, 2), 2), "2 channels; a multiple of"),
    "vander past 64 bits": (lambda: aten.vander(t(3), 2**62), "aten::vander: .*fit in 64 bits"),
    "pixel_unshuffle": (lambda: aten.pixel_unshuffle(t(1, 2, 3), 2), "must be multiples of it"),
    "pixel_unshuffle past 64 bits": (
        lambda: aten.pixel_unshuffle(t(2, 0, 0), 2**62), "fit in 64 bits"
    ),
    "channel_shuffle": (lambda: aten.channel_shuffle(t(1, 3, 2), 2), "3 channels; a multiple of"),
    "take": (lambda: aten.take(t(2), t(1)), "its dtype must be int64"),
    "take_along_dim": (lambda: aten.take_along_dim(t(2, 2), ints([0]), 0), "as many dimensions"),
    "inner": (lambda: aten.inner(t(2), t(3)), "last dimensions must be equal"),
    "tensordot": (lambda: aten.tensordot(t(2), t(3), [0], [0]), "both need one size"),
    "vecdot": (lambda: aten.linalg_vecdot(ints([1]), ints([1])), "complex numbers are needed"),
    "cross": (lambda: aten.cross(t(2), t(2)), "a dimension with 3 elements is needed"),
    "linalg_cross": (lambda: aten.linalg_cross(t(3, 2), t(3, 2)), "must have 3 elements"),
    "vander": (lambda: aten.vander(t(2), -1), "N is -1; accepted are 0 and more"),
    "linalg_vander": (lambda: aten.linalg_vander(t(2), N=1), "N is 1; accepted are 2 and more"),
    "chain_matmul": (lambda: aten.chain_matmul([t(2, 2), t(2, 2, 2)]), r"matrices\[1\] is"),
    "multi_dot": (lambda: aten.linalg_multi_dot([t(2, 2)]), "1 factor; two or more are needed"),
    "multi_dot of a number": (lambda: aten.linalg_multi_dot([t(2), t(2, 2), t()]), r"tensors\[2\]"),
    "multi_dot of others": (lambda: aten.linalg_multi_dot([t(2), t(3)]), "the rows of the next"),
    "linalg_matmul": (lambda: aten.linalg_matmul(t(2), ints([1, 2])), "both need one dtype"),
    "matrix_power": (lambda: aten.matrix_power(t(2, 3), 2), "a square matrix is needed"),
    "diff": (lambda: aten.diff(t(2), -1), "n is -1; accepted are 0 and more"),
    "trapezoid": (lambda: aten.trapezoid(t()), "y is float64.*a dimension is needed"),
    "trapezoid at": (lambda: aten.trapezoid(t(2), t(3)), "each of the 2 values"),
    "trapezoid of bool": (lambda: aten.trapezoid(t(2) > 0), "numbers are needed"),
    "cumulative_trapezoid": (lambda: aten.cumulative_trapezoid(t()), "a dimension is needed"),
    "deg2rad": (lambda: aten.deg2rad(t(2, dtype="complex128")), "complex numbers are no angles"),
    "isclose": (lambda: aten.isclose(t(2), t(2), -1), "rtol is -1"),
    "allclose": (lambda: aten.allclose(t(1), ints([1])), "aten::allclose: .*both need one dtype"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "said"), REFUSED.values(), ids=REFUSED)
def test_what_they_cannot_take_is_refused_with_words(call, said):
    with pytest.raises((ValueError, TypeError, NotImplementedError, RuntimeError), match=said):
        call()


def test_negative_powers_are_of_the_inverse():
    x = opyard.tensor([[2.0, 1.0], [1.0, 3.0]])
    found = aten.matrix_power(x, -2).numpy()
    np.testing.assert_allclose(found, np.linalg.matrix_power(x.numpy(), -2), rtol=1e-5)
