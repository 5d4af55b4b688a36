"""Reductions and cumulative results, by NumPy."""

from typing import Any

import numpy as np

from .answers import answer, check
from .promotion import category, floating

_DIM = "(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"
_SUM = "(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
_RUNNING = "(Tensor self, int dim) -> (Tensor values, Tensor indices)"
_Pair = tuple[np.ndarray, np.ndarray]


def line(x: np.ndarray, dim: int) -> np.ndarray:
    """The array with at least one dimension, if `dim` is one of it. Raises IndexError."""
    rank = max(x.ndim, 1)
    if not -rank <= dim < rank:
        raise IndexError(f"dim {dim} is out of range for {x.ndim} dimensions")
    return x.reshape(1) if x.ndim == 0 else x


def ordered(x: np.ndarray) -> None:
    check(category(x.dtype) < 3, f"complex numbers have no order: {x.dtype.name}")


def not_empty(x: np.ndarray, dim: int) -> None:
    check(x.shape[dim] > 0, f"dimension {dim} of {list(x.shape)} has no element to choose")


def chosen(x: np.ndarray, indices: np.ndarray, dim: int, keepdim: bool, rank: int) -> _Pair:
    """The elements at `indices`, which has size 1 in `dim`, and the indices."""
    values = np.take_along_axis(x, indices, dim)
    if rank == 0:
        return values.reshape(()), indices.reshape(())
    if not keepdim:
        return values.squeeze(dim), indices.squeeze(dim)
    return values, indices


def axes_of(x: np.ndarray, dim: "list[int] | None") -> "tuple[int, ...] | None":
    """The dimensions as NumPy takes them; none, or those of a number, are all."""
    for each in dim or ():
        line(x, each)
    return tuple(dim) if dim and x.ndim else None


def _is_nan(x: np.ndarray) -> np.ndarray:
    return np.isnan(x) if x.dtype.kind in "fc" else np.zeros(x.shape, bool)


@answer("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")
def cumprod(x: np.ndarray, dim: int, dtype: Any) -> np.ndarray:
    wanted = dtype or (np.dtype(np.int64) if category(x.dtype) < 2 else x.dtype)
    made = np.cumprod(line(x, dim), axis=dim, dtype=wanted)
    return made.reshape(x.shape)


@answer("logcumsumexp(Tensor self, int dim) -> Tensor")
def logcumsumexp(x: np.ndarray, dim: int) -> np.ndarray:
    check(category(x.dtype) == 2, f"floating point numbers are wanted, not {x.dtype.name}")
    return np.logaddexp.accumulate(line(x, dim), axis=dim).reshape(x.shape)


def _running(x: np.ndarray, dim: int, function: Any, compare: Any) -> _Pair:
    """Extremes so far, and the last index that had each."""
    ordered(x)
    shape, x = x.shape, line(x, dim)
    values = function.accumulate(x, axis=dim) if x.size else x.copy()
    indices = np.arange(x.shape[dim]).reshape(
        [-1 if i == dim % x.ndim else 1 for i in range(x.ndim)]
    )
    found = np.where(compare(x, values) | _is_nan(x), indices, 0)
    found = np.maximum.accumulate(found, axis=dim) if x.size else found
    return values.reshape(shape), found.astype(np.int64).reshape(shape)


@answer("cummax" + _RUNNING)
def cummax(x: np.ndarray, dim: int) -> _Pair:
    return _running(x, dim, np.maximum, np.greater_equal)


@answer("cummin" + _RUNNING)
def cummin(x: np.ndarray, dim: int) -> _Pair:
    return _running(x, dim, np.minimum, np.less_equal)


@answer("nansum" + _SUM)
def nansum(x: np.ndarray, dim: Any, keepdim: bool, dtype: Any) -> np.ndarray:
    check(category(x.dtype) < 3, f"real numbers are wanted, not {x.dtype.name}")
    wanted = dtype or (np.dtype(np.int64) if category(x.dtype) < 2 else x.dtype)
    counted = np.where(_is_nan(x), x.dtype.type(0), x)  # before they could become integers
    return np.sum(counted.astype(wanted), axis=axes_of(x, dim), keepdims=keepdim, dtype=wanted)


