"""Protocols by which type checkers know arrays of other libraries."""

from typing import Any, Protocol

class ForeignArray(Protocol):
    """What has the methods of DLPack."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> Any: ...

class NumPyDType(Protocol):
    """What numpy.dtype has."""

    @property
    def name(self) -> str: ...
    @property
    def isnative(self) -> bool: ...
