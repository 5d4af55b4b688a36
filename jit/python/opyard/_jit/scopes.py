"""The scope of a node: the modules in whose forward a traced call is made, as a path of names."""

import itertools
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from .._core.late import loaded


def _name_in(parent: Any, module: Any) -> str:
    """What a module calls one of its parts; the class of what is no part of it."""
    for name, part in parent._modules.items():
        if part is module:
            return name
    for name, part in parent.named_modules():
        if part is module:
            return name.replace(".", "/")
    return type(module).__name__


def _path(call: CodeType) -> str:
    """The modules that are being called on this thread: "Net/features/0"."""
    modules = []
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code is call:
            modules.append(frame.f_locals["self"])
        frame = frame.f_back  # type: ignore[assignment]
    modules.reverse()
    names = [type(module).__name__ for module in modules[:1]]
    names += [_name_in(parent, module) for parent, module in itertools.pairwise(modules)]
    return "/".join(names)


def reader() -> "Callable[[], str] | None":
    """What gives the scope of a call; None if no Module has been defined."""
    module = loaded("opyard._nn.module")
    if module is None:
        return None
    call = module.Module.__call__.__code__
    return lambda: _path(call)
