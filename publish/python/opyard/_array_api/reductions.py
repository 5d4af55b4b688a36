"""Statistical and utility functions: reductions over axes, running sums, differences."""

import builtins
from collections.abc import Callable
from typing import Any

from .. import _C
from .._C import Tensor
from .._core.keywords import names_keywords
from .._core.ops import ops
from . import creation
from .arguments import (
    Axes,
    DType,
    many_axes,
    one_axis,
    require_dtype,
    require_int,
    require_tensor,
)
from .data_types import KINDS, converted, is_float, result_type


def _over(
    function: str,
    x: Tensor,
    axis: Axes,
    keepdims: bool,
    operator: Callable[..., Tensor],
    **options: Any,
) -> Tensor:
    """A reduction over axes, of which operators take an empty list for all."""
    dims = many_axes(function, axis, x.ndim)
    if dims:
        return operator(x, dims, keepdim=keepdims, **options)
    return operator(ops.aten.unsqueeze(x, -1), [x.ndim], keepdim=False, **options)


def _accumulated(function: str, x: Tensor, dtype: DType | None) -> DType:
    """The dtype of a sum or product: that of floats, and of integers the widest of their kind."""
    if dtype is not None:
        return require_dtype(function, dtype)
    if is_float(x.dtype):
        return x.dtype
    return _C.uint64 if x.dtype in KINDS["unsigned integer"] else _C.int64


def _in_floats(x: Tensor) -> Tensor:
    return x if is_float(x.dtype) else converted(x, _C.float32)


@names_keywords
def sum(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Sums; of integers in int64 or uint64, unless a dtype is given."""
    x = require_tensor("sum", "x", x)
    dtype = _accumulated("sum", x, dtype)
    return _over("sum", x, axis, keepdims, ops.aten.sum.dim_IntList, dtype=dtype)


@names_keywords
def prod(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Products; of integers in int64 or uint64, unless a dtype is given."""
    x = require_tensor("prod", "x", x)
    dtype = _accumulated("prod", x, dtype)
    x = converted(x, dtype)
    for dim in sorted(many_axes("prod", axis, x.ndim), reverse=True):
        x = ops.aten.prod.dim_int(x, dim, keepdims, dtype=dtype)
    return x


@names_keywords
def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Means; of integers in float32."""
    x = _in_floats(require_tensor("mean", "x", x))
    return _over("mean", x, axis, keepdims, ops.aten.mean.dim)


@names_keywords
def var(
    x: Tensor, /, *, axis: Axes = None, correction: int | float = 0.0, keepdims: bool = False
) -> Tensor:
    """Variances: squares of distances from the mean, over their number less `correction`."""
    x = _in_floats(require_tensor("var", "x", x))
    return _over("var", x, axis, keepdims, ops.aten.var.correction, correction=correction)


@names_keywords
def std(
    x: Tensor, /, *, axis: Axes = None, correction: int | float = 0.0, keepdims: bool = False
) -> Tensor:
    """Standard deviations: the square roots of variances."""
    x = _in_floats(require_tensor("std", "x", x))
    return _over("std", x, axis, keepdims, ops.aten.std.correction, correction=correction)


@names_keywords
def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Greatest elements; NaN if one is."""
    return _over("max", require_tensor("max", "x", x), axis, keepdims, ops.aten.amax)


@names_keywords
def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Least elements; NaN if one is."""
    return _over("min", require_tensor("min", "x", x), axis, keepdims, ops.aten.amin)


@names_keywords
def all(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether all elements are true, as those are that are not 0."""
    return _over("all", require_tensor("all", "x", x), axis, keepdims, ops.aten.all.dims)


@names_keywords
def any(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether one element is true, as those are that are not 0."""
    return _over("any", require_tensor("any", "x", x), axis, keepdims, ops.aten.any.dims)


@names_keywords
def count_nonzero(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0."""
    x = ops.aten.ne(require_tensor("count_nonzero", "x", x), 0)
    return _over("count_nonzero", x, axis, keepdims, ops.aten.sum.dim_IntList, dtype=_C.int64)


def _running(
    function: str,
    operator: Callable[..., Tensor],
    first: int,
    x: Tensor,
    axis: int | None,
    dtype: DType | None,
    include_initial: bool,
) -> Tensor:
    x = require_tensor(function, "x", x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"{function}: x has {x.ndim} dimensions, so axis is to be given")
        axis = 0
    dim = one_axis(function, axis, builtins.max(x.ndim, 1))
    dtype = _accumulated(function, x, dtype)
    made = operator(x, dim, dtype=dtype)
    if not include_initial:
        return made
    made = made if made.ndim else ops.aten.unsqueeze(made, 0)
    shape = (*made.shape[:dim], 1, *made.shape[dim + 1 :])
    initial = creation.full(shape, first, dtype=dtype, device=made.device)
    return ops.aten.cat([initial, made], dim)


@names_keywords
def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Sums of each element and those before it; `include_initial` puts a 0 in front."""
    return _running("cumulative_sum", ops.aten.cumsum, 0, x, axis, dtype, include_initial)


@names_keywords
def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Products of each element and those before it; `include_initial` puts a 1 in front."""
    return _running("cumulative_prod", ops.aten.cumprod, 1, x, axis, dtype, include_initial)


@names_keywords
def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along an axis, `n` times; other arrays may be put at its ends."""
    x = require_tensor("diff", "x", x)
    if require_int("diff", "n", n) < 0:
        raise ValueError(f"diff: n is {n}; it is not negative")
    axis = one_axis("diff", axis, x.ndim)
    ends = {"prepend": prepend, "append": append}
    given = {k: require_tensor("diff", k, each) for k, each in ends.items() if each is not None}
    dtype = result_type(x, *given.values())
    made = {name: converted(each, dtype) for name, each in given.items()}
    return ops.aten.diff(converted(x, dtype), n, axis, **made)
