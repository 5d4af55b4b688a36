"""Free variables and side effects of a function, read from its code.

For compile(). A function is read as its code: the names outside that it uses, those that the
functions use that it calls, by such a name or as methods of what it finds there, and forward() of
Modules. That is less than what it may do; what is found here is a reason, and what is not is the
user's word.
"""

import abc
import builtins
import dis
import functools
import importlib
import operator
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from .._nn.module import Module

_PACKAGE = __name__.split(".")[0]
# Of builtins.
_OUTSIDE = (
    *("__import__", "breakpoint", "eval", "exec", "globals", "id", "input", "locals", "open"),
    "print",
)
# Names of modules that lead to any module, whose names are not looked at then.
_LEADING = (("sys", "modules"), ("importlib", "import_module"))
# Modules whose functions and classes give something else each time.
_CHANGING = ("datetime", "numpy.random", "random", "secrets", "time", "uuid")
# Modules whose functions ask the process, the thread or its files; their other names are constants.
_ASKING = (
    *("_decimal", "_locale", "_signal", "_thread", "_tracemalloc", "decimal", "gc", "genericpath"),
    *("locale", "nt", "ntpath", "os", "posix", "posixpath", "signal", "sys", "threading"),
    "tracemalloc",
)
_METHODS = (
    # Of this package, which ask the process.
    *("get_num_threads", "has_kernel", "has_kernel_for_any", "has_kernel_for_dispatch_key"),
    *("len_dispatch_mode_stack", "operator_names"),
    "backward",
    "register_hook",
    "register_post_accumulate_grad_hook",
    "requires_grad_",
    "retain_grad",
)
# Packages whose classes have methods that read nothing but what they are given.
_SETTLED = (_PACKAGE, "_collections_abc", "abc", "builtins", "enum", "functools", "typing")
_NAMING = ("__dict__", "attrgetter", "getattr", "vars")  # ways to attributes of any name
# Methods that Python calls by itself, and that no function with a graph needs.
_NOT_CALLED = (
    *("__annotate__", "__annotate_func__"),  # from CPython 3.14 on, for annotations
    *("__class_getitem__", "__copy__", "__deepcopy__", "__del__", "__dir__", "__format__"),
    *("__init__", "__init_subclass__", "__new__", "__reduce__", "__reduce_ex__", "__replace__"),
    *("__repr__", "__set_name__", "__setstate__", "__sizeof__", "__str__", "__subclasshook__"),
)
_CALLED: tuple[type, ...] = (type, types.FunctionType, types.BuiltinFunctionType)
_BUILTINS = vars(builtins)
_COMMON: tuple[type, ...] = (type, types.BuiltinFunctionType)  # what builtins has
_PLAIN: tuple[type, ...] = (type(None), bool, int, float, complex, str, bytes)
_LOADED: tuple[type, ...] = (types.ModuleType, *_CALLED)  # what a module mostly has
_NOTHING = object()  # the value of a name that means nothing yet
_ASKING_CLASSES = ("isinstance", "issubclass")


class _Namespace:
    """What a Python module had."""

    def __init__(self, name: str, space: dict[str, Any], is_reached: bool) -> None:
        self._name = name
        self._space = space
        self._before = dict(space)
        # Numbers and texts in the module of the code itself may be a matter of other threads.
        self._ignored = _LOADED if is_reached else (*_LOADED, *_PLAIN)

    def change(self) -> str:
        """What was assigned or deleted since, in words; empty if nothing was.

        What a module loads when it is first used is no change.
        """
        for name, value in list(self._space.items()):
            if name == "__warningregistry__" or isinstance(value, self._ignored):
                continue
            if self._before.get(name, _NOTHING) is not value:
                return f"it assigns {name} of the module {self._name}"
        gone = [name for name in self._before if name not in self._space]
        return f"it deletes {gone[0]} of the module {self._name}" if gone else ""


