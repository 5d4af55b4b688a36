"""Dtypes by other names: classes of numbers in Python, and those of NumPy and PyTorch."""

import sys
from typing import Any

from .. import _C

_CLASSES = {float: _C.float64, int: _C.int64, bool: _C.bool, complex: _C.complex128}


def require(named: Any) -> "_C.dtype":
    """The dtype that is meant, which is named otherwise. Raises TypeError if there is none."""
    found = find(named)
    if found is None:
        if isinstance(named, str) and _named(named) is not None:
            raise TypeError(f"dtype is {named!r}, a text; write opyard.{named}")
        raise TypeError(
            f"dtype is {named!r}; accepted are dtypes such as opyard.float32, those of NumPy in "
            "the byte order of this machine and of PyTorch, the classes float, int, bool and "
            "complex, and None"
        )
    return found


def find(named: Any) -> "_C.dtype | None":
    """The same, or None. NumPy and PyTorch are asked only if they are imported."""
    if isinstance(named, type) and named in _CLASSES:
        return _CLASSES[named]
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(named, getattr(torch, "dtype", ())):
        return _named(str(named).rpartition(".")[2])
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "sctypeDict"):
        return None
    if isinstance(named, type) and named in numpy.sctypeDict.values():
        named = numpy.dtype(named)
    if not isinstance(named, numpy.dtype) or not named.isnative:
        return None
    return _named(named.name)


def _named(name: str) -> "_C.dtype | None":
    found = getattr(_C, name, None)
    return found if isinstance(found, _C.dtype) else None
