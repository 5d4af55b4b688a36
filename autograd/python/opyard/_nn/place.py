"""The device and the dtype that a module is made with, or converted to."""

from typing import TypeAlias

from .. import _C
from .._tensor import dtypes

Device: TypeAlias = _C.device | str | None
DType: TypeAlias = _C.dtype | None


def checked_place(
    caller: str, device: object = None, dtype: object = None
) -> "tuple[_C.device | None, _C.dtype | None]":
    """Both as they are meant. Raises TypeError for what is neither, and for elements that cannot
    be trained; ValueError for a text that names no device."""
    if isinstance(device, str):
        device = _C.device(device)
    if device is not None and not isinstance(device, _C.device):
        raise TypeError(f"{caller}: device must be a device such as 'cpu', not {device!r}")
    if dtype is None or isinstance(dtype, _C.dtype):
        found = dtype
    else:
        found = dtypes.find(dtype)
        if found is None:
            such = getattr(_C, dtype, None) if isinstance(dtype, str) else None
            such = such if isinstance(such, _C.dtype) else _C.float32
            raise TypeError(f"{caller}: dtype must be a dtype such as {such}, not {dtype!r}")
    if found is not None and not (found.is_floating_point or found.is_complex):
        raise TypeError(
            f"{caller}: parameters must be floating point or complex numbers, not {found}"
        )
    return device, found
