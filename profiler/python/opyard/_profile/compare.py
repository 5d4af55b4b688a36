"""Comparing two profiles, of this process or in files: as a table, and as a flame graph."""

from __future__ import annotations

import gzip
import html
import json
import os
import re
import sys
import zlib
from operator import itemgetter
from typing import TYPE_CHECKING

from .._core.paths import require_path
from .._core.whole_file import whole_file
from .averages import cut, format_time, lines_of_table
from .exports import require_ending
from .pages import read_page
from .repeats import Spread, all_runs, is_beyond_noise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO, Any


class Node:
    """A stack: its innermost name, its own time in microseconds, and what it called."""

    __slots__ = ("inner", "name", "own")

    def __init__(self, name: str) -> None:
        self.name = name
        self.own = 0.0
        self.inner: dict[str, Node] = {}

    def called(self, name: str) -> Node:
        found = self.inner.get(name)
        if found is None:
            found = self.inner[name] = Node(name)
        return found


class Times:
    """How often each thing was called, and the own time of each stack, in microseconds.

    Stacks are a tree, since they may be as deep as a program's.
    """

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self.root = Node("all")
        self.form = ""  # of the file that they are from
        self.has_labels = True  # names are ours, not those of collapsed stacks

        self.exact: dict[str, float] | None = None  # own times by name, if stacks lack some
        self.cpu: dict[str, float] | None = None  # CPU time of the own times, if it is known
        self.runs: dict[str, list[float]] | None = None  # of each run, if the program ran often

    def add_calls(self, stack: Node, calls: int, own: float) -> None:
        self.calls[stack.name] = self.calls.get(stack.name, 0) + calls
        stack.own += own

    def by_name(self) -> dict[str, float]:
        if self.exact is not None:
            return self.exact
        names: dict[str, float] = {}
        pending = [*self.root.inner.values()]
        while pending:
            node = pending.pop()
            names[node.name] = names.get(node.name, 0.0) + node.own
            pending += node.inner.values()
        return names


Slice = tuple[float, float, str]  # start, minus duration, name: a parent before its children


def _add_chrome(times: Times, events: Iterable[dict[str, Any]]) -> None:
    """The slices of each thread of a profile in Chrome's format; tasks and futures are none."""
    threads: dict[tuple[Any, Any], list[Slice]] = {}
    for event in events:
        if event.get("ph") == "X" and event.get("cat") not in ("asyncio", "future"):
            slices = threads.setdefault((event.get("pid"), event.get("tid")), [])
            start, duration = float(event["ts"]), float(event.get("dur", 0))
            slices.append((start, -duration, sys.intern(str(event["name"]))))
    for slices in threads.values():
        # By time, then the longer ones first. Those that are equal keep their order: the sort is
        # stable.
        slices.sort(key=itemgetter(1))
        slices.sort(key=itemgetter(0))
        _add_slices(times, slices)


def _add_slices(times: Times, slices: list[Slice]) -> None:
    open_ones: list[tuple[float, Node]] = []  # end, stack
    for start, minus_duration, name in slices:
        while open_ones and open_ones[-1][0] <= start and minus_duration < 0:
            open_ones.pop()
        outer = open_ones[-1][1] if open_ones else times.root
        stack = outer.called(name)
        times.add_calls(stack, 1, -minus_duration)
        if open_ones:
            outer.own += minus_duration
        open_ones.append((start - minus_duration, stack))


def _add_stacks(times: Times, lines: Iterable[str], path: str) -> None:
    for line in lines:
        if line.isspace():
            continue
        names, _, own = line.rstrip("\n").rpartition(" ")
        if not names or not own.isdecimal():
            raise ValueError(_NO_PROFILE.format(path=path))
        stack = times.root
        for name in names.split(";"):
            stack = stack.called(name)
        stack.own += int(own) / 1000


