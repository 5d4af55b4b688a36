"""The events of a profile: spans and marks as objects, made when they are looked at."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .averages import line_of_caller
from .scopes import RecordScope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_FLAGS = ((1, "began before the profile"), (2, "was open at its end"), (4, "its end was lost"))


_SCOPES = {
    "Backward": RecordScope.BACKWARD_FUNCTION,
    "Instruction": RecordScope.TORCHSCRIPT_FUNCTION,
    "Annotation": RecordScope.USER_SCOPE,
    "Step": RecordScope.USER_SCOPE,
}


class Track:
    """What one thread did."""

    __slots__ = (
        "_children",
        "_functions",
        "_profile",
        "count",
        "index",
        "is_derived",
        "name",
        "native_id",
    )

    def __init__(
        self, profile: Any, index: int, native_id: int, name: str, count: int, is_derived: bool
    ) -> None:
        self._profile, self.index, self.count = profile, index, count
        self.native_id, self.name, self.is_derived = native_id, name, is_derived
        self._children: dict[int, list[int]] | None = None
        self._functions: dict[int, int] | None = None

    @property
    def functions(self) -> dict[int, int]:
        """The number of the function of gradients that a span is the call of, or runs."""
        if self._functions is None:
            self._functions = dict(self._profile.functions(self.index))
        return self._functions

    @property
    def title(self) -> str:
        """What it is of, and its name."""
        if not self.is_derived:
            return f"thread {self.native_id} {self.name}".rstrip()
        return f"task {self.name}" if self._profile.span(self.index, 0)[0] == "Task" else self.name

    def children_of(self, number: int) -> list[int]:
        """The spans directly inside a span; of -1, those inside none."""
        if self._children is None:
            children: dict[int, list[int]] = {}
            parents = array("I", self._profile.parents(self.index))
            for child, parent in enumerate(parents):
                children.setdefault(-1 if parent == 0xFFFFFFFF else parent, []).append(child)
            self._children = children  # whole: another thread may ask, too
        return self._children.get(number, [])

    def __repr__(self) -> str:
        return f"<Track of {self.title}: {self.count} spans>"


class Event:
    """A span of a thread: a call, an operator, a range."""

    __slots__ = ("_row", "_track", "number")

    def __init__(self, track: Track, number: int) -> None:
        self._track, self.number = track, number
        self._row = track._profile.span(track.index, number)

    kind = property(lambda self: self._row[0], doc="Python, C, Operator, Annotation, …")
    name = property(lambda self: self._row[1])
    start_time_ns = property(lambda self: self._row[2], doc="since the profile began")
    end_time_ns = property(lambda self: self._row[3])
    start_tid = property(lambda self: self._track.native_id)
    track = property(lambda self: self._track)
    key = property(lambda self: self._row[6])

    @property
    def scope(self) -> RecordScope:
        """FUNCTION for calls; others for backward functions, instructions of graphs, and ranges."""
        return _SCOPES.get(self.kind, RecordScope.FUNCTION)

    @property
    def duration_time_ns(self) -> int:
        return self._row[3] - self._row[2]

    @property
    def self_time_ns(self) -> int:
        return self.duration_time_ns - sum(child.duration_time_ns for child in self.children)

    @property
    def parent(self) -> Event | None:
        return None if self._row[4] < 0 else Event(self._track, self._row[4])

    @property
    def children(self) -> list[Event]:
        return [Event(self._track, n) for n in self._track.children_of(self.number)]

    @property
    def cuts(self) -> list[str]:
        """What of this span is not as it was: its start or its end."""
        return [text for bit, text in _FLAGS if self._row[5] & bit]

    @property
    def extra_fields(self) -> dict[str, Any]:
        """What is known of it: file and line of a function, parameters of a module."""
        text, qualified, file, line, kind, extra = self._track._profile.name(self.key)
        fields: dict[str, Any] = {}
        if kind == "code":
            fields = {
                "function_name": text,
                "qualified_name": qualified,
                "file_name": file,
                "line_number": line,
            }
        elif kind == "instance":
            fields = {"cls_name": qualified}
        elif self.kind == "Annotation" and self._row[8] is not None:
            key = int.from_bytes(self._row[8][:8], sys.byteorder)
            fields = {"args": self._track._profile.name(key)[0]}
        if extra:
            fields.update(json.loads(extra))
        return fields

    @property
    def caller_line(self) -> int | None:
        """The line that the call was made from; needs `lines`."""
        return line_of_caller(self._row)

    # Of operators. A call is an Operator; each kernel that it is passed on to is a Kernel inside.

    @property
    def dispatch_key(self) -> str | None:
        """The dispatch key of the kernel; of what is no operator None."""
        return self.extra_fields.get("dispatch_key")

    @property
    def kernel(self) -> str | None:
        """Where the kernel comes from."""
        return self.extra_fields.get("kernel")

    @property
    def input_shapes(self) -> list[Any] | None:
        """The sizes of the arguments, [] for what is no tensor; needs `record_shapes`."""
        texts = self._track._profile.arguments(self._track.index, self.number)
        return None if texts is None else json.loads(texts[0])

    @property
    def input_types(self) -> list[str] | None:
        """The dtypes of the arguments, and what those are that are no tensors."""
        texts = self._track._profile.arguments(self._track.index, self.number)
        return None if texts is None else json.loads(texts[1])

    @property
    def sequence_number(self) -> int:
        """That of the backward function which runs, or which is of this call; or -1.

        It is the function's number among those that its thread made.
        """
        return self._track.functions.get(self.number, -1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return self._place == other._place

    def __hash__(self) -> int:
        return hash(self._place)

    @property
    def _place(self) -> tuple[int, int, int]:
        return id(self._track._profile), self._track.index, self.number

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name!r} {self.duration_time_ns / 1000:.3f}us>"


class MemoryEvent(NamedTuple):
    """Memory of a tensor that was taken or given back."""

    time_ns: int
    address: int | None  # None if there was no memory to be had
    bytes: int  # less than 0 if it was given back
    total: int  # what the device held then, counted from the start of the profile
    device: str
    start_tid: int
    within: Event | None  # the innermost span around it


def memory_timeline(profile: Any) -> list[MemoryEvent]:
    events = []
    for track in Events(profile).tracks:
        for time, parent, address, count, total, device in profile.memory(track.index):
            within = None if parent < 0 else Event(track, parent)
            events.append(MemoryEvent(time, address, count, total, device, track.native_id, within))
    events.sort(key=lambda event: event.time_ns)
    return events


class Task(NamedTuple):
    """A task of asyncio: from its first run to its last, and when it awaited something."""

    name: str  # with the function in brackets: "Task-5 (fetch)"
    start_time_ns: int
    end_time_ns: int
    awaiting: list[tuple[int, int]]  # (start, end), in nanoseconds since the profile began

    @property
    def awaiting_time_ns(self) -> int:
        return sum(end - start for start, end in self.awaiting)

    @property
    def running_time_ns(self) -> int:
        return self.end_time_ns - self.start_time_ns - self.awaiting_time_ns


def tasks(profile: Any) -> list[Task]:
    found = []
    for track in Events(profile).tracks:
        if not track.is_derived or profile.span(track.index, 0)[0] != "Task":
            continue
        whole, *rest = (profile.span(track.index, n)[2:4] for n in range(track.count))
        found.append(Task(track.name, *whole, rest))
    return found


_MOST_INDENTED = 100  # levels: else a recursion writes as much as the square of its depth


def _indent(depth: int) -> str:
    return "  " * depth if depth <= _MOST_INDENTED else "  " * _MOST_INDENTED + f"[{depth}] "


class Events(Sequence):
    """All spans of a profile, thread by thread; within a thread in the order of their starts."""

    def __init__(self, profile: Any) -> None:
        self.tracks = [
            Track(profile, index, native_id, name, spans, is_derived)
            for index, (native_id, name, spans, _, is_derived) in enumerate(profile.tracks())
        ]

    def __len__(self) -> int:
        return sum(track.count for track in self.tracks)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[n] for n in range(*number.indices(len(self)))]
        if number < 0:
            number += len(self)
        for track in self.tracks:
            if 0 <= number < track.count:
                return Event(track, number)
            number -= track.count
        raise IndexError("the profile has fewer events")

    def __iter__(self) -> Iterator[Event]:
        for track in self.tracks:
            for number in range(track.count):
                yield Event(track, number)

    def tree(self, *, max_depth: int | None = None, min_us: float = 0.0) -> str:
        """The calls as an indented text, one tree a thread."""
        lines = []
        for track in self.tracks:
            lines.append(track.title)
            pending = [(number, 1) for number in reversed(track.children_of(-1))]
            while pending:
                number, depth = pending.pop()
                event = Event(track, number)
                if event.duration_time_ns < min_us * 1000:
                    continue
                if max_depth is not None and depth > max_depth:
                    continue
                lines.append(f"{_indent(depth)}{event.duration_time_ns / 1000:.3f}us  {event.name}")
                pending += [(n, depth + 1) for n in reversed(track.children_of(number))]
        return "\n".join(lines)
