"""Lazy imports: names of a module that are imported at first use, and dir() of such a module.

    _LATE = {"history": "opyard._dispatch.history"}

    late.find_names(globals(), _LATE)

    def __dir__() -> list[str]:
        return late.names(globals())

Modules are named in full, so that tools/lint.py sees in which direction they are imported.
"""

import functools
import sys

from .forking import while_loading

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest of this file
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_NONE: "Mapping[str, str]" = {}


def loaded(module: str) -> "Any":
    """A module if its import is over, else None: one that is in the middle of it has some of its
    names, and its functions do not find the others."""
    found = sys.modules.get(module)
    if getattr(getattr(found, "__spec__", None), "_initializing", False):
        return None
    return found


def imported(module: str, name: str) -> "Any":
    """An attribute of a module, which is imported first; no other thread of Python forks then.
    An import of another thread is waited for."""
    found = loaded(module)
    if found is None:
        while_loading(lambda: __import__(module))
        found = sys.modules[module]
    return getattr(found, name)


def attribute(module: "dict[str, Any]", where: "Mapping[str, str]", name: str) -> "Any":
    """What the __getattr__ of a module gives, once: the next look finds it in the module itself.
    `where` says which module has the name.
    """
    if name not in where:
        raise missing(module, name)
    found = module[name] = imported(where[name], name)
    return found


def find_names(module: "dict[str, Any]", where: "Mapping[str, str]" = _NONE) -> None:
    """Has a module import these names when they are first named, and suggest near ones for others.

    Type checkers do not see it: for them a name that is not in the module's text is missing.
    """
    module["__getattr__"] = functools.partial(attribute, module, where)


def missing(module: "Mapping[str, Any]", name: str) -> AttributeError:
    """What the __getattr__ of a module raises for a name that it has not: with the one that may be
    meant, or where it is."""
    from .near_names import MissingName

    def find(name: str) -> str:
        in_module = sys.modules["opyard"]._names_elsewhere().in_module
        return str(in_module(module["__name__"], module["__all__"], name))

    return MissingName(f"module {module['__name__']!r} has no attribute {name!r}", name, find)


def names(module: "Mapping[str, Any]") -> list[str]:
    """What dir() of a module shows: its public names, also those that no one has imported yet."""
    return sorted({*module["__all__"], *(name for name in module if name.startswith("_"))})
