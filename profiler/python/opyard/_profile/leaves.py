"""Leaves of the tree of a profile: memory of tensors, and events of devices."""

from __future__ import annotations

from typing import Any, NamedTuple

from .scopes import RecordScope

# An Event, and a Track, of events.py, which builds on this module.
Span = Any
SpansOfThread = Any


class MemoryEvent(NamedTuple):
    """Memory of a tensor that was taken or given back."""

    time_ns: int
    address: int | None  # None if there was no memory to be had
    bytes: int  # less than 0 if it was given back
    total: int  # what the device held then, counted from the start of the profile
    device: str
    start_tid: int
    within: Span | None  # the innermost span around it
    id: int  # of the memory, from when it is taken to when it is given back; 0 if there was none


class Leaf:
    """What happened at one moment of a thread: a child of the span around it, with no children."""

    __slots__ = ("extra_fields", "kind", "name", "parent", "start_time_ns", "track")

    def __init__(
        self,
        track: SpansOfThread,
        parent: Span | None,
        kind: str,
        name: str,
        time: int,
        **facts: Any,
    ) -> None:
        self.track, self.parent, self.kind, self.name = track, parent, kind, name
        self.start_time_ns, self.extra_fields = time, facts

    end_time_ns = property(lambda self: self.start_time_ns)
    start_tid = property(lambda self: self.track.native_id)
    duration_time_ns = self_time_ns = property(lambda self: 0)
    scope = property(lambda self: RecordScope.FUNCTION)

    @property
    def children(self) -> list[Span]:
        return []

    @property
    def cuts(self) -> list[str]:
        return []

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name!r}>"


def memory_of(track: SpansOfThread) -> list[MemoryEvent]:
    """In the order of time."""
    events = []
    profile = track._profile
    for time, parent, address, count, total, device in profile.memory(track.index):
        within = track.span_at(parent)
        # The life that ends is the one before the moment.
        life = 0 if address is None else profile.life(address, time - (count < 0))
        events.append(
            MemoryEvent(time, address, count, total, device, track.native_id, within, life)
        )
    return events


def leaves_of(track: SpansOfThread) -> list[Leaf]:
    """In the order of time."""
    leaves = []
    for one in memory_of(track):
        kind, name = ("Memory", "[memory]")
        if one.address is None:
            kind, name = ("OutOfMemory", "[out of memory]")
        facts = {"address": one.address, "bytes": one.bytes, "total": one.total}
        leaf = Leaf(track, one.within, kind, name, one.time_ns, **facts, device=one.device)
        leaf.extra_fields["id"] = one.id
        leaves.append(leaf)
    for kind, time, parent, key, _, _ in track._profile.marks(track.index):
        if kind == "Device":
            within = track.span_at(parent)
            leaves.append(Leaf(track, within, kind, track._profile.name(key)[0], time))
    leaves.sort(key=lambda leaf: leaf.start_time_ns)
    return leaves
