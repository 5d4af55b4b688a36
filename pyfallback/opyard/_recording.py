"""What a thread registers while it loads a plugin package, so that it can be taken back.

[Trial] With libraries that are made meanwhile that is simple: they end. What is registered with an
older library is on trial: kernels lie in a library of their own, on top of those of the older one,
and definitions in another one. If the package fails both of them end, and the older library is as
it was. If not, the kernels are registered with the older library, where they replace what it has
at their places, and the definitions become a part of it.

A fallback, which can cover nothing, becomes a part of the older library at once.
"""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _C

if TYPE_CHECKING:
    from .library import Library


class Recording(list):
    """Functions that end registrations, in the order in which these were made."""

    def __init__(self) -> None:
        super().__init__()
        self.when_kept: list[Callable[[], object]] = []
        self._owners: set[int] = set()  # of functions here, which keep them alive
        self._trials: dict[int, Trial] = {}

    def append(self, take_back: Any) -> None:
        super().append(take_back)
        self._owners.add(id(getattr(take_back, "__self__", None)))

    def has_made(self, library: "Library | None") -> bool:
        return library is not None and id(library) in self._owners

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
        for action in self.when_kept:
            action()

    def take_back(self) -> None:
        for each in reversed(self):
            each()


class Trial:
    """Registers as a `_C.Library` does. See [Trial]."""

    def __init__(self, library: "Library") -> None:
        self._library = library
        self._kernels: _C.Library | None = None
        self._definitions: _C.Library | None = None
        self._fallbacks: dict[str, _C.Library] = {}
        self._register: list[Callable[[], object]] = []  # a kernel, with the older library
        self._module: tuple[str, str] | None = None

    def _part(self, place: str) -> "_C.Library":
        library = self._library
        kind = "IMPL" if library.kind == "IMPL" else "FRAGMENT"
        return self._kept_by_library(_C.Library(library.ns, kind, library.dispatch_key, place))

    def _kept_by_library(self, part: "_C.Library") -> "_C.Library":
        self._library._parts.append(part)  # so it ends with the library, if that is earlier
        return part

    def _part_of_definitions(self, place: str) -> "_C.Library":
        if self._definitions is None:
            self._definitions = self._part(place)
            if any(self._library._python_module):
                self._definitions.set_python_module(*self._library._python_module)
        return self._definitions

    def define(self, schema: str, conservative: bool, tags: Any, place: str, doc: str) -> str:
        return self._part_of_definitions(place).define(schema, conservative, tags, place, doc)

    def set_python_module(self, module: str, context: str) -> None:
        self._part_of_definitions("").set_python_module(module, context)
        self._module = module, context

    def impl(self, name: str, function: Any, key: Any, wants: int, override: bool, place: str,
             rule: str = "") -> None:  # fmt: skip
        self._part_of_kernels(place).impl(name, function, key, wants, override, place, rule)
        register = self._library._library.impl
        self._register.append(lambda: register(name, function, key, wants, True, place, rule))

    def impl_c(self, name: str, file: bytes, symbol: str, key: Any, form: str, override: bool,
               place: str) -> None:  # fmt: skip
        self._part_of_kernels(place).impl_c(name, file, symbol, key, form, override, place)
        register = self._library._library.impl_c
        self._register.append(lambda: register(name, file, symbol, key, form, True, place))

    def _part_of_kernels(self, place: str) -> "_C.Library":
        if self._kernels is None:
            self._kernels = self._part(place)
        return self._kernels

    def fallback_at(self, key: str, function: Any, with_keyset: bool, place: str) -> None:
        if key not in self._fallbacks:
            self._fallbacks[key] = self._kept_by_library(_C.Library("_", "IMPL", key, place))
        self._fallbacks[key].fallback(function, with_keyset, place)

    def keep(self) -> None:
        library = self._library
        if not library._end.alive:
            return  # it has ended, or is held by one that has taken over
        for register in self._register:
            register()
        if self._kernels is not None:
            self._end(self._kernels)
        if self._module is not None:
            with warnings.catch_warnings():  # it was warned of when it was named
                warnings.simplefilter("ignore")
                library._library.set_python_module(*self._module)

    def take_back(self) -> None:
        for part in (*self._fallbacks.values(), self._kernels, self._definitions):
            if part is not None:
                self._end(part)

    def _end(self, part: "_C.Library") -> None:
        part.reset()
        if part in self._library._parts:
            self._library._parts.remove(part)
