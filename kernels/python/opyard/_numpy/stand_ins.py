"""Meta kernels of answers: the sizes, dtypes and orders that an answer gives to small arrays.

A tensor on meta has no elements, and what an answer gives depends on sizes and dtypes alone, unless
it is marked with `depends_on_elements`. So the answer is asked with small tensors for those on
meta, which have another small size for each size, in the same order; and once more with other small
ones. A size of the result that belongs to the same size both times is that size, and one that is
the same number both times is that number. With any other the call is refused.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _C
from .._core.ops import ops
from .answers import Kernel, shown, tensors_of

_aten = ops.aten
_SMALL = ((3, 7, 12, 18, 25, 33, 42, 52), (4, 9, 15, 22, 30, 39, 49, 60))
# Elements of a matrix beside the diagonal, and how much more there is on it: it is positive
# definite. Some answers take what is at most 1, and others what is large.
_ELEMENTS = ((0.5, 0.5), (50, 50))
_REASON = ", as NumPy answers it: "


def meta_kernel(kernel: Kernel) -> Callable[..., Any]:
    """The Meta kernel of an answer. Raises what it raises, and NotImplementedError."""

    def on_meta(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        call = f"{kernel.name}({', '.join(map(shown, given))}) on meta"
        sizes = [size for each in tensors_of(given) for size in each.shape]
        if not all(isinstance(size, int) for size in sizes):
            _refuse(call, "sizes are symbols, which NumPy does not know")
        large = sorted({size for size in sizes if size > 1})
        if len(large) > len(_SMALL[0]):
            _refuse(call, f"there are {len(large)} sizes; up to {len(_SMALL[0])} are accepted")
        standing = [{0: 0, 1: 1, **dict(zip(large, small, strict=False))} for small in _SMALL]
        found = [_ask(kernel, call, by, args, kwargs) for by in standing]
        meant = [{small: size for size, small in by.items()} for by in standing]
        return _joined(call, found, meant)

    return on_meta


def _refuse(call: str, why: str) -> Any:
    raise NotImplementedError(f"{call}: {why}; give the operator a kernel for Meta")


def _ask(
    kernel: Kernel, call: str, by: "dict[int, int]", args: "tuple[Any, ...]", kwargs: dict
) -> Any:
    refused: Exception | None = None
    for elements in _ELEMENTS:
        small = [_small(each, by, elements) for each in args]
        named = {name: _small(each, by, elements) for name, each in kwargs.items()}
        try:
            return kernel(*small, **named)
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            refused = refused or error
    assert refused is not None
    reason = str(refused).rpartition(_REASON)[2]
    raise type(refused)(
        f"{call}, as NumPy answers it with small tensors in their place: {reason}"
    ) from refused


def _small(value: Any, by: "dict[int, int]", elements: "tuple[float, float]") -> Any:
    if isinstance(value, (list, tuple)):
        return [_small(each, by, elements) for each in value]
    if not isinstance(value, _C.Tensor):
        return value
    outermost_first = _order(value)
    beside, more = elements
    array = np.full([by[value.shape[dim]] for dim in outermost_first], beside, "float64")
    array = array.transpose(np.argsort(outermost_first))
    if array.ndim > 1:
        array += more * np.eye(array.shape[-2], array.shape[-1])
    return _aten.to(_C.from_numpy(array), value.dtype)


def _order(x: _C.Tensor) -> "list[int]":
    """The dimensions from the largest step in memory to the least."""
    return sorted(range(x.dim()), key=lambda dim: -x.stride()[dim])


def _joined(call: str, found: "list[Any]", meant: "list[dict[int, int]]") -> Any:
    first = found[0]
    if isinstance(first, (tuple, list)):
        return type(first)(_joined(call, list(each), meant) for each in zip(*found, strict=True))
    if not isinstance(first, _C.Tensor):
        _refuse(call, "the result is a number that depends on elements")
    if len({each.dim() for each in found}) > 1:
        _refuse(call, "the number of dimensions is not known")
    sizes = [_size(call, pair, meant) for pair in zip(*(each.shape for each in found), strict=True)]
    outermost_first = _order(first)
    laid = _aten.empty([sizes[dim] for dim in outermost_first], dtype=first.dtype, device="meta")
    if outermost_first == list(range(first.dim())):
        return laid
    return _aten.permute(laid, [outermost_first.index(dim) for dim in range(first.dim())])


def _size(call: str, pair: "tuple[int, ...]", meant: "list[dict[int, int]]") -> int:
    if operator.eq(*pair):
        return pair[0]
    sizes = {by.get(small) for by, small in zip(meant, pair, strict=True)}
    size = sizes.pop()
    if sizes or size is None:
        _refuse(call, "a size of the result is none of an argument, and is not known")
    return size
