"""The operators that publish() is asked for."""

from collections.abc import Iterable
from typing import Any

from .. import _C, _bind
from .._core import ops as _ops


def operators_of(what: Any) -> "list[_C.OpOverload]":
    """The operators of a namespace, or those that are named, each once.

    Raises LookupError for what is not defined.
    """
    return list(dict.fromkeys(_operators(what)))


def _operators(what: Any) -> "list[_C.OpOverload]":
    if isinstance(what, str) and "::" not in what:
        if what == "aten":
            _ops.load_aten()
        else:
            _ops.load_for(f"{what}::")
        names = [name for name in _bind.operator_names() if name.startswith(f"{what}::")]
        if not names:
            raise LookupError(f"no operator {what}::… is defined; is its library loaded?")
        return [_ops.overload_of(name) for name in names]
    if isinstance(what, Iterable) and not isinstance(what, str):
        return [op for one in what for op in _operators(one)]
    if isinstance(what, _C.OpOverloadPacket):
        return [getattr(what, overload) for overload in _ops.overload_names(what)]
    if isinstance(what, str) and "." not in what:
        return _operators(_ops.require_packet(what))
    return [_ops.operator_of(what)]
