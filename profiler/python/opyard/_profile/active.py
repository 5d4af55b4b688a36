"""Active profiles and flight recorders, held weakly: one that is dropped warns and stops."""

from __future__ import annotations

from _weakref import ref

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest
if TYPE_CHECKING:
    from typing import Any


class Active:
    """The recorders of one kind that are on, the last one last."""

    def __init__(self) -> None:
        self._weak: list[ref[Any]] = []

    def add(self, recorder: object) -> None:
        self._weak.append(ref(recorder))

    def discard(self, recorder: object) -> None:
        """Also while it dies, when no weak reference may lead to it any more."""
        self._weak = [one for one in self._weak if one() is not None and one() is not recorder]

    def all(self) -> list[Any]:
        return [recorder for one in self._weak if (recorder := one()) is not None]


def warn_of_dropped(what: str, lost: str, how: str) -> None:
    """To be called by what is dropped, in its __del__()."""
    import warnings

    warnings.warn(
        f"{what} was dropped while it was on. It was stopped{lost}: keep it and call stop(), or "
        f"use `{how}`",
        RuntimeWarning,
        stacklevel=3,
    )
