"""The events of a profile: spans and marks as objects, made when they are looked at."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Sequence
from heapq import merge
from typing import TYPE_CHECKING, NamedTuple

from .averages import line_of_caller
from .leaves import Leaf, MemoryEvent, leaves_of, memory_of
from .scopes import RecordScope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_FLAGS = ((1, "began before the profile"), (2, "was open at its end"), (4, "its end was lost"))


_SCOPES = {
    "Backward": RecordScope.BACKWARD_FUNCTION,
    "Instruction": RecordScope.TORCHSCRIPT_FUNCTION,
    "Annotation": RecordScope.USER_SCOPE,
    "Step": RecordScope.USER_SCOPE,
}


class FunctionOfSpan(NamedTuple):
    """The function of gradients that a span is the call of, or runs."""

    sequence: int  # among those that its thread made
    link: int  # the same for the call and its runs; 0 without one of the two
    tid: int  # of a run, the thread of the call; else -1


_NO_FUNCTION = FunctionOfSpan(-1, 0, -1)


class FrameState(NamedTuple):
    """A function of Python, and a line of it."""

    function_name: str
    file_name: str
    line_number: int


class Track:
    """What one thread did."""

    __slots__ = (
        "_children",
        "_functions",
        "_leaves",
        "_profile",
        "count",
        "first",
        "index",
        "is_derived",
        "name",
        "native_id",
    )

    def __init__(
        self,
        profile: Any,
        index: int,
        native_id: int,
        name: str,
        count: int,
        is_derived: bool,
        first: int,
    ) -> None:
        self._profile, self.index, self.count = profile, index, count
        self.native_id, self.name, self.is_derived = native_id, name, is_derived
        self.first = first  # the number of its first span among all of the profile
        self._children: dict[int, list[int]] | None = None
        self._functions: dict[int, FunctionOfSpan] | None = None
        self._leaves: dict[int, list[Leaf]] | None = None

    def function_of(self, number: int) -> FunctionOfSpan:
        """The function of gradients of a span."""
        if self._functions is None:
            rows = self._profile.functions(self.index)
            self._functions = {span: FunctionOfSpan(*rest) for span, *rest in rows}
        return self._functions.get(number, _NO_FUNCTION)

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

    def span_at(self, number: int) -> Event | None:
        """The span of a number; of -1, none."""
        return None if number < 0 else Event(self, number)

    def leaves_of(self, number: int) -> list[Leaf]:
        """What happened directly inside a span at one moment; of -1, what happened inside none."""
        if self._leaves is None:
            leaves: dict[int, list[Leaf]] = {}
            for leaf in leaves_of(self):
                leaves.setdefault(-1 if leaf.parent is None else leaf.parent.number, []).append(
                    leaf
                )
            self._leaves = leaves
        return self._leaves.get(number, [])

    def inside(self, number: int) -> list[Event | Leaf]:
        """The children of a span, in the order of time; of -1, the roots."""
        spans: list[Event | Leaf] = [Event(self, n) for n in self.children_of(number)]
        leaves = self.leaves_of(number)
        return sorted([*spans, *leaves], key=_start) if leaves else spans

    def __repr__(self) -> str:
        return f"<Track of {self.title}: {self.count} spans>"


def _start(event: Event | Leaf) -> int:
    return event.start_time_ns


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
    def children(self) -> list[Event | Leaf]:
        """What is directly inside it, in the order of time: spans, memory, events of devices."""
        return self._track.inside(self.number)

    @property
    def id(self) -> int:
        """Its number in the profile, from 1."""
        return self._track.first + self.number + 1

    @property
    def is_async(self) -> bool:
        """Whether threads may have changed between its start and its end: a future, a task."""
        return self.kind in ("Task", "Awaiting", "Future")

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

    @property
    def frame(self) -> FrameState | None:
        """Of a call of Python, the function and its first line."""
        text, _, file, line, kind, _ = self._track._profile.name(self.key)
        return FrameState(text, file, line) if kind == "code" else None

    @property
    def caller(self) -> FrameState | None:
        """The nearest call of Python around it: with the line that was run there if `lines` was
        asked for, else with its first one.
        """
        around = self._nearest(lambda event: event.frame is not None)
        if around is None or around.frame is None:
            return None
        return around.frame._replace(line_number=self.caller_line or around.frame.line_number)

    @property
    def module_hierarchy(self) -> list[str]:
        """The modules whose calls are around it, outermost first; needs `with_modules`."""
        names = []
        around = self._nearest(lambda event: event.kind == "Module")
        while around is not None:
            names.append(around.name)
            around = around._nearest(lambda event: event.kind == "Module")
        return names[::-1]

    def _nearest(self, is_wanted: Callable[[Event], bool]) -> Event | None:
        around = self.parent
        while around is not None and not is_wanted(around):
            around = around.parent
        return around

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
        return self._arguments(0)

    @property
    def input_types(self) -> list[str] | None:
        """The dtypes of the arguments, and what those are that are no tensors."""
        return self._arguments(1)

    @property
    def input_strides(self) -> list[Any] | None:
        """The strides of the arguments, [] for what is no tensor; needs `record_shapes`."""
        return self._arguments(2)

    @property
    def concrete_inputs(self) -> list[str] | None:
        """The texts of arguments that are numbers, lists of ints or None; "" for others."""
        return self._arguments(3)

    @property
    def input_ids(self) -> list[Any] | None:
        """The memory of the arguments, by the ids of `memory_timeline()`; 0 for what has none.

        Tensors on one memory have one id, and memory that was given back and taken again has
        another one. Needs `record_shapes` and `profile_memory`.
        """
        addresses = self._arguments(4)
        return None if addresses is None else self._lives(addresses)

    def _lives(self, addresses: list[Any]) -> list[Any]:
        ids: list[Any] = []
        for one in addresses:
            if isinstance(one, list):
                ids.append(self._lives(one))
            elif isinstance(one, int):
                ids.append(self._track._profile.life(one, self.start_time_ns) if one else 0)
            else:
                ids.append(one)
        return ids

    def _arguments(self, which: int) -> list[Any] | None:
        texts = self._track._profile.arguments(self._track.index, self.number)
        return None if texts is None else json.loads(texts[which])

    @property
    def sequence_number(self) -> int:
        """That of the backward function which runs, or which is of this call; or -1.

        It is the function's number among those that its thread made.
        """
        return self._track.function_of(self.number).sequence

    @property
    def correlation_id(self) -> int:
        """The same for a call and the backward functions that it made, if one ran; else 0."""
        return self._track.function_of(self.number).link

    @property
    def forward_tid(self) -> int:
        """Of a backward function, the thread of the call that made it; or -1."""
        return self._track.function_of(self.number).tid

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


def memory_timeline(profile: Any) -> list[MemoryEvent]:
    events = [event for track in Events(profile).tracks for event in memory_of(track)]
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


def _text_of_leaf(leaf: Event | Leaf) -> str:
    facts = leaf.extra_fields
    return f"{leaf.name} {facts['bytes']:+} {facts['device']}" if "bytes" in facts else leaf.name


def _spans_of(track: Track) -> Iterator[Event]:
    return (Event(track, number) for number in range(track.count))


class Events(Sequence):
    """All spans of a profile, thread by thread; within a thread in the order of their starts."""

    def __init__(self, profile: Any) -> None:
        self._profile = profile
        self.tracks: list[Track] = []
        first = 0
        for index, (native_id, name, spans, _, is_derived) in enumerate(profile.tracks()):
            self.tracks.append(Track(profile, index, native_id, name, spans, is_derived, first))
            first += spans

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
            yield from _spans_of(track)

    def by_start(self) -> Iterator[Event]:
        """All spans in the order of their starts, over all threads; equal ones as in the list."""
        return merge(*map(_spans_of, self.tracks), key=_start)

    def tree(self, *, max_depth: int | None = None, min_us: float = 0.0, fold: bool = True) -> str:
        """The calls as an indented text, one tree a thread; memory and devices are leaves.

        Calls inside of libraries are folded: they are not shown, unless `fold` is false.
        """
        if fold:
            folded = Events(self._profile.folded())
            return folded.tree(max_depth=max_depth, min_us=min_us, fold=False)
        lines = []
        for track in self.tracks:
            lines.append(track.title)
            pending = [(event, 1) for event in reversed(track.inside(-1))]
            while pending:
                event, depth = pending.pop()
                is_span = isinstance(event, Event)
                if is_span and event.duration_time_ns < min_us * 1000:
                    continue
                if max_depth is not None and depth > max_depth:
                    continue
                said = f"{event.duration_time_ns / 1000:.3f}us  {event.name}"
                lines.append(_indent(depth) + (said if is_span else _text_of_leaf(event)))
                pending += [(one, depth + 1) for one in reversed(event.children)]
        return "\n".join(lines)
