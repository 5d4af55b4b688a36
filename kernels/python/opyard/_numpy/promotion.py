"""Type promotion as in PyTorch, where NumPy would choose another dtype."""

from typing import Any

import numpy as np

_CATEGORIES = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_COMPLEX = {"float32": "complex64", "float64": "complex128"}
_REAL = {"complex64": "float32", "complex128": "float64"}


def category(dtype: Any) -> int:
    """0 for bool, 1 for integers, 2 for floating point numbers, 3 for complex ones."""
    return _CATEGORIES[dtype.kind]


def complex_of(dtype: Any) -> Any:
    """The complex dtype whose parts have this one."""
    return np.dtype(_COMPLEX.get(dtype.name, dtype.name))


def real_of(dtype: Any) -> Any:
    """The dtype of the parts of a complex one; any other one as it is."""
    return np.dtype(_REAL.get(dtype.name, dtype.name))


def floating(x: np.ndarray) -> np.ndarray:
    """Integers and bools as float32, all else as it is."""
    return x.astype(np.float32) if category(x.dtype) < 2 else x


def promote(a: Any, b: Any) -> Any:
    """The dtype of two of one rank: int64 and float32 give float32."""
    if category(a) < 2 <= category(b):
        return b
    if category(b) < 2 <= category(a):
        return a
    return np.promote_types(a, b)


def common(*arrays: np.ndarray) -> Any:
    """The dtype of arrays together: one without dimensions counts if its category is higher."""
    ranks: list[Any] = [None, None]
    for array in arrays:
        rank = 0 if array.ndim else 1
        ranks[rank] = array.dtype if ranks[rank] is None else promote(ranks[rank], array.dtype)
    first, second = ranks
    if first is None or second is None:
        return second if first is None else first
    if category(second) <= category(first):
        return first
    if category(first) == 2:  # and a complex number
        return complex_of(first)
    return promote(first, second)


def together(*arrays: np.ndarray) -> list[np.ndarray]:
    """Arrays in the dtype that they have together."""
    dtype = common(*arrays)
    return [each.astype(dtype, copy=False) for each in arrays]
