"""JAX: finding it, and XLA's way to Opyard's operators."""

import ctypes
import importlib
import os.path
from functools import cache
from types import ModuleType
from typing import Any

from .. import _build_info

_OLDEST = (0, 10)
TARGET = "opyard_call"


def require_jax() -> Any:
    """The module jax. Raises ImportError if it is missing or too old to be published into."""
    try:
        jax: Any = importlib.import_module("jax")
    except ImportError as error:
        raise ImportError(
            "opyard.jax publishes operators into JAX, which cannot be imported here "
            f"({error}); it needs JAX {_OLDEST[0]}.{_OLDEST[1]} or newer: pip install jax"
        ) from error
    version = getattr(jax, "__version__", None)
    if not isinstance(jax, ModuleType) or version is None:
        raise ImportError(
            f"opyard.jax: the module jax that is imported here, {jax!r}, is not JAX"
        )
    numbers = tuple(int(part) for part in str(version).split(".")[:2])
    if numbers < _OLDEST:
        raise ImportError(
            f"opyard.jax publishes operators into JAX {_OLDEST[0]}.{_OLDEST[1]} or newer, and this "
            f"one is {version}: pip install -U jax"
        )
    return jax


@cache
def _handlers() -> Any:
    """The library that XLA calls operators by. Raises ImportError without it."""
    if not os.path.exists(_build_info.xla):
        raise ImportError(
            f"opyard.jax needs the library {_build_info.xla}, which is not there: this build of "
            "Opyard was made without it, or its files were moved"
        )
    return ctypes.CDLL(_build_info.xla)


@cache
def register_target(jax: Any) -> None:
    """Tells XLA of the one target that all operators are called by, once a process.

    Raises ImportError if the library is missing, or XLA does not know its version of the FFI.
    """
    handlers = _handlers()
    stages = {
        "instantiate": jax.ffi.pycapsule(handlers.opyard_xla_instantiate),
        "execute": jax.ffi.pycapsule(handlers.opyard_xla_execute),
    }
    try:
        jax.ffi.register_ffi_target(TARGET, stages, platform="cpu")
        jax.devices("cpu")  # which registers what it was told before
    except Exception as error:
        raise ImportError(
            f"opyard.jax: XLA of JAX {jax.__version__} does not take custom calls in the version "
            f"of this build of Opyard: {error}"
        ) from error


def allow(declaration: str, is_on: bool) -> None:
    """Says whether programs of XLA may call the operator of this declaration."""
    if _handlers().opyard_xla_publish(declaration.encode(), int(is_on)) != 0:
        raise MemoryError(f"opyard.jax: no memory to publish {declaration}")
