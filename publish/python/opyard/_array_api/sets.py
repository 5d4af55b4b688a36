"""Set functions: the different elements of an array, in order, with their places and counts.

All come of one sorted copy: equal elements are neighbours there. NaN equals nothing, so each NaN
counts as an element of its own, as the standard has it.
"""

from typing import NamedTuple

from .. import _C
from .._C import Tensor
from .._core.ops import ops
from .arguments import flat, require_tensor


class UniqueAll(NamedTuple):
    """What unique_all() gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What unique_counts() gives."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What unique_inverse() gives."""

    values: Tensor
    inverse_indices: Tensor


def _order(row: Tensor) -> Tensor:
    """The indices that sort a row, stably; complex numbers by their real parts first."""
    if row.dtype.is_complex:
        order = _order(ops.aten.imag(row))
        return order[_order(ops.aten.real(row)[order])]
    return ops.aten.argsort.stable(row, stable=True)


def unique_all(x: Tensor, /) -> UniqueAll:
    """Different elements, where each is first, which one each element of `x` is, and how many."""
    return _unique("unique_all", x)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Different elements, and how many of each there are."""
    found = _unique("unique_counts", x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Different elements, and for each element of `x` which of them it is."""
    found = _unique("unique_inverse", x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """Different elements."""
    return _unique("unique_values", x).values


def _unique(function: str, x: Tensor) -> UniqueAll:
    x = require_tensor(function, "x", x)
    row = flat(x)
    order = _order(row)
    in_order = row[order]
    is_new = ops.aten.ne(in_order[1:], in_order[:-1])
    is_first = ops.aten.cat([ops.aten.ones([min(1, row.numel())], dtype=_C.bool), is_new])
    starts = ops.aten.reshape(ops.aten.nonzero(is_first), [-1])
    numbers = ops.aten.sub(ops.aten.cumsum(is_first, 0), 1)
    inverse = ops.aten.scatter(ops.aten.zeros_like(order), 0, order, numbers)
    ends = ops.aten.cat([starts[1:], _C.tensor([row.numel()])[: starts.numel()]])
    return UniqueAll(
        in_order[starts],
        order[starts],
        ops.aten.reshape(inverse, x.shape),
        ops.aten.sub(ends, starts),
    )
