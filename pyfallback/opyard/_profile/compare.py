"""Comparing two profiles, of this process or in files: as a table, and as a flame graph."""

from __future__ import annotations

import gzip
import html
import json
import os
import sys
from typing import TYPE_CHECKING

from .averages import cut, format_time, lines_of_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO, Any

Stack = tuple[str, ...]


class Times:
    """How often each thing was called, and the own time of each stack, in microseconds."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self.own: dict[Stack, float] = {}

    def add_call(self, stack: Stack, own: float) -> None:
        self.calls[stack[-1]] = self.calls.get(stack[-1], 0) + 1
        self.add_time(stack, own)

    def add_time(self, stack: Stack, own: float) -> None:
        self.own[stack] = self.own.get(stack, 0.0) + own

    def by_name(self) -> dict[str, float]:
        names: dict[str, float] = {}
        for stack, own in self.own.items():
            names[stack[-1]] = names.get(stack[-1], 0.0) + own
        return names


Slice = tuple[float, float, str]  # start, minus duration, name: a parent before its children


def _add_chrome(times: Times, events: Iterable[dict[str, Any]]) -> None:
    """The slices of each thread of a trace in Chrome's format; tasks and futures are none."""
    threads: dict[tuple[Any, Any], list[Slice]] = {}
    for event in events:
        if event.get("ph") == "X" and event.get("cat") not in ("asyncio", "future"):
            slices = threads.setdefault((event.get("pid"), event.get("tid")), [])
            slices.append((event["ts"], -event["dur"], sys.intern(str(event["name"]))))
    for slices in threads.values():
        # Those that are equal in time keep their order: the sort is stable.
        slices.sort(key=lambda one: one[:2])
        _add_slices(times, slices)


def _add_slices(times: Times, slices: list[Slice]) -> None:
    open_ones: list[tuple[float, Stack]] = []  # end, stack
    for start, minus_duration, name in slices:
        while open_ones and open_ones[-1][0] <= start and minus_duration < 0:
            open_ones.pop()
        outer = open_ones[-1][1] if open_ones else ()
        stack = (*outer, name)
        times.add_call(stack, -minus_duration)
        if outer:
            times.add_time(outer, minus_duration)
        open_ones.append((start - minus_duration, stack))


def _add_stacks(times: Times, lines: Iterable[str]) -> None:
    for line in lines:
        stack, _, own = line.rstrip("\n").rpartition(" ")
        if stack:
            times.add_time(tuple(stack.split(";")), int(own) / 1000)


def _events_of(file: IO[str], path: str) -> Iterator[dict[str, Any]]:
    """One event at a time of a file of ours, which has each on a line; others are read whole."""
    head, begin = file.readline(), file.readline()
    if head.startswith('{"schemaVersion"') and begin == '"traceEvents": [\n':
        for line in file:
            if line.startswith("]"):
                return
            yield json.loads(line.rstrip(",\n"))
        raise ValueError(f"{path} has no end: whoever wrote it did not finish")
    document = json.loads(head + begin + file.read())
    if "traceEvents" not in document:
        raise ValueError(
            f"{path} is no trace in Chrome's format: two of these can be compared, and two files "
            "with collapsed stacks"
        )
    yield from document["traceEvents"]


def read_times(path: str) -> Times:
    """Of a file with Chrome's JSON or with collapsed stacks."""
    times = Times()
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8") as file:
        begins_object = file.read(1) == "{"
        file.seek(0)
        if begins_object:
            _add_chrome(times, _events_of(file, path))
        else:
            _add_stacks(times, file)
    return times


def times_of(trace: Any) -> Times:
    """Of a profile of this process."""
    times = Times()
    stacks: list[Stack] = []
    for parent, label, count, own in trace.call_tree():
        stacks.append((*stacks[parent], label) if stacks else ())
        if count:
            times.calls[label] = times.calls.get(label, 0) + count
            times.add_time(stacks[-1], own / 1000)
    return times


def table_of(after: Times, before: Times) -> str:
    """What takes longer in one than in the other, by own time; the largest difference first."""
    here, there = after.by_name(), before.by_name()

    def change(name: str) -> float:
        return here.get(name, 0.0) - there.get(name, 0.0)

    cells = [
        [
            cut(name, 55),
            format_time(here.get(name, 0.0)),
            format_time(there.get(name, 0.0)),
            ("+" if change(name) >= 0 else "-") + format_time(abs(change(name))),
            str(after.calls.get(name, 0)),
            str(before.calls.get(name, 0)),
        ]
        for name in sorted(here | there, key=lambda name: -abs(change(name)))
    ]
    names = ["Name", "Self CPU", "before", "change", "# of Calls", "before"]
    return "\n".join(lines_of_table(names, cells))


