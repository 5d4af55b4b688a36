"""What a function sees besides its arguments, and what it does that no graph holds.

For compile(). A function is read as its code: the names outside that it uses, those that the
functions use that it calls by such a name, and forward() of the Modules that it finds there. That
is less than what it may do; what is found here is a reason, and what is not is the user's word.
"""

import builtins
import dis
import types
from collections.abc import Iterable, Iterator
from typing import Any

from .._nn.module import Module

_PACKAGE = __name__.split(".")[0]
_OUTSIDE = ("breakpoint", "eval", "exec", "input", "open", "print")  # of builtins
_CHANGING = ("random", "secrets", "time", "uuid")  # modules whose functions give something else
_METHODS = (
    "backward",
    "register_hook",
    "register_post_accumulate_grad_hook",
    "requires_grad_",
    "retain_grad",
)


class Surroundings:
    """The places of names outside, and the reasons that were found."""

    def __init__(self) -> None:
        # A namespace, a cell, or a function whose defaults are meant; and a name.
        self.places: list[tuple[Any, str]] = []
        self.reasons: list[str] = []
        self._seen: set[Any] = set()

    def read(self) -> tuple:
        """What the names mean now; a name that means nothing yet is left out."""
        found = []
        for where, name in self.places:
            if type(where) is dict:
                if name in where:
                    found.append(where[name])
            elif type(where) is types.FunctionType:
                found.append((where.__defaults__, where.__kwdefaults__))
            else:
                try:
                    found.append(where.cell_contents)
                except ValueError:  # an empty cell
                    continue
        return tuple(found)

    def add(self, value: object) -> None:
        """Looks into a function, a method, a Module or another callable."""
        for function in _functions_of(value):
            if function not in self._seen and not _is_ours(function):
                self._seen.add(function)
                self._add_function(function)

    def _add_function(self, function: types.FunctionType) -> None:
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self._add_place(cell, name)
        if function.__defaults__ or function.__kwdefaults__:
            self.places.append((function, ""))
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.add(default)
        for code in _codes(function.__code__):
            self._add_code(code, function.__globals__)

    def _add_code(self, code: types.CodeType, namespace: dict[str, Any]) -> None:
        for step in dis.get_instructions(code):
            name = step.argval
            if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                self._refuse(f"{code.co_name}() assigns the global name {name}")
            elif step.opname in ("STORE_DEREF", "DELETE_DEREF") and name in code.co_freevars:
                self._refuse(f"{code.co_name}() assigns {name}, which is a name outside of it")
            elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                self._add_global(code, namespace, name)
            elif step.opname in ("LOAD_METHOD", "LOAD_ATTR") and name in _METHODS:
                self._refuse(f"{code.co_name}() calls {name}()")

    def _add_global(self, code: types.CodeType, namespace: dict[str, Any], name: str) -> None:
        if name in namespace:
            value = namespace[name]
            if isinstance(value, types.ModuleType) and value.__name__ in _CHANGING:
                self._refuse(f"{code.co_name}() uses the module {name}")
            self._add_place(namespace, name)
        elif name in _OUTSIDE and hasattr(builtins, name):
            self._refuse(f"{code.co_name}() calls {name}()")

    def _add_place(self, where: Any, name: str) -> None:
        key = (id(where), name)
        if key in self._seen:
            return
        self._seen.add(key)
        self.places.append((where, name))
        try:
            value = where[name] if type(where) is dict else where.cell_contents
        except (KeyError, ValueError):
            return
        self.add(value)

    def _refuse(self, reason: str) -> None:
        if reason not in self.reasons:
            self.reasons.append(reason)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function, and of those that it defines."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _functions_of(value: object) -> Iterable[types.FunctionType]:
    if isinstance(value, types.FunctionType):
        return (value,)
    if isinstance(value, types.MethodType):
        found = [*_functions_of(value.__func__), *_functions_of(value.__self__)]
        return found
    if isinstance(value, Module):
        kinds = {type(module) for module in value.modules()}
        return [kind.forward for kind in kinds if isinstance(kind.forward, types.FunctionType)]
    call = None if isinstance(value, type) else getattr(type(value), "__call__", None)  # noqa: B004
    return (call,) if isinstance(call, types.FunctionType) else ()


def _is_ours(function: types.FunctionType) -> bool:
    return function.__module__ is not None and function.__module__.split(".")[0] == _PACKAGE
