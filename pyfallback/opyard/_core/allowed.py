"""The operators that a stranger's graph may call, as `allowed=` gives them: full names."""

from collections.abc import Iterable
from typing import TypeAlias

from .. import _C
from . import ops as _ops

_Operator: TypeAlias = str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller
Allowed: TypeAlias = _Operator | Iterable[_Operator]

_ACCEPTED = (
    "a list of operators: full names such as 'demo::twice', with or without an overload, or "
    "objects such as opyard.ops.demo.twice"
)


def allowed_names(function: str, allowed: object) -> list[str]:
    """Their full names; the libraries that define them are loaded. One operator stands for a list
    of it. Raises TypeError for what names no operator, ValueError for a name without a namespace,
    LookupError for an operator that is not defined."""
    if isinstance(allowed, (str, _C.OpOverload, _C.OpOverloadPacket, _C.OpCaller)):
        allowed = [allowed]
    if not isinstance(allowed, Iterable):
        raise TypeError(f"{function}: allowed must be {_ACCEPTED}, not {allowed!r}")
    return [_name_of(function, each) for each in allowed]


def _name_of(function: str, op: object) -> str:
    if isinstance(op, _C.OpCaller):
        op = op.op
    if isinstance(op, _C.OpOverload):
        return op.name()
    if isinstance(op, _C.OpOverloadPacket):
        return op.qualified_name
    if not isinstance(op, str):
        raise TypeError(f"{function}: allowed must be {_ACCEPTED}; it has {op!r}")
    if "::" not in op:
        raise ValueError(f"{function}: allowed must be {_ACCEPTED}; it has {op!r}")
    if op.startswith("prim::"):  # a node that no registry has, such as prim::Print
        return op
    name, _, overload = op.partition(".")
    _ops.load_for(name)
    has = _C.overloads(name)
    if not has or (overload and overload not in has):
        raise _ops.undefined(op)
    return op