def _add_page(times: Times, text: str, path: str) -> None:
    """The bars of a page. Its table counts the calls that share a bar with others, too."""
    page = read_page(text, path)
    for track in page.tracks:
        stack = [times.root]
        for bar in track:
            del stack[bar.depth + 1 :]
            if bar.depth > 0:
                stack[-1].own -= bar.duration / 1000
            stack.append(stack[-1].called(bar.name))
            times.add_calls(stack[-1], bar.calls, bar.duration / 1000)
    times.cpu = page.cpu_times()
    times.runs = all_runs(times.cpu, page.head["metadata"])
    if times.runs is not None:
        times.cpu = {name: Spread(values).middle for name, values in times.runs.items()}
    if page.head["merged"] > 0:
        times.calls, times.exact = {}, {}
        for _, name, calls, _, own, *_ in page.head["rows"]:
            times.calls[name] = times.calls.get(name, 0) + calls
            times.exact[name] = times.exact.get(name, 0.0) + own / 1000


_NO_PROFILE = (
    "{path} is no profile in Chrome's format, nor one of collapsed stacks, nor a page: "
    "python -m opyard.profiler -o FILE.json or FILE.html writes what can be compared"
)


def _events_of(file: IO[str], path: str) -> Iterator[dict[str, Any]]:
    """One event at a time of a file of ours, which has each on a line; others are read whole."""
    head, begin = file.readline(), file.readline()
    if head.startswith('{"schemaVersion"') and begin == '"traceEvents": [\n':
        for line in file:
            if line.startswith("]"):
                return
            yield json.loads(line.rstrip(",\n"))
        raise ValueError(f"{path} has no end: what wrote it did not finish")
    document = json.loads(head + begin + file.read())
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise ValueError(_NO_PROFILE.format(path=path))
    yield from events


def read_times(path: str) -> Times:
    """Of a file with Chrome's JSON or with collapsed stacks, or of a profile's page."""
    times = Times()
    open_text = gzip.open if path.endswith(".gz") else open
    with open_text(path, "rt", encoding="utf-8") as file:
        try:
            # A frame of a stack may be called "[unknown]".
            begin = file.read(256)
            is_json = re.match(r'\s*(\{\s*["}]|\[\s*[{\]])', begin)
            file.seek(0)
            if begin.startswith("<!doctype html>"):
                times.form = "a page"
                _add_page(times, file.read(), path)
            elif is_json:
                times.form = "in Chrome's format"
                _add_chrome(times, _events_of(file, path))
            else:
                times.form, times.has_labels = "collapsed stacks", False
                _add_stacks(times, file, path)
        except UnicodeDecodeError:
            raise ValueError(_NO_PROFILE.format(path=path)) from None
        except (AttributeError, KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"{path} is no profile {times.form}: {error!r}") from None
        except (EOFError, zlib.error) as error:
            raise ValueError(f"{path} is damaged: {error}") from None
    return times


def times_of(profile: Any) -> Times:
    """Of a profile of this process."""
    times = Times()
    stacks: list[Node] = []
    times.cpu = {}
    for parent, label, count, own, cpu in profile.call_tree():
        stacks.append(stacks[parent].called(label) if stacks else times.root)
        if count:
            times.calls[label] = times.calls.get(label, 0) + count
            stacks[-1].own += own / 1000
            times.cpu[label] = times.cpu.get(label, 0.0) + cpu / 1000
    return times


