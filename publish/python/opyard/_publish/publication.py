"""Publication: the operators of one publish(), in any framework."""

import atexit
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from .. import _C
from .._core.queries import RegistrationHandle, on_registration
from .schemas import Refusal


class Publication:
    """A mapping of names to what calls the published operators, until undo().

    A class for each framework says how one operator is added, and how all are taken back.
    """

    _place: ClassVar[str]  # where operators of a namespace are, for people
    # Publications by the name of each operator there, until they are undone.
    _all: "ClassVar[dict[str, Publication]]"

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._calls: dict[str, Callable[..., Any]] = {}
        self._refused: dict[str, str] = {}
        self._without_gradient: dict[str, str] = {}
        self._listener: RegistrationHandle | None = None
        self._is_undone = False

    @property
    def refused(self) -> Mapping[str, str]:
        """The operators that are not published, with the reasons."""
        return MappingProxyType(self._refused)

    @property
    def without_gradient(self) -> Mapping[str, str]:
        """The published operators whose backward raises, with the reasons."""
        return MappingProxyType(self._without_gradient)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """What calls "ns::name", "ns::name.overload", or the same without the namespace."""
        full = self._full_name(name)
        if full in self._calls:
            return self._calls[full]
        why = next(
            (
                why
                for op, why in self._refused.items()
                if op.endswith(f"::{name.rpartition('::')[2]}")
            ),
            "",
        )
        raise KeyError(f"{full} is not published here{': ' + why if why else ''}")

    def _full_name(self, name: str) -> str:
        return name if "::" in name else f"{self.namespace}::{name}"

    def __iter__(self) -> Any:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, name: object) -> bool:
        return name in self._calls

    def __repr__(self) -> str:
        lines = [f"{len(self)} operators published into {self._place.format(self.namespace)}"]
        lines += [f"  {name}" for name in list(self)[:20]]
        if len(self) > 20:
            lines.append(f"  and {len(self) - 20} more")
        if self._refused:
            lines.append(f"{len(self._refused)} refused")
            lines += [f"  {name}: {why}" for name, why in list(self._refused.items())[:20]]
        return "\n".join(lines)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: object) -> None:
        self.undo()

    def undo(self) -> None:
        """Takes all operators back: calls raise from then on, also those of compiled programs."""
        if self._is_undone:
            return
        self._is_undone = True
        self._stop_listening()
        for name in list(self._calls):
            if self._all.get(name) is self:
                del self._all[name]
        self._calls.clear()
        self._take_back()

    def _add(self, op: "_C.OpOverload") -> None:
        """Publishes one operator. Raises Refusal."""
        raise NotImplementedError

    def _take_back(self) -> None:
        raise NotImplementedError

    def _refuse_twice(self, name: str) -> None:
        """Raises Refusal if a name is published already."""
        if name in self._all:
            raise Refusal(f"it is published as {name} already: undo() that first")

    def _know(self, name: str, call: Callable[..., Any]) -> None:
        self._calls[name] = call
        self._all[name] = self

    def _add_all(self, operators: "list[_C.OpOverload]") -> None:
        """Publishes what can be. Raises ValueError if that is nothing."""
        for op in operators:
            try:
                self._add(op)
            except Refusal as refusal:
                self._refused[op.name()] = str(refusal)
            except BaseException:
                self.undo()
                raise
        if not self:
            self.undo()
            raise ValueError(
                "publish: no operator could be published\n"
                + "\n".join(f"  {name}: {why}" for name, why in self._refused.items())
            )
        _know_exit()
        self._listen({op.name() for op in operators if op.name() not in self._refused})

    def _listen(self, operators: set[str]) -> None:
        """What is undefined here is taken back there."""

        def on_undefined(op: "_C.OpOverload") -> None:
            if op.name() in operators:
                self.undo()

        self._listener = on_registration(on_undefined=on_undefined)

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.remove()


_at_exit_is_known = False


def _know_exit() -> None:
    """At the end of the process nothing is taken back: the framework may be gone."""
    global _at_exit_is_known
    if _at_exit_is_known:
        return
    _at_exit_is_known = True

    def stop_listening() -> None:
        for kind in Publication.__subclasses__():
            for made in set(kind._all.values()):
                made._stop_listening()

    atexit.register(stop_listening)
