"""Types by which checkers know arrays and numbers of other libraries."""

from typing import Any, Protocol, SupportsFloat, SupportsIndex, TypeAlias

import numpy

class ForeignArray(Protocol):
    """What has the methods of DLPack."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> Any: ...

# Of any dtype, since that of a result is rarely written down.
NDArray: TypeAlias = numpy.ndarray[Any, Any]

class NumPyDType(Protocol):
    """What numpy.dtype has."""

    @property
    def name(self) -> str: ...
    @property
    def isnative(self) -> bool: ...

class NumPyNumber(Protocol):
    """What scalars of NumPy have."""

    @property
    def dtype(self) -> Any: ...
    def tobytes(self) -> bytes: ...
    def __abs__(self) -> Any: ...

class NumPyInt(Protocol):
    """What integers of NumPy have."""

    @property
    def dtype(self) -> Any: ...
    def __index__(self) -> int: ...

class NumPyBool(Protocol):
    """What bools of NumPy have."""

    def item(self) -> bool: ...
    def tobytes(self) -> bytes: ...

# What calls take for numbers of a schema: also a Tensor or an array of one element without
# dimensions. Results are int, float, bool and complex.
Int: TypeAlias = SupportsIndex
Float: TypeAlias = SupportsFloat
Bool: TypeAlias = bool | NumPyBool
Complex: TypeAlias = complex | SupportsFloat | NumPyNumber
Scalar: TypeAlias = complex | SupportsFloat | SupportsIndex | NumPyNumber

# What arithmetic takes beside a Tensor, as in x + 1 and x & 1.
Operand: TypeAlias = complex | NumPyNumber
IntOperand: TypeAlias = int | NumPyInt | NumPyBool
