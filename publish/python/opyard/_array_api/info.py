"""Inspection: contents of the namespace, and the namespace of an array."""

import importlib
from types import ModuleType

from .. import _C
from .arguments import Device, DType
from .data_types import isdtype

# The versions of the standard that the namespace follows, the newest last.
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_NAMES = ("bool", *_INTEGERS, "float32", "float64", "complex64", "complex128")


def namespace_of(api_version: str | None) -> ModuleType:
    """The namespace of tensors. Raises ValueError for a version that it does not follow."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f"__array_namespace__: api_version is {api_version!r}; accepted are "
            f"{', '.join(VERSIONS)}"
        )
    return importlib.import_module("opyard.array_api")


def _require_cpu(function: str, device: Device | None) -> None:
    if device is not None and _C.device(device) != _C.device("cpu"):
        raise ValueError(f"{function}: device is {device}; accepted is cpu")


class NamespaceInfo:
    """What __array_namespace_info__() gives: devices, dtypes and what arrays can do."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """Features of the standard that a library may lack; here all are there."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": None,
        }

    def default_device(self) -> _C.device:
        """The device of arrays that are made without naming one."""
        return _C.device("cpu")

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """The dtypes of arrays that are made of Python's numbers, and of indices."""
        _require_cpu("default_dtypes", device)
        return {
            "real floating": _C.float32,
            "complex floating": _C.complex64,
            "integral": _C.int64,
            "indexing": _C.int64,
        }

    def dtypes(
        self, *, device: Device | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The standard's dtypes that are there, by name; those of a kind, as isdtype() has it."""
        _require_cpu("dtypes", device)
        found: dict[str, DType] = {name: getattr(_C, name) for name in _NAMES}
        if kind is None:
            return found
        return {name: dtype for name, dtype in found.items() if isdtype(dtype, kind)}

    def devices(self) -> list[_C.device]:
        """The devices that arrays can be on."""
        return [_C.device("cpu")]


def __array_namespace_info__() -> NamespaceInfo:
    """Devices, dtypes and abilities of this namespace."""
    return NamespaceInfo()
