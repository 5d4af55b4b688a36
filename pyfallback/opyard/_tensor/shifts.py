"""Shifts of bits: the operators << and >> of Tensor.

The other operand is a Tensor, an int, or an array of another library, which becomes a Tensor on its
memory. For anything else the answer is NotImplemented, and Python asks the other operand.
"""

import operator
from typing import Any

from .. import _C
from .._core.ops import ops

# By the method: the operator, and whether the tensor is its second argument.
_SHIFTS = {
    "__lshift__": ("bitwise_left_shift", False),
    "__rlshift__": ("bitwise_left_shift", True),
    "__ilshift__": ("bitwise_left_shift_", False),
    "__rshift__": ("bitwise_right_shift", False),
    "__rrshift__": ("bitwise_right_shift", True),
    "__irshift__": ("bitwise_right_shift_", False),
}


def _operand(other: Any) -> Any:
    """A Tensor or an int, or None for what is neither."""
    if isinstance(other, _C.Tensor):
        return other
    try:
        return operator.index(other)  # before arrays: NumPy's integers have a buffer
    except TypeError:
        pass
    return _C.from_dlpack(other) if hasattr(type(other), "__dlpack__") else None


def shift(name: str, tensor: _C.Tensor, other: Any) -> Any:
    """What the method of this name gives. The hook `shift` is this."""
    operand = _operand(other)
    if operand is None:
        return NotImplemented
    called, is_reflected = _SHIFTS[name]
    operands = (operand, tensor) if is_reflected else (tensor, operand)
    return getattr(ops.aten, called)(*operands)
