"""Refusal of Python kernels that no call fits: their parameters are compared with the schema.

Arguments that equal their default are left out of a call, so a kernel may do without those. Only
functions written in Python are looked at; what takes *args takes any.
"""

from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from .. import _C
from .._core import ops as _ops
from .._core.arity import counted

# Of code objects, as in inspect, whose import would cost more than all of this.
_VARARGS, _VARKEYWORDS = 0x04, 0x08


def require_fit(
    name: str, fn: "Callable[..., Any] | None", leading: int, declaration: str = ""
) -> None:
    """Raises TypeError if no call of the operator "ns::name.overload" can be given to `fn`.

    `leading` is the number of arguments before those of the operator: a key set, a call_next. The
    declaration is that of the operator unless it is given. An operator that is not defined yet, and
    a `fn` of another kind, are not looked at.
    """
    if isinstance(fn, MethodType):
        fn, leading = fn.__func__, leading + 1
    if not isinstance(fn, FunctionType):
        return
    declaration = declaration or _declaration_of(name)
    why = declaration and _mismatch(list(_arguments(declaration)), fn, leading)
    if why:
        raise TypeError(f"{name}: the kernel {why}; the schema is {declaration}")


def _declaration_of(name: str) -> str:
    """Of an operator; "" if it is not defined."""
    base, _, overload = name.partition(".")
    if overload not in _C.overloads(base):
        return ""
    try:
        return getattr(_ops.packet_of(base), overload or "default").declaration
    except (AttributeError, RuntimeError):
        return ""  # another thread has taken it back meanwhile


class _Argument(NamedTuple):
    name: str  # "..." for any more
    has_default: bool
    by_name: bool


def _arguments(declaration: str) -> "Iterator[_Argument]":
    """The arguments of a schema as it is printed.

    Read here, since opyard.schema brings a library of its own, and every import of a module that
    registers kernels would pay for it.
    """
    depth, quoted, by_name, start = 0, False, False, declaration.index("(") + 1
    at = start
    while depth >= 0:
        mark = declaration[at]
        if quoted:
            at += mark == "\\"
            quoted = mark != '"'
        elif mark == '"':
            quoted = True
        elif mark in "([":
            depth += 1
        elif depth == 0 and mark in ",)":
            before, equals, _ = declaration[start:at].strip().partition("=")
            start = at + 1
            if before == "*":
                by_name = True
            elif before:
                yield _Argument(before.rpartition(" ")[2], bool(equals), by_name)
            depth -= mark == ")"
        elif mark in ")]":
            depth -= 1
        at += 1


def _mismatch(arguments: "list[_Argument]", fn: FunctionType, leading: int) -> str:
    """What is wrong, as the end of a sentence, or "". Counts are of the operator's arguments."""
    is_variadic = any(each.name == "..." for each in arguments)
    code = fn.__code__
    names = code.co_varnames[: code.co_argcount]
    without_default = names[: code.co_argcount - len(fn.__defaults__ or ())]
    takes_any = bool(code.co_flags & _VARARGS)
    positional = [each for each in arguments if not each.by_name and each.name != "..."]
    keywords = {each.name: each.has_default for each in arguments if each.by_name}
    needed = sum(not each.has_default for each in positional)
    if len(names) < leading and not takes_any:
        return f"takes {counted(len(names))}, and gets {leading} before those of the operator"
    taken = len(names) - leading
    if taken < needed and not takes_any:
        return f"takes {counted(taken)} of the operator, and a call gives it at least {needed}"
    beyond = [each for each in without_default[leading + len(positional) :] if each not in keywords]
    if beyond and not is_variadic:
        return (
            f"needs {counted(len(without_default) - leading)} of the operator, and a call gives "
            f"it at most {len(positional)}"
        )
    only_by_name = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    for each in only_by_name:
        if each not in keywords and each not in (fn.__kwdefaults__ or {}):
            return f"needs the keyword argument {each!r}, which no call gives it"
    known = {*only_by_name, *names[leading:]}
    for each, has_default in keywords.items():
        if not has_default and each not in known and not code.co_flags & _VARKEYWORDS:
            return f"does not take the keyword argument {each!r}"
    return ""