def table_of(after: Times, before: Times) -> str:
    """What takes longer in one than in the other; the largest difference first.

    That of CPU time, if it is known of both, since waits differ from run to run; else of own time.
    If a program ran several times, its times are those in the middle, and a column says which
    changes are beyond the noise of the runs.
    """
    own = (after.by_name(), before.by_name())
    columns = [("Self", *own)]
    if after.cpu is not None and before.cpu is not None:
        columns.insert(0, ("CPU", after.cpu, before.cpu))
    first = columns[0]
    has_runs = len(columns) == 2 and (after.runs is not None or before.runs is not None)

    def runs_of(times: Times, name: str) -> list[float]:
        if times.runs is None:
            return [(times.cpu or {}).get(name, 0.0)]
        return times.runs.get(name, [0.0, 0.0])

    def change(name: str, here: dict[str, float], there: dict[str, float]) -> float:
        return here.get(name, 0.0) - there.get(name, 0.0)

    def cells_of(name: str) -> list[str]:
        cells = [cut(name, 55)]
        for _, here, there in columns:
            more = change(name, here, there)
            cells += [format_time(max(0.0, one.get(name, 0.0))) for one in (here, there)]
            cells.append(("+" if more >= 0 else "-") + format_time(abs(more)))
        if has_runs:
            is_beyond = is_beyond_noise(runs_of(after, name), runs_of(before, name))
            cells.insert(4, "beyond" if is_beyond else "within")
        return [*cells, str(after.calls.get(name, 0)), str(before.calls.get(name, 0))]

    def rank(name: str) -> tuple[float, float]:
        return -abs(change(name, *first[1:])), -abs(change(name, *own))

    names = ["Name"]
    for title, *_ in columns:
        names += [title, "before", "change"]
    if has_runs:
        names.insert(4, "noise")
    rows = [cells_of(name) for name in sorted(own[0] | own[1] | first[1] | first[2], key=rank)]
    return "\n".join(lines_of_table([*names, "# of Calls", "before"], rows))


class _Frame:
    """A place in the tree of both. Its times, in microseconds, are with what is inside."""

    __slots__ = ("after", "before", "inner", "name", "width")

    def __init__(self, name: str, after: float, before: float) -> None:
        self.name, self.after, self.before = name, max(after, 0.0), max(before, 0.0)
        self.inner: list[_Frame] = []
        self.width = 0.0


def _tree_of(after: Times, before: Times) -> _Frame:
    nothing = Node("")
    root = _Frame("all", 0.0, 0.0)
    frames = [(root, after.root, before.root)]
    for frame, here, there in frames:  # which grows meanwhile: a parent is before its children
        for name in {**here.inner, **there.inner}:
            one, other = here.inner.get(name, nothing), there.inner.get(name, nothing)
            frame.inner.append(_Frame(name, one.own, other.own))
            frames.append((frame.inner[-1], one, other))
    for frame, _, _ in reversed(frames):
        frame.after += sum(inner.after for inner in frame.inner)
        frame.before += sum(inner.before for inner in frame.inner)
        inside = sum(inner.width for inner in frame.inner)
        frame.width = max(frame.after, frame.before, inside)
    return root


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
    root = _tree_of(after, before)
    whole = root.width or 1.0
    scale = max((abs(f.after - f.before) for f in root.inner), default=0.0)
    boxes: list[str] = []
    depth = 0
    pending = [(root, 0.0, 0)]
    while pending:
        frame, left, level = pending.pop()
        width = frame.width / whole * _WIDTH
        if width < _LEAST:
            continue
        depth = max(depth, level)
        boxes.append(_box(frame, left, level, width, scale))
        for inner in frame.inner:
            pending.append((inner, left, level + 1))
            left += inner.width / whole * _WIDTH
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
        require_path("flame_graph", path)
        require_ending(os.fsdecode(path), ".svg")
        with whole_file(path) as file:
            file.write(flame_graph(self._after, self._before).encode())


_EXAMPLES = """\
examples:
  python -m opyard.profiler diff after.html before.html
  python -m opyard.profiler diff after.json before.json -o change.svg"""


def compare_files(given: list[str]) -> None:
    import argparse

    from .._core.options import OptionParser

    parser = OptionParser(
        "python -m opyard.profiler diff",
        description="Says what takes longer in one profile than in another.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("after", help="a page, a profile in Chrome's format, or collapsed stacks")
    parser.add_argument("before", help="another one, from before the change")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="a flame graph of both, as an SVG picture; as in -o change.svg",
    )
    options = parser.parse_args(given)
    try:
        after, before = read_times(options.after), read_times(options.before)
        if after.has_labels != before.has_labels:
            raise ValueError(
                f"{options.after} is {after.form} and {options.before} {before.form}, and these "
                "name functions differently: compare two of one format"
            )
        difference = Difference(after, before)
        if options.output is not None:
            difference.flame_graph(options.output)
    except (OSError, ValueError) as error:
        raise SystemExit(f"python -m opyard.profiler diff: {error}") from None
    sys.stdout.write(str(difference) + "\n")