class Surroundings:
    """The places of names outside, and the reasons that were found.

    It begins with the places of another one: then both may be read in one way.
    """

    def __init__(self, former: "Surroundings | None" = None) -> None:
        # A namespace, a cell, a function whose defaults are meant, or a module: builtins for the
        # names that are looked for there, abc for its registered classes; and a name.
        self.places: list[tuple[Any, str]] = [] if former is None else list(former.places)
        self.reasons: list[str] = []
        # Names that the code has, among them those of attributes; None if it makes names up.
        self.names: set[str] = set() if former is None else set(former.names)
        self._attributes: set[str] | None = self.names
        self._builtins: list[str] = [] if former is None else list(former._builtins)
        self._take: Any = None if former is None else former._take
        self._note_names(())
        self._labels = [name for _, name in self.places]
        self._places = {(id(where), name) for where, name in self.places}
        self._seen: set[Any] = set()
        self._modules: dict[types.ModuleType, types.CodeType] = {}  # and code that names each
        self._globals: list[dict[str, Any]] = []  # of functions
        self._classes: list[type] = []

    def read(self) -> tuple:
        """What the names mean now, the names, and what names of attributes the code has."""
        found = []
        for where, name in self.places:
            if type(where) is dict:
                found.append(where.get(name, _NOTHING))
            elif type(where) is types.FunctionType:
                found.append((where.__defaults__, where.__kwdefaults__))
            elif where is builtins:
                try:
                    found.append(self._take(_BUILTINS))
                except KeyError:  # deleted since
                    found.append([_BUILTINS.get(one, _NOTHING) for one in self._builtins])
            elif where is abc:
                found.append(abc.get_cache_token())
            else:
                try:
                    found.append(where.cell_contents)
                except ValueError:  # an empty cell
                    found.append(_NOTHING)
        return tuple(found), self._labels, self._attributes

    @property
    def extent(self) -> tuple[int, int]:
        """How much it sees: keys that were made with another extent are of another form."""
        return len(self.places) + len(self._builtins), len(self.names)

    def names_of_modules(self) -> "list[_Namespace]":
        """What the Python modules have now that the code may reach, and those that it is of."""
        reached = [_Namespace(one.__name__, vars(one), True) for one in self._modules]
        return reached + [
            _Namespace(str(space.get("__name__")), space, False) for space in self._globals
        ]

    def add(self, value: object) -> None:
        """Looks into a function, a method, a Module or another callable."""
        for function in _functions_of(value):
            if function not in self._seen and not _is_ours(function):
                self._seen.add(function)
                self._add_function(function)

    def add_found(self, found: Iterable[object]) -> bool:
        """Looks into functions and classes that were found in values; whether there is more now."""
        before = self.extent
        for value in found:
            if isinstance(value, type):
                if value not in self._seen:
                    self._seen.add(value)
                    self._classes.append(value)
            else:
                self.add(value)
        for one in self._classes:
            for function in self._methods_of(one):
                self.add(function)
        for module, code in list(self._modules.items()):  # other code may be given it
            for name in self._names_read_of(module):
                if (id(vars(module)), name) not in self._places:
                    self._add_place(vars(module), name, code)
        return before != self.extent

    def _names_read_of(self, module: types.ModuleType) -> list[str]:
        """What any of the code may take from a module."""
        space = vars(module)
        found = [name for name in self.names if name in space]
        if self._attributes is None:
            for name, value in list(space.items()):
                if not name.startswith("__") and not isinstance(value, _LOADED):
                    found.append(name)
        return found

    def _methods_of(self, owner: type) -> Iterator[types.FunctionType]:
        """What the code may call of a class: by a name that it has, or by a sign such as []."""
        for base in owner.__mro__:
            if base.__module__.split(".")[0] in _SETTLED:
                continue
            for name, value in list(vars(base).items()):
                is_special = name.startswith("__") and name not in _NOT_CALLED
                if name in self.names or is_special or self._attributes is None:
                    yield from _functions_of(value)

    def _add_function(self, function: types.FunctionType) -> None:
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self._add_place(cell, name, function.__code__)
        if function.__defaults__ or function.__kwdefaults__:
            self._note_place(function, f"a default of {function.__name__}()")
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.add(default)
        if all(function.__globals__ is not one for one in self._globals):
            self._globals.append(function.__globals__)
        for code in _codes(function.__code__):
            self._note_names(code.co_names)
            self._add_code(code, function)

    def _add_code(self, code: types.CodeType, function: types.FunctionType) -> None:
        for step in dis.get_instructions(code):
            name = step.argval
            if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                self._refuse(f"{code.co_name}() assigns the global name {name}")
            elif step.opname in ("STORE_DEREF", "DELETE_DEREF") and name in code.co_freevars:
                self._refuse(f"{code.co_name}() assigns {name}, which is a name outside of it")
            elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                self._add_global(code, function, name)
            elif step.opname == "MATCH_CLASS":
                self._note_place(abc, "a class that is registered with another one")
            elif step.opname in ("LOAD_METHOD", "LOAD_ATTR") and name in _METHODS:
                self._refuse(f"{code.co_name}() calls {name}()")
            elif step.opname == "IMPORT_NAME":
                self._add_import(code, name)

    def _add_global(self, code: types.CodeType, function: types.FunctionType, name: str) -> None:
        namespace = function.__globals__
        if name not in namespace and name in _OUTSIDE and hasattr(builtins, name):
            self._refuse(f"{code.co_name}() calls {name}()")
        if name in _METHODS and _is_of_package(namespace.get(name)):
            self._refuse(f"{code.co_name}() calls {name}()")
        self._add_place(namespace, name, code)
        if name not in namespace:
            self._add_builtin(code, function.__builtins__, name)
        if name in _ASKING_CLASSES:
            self._note_place(abc, "a class that is registered with another one")

    def _add_builtin(self, code: types.CodeType, space: dict[str, Any], name: str) -> None:
        """All that are common are one place, since most functions have some and none changes."""
        if space is not _BUILTINS or not isinstance(space.get(name), _COMMON):
            self._add_place(space, name, code)
        elif name not in self._builtins:
            self._builtins.append(name)
            self._take = operator.itemgetter(*self._builtins)
            self._note_place(builtins, "a name of builtins")

    def _add_import(self, code: types.CodeType, name: str) -> None:
        try:
            module = importlib.import_module(name)
            self._note_place(sys.modules, name)
        except (ImportError, TypeError, ValueError):  # relative, or not there: the call will say
            self._refuse(f"{code.co_name}() imports {name}")
        else:
            self._add_module(code, module)

    def _add_module(self, code: types.CodeType, module: types.ModuleType) -> None:
        """What the code may take from a module: whatever has a name that the code has."""
        if module.__name__ in _CHANGING:
            self._refuse(f"{code.co_name}() uses the module {module.__name__}")
        elif module.__name__.split(".")[0] != _PACKAGE:
            self._modules.setdefault(module, code)
            for leading, name in _LEADING:
                if module.__name__ == leading and name in code.co_names:
                    self._refuse(f"{code.co_name}() uses {leading}.{name}")
            stored = _names_stored(code)
            for name in code.co_names:
                if "__getattr__" in vars(module):  # it may load the part that has the name
                    value = getattr(module, name, _NOTHING)
                    is_made = value is not _NOTHING and not isinstance(value, _LOADED)
                    if is_made and name not in vars(module):
                        self._refuse(
                            f"{code.co_name}() uses {module.__name__}.{name}, which the module "
                            "makes anew each time"
                        )
                if name in vars(module) or name in stored:
                    self._add_place(vars(module), name, code)

    def _note_names(self, names: Iterable[str]) -> None:
        self.names.update(names)
        self._attributes = None if self.names.intersection(_NAMING) else self.names

    def _note_place(self, where: Any, name: str) -> None:
        if (id(where), name) not in self._places:
            self._places.add((id(where), name))
            self.places.append((where, name))
            self._labels.append(name)

    def _add_place(self, where: Any, name: str, code: types.CodeType) -> None:
        self._note_place(where, name)
        try:
            value = where[name] if type(where) is dict else where.cell_contents
        except (KeyError, ValueError):
            return
        if isinstance(value, types.ModuleType):
            key = (id(value), code)
            if key not in self._seen:
                self._seen.add(key)
                self._add_module(code, value)
            return
        module = getattr(value, "__module__", None) if isinstance(value, _CALLED) else None
        if module in _CHANGING or module in _ASKING:
            self._refuse(f"{code.co_name}() uses {name} of the module {module}")
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


