"""JAX: finding it, and XLA's way to Opyard's operators."""

import ctypes
import os.path
from collections.abc import Callable
from functools import cache
from typing import Any

from .. import _build_info
from .._publish.frameworks import require_framework

_OLDEST = (0, 10)
TARGET = "opyard_call"


def require_jax() -> Any:
    """The module jax. Raises ImportError if it is missing or too old to be published into."""
    return require_framework("jax", "JAX", _OLDEST)


@cache
def _handlers() -> Any:
    """The library that XLA calls operators by. Raises ImportError without it."""
    if not os.path.exists(_build_info.xla):
        raise ImportError(
            f"opyard.jax needs the library {_build_info.xla}, which is not there: this build of "
            "Opyard was made without it, or its files were moved"
        )
    handlers = ctypes.CDLL(_build_info.xla)
    handlers.opyard_xla_implement_backward.argtypes = (
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.POINTER(ctypes.c_void_p),
    )
    handlers.opyard_xla_drop.argtypes = (ctypes.c_void_p,)
    handlers.opyard_xla_drop.restype = None
    handlers.opyard_last_error.restype = ctypes.c_char_p
    return handlers


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
    _check(_handlers().opyard_xla_publish(declaration.encode(), int(is_on)))


def implement_backward(op: str, backward: str) -> Callable[[], None]:
    """Makes the derivative of an operator the kernel of another one, until the result is called."""
    handlers = _handlers()
    registered = ctypes.c_void_p()
    status = handlers.opyard_xla_implement_backward(
        op.encode(), backward.encode(), ctypes.byref(registered)
    )
    _check(status)
    return lambda: handlers.opyard_xla_drop(registered)


def _check(status: int) -> None:
    if status != 0:
        raise RuntimeError(f"opyard.jax: {_handlers().opyard_last_error().decode()}")
