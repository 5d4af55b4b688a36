"""Active profiles and flight recorders, held weakly: one that is dropped warns and stops."""

from __future__ import annotations

from _functools import partial
from _weakref import ref

from .. import _tracer

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Active:
    """The recorders of one kind that are on, the last one last.

    The weak reference to one that dies while it is on calls what ends it. A `__del__()` would run
    for each, and lose an interrupt that comes in it.
    """

    def __init__(self) -> None:
        # By the address of the reference: one is put in or taken out at once, in any thread.
        self._weak: dict[int, ref[Any]] = {}

    def add(self, recorder: object, dropped: Callable[[], None] | None = None) -> None:
        """`dropped` holds nothing of the recorder, and is called if it dies before discard()."""
        on_death = None if dropped is None else partial(self._on_death, dropped)
        weak = ref(recorder, on_death)
        self._weak[id(weak)] = weak

    def _on_death(self, dropped: Callable[[], None], weak: ref[Any]) -> None:
        self._weak.pop(id(weak), None)
        dropped()

    def discard(self, recorder: object) -> None:
        """Also while it dies, when no weak reference may lead to it any more."""
        for key, weak in list(self._weak.items()):
            if weak() is None or weak() is recorder:
                self._weak.pop(key, None)

    def all(self) -> list[Any]:
        return [recorder for one in list(self._weak.values()) if (recorder := one()) is not None]


def warn_of_dropped(what: str, lost: str, how: str) -> None:
    """To be called by the function that add() got."""
    import warnings

    warnings.warn(
        f"{what} was dropped while it was on. It was stopped{lost}: keep it and call stop(), or "
        f"use `{how}`",
        RuntimeWarning,
        stacklevel=4,
    )


_tracer.hide(Active._on_death.__code__)
