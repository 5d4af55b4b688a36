"""Registrations of a thread while it loads a plugin package, so that they can be undone.

[Trial] With libraries that are made meanwhile that is simple: they end. What is registered with an
older library is on trial: kernels are in a part of their own, on top of those of the older one, and
definitions in another part. If the package fails both of them end, and the older library is as it
was. If not, they stay where they are, in the order of the calls, and end with the older library.
That registers nothing, so it cannot fail. What they replace stays below them, where call_next finds
it.

[Later] A second kernel of a library replaces the first. So what an older library registers later on
goes to the part that has its latest kernel of the operator and key.

A fallback, which can cover nothing, becomes a part of the older library at once.
"""

import itertools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _C, _bind

if TYPE_CHECKING:
    from .._library.library import Library


class Notes(list):
    """Functions that end registrations, in the order in which these were made."""

    def __init__(self) -> None:
        super().__init__()
        self.when_committed: list[Callable[[], object]] = []
        self._owners: set[int] = set()  # of functions here, which keep them alive
        self._trials: dict[int, Trial] = {}

    def append(self, take_back: Any) -> None:
        super().append(take_back)
        self._owners.add(id(getattr(take_back, "__self__", None)))

    def has_made(self, owner: object) -> bool:
        return owner is not None and id(owner) in self._owners

    def target_of(self, library: "Library") -> "_C.Library | Trial":
        """What registers for a library: its own one if it was made meanwhile."""
        trial = self._trials.get(id(library))
        if trial is None:
            if self.has_made(library) or not library._end.alive:
                return library._library
            trial = self._trials[id(library)] = Trial(library)
            super().append(trial.take_back)
        return trial

    def keep(self) -> None:
        """What is on trial stays."""
        for trial in self._trials.values():
            trial.keep()
        for action in self.when_committed:
            action()

    def take_back(self) -> list[Exception]:
        """Gives what failed, and goes on: a plugin that was unloaded may be no file any more."""
        failed = []
        for each in reversed(self):
            try:
                each()
            except Exception as error:
                failed.append(error)
        return failed


_order = itertools.count()  # of kernels on trial

_OpKey = tuple[str, int]  # the full name of an operator, and a key


def _op_key_of(ns: str, default_key: str, name: str, key: Any) -> _OpKey:
    if key is None or key == "":
        key = default_key or "CompositeImplicitAutograd"
    number = _bind.parse_key(key) if isinstance(key, str) else key
    return (name if "::" in name else f"{ns}::{name}"), int(number)


class Trial:
    """Registers as a `_C.Library` does. See [Trial]."""

    def __init__(self, library: "Library") -> None:
        self._library = library
        self._kernels: _C.Library | None = None
        self._definitions: _C.Library | None = None
        self._fallbacks: dict[str, _C.Library] = {}
        self._op_keys: dict[_OpKey, int] = {}  # of kernels, and when they were registered
        self._module: tuple[str, str] | None = None

    def _part(self, where: str) -> "_C.Library":
        library = self._library
        kind = "IMPL" if library.kind == "IMPL" else "FRAGMENT"
        return self._owned_by_library(_C.Library(library.ns, kind, library.dispatch_key, where))

    def _owned_by_library(self, part: "_C.Library") -> "_C.Library":
        self._library._parts.append(part)  # so it ends with the library, if that is earlier
        return part

    def _part_of_definitions(self, where: str) -> "_C.Library":
        if self._definitions is None:
            self._definitions = self._part(where)
            if any(self._library._python_module):
                self._definitions.set_python_module(*self._library._python_module)
        return self._definitions

    def define(self, schema: str, conservative: bool, tags: Any, where: str, doc: str) -> str:
        return self._part_of_definitions(where).define(schema, conservative, tags, where, doc)

    def composite(self, schema: str, body: str, tags: Any, where: str, doc: str) -> str:
        return self._part_of_definitions(where).composite(schema, body, tags, where, doc)

    def set_python_module(self, module: str, context: str) -> None:
        self._part_of_definitions("").set_python_module(module, context)
        self._module = module, context

    def impl(self, name: str, function: Any, key: Any, wants: int, override: bool, where: str,
             rule: str = "") -> None:  # fmt: skip
        self._part_of_kernels(where).impl(name, function, key, wants, override, where, rule)
        self._note_op_key(name, key)

    def impl_c(self, name: str, file: bytes, symbol: str, key: Any, form: str, override: bool,
               where: str, releases_gil: bool = False) -> None:  # fmt: skip
        part = self._part_of_kernels(where)
        part.impl_c(name, file, symbol, key, form, override, where, releases_gil)
        self._note_op_key(name, key)

    def _note_op_key(self, name: str, key: Any) -> None:
        library = self._library
        op_key = _op_key_of(library.ns, library.dispatch_key, name, key)
        self._op_keys[op_key] = next(_order)

    def _part_of_kernels(self, where: str) -> "_C.Library":
        if self._kernels is None:
            self._kernels = self._part(where)
        return self._kernels

    def fallback_at(self, key: str, function: Any, with_keyset: bool, where: str) -> None:
        if key not in self._fallbacks:
            self._fallbacks[key] = self._owned_by_library(_C.Library("_", "IMPL", key, where))
        self._fallbacks[key].fallback(function, with_keyset, where)

    def keep(self) -> None:
        library = self._library
        if not library._end.alive:
            return  # it has ended, or is held by one that has taken over
        if self._kernels is not None:
            own: Any = library._library
            if not isinstance(own, _WithParts):
                own = _WithParts(library)
                library._library = own
            own.add(self._op_keys, self._kernels)
        if self._module is not None:
            with warnings.catch_warnings():  # it was warned of when it was named
                warnings.simplefilter("ignore")
                library._library.set_python_module(*self._module)

    def take_back(self) -> None:
        if isinstance(self._library._library, _WithParts):
            self._library._library.remove(self._kernels)
        for part in (*self._fallbacks.values(), self._kernels, self._definitions):
            if part is not None:
                self._end(part)

    def _end(self, part: "_C.Library") -> None:
        part.reset()
        if part in self._library._parts:
            self._library._parts.remove(part)


class _WithParts:
    """The `_C.Library` of a library with kernels of plugin packages. See [Later]."""

    def __init__(self, library: "Library") -> None:
        self._own: _C.Library = library._library
        self._ns, self._dispatch_key = library.ns, library.dispatch_key
        self._latest: dict[_OpKey, tuple[int, _C.Library]] = {}

    def add(self, op_keys: "dict[_OpKey, int]", part: "_C.Library") -> None:
        for op_key, order in op_keys.items():
            # A package may have loaded another one, which then was committed before.
            if op_key not in self._latest or self._latest[op_key][0] < order:
                self._latest[op_key] = order, part

    def remove(self, part: "_C.Library | None") -> None:
        for op_key in [op_key for op_key, latest in self._latest.items() if latest[1] is part]:
            del self._latest[op_key]

    def _part_with(self, name: str, key: Any) -> "_C.Library":
        op_key = _op_key_of(self._ns, self._dispatch_key, name, key)
        return self._latest[op_key][1] if op_key in self._latest else self._own

    def impl(self, name: str, function: Any, key: Any, *more: Any) -> None:
        self._part_with(name, key).impl(name, function, key, *more)

    def impl_c(self, name: str, file: bytes, symbol: str, key: Any, *more: Any) -> None:
        self._part_with(name, key).impl_c(name, file, symbol, key, *more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)
