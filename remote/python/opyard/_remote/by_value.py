"""Functions and classes by value: those that a worker cannot import travel as their parts.

A function of a module that can be imported travels as its name. One of `__main__`, a lambda, and
one that was defined inside another travel as their code object, defaults, closure, and the globals
that the code names; so do classes, as their bases and members. The worker has the same version of
Python, which is checked before anything runs. What its globals refer to is sent as it is now: a
worker does not see later changes.
"""

import builtins
import importlib
import marshal
import sys
import types
from collections.abc import Callable
from typing import Any

_MAIN = ("__main__", "__mp_main__")
# Members that a class has from being made, and annotations that are made when someone asks.
_GIVEN = ("__dict__", "__weakref__", "__annotate_func__", "__annotations_cache__")


def is_importable(thing: Any) -> bool:
    """Whether a worker finds a function or a class under its module and name."""
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__qualname__", None)
    if not module or not name or module in _MAIN or "<" in name:
        return False
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is thing


def reduce_function(function: types.FunctionType) -> tuple:
    """As __reduce__ gives it; a function may refer to itself."""
    code = function.__code__
    made_of = (
        marshal.dumps(code),
        function.__module__,
        len(code.co_freevars),
    )
    state = {
        "globals": _named_globals(function),
        "cells": [_content(cell) for cell in function.__closure__ or ()],
        "defaults": function.__defaults__,
        "keyword_defaults": function.__kwdefaults__,
        "name": function.__name__,
        "qualname": function.__qualname__,
        "attributes": dict(function.__dict__),
        "doc": function.__doc__,
    }
    return make_function, made_of, state, None, None, set_function_state


def make_function(code: bytes, module: str, cells: int) -> types.FunctionType:
    namespace = {"__builtins__": builtins, "__name__": module}
    closure = tuple(types.CellType() for _ in range(cells)) or None
    return types.FunctionType(marshal.loads(code), namespace, closure=closure)


def set_function_state(function: types.FunctionType, state: "dict[str, Any]") -> None:
    function.__globals__.update(state["globals"])
    for cell, content in zip(function.__closure__ or (), state["cells"], strict=True):
        if content:
            cell.cell_contents = content[0]
    function.__defaults__ = state["defaults"]
    function.__kwdefaults__ = state["keyword_defaults"]
    function.__name__ = state["name"]
    function.__qualname__ = state["qualname"]
    function.__doc__ = state["doc"]
    function.__dict__.update(state["attributes"])


def _content(cell: types.CellType) -> tuple:
    try:
        return (cell.cell_contents,)
    except ValueError:  # it is empty
        return ()


def _named_globals(function: types.FunctionType) -> "dict[str, Any]":
    """The globals that its code, or one inside it, names."""
    names: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    known = function.__globals__
    return {name: known[name] for name in sorted(names) if name in known}


def reduce_class(cls: type) -> tuple:
    """As __reduce__ gives it. Raises TypeError for a class that is more than its members."""
    if type(cls) is not type:
        raise TypeError(
            f"the class {cls.__qualname__} of {cls.__module__} cannot be sent to a worker, since "
            f"its metaclass is {type(cls).__qualname__}: define it in a module that the workers "
            "import, too"
        )
    members = dict(vars(cls))
    slots = members.get("__slots__", ())
    for name in (*_GIVEN, *([slots] if isinstance(slots, str) else slots)):
        members.pop(name, None)
    made_of = (cls.__name__, cls.__bases__, members.pop("__slots__", None), cls.__module__)
    state = {"qualname": cls.__qualname__, "members": members}
    return make_class, made_of, state, None, None, set_class_state


def make_class(name: str, bases: tuple, slots: Any, module: str) -> type:
    members: dict[str, Any] = {"__module__": module}
    if slots is not None:
        members["__slots__"] = slots
    return types.new_class(name, bases, {}, lambda namespace: namespace.update(members))


def set_class_state(cls: type, state: "dict[str, Any]") -> None:
    for name, member in state["members"].items():
        if name not in ("__module__", "__qualname__"):
            setattr(cls, name, member)
    cls.__qualname__ = state["qualname"]


def reduce_module(module: types.ModuleType) -> "tuple[Callable, tuple]":
    return importlib.import_module, (module.__name__,)


def reduce_property(each: property) -> tuple:
    return property, (each.fget, each.fset, each.fdel, each.__doc__)


def reduce_wrapped(each: Any) -> tuple:
    """Of a staticmethod or a classmethod."""
    return type(each), (each.__func__,)


def reduce(thing: Any) -> Any:
    """How a thing travels that has no other way, or NotImplemented."""
    kind = type(thing)
    if kind is types.FunctionType:
        return NotImplemented if is_importable(thing) else reduce_function(thing)
    if kind is types.ModuleType:
        return reduce_module(thing)
    if kind is property:
        return reduce_property(thing)
    if kind is staticmethod or kind is classmethod:
        return reduce_wrapped(thing)
    if isinstance(thing, type) and not is_importable(thing) and thing.__module__ in _MAIN:
        return reduce_class(thing)
    if isinstance(thing, type) and not is_importable(thing) and "<locals>" in thing.__qualname__:
        return reduce_class(thing)
    return NotImplemented
