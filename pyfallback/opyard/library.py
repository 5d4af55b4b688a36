"""Registering operators and kernels from Python.

    lib = Library("demo", "FRAGMENT")
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x + x, "CPU")

    with override("demo::twice", "CPU", lambda x: x * 2):
        ...

A registration is an object: it ends when its Library or override does, at the latest when nothing
refers to that any more, and the registry is then as if it had never been. The kernel is owned
by its registration; a kernel that refers to its own Library keeps both alive for ever.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from . import _C
from ._core import late as _late
from ._core.keywords import names_keywords
from ._core.ops import load_library, loaded_libraries, unload_library
from ._library.library import Library, fallthrough_kernel

if TYPE_CHECKING:
    from ._library.c_function import CFunction, c_prototype
    from ._library.custom_op import CustomOpDef, custom_op
    from ._library.fake import get_ctx
    from ._library.infer_schema import infer_schema
    from ._library.opcheck import OpCheckError, opcheck
    from ._library.operator_files import load_operators
    from ._library.override import override
    from ._library.py_impl import register_opyard_dispatch
    from ._library.shortcuts import (
        EffectType,
        composite,
        define,
        effect_of,
        impl,
        register_autocast,
        register_autograd,
        register_effect,
        register_kernel,
        register_vmap,
        scoped_library,
    )
    from ._plugins.packages import load_plugins

__all__ = [
    "CFunction",
    "CustomOpDef",
    "EffectType",
    "Library",
    "OpCheckError",
    "c_prototype",
    "composite",
    "custom_op",
    "define",
    "effect_of",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "infer_schema",
    "load_library",
    "load_operators",
    "load_plugins",
    "loaded_libraries",
    "opcheck",
    "override",
    "register_autocast",
    "register_autograd",
    "register_effect",
    "register_fake",
    "register_kernel",
    "register_opyard_dispatch",
    "register_vmap",
    "scoped_library",
    "unload_library",
]


_F = TypeVar("_F", bound=Callable[..., Any])
_Named = str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller

# Imported when it is first named: it needs ctypes or inspect, or is seldom wanted.
_LATE = {
    "CFunction": "opyard._library.c_function",
    "CustomOpDef": "opyard._library.custom_op",
    "EffectType": "opyard._library.shortcuts",
    "OpCheckError": "opyard._library.opcheck",
    "c_prototype": "opyard._library.c_function",
    "composite": "opyard._library.shortcuts",
    "custom_op": "opyard._library.custom_op",
    "define": "opyard._library.shortcuts",
    "effect_of": "opyard._library.shortcuts",
    "get_ctx": "opyard._library.fake",
    "impl": "opyard._library.shortcuts",
    "infer_schema": "opyard._library.infer_schema",
    "load_operators": "opyard._library.operator_files",
    "load_plugins": "opyard._plugins.packages",
    "opcheck": "opyard._library.opcheck",
    "override": "opyard._library.override",
    "register_autocast": "opyard._library.shortcuts",
    "register_autograd": "opyard._library.shortcuts",
    "register_effect": "opyard._library.shortcuts",
    "register_kernel": "opyard._library.shortcuts",
    "register_opyard_dispatch": "opyard._library.py_impl",
    "register_vmap": "opyard._library.shortcuts",
    "scoped_library": "opyard._library.shortcuts",
}


_late.find_names(globals(), _LATE)


def __dir__() -> list[str]:
    return _late.names(globals())


@overload
def register_fake(
    op: _Named, fn: None = None, *, lib: "Library | None" = None, allow_override: bool = False
) -> "Callable[[_F], _F]": ...
@overload
def register_fake(
    op: _Named, fn: _F, *, lib: "Library | None" = None, allow_override: bool = False
) -> _F: ...
@names_keywords
def register_fake(
    op: "str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller",
    fn: "Callable[..., Any] | None" = None,
    *,
    lib: "Library | None" = None,
    allow_override: bool = False,
) -> Any:
    """Registers what an operator gives for tensors without elements; also as a decorator.

        @register_fake("demo::twice")
        def _(x):
            return opyard.ops.aten.empty_like(x)

    The kernel is registered at the key Meta. It ends with `lib`; without one it stays, or
    belongs to what custom_op() made. While it runs, get_ctx() gives sizes that depend on elements.

    Raises ValueError for what is no operator, LookupError for one that is not defined, RuntimeError
    for an operator that has a Meta implementation or a kernel at CompositeImplicitAutograd, unless
    `allow_override`, and for a function in another module than set_python_module() said.
    """
    from ._library import fake as _fake

    return _fake.register_fake(op, fn, lib=lib, allow_override=allow_override)