class _Frame:
    """A place in the tree of both."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inner: dict[str, _Frame] = {}
        self.after = self.before = 0.0  # microseconds, with what is inside

    def add(self, stack: Stack, after: float, before: float) -> None:
        at = self
        at.after, at.before = at.after + after, at.before + before
        for name in stack:
            at = at.inner.setdefault(name, _Frame(name))
            at.after, at.before = at.after + after, at.before + before


_WIDTH, _ROW, _LEAST = 1200, 18, 0.5  # pixels
_STYLE = "<style>g rect { stroke: #aab; stroke-width: 0.4px }</style>"
_LEGEND = "red: takes longer than before; blue: takes less; as wide as the longer of the two"


def _colour(frame: _Frame, scale: float) -> str:
    """Red for what takes longer than before, blue for what takes less."""
    strength = min(1.0, abs(frame.after - frame.before) / scale) if scale else 0.0
    other = round(255 - 135 * strength)
    return (
        f"rgb(255,{other},{other})" if frame.after >= frame.before else f"rgb({other},{other},255)"
    )


def flame_graph(after: Times, before: Times) -> str:
    """One SVG picture: widths are the larger of both times, colours the difference."""
    root = _Frame("all")
    for stack, own in after.own.items():
        root.add(stack, max(own, 0.0), 0.0)
    for stack, own in before.own.items():
        root.add(stack, 0.0, max(own, 0.0))

    def width_of(frame: _Frame) -> float:
        return max(frame.after, frame.before, sum(map(width_of, frame.inner.values())))

    whole = width_of(root) or 1.0
    scale = max((abs(f.after - f.before) for f in root.inner.values()), default=0.0)
    boxes: list[str] = []
    depth = 0
    pending = [(root, 0.0, 0)]
    while pending:
        frame, left, level = pending.pop()
        width = width_of(frame) / whole * _WIDTH
        if width < _LEAST:
            continue
        depth = max(depth, level)
        boxes.append(_box(frame, left, level, width, scale))
        for inner in frame.inner.values():
            pending.append((inner, left, level + 1))
            left += width_of(inner) / whole * _WIDTH
    height = (depth + 2) * _ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'font-family="monospace" font-size="11">\n{_STYLE}\n'
        '<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(boxes)
        + f'\n<text x="3" y="{height - 5}">{_LEGEND}</text>\n</svg>\n'
    )


def _box(frame: _Frame, left: float, level: int, width: float, scale: float) -> str:
    says = f"{frame.name}: {format_time(frame.after)}, before {format_time(frame.before)}"
    letters = int(width / 7)
    # The last part of "folder/file.py(3): name" says most.
    name = frame.name if len(frame.name) <= letters else frame.name.rpartition("): ")[2]
    label = cut(name, letters) if width > 28 else ""
    return (
        f'<g><title>{html.escape(says)}</title><rect x="{left:.2f}" y="{level * _ROW}" '
        f'width="{width:.2f}" height="{_ROW - 1}" fill="{_colour(frame, scale)}"/>'
        f'<text x="{left + 3:.2f}" y="{level * _ROW + 12}">{html.escape(label)}</text></g>'
    )


class Difference(str):
    """The table of two profiles, as text; flame_graph() writes a picture of it."""

    __slots__ = ("_after", "_before")

    def __new__(cls, after: Times, before: Times) -> Difference:
        text = super().__new__(cls, table_of(after, before))
        text._after, text._before = after, before
        return text

    def flame_graph(self, path: str | os.PathLike[str]) -> None:
        """Writes an SVG picture: red is what takes longer than before, blue what takes less."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(flame_graph(self._after, self._before))


def compare_files(given: list[str]) -> None:
    import argparse

    parser = argparse.ArgumentParser("python -m opyard.profiler diff", allow_abbrev=False)
    parser.add_argument("after", help="a trace in Chrome's format, or collapsed stacks")
    parser.add_argument("before")
    parser.add_argument("-o", "--output", metavar="FILE", help="a flame graph, as an SVG picture")
    options = parser.parse_args(given)
    try:
        difference = Difference(read_times(options.after), read_times(options.before))
        if options.output is not None:
            difference.flame_graph(options.output)
    except (OSError, ValueError) as error:
        raise SystemExit(f"python -m opyard.profiler diff: {error}") from None
    sys.stdout.write(str(difference) + "\n")
