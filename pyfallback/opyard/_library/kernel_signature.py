"""Refusal of Python kernels that no call fits: their parameters are compared with the schema.

Arguments that equal their default are left out of a call, so a kernel may do without those. Only
functions written in Python are looked at; what takes *args takes any.
"""

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from .. import _C
from .._core import ops as _ops

# Of code objects, as in inspect, whose import would cost more than all of this.
_VARARGS, _VARKEYWORDS = 0x04, 0x08


def require_fit(name: str, fn: "Callable[..., Any] | None", leading: int) -> None:
    """Raises TypeError if no call of the operator "ns::name.overload" can be given to `fn`.

    `leading` is the number of arguments before those of the operator: a key set, a call_next. An
    operator that is not defined yet, and a `fn` of another kind, are not looked at.
    """
    if isinstance(fn, MethodType):
        fn, leading = fn.__func__, leading + 1
    if not isinstance(fn, FunctionType):
        return
    base, _, overload = name.partition(".")
    if overload not in _C.overloads(base):
        return
    try:
        schema = getattr(_ops.packet_of(base), overload or "default")._schema
    except (AttributeError, RuntimeError):
        return  # another thread has taken it back meanwhile
    why = _mismatch(schema, fn, leading)
    if why:
        raise TypeError(f"{name}: the kernel {why}; the schema is {schema}")


def _mismatch(schema: Any, fn: FunctionType, leading: int) -> str:
    """What is wrong, as the end of a sentence, or "". Counts are of the operator's arguments."""
    code = fn.__code__
    names = code.co_varnames[: code.co_argcount]
    without_default = names[: code.co_argcount - len(fn.__defaults__ or ())]
    takes_any = bool(code.co_flags & _VARARGS)
    positional = [each for each in schema.arguments if not each.kwarg_only]
    keywords = {each.name: each for each in schema.arguments if each.kwarg_only}
    needed = sum(not each.has_default_value() for each in positional)
    if len(names) < leading and not takes_any:
        return f"takes {_counted(len(names))}, and gets {leading} before those of the operator"
    taken = len(names) - leading
    if taken < needed and not takes_any:
        return f"takes {_counted(taken)} of the operator, and a call gives it at least {needed}"
    beyond = [each for each in without_default[leading + len(positional) :] if each not in keywords]
    if beyond and not schema.is_vararg:
        return (
            f"needs {_counted(len(without_default) - leading)} of the operator, and a call gives "
            f"it at most {len(positional)}"
        )
    only_by_name = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    for each in only_by_name:
        if each not in keywords and each not in (fn.__kwdefaults__ or {}):
            return f"needs the keyword argument {each!r}, which no call gives it"
    known = {*only_by_name, *names[leading:]}
    for each, argument in keywords.items():
        if not argument.has_default_value() and each not in known:
            if not code.co_flags & _VARKEYWORDS:
                return f"does not take the keyword argument {each!r}"
    return ""


def _counted(number: int) -> str:
    return f"{number} argument" if number == 1 else f"{number} arguments"
