"""Padding: elements around x [n, channels, ...], or around one without n.

The names end in how many dimensions are padded. A padding is one int for all sides, or two for each
dimension, before and after, those of the last dimension first.
"""

import operator
from collections.abc import Sequence

from .. import _C
from .._core.ops import ops
from .module import Module
from .sizes import channels_wanted, number

MODES = ("reflect", "replicate", "circular")


def padded(x: _C.Tensor, pads: "Sequence[int]", mode: str) -> _C.Tensor:
    """x with elements around, which are its own."""
    return ops.aten.pad(x, pads, mode)


class _Pad(Module):
    _dims = 0
    _mode = "constant"

    def __init__(self, padding: "int | Sequence[int]") -> None:
        super().__init__()
        name, count = type(self).__name__, 2 * self._dims
        is_list = isinstance(padding, Sequence) and not isinstance(padding, str)
        sizes = list(padding) if is_list else [padding] * count  # type: ignore[call-overload]
        if len(sizes) != count:
            raise ValueError(f"{name}: padding must be one int or {count}, not {sizes}")
        for each in sizes:
            if isinstance(each, bool) or not hasattr(type(each), "__index__"):
                raise TypeError(
                    f"{name}: padding must be an int, not an object of {type(each).__name__}"
                )
        self.padding = tuple(operator.index(each) for each in sizes)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        if x.ndim not in (self._dims + 1, self._dims + 2):
            raise ValueError(f"{type(self).__name__}: {channels_wanted(self._dims, x)}")
        return padded(x, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: "int | Sequence[int]", value: float) -> None:
        super().__init__(padding)
        self.value = number(type(self).__name__, "value", value)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.constant_pad_nd(x, self.padding, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_Pad):
    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.constant_pad_nd(x, self.padding)


class ConstantPad1d(_ConstantPad):
    """x [n, channels, length] with a value before and after."""

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Pictures x [n, channels, rows, columns] with a value around; negative padding cuts off."""

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """x [n, channels, planes, rows, columns] with a value around."""

    _dims = 3


class ZeroPad1d(_ZeroPad):
    """x [n, channels, length] with zeros before and after."""

    _dims = 1


class ZeroPad2d(_ZeroPad):
    """Pictures x [n, channels, rows, columns] with zeros around; negative padding cuts off."""

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """x [n, channels, planes, rows, columns] with zeros around."""

    _dims = 3


class ReflectionPad1d(_Pad):
    """x [n, channels, length], mirrored at its first and last element."""

    _dims, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Pictures x [n, channels, rows, columns], mirrored at the elements of their edges."""

    _dims, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """x [n, channels, planes, rows, columns], mirrored at the elements of its edges."""

    _dims, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """x [n, channels, length], whose first and last element are repeated."""

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Pictures x [n, channels, rows, columns], whose edges are repeated."""

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """x [n, channels, planes, rows, columns], whose edges are repeated."""

    _dims, _mode = 3, "replicate"


class CircularPad1d(_Pad):
    """x [n, channels, length], continued with its other end."""

    _dims, _mode = 1, "circular"


class CircularPad2d(_Pad):
    """Pictures x [n, channels, rows, columns], continued with their other sides."""

    _dims, _mode = 2, "circular"


class CircularPad3d(_Pad):
    """x [n, channels, planes, rows, columns], continued with its other sides."""

    _dims, _mode = 3, "circular"
