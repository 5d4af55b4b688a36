"""PyTorch: finding it, and what of it is used."""

from typing import Any

from .. import _C
from .._publish.frameworks import require_framework

_OLDEST = (2, 6)


def require_torch() -> Any:
    """The module torch. Raises ImportError if it is missing or too old to be published into."""
    return require_framework("torch", "PyTorch", _OLDEST)


def torch_dtype(torch: Any, dtype: "_C.dtype") -> Any:
    """The torch.dtype of the same name. Raises TypeError if PyTorch has none."""
    found = getattr(torch, dtype.name, None)
    if not isinstance(found, torch.dtype):
        raise TypeError(f"PyTorch has no element type {dtype.name}")
    return found


# Types of arguments that are other classes in PyTorch.
OTHER_CLASSES = ("Layout", "MemoryFormat", "Device")


def other_value(torch: Any, value: Any) -> Any:
    """An argument that is no tensor and no number, as Opyard takes it."""
    if isinstance(value, torch.dtype):
        return dtype_of(value)
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.memory_format):
        return _memory_formats(torch)[value]
    if isinstance(value, torch.layout):
        if value is torch.strided:
            return None
        raise TypeError(f"Opyard's tensors are strided, and {value} is wanted")
    return value


def _memory_formats(torch: Any) -> dict[Any, int]:
    """The numbers of memory formats, which both libraries share."""
    names = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
    return {getattr(torch, name): number for number, name in enumerate(names)}


def dtype_of(dtype: Any) -> "_C.dtype":
    """The element type of the same name as a torch.dtype. Raises TypeError if there is none."""
    name = str(dtype).rpartition(".")[2]
    found = getattr(_C, name, None)
    if not isinstance(found, _C.dtype):
        raise TypeError(f"Opyard has no element type {name}")
    return found
