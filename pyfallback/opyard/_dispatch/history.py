"""The result of opyard.dispatch.history(): registrations and their ends, as data and as text."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone

from .. import _C, _bind
from .._core import ops, queries
from .._core.keys import DispatchKey, key_of

_THINGS = ("operator", "kernel", "fallback", "namespace")


@dataclass(frozen=True)
class RegistryEvent:
    """Something that was registered, or unregistered."""

    number: int
    """1 for the first of the process; a number that is missing was forgotten."""
    time: datetime
    """In UTC."""
    added: bool
    """Else it was unregistered, or replaced by its own library."""
    thing: str
    """"operator", "kernel", "fallback" or "namespace"."""
    name: str
    """"ns::name.overload", or the namespace; empty for a fallback. Cut at its beginning if long."""
    key: "DispatchKey | None"
    """Of a kernel and of a fallback."""
    provenance: str
    """"registered at demo.cpp:12"."""
    registration: int
    """The same number on the way in and on the way out."""

    def __str__(self) -> str:
        clock = self.time.astimezone().strftime("%H:%M:%S.%f")[:-3]
        place = f" at {self.key}" if self.key is not None else ""
        what = f"{self.thing} {self.name}".rstrip() + place
        return f"{self.number:>6}  {clock}  {'+' if self.added else '-'} {what}, {self.provenance}"


class History(tuple):
    """RegistryEvents, oldest first. str() gives a line each."""

    dropped: int
    """Events of the process that are not remembered any more."""

    def __new__(cls, events: Iterable[RegistryEvent], dropped: int) -> "History":
        self = super().__new__(cls, events)
        self.dropped = dropped
        return self

    def __str__(self) -> str:
        head = [f"{self.dropped} earlier events are forgotten"] if self.dropped else []
        return "".join(line + "\n" for line in [*head, *map(str, self)])


def _event(row: tuple) -> RegistryEvent:
    number, seconds, added, thing, name, key, provenance, registration = row
    return RegistryEvent(
        number,
        datetime.fromtimestamp(seconds, timezone.utc),
        added,
        _THINGS[thing],
        name,
        key_of(key) if _THINGS[thing] in ("kernel", "fallback") else None,
        provenance,
        registration,
    )


def _is_of(row: tuple, name: str, *, or_overload: bool = False) -> bool:
    thing, shown = row[3:5]
    if _THINGS[thing] not in ("operator", "kernel"):
        return False
    if or_overload and shown.partition(".")[0] == name:
        return True
    return shown == name or (shown.startswith("…") and name.endswith(shown[1:]))


def was_there(name: str) -> bool:
    """Whether an operator of this name, or an overload of it, is remembered."""
    return any(_is_of(row, name, or_overload=True) for row in _bind.history())


def was_defined(name: str) -> bool:
    """Whether a definition of exactly this operator is remembered."""
    rows = _bind.history()
    return any(_is_of(row, name) and _THINGS[row[3]] == "operator" for row in rows)


def history(op: object = None) -> History:
    """What was registered and unregistered in this process, oldest first; at most 1,024 events.

    With an operator, or its name, what concerns that one, also if it was unregistered; with a
    packet, or the name of one, what concerns its overloads. Raises LookupError for an operator that
    is not there and not remembered, ValueError for a text that is no operator's name.
    """
    rows = _bind.history()
    dropped = rows[-1][0] - len(rows) if rows else 0
    if op is not None:
        name = queries.names_of(op)[0]
        if isinstance(op, _C.OpOverloadPacket) or (
            isinstance(op, str) and not queries.is_there(op)
        ):
            base = op if isinstance(op, str) else op.qualified_name
            rows = [row for row in rows if _is_of(row, base, or_overload=True)]
        else:
            rows = [row for row in rows if _is_of(row, name)]
        if not rows and not queries.is_there(name):
            raise ops.undefined(name)
    return History(map(_event, rows), dropped)