def _names_stored(code: types.CodeType) -> set[str]:
    """Of attributes that the code assigns or deletes."""
    steps = dis.get_instructions(code)
    return {step.argval for step in steps if step.opname in ("STORE_ATTR", "DELETE_ATTR")}


def _functions_of(value: object) -> Iterable[types.FunctionType]:
    if isinstance(value, types.FunctionType):
        return (value,)
    if isinstance(value, types.MethodType):
        return [*_functions_of(value.__func__), *_functions_of(value.__self__)]
    if isinstance(value, staticmethod | classmethod):
        return _functions_of(value.__func__)
    if isinstance(value, property):
        return [one for one in (value.fget,) if isinstance(one, types.FunctionType)]
    if isinstance(value, functools.cached_property):
        return _functions_of(value.func)
    if isinstance(value, type):
        return ()
    if isinstance(value, Module):
        kinds = {type(module) for module in value.modules()}
        return [each for kind in kinds for each in _functions_of(kind.forward)]
    if "__wrapped__" in getattr(value, "__dict__", ()):  # compiled, or made by a decorator
        return _functions_of(vars(value)["__wrapped__"])
    call = getattr(type(value), "__call__", None)  # noqa: B004
    return (call,) if isinstance(call, types.FunctionType) else ()


def _is_ours(function: types.FunctionType) -> bool:
    return function.__module__ is not None and function.__module__.split(".")[0] == _PACKAGE


def _is_of_package(value: object) -> bool:
    return str(getattr(value, "__module__", None)).split(".")[0] == _PACKAGE
