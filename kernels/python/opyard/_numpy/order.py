"""Sorting, searching, counting and unique elements, by NumPy."""

from typing import Any

import numpy as np

from .answers import answer, check, depends_on_elements
from .promotion import together
from .reductions import line, ordered

_SEARCH = "bool out_int32=False, bool right=False"
_SEARCHED = f"{_SEARCH}, str? side=None, Tensor? sorter=None) -> Tensor"
_IN = "bool assume_unique=False, bool invert=False) -> Tensor"
_THREE = "(Tensor, Tensor, Tensor)"
_Three = tuple[np.ndarray, np.ndarray, np.ndarray]


def _sorted_indices(x: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """Stable; NaN is the largest."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    back = np.argsort(np.flip(x, dim), axis=dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(back, dim)


@answer("msort(Tensor self) -> Tensor")
def msort(x: np.ndarray) -> np.ndarray:
    ordered(x)
    return np.sort(x, axis=0, kind="stable") if x.ndim else x


@answer("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor")
def argsort(x: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    ordered(x)
    return _sorted_indices(line(x, dim), dim, descending).reshape(x.shape)


@answer("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor")
def argsort_stable(x: np.ndarray, stable: bool, dim: int, descending: bool) -> np.ndarray:
    return argsort(x, dim, descending)


def _found(row: np.ndarray, values: np.ndarray, side: str) -> np.ndarray:
    return np.searchsorted(row, values, side)


def _search(row: Any, values: Any, out_int32: bool, side: str, sorter: Any) -> np.ndarray:
    """Each row of `row` is searched for the values of that row; one row alone for all values."""
    check(row.ndim > 0, "the sequence that is searched has a dimension")
    ordered(row)
    check(
        row.ndim == 1 or row.shape[:-1] == values.shape[:-1],
        f"the sizes but for the last one differ: {list(row.shape)}, {list(values.shape)}",
    )
    if sorter is not None:
        check(sorter.shape == row.shape, "sorter has the shape of the sequence")
        row = np.take_along_axis(row, sorter, -1)
    if row.ndim == 1:
        made = np.asarray(_found(row, values, side))
    else:
        made = np.empty(values.shape, np.int64)
        for index in np.ndindex(row.shape[:-1]):
            made[index] = _found(row[index], values[index], side)
    return made.astype(np.int32 if out_int32 else np.int64)


def _side(right: bool, side: "str | None") -> str:
    check(side in (None, "left", "right"), f'side is "left" or "right", not {side!r}')
    check(not (right and side == "left"), 'right=True and side="left" contradict each other')
    return side or ("right" if right else "left")


@answer(f"searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, {_SEARCHED}")
def searchsorted(row: Any, x: Any, out_int32: bool, right: bool, side: Any, sorter: Any) -> Any:
    check(row.dtype == x.dtype, f"both have one dtype, not {row.dtype.name} and {x.dtype.name}")
    return _search(row, x, out_int32, _side(right, side), sorter)


@answer(f"searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, {_SEARCHED}")
def searchsorted_number(
    row: Any, x: Any, out_int32: bool, right: bool, side: Any, sorter: Any
) -> Any:
    check(row.ndim == 1, "a number is searched for in a sequence of one dimension")
    return _search(row, np.asarray(x), out_int32, _side(right, side), sorter)


@answer(f"bucketize.Tensor(Tensor self, Tensor boundaries, *, {_SEARCH}) -> Tensor")
def bucketize(x: Any, boundaries: Any, out_int32: bool, right: bool) -> np.ndarray:
    check(boundaries.ndim == 1, f"boundaries has one dimension, not {boundaries.ndim}")
    return _search(boundaries, x, out_int32, _side(right, None), None)


@answer(f"bucketize.Scalar(Scalar self, Tensor boundaries, *, {_SEARCH}) -> Tensor")
def bucketize_number(x: Any, boundaries: Any, out_int32: bool, right: bool) -> np.ndarray:
    return bucketize(np.asarray(x), boundaries, out_int32, right)


@answer(f"isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, {_IN}")
def isin(x: np.ndarray, among: np.ndarray, assume_unique: bool, invert: bool) -> np.ndarray:
    return np.isin(*together(x, among), invert=invert)


@answer(f"isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, {_IN}")
def isin_number(x: np.ndarray, one: Any, assume_unique: bool, invert: bool) -> np.ndarray:
    return (x != one) if invert else (x == one)


@answer(f"isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, {_IN}")
def isin_of(one: Any, among: np.ndarray, assume_unique: bool, invert: bool) -> np.ndarray:
    return np.asarray(bool(np.any(among == one)) != invert)


def _three(values: Any, inverse: Any, counts: Any, asks: tuple[bool, bool], shape: Any) -> _Three:
    """What is not given is empty; along a dimension PyTorch gives all."""
    nothing = np.empty(0, np.int64)
    return (
        values,
        inverse.reshape(shape).astype(np.int64) if asks[0] else nothing,
        counts.astype(np.int64) if asks[1] else nothing.copy(),
    )


@answer(
    "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, "
    f"bool return_counts=False) -> {_THREE}"
)
@depends_on_elements
def unique(x: np.ndarray, sorted: bool, inverse: bool, counts: bool) -> _Three:
    ordered(x)
    made = np.unique(x.reshape(-1), False, True, True, equal_nan=False)
    return _three(*made, (inverse, counts), x.shape)


@answer(
    "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, "
    f"bool return_counts=False) -> {_THREE}"
)
@depends_on_elements
def unique_dim(x: np.ndarray, dim: int, sorted: bool, inverse: bool, counts: bool) -> _Three:
    ordered(x)
    line(x, dim)
    check(x.ndim > 0 and x.size > 0, f"there is nothing in {list(x.shape)} to compare")
    made = np.unique(x, False, True, True, axis=dim)
    return _three(*made, (True, True), (x.shape[dim],))


@answer(
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, "
    f"int? dim=None) -> {_THREE}"
)
@depends_on_elements
def unique_consecutive(x: np.ndarray, inverse: bool, counts: bool, dim: Any) -> _Three:
    if dim == 0 and x.ndim == 1:
        dim = None
    rows = x.reshape(-1, 1) if dim is None else np.moveaxis(line(x, dim), dim, 0)
    count = rows.shape[0]
    flat = rows.reshape(count, -1)
    begins = np.ones(count, bool)
    begins[1:] = np.any(flat[1:] != flat[:-1], axis=1)
    starts = np.flatnonzero(begins)
    values = rows[starts]
    values = values.reshape(-1) if dim is None else np.moveaxis(values, 0, dim)
    sizes = np.diff(np.append(starts, count))
    given = (inverse, counts) if dim is None else (True, True)
    shape = x.shape if dim is None else (count,)
    return _three(values, np.cumsum(begins) - 1, sizes, given, shape)


@answer("bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor")
@depends_on_elements
def bincount(x: np.ndarray, weights: Any, minlength: int) -> np.ndarray:
    check(x.ndim == 1 and x.dtype.kind in "iu", "integers in one dimension are wanted")
    check(x.size == 0 or x.min() >= 0, "no number is below 0")
    made = np.bincount(x, weights, minlength)
    if weights is None:
        return made.astype(np.int64)
    return made.astype(np.float32) if weights.dtype == np.float32 else made