@answer("nanmean" + _SUM)
def nanmean(x: np.ndarray, dim: Any, keepdim: bool, dtype: Any) -> np.ndarray:
    check(category(x.dtype) >= 2, f"floating point numbers are wanted, not {x.dtype.name}")
    x = x if dtype is None else x.astype(dtype)
    there = ~np.isnan(x)
    total = np.sum(np.where(there, x, 0), axis=axes_of(x, dim), keepdims=keepdim, dtype=x.dtype)
    return (total / np.sum(there, axis=axes_of(x, dim), keepdims=keepdim)).astype(x.dtype)


def _median_indices(x: np.ndarray, dim: int, skips_nan: bool) -> np.ndarray:
    """Where the lower of the middle elements is, or the first NaN if these are not skipped."""
    order = np.argsort(x, axis=dim, kind="stable")
    missing = _is_nan(x)
    count = np.sum(~missing, axis=dim, keepdims=True) if skips_nan else x.shape[dim]
    middle = np.maximum((np.asarray(count) - 1) // 2, 0)
    shape = [1 if i == dim % x.ndim else size for i, size in enumerate(x.shape)]
    indices = np.take_along_axis(order, np.broadcast_to(middle, shape), dim)
    if skips_nan:
        return indices
    has_nan = np.any(missing, axis=dim, keepdims=True)
    return np.where(has_nan, np.argmax(missing, axis=dim, keepdims=True), indices)


def _median(x: np.ndarray, skips_nan: bool) -> np.ndarray:
    ordered(x)
    flat = x.reshape(-1)
    if flat.size == 0:
        check(x.dtype.kind == "f", "there is no element, and integers have no NaN")
        return np.full((), np.nan, x.dtype)
    return flat[_median_indices(flat, 0, skips_nan)[0]]


def _median_of(x: np.ndarray, dim: int, keepdim: bool, skips_nan: bool) -> _Pair:
    ordered(x)
    rank, x = x.ndim, line(x, dim)
    not_empty(x, dim)
    return chosen(x, _median_indices(x, dim, skips_nan), dim, keepdim, rank)


@answer("median(Tensor self) -> Tensor")
def median(x: np.ndarray) -> np.ndarray:
    return _median(x, False)


@answer("nanmedian(Tensor self) -> Tensor")
def nanmedian(x: np.ndarray) -> np.ndarray:
    return _median(x, True)


@answer("median.dim" + _DIM)
def median_dim(x: np.ndarray, dim: int, keepdim: bool) -> _Pair:
    return _median_of(x, dim, keepdim, False)


@answer("nanmedian.dim" + _DIM)
def nanmedian_dim(x: np.ndarray, dim: int, keepdim: bool) -> _Pair:
    return _median_of(x, dim, keepdim, True)


@answer(
    "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> "
    "(Tensor values, Tensor indices)"
)
def kthvalue(x: np.ndarray, k: int, dim: int, keepdim: bool) -> _Pair:
    ordered(x)
    rank, x = x.ndim, line(x, dim)
    check(0 < k <= x.shape[dim], f"k is from 1 to {x.shape[dim]}, not {k}")
    indices = np.argsort(x, axis=dim, kind="stable")
    return chosen(x, np.take(indices, [k - 1], axis=dim), dim, keepdim, rank)


@answer("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")
def mode(x: np.ndarray, dim: int, keepdim: bool) -> _Pair:
    """The most frequent element, the smallest of several, and the last index that has it."""
    ordered(x)
    rank, x = x.ndim, line(x, dim)
    not_empty(x, dim)
    rows = np.moveaxis(x, dim, -1)
    indices = np.empty((*rows.shape[:-1], 1), np.int64)
    for index in np.ndindex(rows.shape[:-1]):
        values, counts = np.unique(rows[index], return_counts=True)
        best = values[np.argmax(counts)]
        same = np.isnan(rows[index]) if best != best else rows[index] == best
        indices[index] = np.flatnonzero(same)[-1]
    return chosen(x, np.moveaxis(indices, -1, dim), dim, keepdim, rank)


_QUANTILE = "int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor"
_QUANTILE = _QUANTILE.replace("'", '"')
_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(function: Any, x: Any, q: Any, dim: Any, keepdim: bool, method: str) -> np.ndarray:
    check(x.dtype.kind == "f", f"float32 or float64 is wanted, not {x.dtype.name}")
    check(x.size > 0, "there is no element")
    check(method in _METHODS, f"interpolation is one of {', '.join(_METHODS)}, not {method!r}")
    q = np.asarray(q)
    check(q.ndim < 2 and np.all((q >= 0) & (q <= 1)), "q are numbers from 0 to 1, in one dimension")
    if dim is not None:
        line(x, dim)
    made = function(x, q.astype(np.float64), axis=dim if x.ndim else None, method=method,
                    keepdims=keepdim)  # fmt: skip
    return np.asarray(made).astype(x.dtype)


def _same(x: np.ndarray, q: np.ndarray) -> None:
    check(x.dtype == q.dtype, f"self and q have one dtype, not {x.dtype.name} and {q.dtype.name}")


@answer(f"quantile(Tensor self, Tensor q, {_QUANTILE}")
def quantile(x: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> np.ndarray:
    _same(x, q)
    return _quantile(np.quantile, x, q, dim, keepdim, interpolation)


@answer(f"nanquantile(Tensor self, Tensor q, {_QUANTILE}")
def nanquantile(x: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> np.ndarray:
    _same(x, q)
    return _quantile(np.nanquantile, x, q, dim, keepdim, interpolation)


@answer(f"quantile.scalar(Tensor self, float q, {_QUANTILE}")
def quantile_number(x: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> np.ndarray:
    return _quantile(np.quantile, x, q, dim, keepdim, interpolation)


@answer(f"nanquantile.scalar(Tensor self, float q, {_QUANTILE}")
def nanquantile_number(x: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> np.ndarray:
    return _quantile(np.nanquantile, x, q, dim, keepdim, interpolation)


@answer("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)")
def aminmax(x: np.ndarray, dim: "int | None", keepdim: bool) -> _Pair:
    ordered(x)
    if dim is not None:
        not_empty(line(x, dim), dim)
    axis = dim if x.ndim else None
    return np.min(x, axis=axis, keepdims=keepdim), np.max(x, axis=axis, keepdims=keepdim)


@answer("count_nonzero(Tensor self, int? dim=None) -> Tensor")
def count_nonzero(x: np.ndarray, dim: "int | None") -> np.ndarray:
    if dim is not None:
        line(x, dim)
    return np.asarray(np.count_nonzero(x, axis=dim if x.ndim else None), np.int64)


@answer("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor")
def count_nonzero_dims(x: np.ndarray, dim: list[int]) -> np.ndarray:
    return np.asarray(np.count_nonzero(x, axis=axes_of(x, dim)), np.int64)


@answer(
    "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor"
)
def cov(x: np.ndarray, correction: int, fweights: Any, aweights: Any) -> np.ndarray:
    check(x.ndim <= 2, f"at most 2 dimensions are taken, not {x.ndim}")
    check(x.dtype.kind != "b", "numbers are wanted, not bool")
    dtype = floating(x).dtype
    made = np.cov(x, ddof=correction, fweights=fweights, aweights=aweights, dtype=None)
    return np.asarray(made).astype(dtype)


@answer("corrcoef(Tensor self) -> Tensor")
def corrcoef(x: np.ndarray) -> np.ndarray:
    check(x.ndim <= 2, f"at most 2 dimensions are taken, not {x.ndim}")
    return np.asarray(np.corrcoef(x)).astype(floating(x).dtype)
