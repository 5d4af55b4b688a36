"""Opyard: operators that are written in C++, called and overridden from Python.

    opyard.load_library("libdemo.so")
    x = opyard.tensor([1.0, 2.0, 3.0])         # or from_numpy(a), from_dlpack(t): no copy
    opyard.ops.demo.twice(x)

Tensor, tensor, from_numpy, from_dlpack, device and the element types are here; operators are
below `ops`, registrations in `library`, keys and routes in `dispatch`, schemas in `schema`,
results that are not there yet in `futures`.
Importing the package loads neither NumPy nor the operators of `aten`; what needs them does.
"""

import atexit as _atexit
import sys as _sys
from os import environ as _environ

from . import _C, _hooks
from ._build_info import slices as _slices
from ._C import (
    Tensor,
    bfloat16,
    complex64,
    complex128,
    device,
    dtype,
    float16,
    float32,
    float64,
    from_dlpack,
    from_numpy,
    int8,
    int16,
    int32,
    int64,
    tensor,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._C import (
    bool as bool,  # the element type, as in NumPy
)
from ._core.ops import load_library, loaded_libraries, ops, unload_library
from ._version import __version__

# In a build directory the parts of the package that belong to a layer are in folders of their own.
__path__.extend(_slices)

TYPE_CHECKING = False  # as in typing, which importing the package does not need
if TYPE_CHECKING:
    from . import (
        array_api,
        autograd,
        dispatch,
        futures,
        gpu_trace,
        jit,
        library,
        memory,
        nn,
        optim,
        profiler,
        remote,
        schema,
        testing,
    )
    from . import (
        jax as jax,
    )
    from . import (
        torch as torch,
    )
    from ._autograd.modes import (
        enable_grad,
        inference_mode,
        is_grad_enabled,
        no_grad,
        set_grad_enabled,
    )
    from ._core.errors import register_error, set_warn_always
    from ._core.generator import Generator
    from ._core.layout import Layout
    from ._core.tags import Tag
    from ._core.threads import get_num_threads, set_num_threads
    from ._dispatch.autocast import autocast
    from ._dispatch.context import capture_context
    from ._files.tensor_files import load, save
    from ._tensor.factories import (
        arange,
        cat,
        empty,
        eye,
        full,
        ones,
        rand,
        randn,
        stack,
        where,
        zeros,
    )
    from ._tensor.random import manual_seed
    from ._tensor.symbolic import SymBool, SymFloat, SymInt

# Without bool, jax and torch: a star import must not take the others of that name away.
__all__ = [
    "Generator",
    "Layout",
    "SymBool",
    "SymFloat",
    "SymInt",
    "Tag",
    "Tensor",
    "__version__",
    "arange",
    "array_api",
    "autocast",
    "autograd",
    "bfloat16",
    "capture_context",
    "cat",
    "complex64",
    "complex128",
    "device",
    "dispatch",
    "dtype",
    "empty",
    "enable_grad",
    "eye",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "from_numpy",
    "full",
    "futures",
    "get_num_threads",
    "gpu_trace",
    "inference_mode",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_grad_enabled",
    "jit",
    "library",
    "load",
    "load_library",
    "loaded_libraries",
    "manual_seed",
    "memory",
    "nn",
    "no_grad",
    "ones",
    "ops",
    "optim",
    "profiler",
    "rand",
    "randn",
    "register_error",
    "remote",
    "save",
    "schema",
    "set_grad_enabled",
    "set_num_threads",
    "set_warn_always",
    "stack",
    "tensor",
    "testing",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unload_library",
    "where",
    "zeros",
]

_LATE = {
    "Generator": "opyard._core.generator",
    "Layout": "opyard._core.layout",
    "SymBool": "opyard._tensor.symbolic",
    "SymFloat": "opyard._tensor.symbolic",
    "SymInt": "opyard._tensor.symbolic",
    "Tag": "opyard._core.tags",
    "arange": "opyard._tensor.factories",
    "autocast": "opyard._dispatch.autocast",
    "capture_context": "opyard._dispatch.context",
    "cat": "opyard._tensor.factories",
    "empty": "opyard._tensor.factories",
    "enable_grad": "opyard._autograd.modes",
    "eye": "opyard._tensor.factories",
    "full": "opyard._tensor.factories",
    "get_num_threads": "opyard._core.threads",
    "inference_mode": "opyard._autograd.modes",
    "is_grad_enabled": "opyard._autograd.modes",
    "load": "opyard._files.tensor_files",
    "manual_seed": "opyard._tensor.random",
    "no_grad": "opyard._autograd.modes",
    "ones": "opyard._tensor.factories",
    "rand": "opyard._tensor.factories",
    "randn": "opyard._tensor.factories",
    "register_error": "opyard._core.errors",
    "save": "opyard._files.tensor_files",
    "set_grad_enabled": "opyard._autograd.modes",
    "set_num_threads": "opyard._core.threads",
    "set_warn_always": "opyard._core.errors",
    "stack": "opyard._tensor.factories",
    "where": "opyard._tensor.factories",
    "zeros": "opyard._tensor.factories",
}
_SUBMODULES = frozenset(
    {
        "array_api",
        "autograd",
        "dispatch",
        "futures",
        "gpu_trace",
        "jax",
        "jit",
        "library",
        "memory",
        "nn",
        "optim",
        "profiler",
        "remote",
        "schema",
        "testing",
        "torch",
    }
)


def _names_elsewhere():  # type: ignore[no-untyped-def]
    """The module that says where a missing name is; modules below it ask for it here."""
    from ._core import names_elsewhere

    return names_elsewhere


def _find(name: str) -> object:
    """Submodules and what is rarely used are imported when first named: that keeps import cheap."""
    if name in _SUBMODULES:
        __import__(f"{__name__}.{name}")
        return _sys.modules[f"{__name__}.{name}"]
    from ._core import late

    if name not in _LATE:
        from ._core.near_names import MissingName

        find = _names_elsewhere().in_package
        raise MissingName(f"module {__name__!r} has no attribute {name!r}", name, find)
    return late.attribute(globals(), _LATE, name)


# Not as a function of this name: for type checkers, one that has it has every attribute.
globals()["__getattr__"] = _find


def __dir__() -> list[str]:
    from ._core import late

    return sorted({*late.names(globals()), "bool", *_SUBMODULES})


# Registered first, so it runs last: native threads are turned away once everything else that
# runs at exit has run. Only once, also if the package is imported again after sys.modules was
# emptied: then the types are those of the first time, and this package answers their questions.
if _C.configure(_hooks.hooks):
    _atexit.register(_C.close)

# A socket that the environment names, at which the process is asked for profiles.
if "OPYARD_PROFILE_SOCKET" in _environ:
    from ._profile.listener import begin_by_environment as _listen_for_profilers

    _listen_for_profilers()

# Plugins that the environment names; last, since they may use all of the package.
if "OPYARD_LIBRARIES" in _environ:
    from ._core.ops import load_environment_libraries as _load_environment_libraries

    _load_environment_libraries()
