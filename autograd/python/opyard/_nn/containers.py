"""Modules that hold others: Sequential calls them in a row, ModuleList and ModuleDict keep them."""

import operator
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, TypeVar

from .._core.keywords import names_keywords
from .module import Module

_T = TypeVar("_T", bound="_Row")


def place_in(name: str, index: int, count: int, what: str) -> int:
    """A place from 0, of an index that may count from the end. Raises IndexError, TypeError."""
    try:
        position = operator.index(index)
    except TypeError:
        raise TypeError(
            f"{name}: an index must be an int, not an object of {type(index).__name__}"
        ) from None
    if not -count <= position < count:
        raise IndexError(f"{name}: index {position} is out of range for {count} {what}")
    return position % count


def _is_several(given: object) -> bool:
    return isinstance(given, (list, tuple, dict, Iterator))


def pairs_of(layer: str, given: Any) -> list[tuple[str, Any]]:
    """The items of a mapping, or of pairs. Raises TypeError."""
    if isinstance(given, Mapping) or (isinstance(given, Module) and hasattr(given, "items")):
        return list(given.items())
    pairs = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else None
    if pairs is None or not all(isinstance(p, (list, tuple)) and len(p) == 2 for p in pairs):
        raise TypeError(
            f"{layer}: what it takes is a dict, or pairs of a name and a value, not an object of "
            f"{type(given).__name__}"
        )
    return [(name, value) for name, value in pairs]


class _Row(Module):
    """Modules by number, which are their names in a state, too."""

    def _place(self, index: int) -> str:
        place = place_in(type(self).__name__, index, len(self), "modules")
        return list(self._modules)[place]

    def __getitem__(self: _T, index: "int | slice") -> Any:
        if isinstance(index, slice):
            return self._of(list(self)[index])
        return self._modules[self._place(index)]

    def _of(self: _T, modules: list[Module]) -> _T:
        raise NotImplementedError

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._place(index), module)

    def __delitem__(self, index: "int | slice") -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [self._place(index)]:
            del self._modules[name]
        self._number(list(self._modules.items()))

    def _number(self, parts: "list[tuple[str, Module | None]]") -> None:
        """Parts by number again; those that have names of their own keep them."""
        by_number = all(name.isdigit() for name, _ in parts)
        self._modules.clear()
        for number, (name, part) in enumerate(parts):
            self._modules[str(number) if by_number else name] = part

    @names_keywords
    def insert(self, index: int, module: Module) -> None:
        """Puts one before the one with this number, which may be the number of all."""
        place = operator.index(index)
        place = max(0, place + len(self)) if place < 0 else min(place, len(self))
        self.append(module)
        parts = list(self._modules.items())
        parts.insert(place, parts.pop())
        self._number(parts)

    @names_keywords
    def pop(self, index: "int" = -1) -> Module:
        """Takes one out, by default the last."""
        module = self[index]
        del self[index]
        return module

    def __iadd__(self: _T, modules: Iterable[Module]) -> _T:
        return self.extend(modules)

    def __add__(self: _T, modules: Iterable[Module]) -> _T:
        return self._of([*self, *modules])

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter([part for part in self._modules.values() if part is not None])

    @names_keywords
    def append(self: _T, module: Module) -> _T:
        """Adds one at the end."""
        if module is not None and not isinstance(module, Module):
            name, kind = type(self).__name__, type(module).__name__
            what = "a class" if isinstance(module, type) else f"an object of {kind}"
            hint = f"; {name}'s extend() takes several" if _is_several(module) else ""
            if isinstance(module, type) and issubclass(module, Module):
                hint = f"; {module.__name__}() makes one"
            raise TypeError(f"{name}: module {len(self)} must be a Module, not {what}{hint}")
        number = len(self)
        while str(number) in self._modules:  # of a slice, which keeps its names
            number += 1
        self.register_module(str(number), module)
        return self

    @names_keywords
    def extend(self: _T, modules: Iterable[Module]) -> _T:
        """Adds some at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}: modules must be a list of Modules, not an object of "
                f"{type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self


class Sequential(_Row):
    """Calls modules one after the other, each with what the one before it returned.

    Sequential(a, b, c), or Sequential({"first": a, "second": b}) with names.
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], dict):
            for name, module in modules[0].items():
                self.register_module(name, module)
        else:
            for module in modules:
                if _is_several(module):
                    raise TypeError(
                        "Sequential: modules are given one by one, not as a "
                        f"{type(module).__name__}; write Sequential(*modules)"
                    )
            self.extend(modules)

    def _of(self, modules: list[Module]) -> "Sequential":
        return Sequential(*modules)

    def __getitem__(self, index: "int | slice") -> Any:
        """One, or a Sequential of some, which keep their names."""
        if isinstance(index, slice):
            return Sequential(dict(list(self._modules.items())[index]))
        return super().__getitem__(index)

    def forward(self, x: Any) -> Any:
        for module in self:
            x = module(x)
        return x


class ModuleList(_Row):
    """A list of modules, whose parameters are found; it is not called itself."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def _of(self, modules: list[Module]) -> "ModuleList":
        return ModuleList(modules)

    def __repr__(self) -> str:
        """Equal modules that follow each other are shown once, with their number."""
        shown: list[list[Any]] = []  # the first and the last number, and the text
        for number, module in enumerate(self):
            text = repr(module)
            if shown and shown[-1][2] == text:
                shown[-1][1] = number
            else:
                shown.append([number, number, text])
        if not shown:
            return "ModuleList()"
        lines = [
            f"({first}): {text}"
            if first == last
            else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in shown
        ]
        body = "\n".join(lines).replace("\n", "\n  ")
        return f"ModuleList(\n  {body}\n)"


class ModuleDict(Module):
    """A dictionary of modules by name, which are parts; it is not called itself."""

    def __init__(self, modules: "Mapping[str, Module] | None" = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.register_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def keys(self) -> "KeysView[str]":
        """The names."""
        return self._modules.keys()

    def values(self) -> "ValuesView[Module]":
        """The modules."""
        return self._modules.values()

    def items(self) -> "ItemsView[str, Module]":
        """The names with the modules."""
        return self._modules.items()

    @names_keywords
    def update(self, modules: "Mapping[str, Module] | Iterable[tuple[str, Module]]") -> None:
        """Sets several: those of a dictionary, or pairs."""
        for name, module in pairs_of("ModuleDict", modules):
            self[name] = module

    @names_keywords
    def pop(self, key: str) -> Module:
        """Takes one out."""
        return self._modules.pop(key)

    def clear(self) -> None:
        """Takes all out."""
        self._modules.clear()
