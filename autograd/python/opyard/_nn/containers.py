"""Modules that hold others: Sequential calls them in a row, ModuleList only keeps them."""

import operator
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from .module import Module

_T = TypeVar("_T", bound="_Row")


def _is_several(given: object) -> bool:
    return isinstance(given, (list, tuple, dict, Iterator))


class _Row(Module):
    """Modules by number, which are their names in a state, too."""

    def _place(self, index: int) -> str:
        position = operator.index(index)
        count = len(self)
        if not -count <= position < count:
            raise IndexError(
                f"{type(self).__name__}: index {position} is out of range for {count} modules"
            )
        return list(self._modules)[position]

    def __getitem__(self: _T, index: "int | slice") -> Any:
        if isinstance(index, slice):
            return self._of(list(self)[index])
        return self._modules[self._place(index)]

    def _of(self: _T, modules: list[Module]) -> _T:
        raise NotImplementedError

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._place(index), module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter([part for part in self._modules.values() if part is not None])

    def append(self: _T, module: Module) -> _T:
        """Adds one at the end."""
        if module is not None and not isinstance(module, Module):
            name, kind = type(self).__name__, type(module).__name__
            what = "a class" if isinstance(module, type) else f"an object of {kind}"
            hint = f"; {name}'s extend() takes several" if _is_several(module) else ""
            if isinstance(module, type) and issubclass(module, Module):
                hint = f"; {module.__name__}() makes one"
            raise TypeError(f"{name}: module {len(self)} must be a Module, not {what}{hint}")
        self.register_module(str(len(self)), module)
        return self

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
