"""Arguments of the array API's functions: checks, with errors that name the function.

The standard's functions take arrays of one library alone, so an array of another one is refused
here, although operators would take it: asarray() makes a Tensor of it.
"""

import builtins
import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

from .. import _C
from .._C import Tensor
from .._core.ops import ops

DType: TypeAlias = _C.dtype
Device: TypeAlias = _C.device | str
Scalar: TypeAlias = bool | int | float | complex
Axes: TypeAlias = int | tuple[int, ...] | None


def require_tensor(function: str, name: str, value: object) -> Tensor:
    """`value`, if it is a Tensor. Raises TypeError."""
    if isinstance(value, Tensor):
        return value
    raise TypeError(
        f"{function}: {name} is of type {type(value).__name__}; accepted is an opyard.Tensor, "
        "which array_api.asarray() makes of other arrays and of lists"
    )


def require_tensors(function: str, name: str, values: object) -> list[Tensor]:
    """The tensors of a list or tuple that has at least one. Raises TypeError or ValueError."""
    if not isinstance(values, (list, tuple)):
        raise TypeError(
            f"{function}: {name} is of type {type(values).__name__}; accepted is a list or tuple "
            "of tensors"
        )
    if not values:
        raise ValueError(f"{function}: {name} is empty; at least one tensor is needed")
    return [require_tensor(function, f"{name}[{i}]", each) for i, each in enumerate(values)]


def require_dtype(function: str, dtype: object) -> DType:
    """`dtype`, if it is one of Opyard's. Raises TypeError."""
    if isinstance(dtype, DType):
        return dtype
    raise TypeError(
        f"{function}: dtype is {dtype!r}; accepted is a dtype of opyard.array_api, as float32"
    )


def require_int(function: str, name: str, value: object) -> int:
    """`value` as an int. Raises TypeError for what is no integer; a bool is none."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
    raise TypeError(f"{function}: {name} is {value!r}; accepted is an int")


def require_ints(function: str, name: str, value: object) -> list[int]:
    """The ints of a list or tuple, or of an int alone. Raises TypeError."""
    if not isinstance(value, (list, tuple)):
        return [require_int(function, name, value)]
    return [require_int(function, f"{name}[{i}]", each) for i, each in enumerate(value)]


def sizes(function: str, shape: object) -> list[int]:
    """A shape as a list. Raises ValueError for a negative size."""
    found = require_ints(function, "shape", shape)
    if builtins.any(size < 0 for size in found):
        raise ValueError(f"{function}: shape is {tuple(found)}; a size is not negative")
    return found


def one_axis(function: str, axis: object, ndim: int, name: str = "axis") -> int:
    """The number of a dimension, counted from the front. Raises TypeError or IndexError."""
    found = require_int(function, name, axis)
    if not -ndim <= found < ndim:
        accepted = f"accepted are {-ndim} to {ndim - 1}" if ndim else "the array has no dimensions"
        raise IndexError(f"{function}: {name} is {found}; {accepted}")
    return found % ndim


def many_axes(function: str, axis: object, ndim: int, name: str = "axis") -> list[int]:
    """The numbers of some dimensions; None means all. Raises ValueError for repeated ones."""
    if axis is None:
        return list(range(ndim))
    found = [one_axis(function, each, ndim, name) for each in require_ints(function, name, axis)]
    if len({*found}) < len(found):
        raise ValueError(f"{function}: {name} is {axis!r}, which names a dimension twice")
    return found


def require_same_length(function: str, first: Sequence[Any], second: Sequence[Any]) -> None:
    """Refuses lists that do not pair. Raises ValueError."""
    if len(first) != len(second):
        raise ValueError(
            f"{function}: {len(first)} and {len(second)} numbers are given, which are to pair"
        )


def flat(x: Tensor) -> Tensor:
    """The elements in row-major order, in one dimension."""
    return ops.aten.reshape(x, [-1])
