"""Searching, sorting and indexing functions."""

from typing import Literal

from .. import _C
from .._C import Tensor
from .._core.keywords import names_keywords
from .._core.ops import ops
from .arguments import Scalar, flat, one_axis, require_tensor
from .data_types import KINDS, converted, together


def _place(function: str, operator: str, x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    x = require_tensor(function, "x", x)
    if axis is None:
        found = getattr(ops.aten, operator)(flat(x), 0)
        return ops.aten.reshape(found, [1] * x.ndim) if keepdims else found
    return getattr(ops.aten, operator)(x, one_axis(function, axis, x.ndim), keepdims)


@names_keywords
def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Places of the greatest elements, of equal ones the first; with axis=None of all in a row."""
    return _place("argmax", "argmax", x, axis, keepdims)


@names_keywords
def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Places of the least elements, of equal ones the first; with axis=None of all in a row."""
    return _place("argmin", "argmin", x, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Places of the elements that are not 0: for each dimension an array of indices."""
    x = require_tensor("nonzero", "x", x)
    if x.ndim == 0:
        raise ValueError("nonzero: x has no dimensions, so its element has no place")
    return tuple(ops.aten.unbind(ops.aten.nonzero(x), 1))


@names_keywords
def searchsorted(
    x1: Tensor,
    x2: Tensor,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Tensor | None = None,
) -> Tensor:
    """Places at which the elements of `x2` keep the sorted array `x1` sorted.

    "left" is before equal elements and "right" behind them; `sorter` has the order of an `x1`
    that is not sorted, as argsort() gives it.
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is {side!r}; accepted are 'left' and 'right'")
    x1 = require_tensor("searchsorted", "x1", x1)
    if x1.ndim != 1:
        raise ValueError(f"searchsorted: x1 has {x1.ndim} dimensions; accepted is one")
    first, second = together("searchsorted", x1=x1, x2=require_tensor("searchsorted", "x2", x2))
    if sorter is not None:
        first = take(first, require_tensor("searchsorted", "sorter", sorter), axis=0)
    return ops.aten.searchsorted.Tensor(first, second, right=side == "right")


def where(condition: Tensor, x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Elements of `x1` where the condition holds, else those of `x2`."""
    condition = require_tensor("where", "condition", condition)
    if condition.dtype is not _C.bool:
        raise TypeError(f"where: condition is {condition.dtype.name}; accepted is bool")
    return ops.aten.where.self(condition, *together("where", x1=x1, x2=x2))


@names_keywords
def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along an axis."""
    return _sorted("sort", x, axis, descending, stable)[0]


@names_keywords
def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The indices that sort an array along an axis."""
    return _sorted("argsort", x, axis, descending, stable)[1]


def _sorted(
    function: str, x: Tensor, axis: int, descending: bool, stable: bool
) -> tuple[Tensor, Tensor]:
    x = require_tensor(function, "x", x)
    dim = one_axis(function, axis, x.ndim)
    values, order = ops.aten.sort.stable(x, stable=stable, dim=dim, descending=descending)
    return values, order


def _indices(function: str, indices: Tensor, size: int) -> Tensor:
    """Indices that count from the front: a negative one counts from the end."""
    found = require_tensor(function, "indices", indices)
    if found.dtype not in KINDS["integral"]:
        raise TypeError(f"{function}: indices is {found.dtype.name}; accepted are integers")
    found = converted(found, _C.int64)
    return ops.aten.where.self(ops.aten.lt(found, 0), ops.aten.add(found, size), found)


@names_keywords
def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The parts of `x` at some places of an axis, which an `x` of one dimension need not name."""
    x = require_tensor("take", "x", x)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: x has {x.ndim} dimensions, so axis is to be given")
        axis = 0
    dim = one_axis("take", axis, x.ndim)
    places = _indices("take", indices, x.shape[dim])
    parts = ops.aten.index_select(x, dim, flat(places))
    return ops.aten.reshape(parts, (*x.shape[:dim], *places.shape, *x.shape[dim + 1 :]))


@names_keywords
def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Of each row along an axis the elements at the places that a row of `indices` has."""
    x = require_tensor("take_along_axis", "x", x)
    dim = one_axis("take_along_axis", axis, x.ndim)
    places = _indices("take_along_axis", indices, x.shape[dim])
    return ops.aten.take_along_dim(x, places, dim)
