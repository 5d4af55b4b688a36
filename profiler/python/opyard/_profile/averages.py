"""Averages of a profile as rows and as a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from .._core.keywords import names_keywords
from .costs import call_costs

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .costs import Costs


def format_time(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def format_memory(count: int) -> str:
    for unit, size in (("Gb", 1 << 30), ("Mb", 1 << 20), ("Kb", 1 << 10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} b"


class Average:
    """A row: one function, operator or range. Times are microseconds, memory is in bytes.

    `count` is of calls; of a sampled profile, of samples in which the row was on the stack.

    `cpu_time_total`, `self_cpu_time_total` and `longest` are times of the clock, named as PyTorch
    names them. `thread_time_total` and `self_thread_time_total` are CPU time: the part of them in
    which the thread had a processor. In the rest of them it waited.
    """

    __slots__ = (
        "caller_line",
        "count",
        "cpu_memory_usage",
        "cpu_time_total",
        "dispatch_key",
        "hidden_calls",
        "input_shapes",
        "key",
        "kind",
        "longest",
        "other_calls",
        "profiler_time_total",
        "python_calls",
        "self_cpu_memory_usage",
        "self_cpu_time_total",
        "self_thread_time_total",
        "stack",
        "thread_time_total",
        "top_level",
        "waits_for",
    )

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.kind, self.key, self.count = row[:3]
        self.cpu_time_total, self.self_cpu_time_total, self.longest = (
            time / 1000 for time in row[3:6]
        )
        self.cpu_memory_usage, self.self_cpu_memory_usage = row[6:8]
        self.thread_time_total, self.self_thread_time_total = (time / 1000 for time in row[10:12])
        # That it made itself, and those of Python and of others that are folded into it.
        self.python_calls, self.other_calls, *self.hidden_calls = row[12:16]
        # "lock", "I/O", "sleep", "process", "signal", "GIL", "GIL or processor"; or nothing, if its
        # name does not tell.
        self.waits_for: str = row[16]
        self.stack: list[str] = []
        self.input_shapes = ""
        self.dispatch_key = ""
        self.caller_line: int | None = None
        self.top_level = False
        # What its own events took: a part of its time and of its callers'. At least so much: what
        # Python does to tell of a call is not in it.
        self.profiler_time_total = 0.0

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count

    @property
    def self_waiting_time_total(self) -> float:
        """What it waited itself: for a lock, for input, in a sleep, for the GIL or a processor."""
        return max(0.0, self.self_cpu_time_total - self.self_thread_time_total)

    def add(self, other: Average) -> None:
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.thread_time_total += other.thread_time_total
        self.self_thread_time_total += other.self_thread_time_total
        self.python_calls += other.python_calls
        self.other_calls += other.other_calls
        self.hidden_calls = [
            a + b for a, b in zip(self.hidden_calls, other.hidden_calls, strict=False)
        ]
        self.longest = max(self.longest, other.longest)
        self.profiler_time_total += other.profiler_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage

    def __repr__(self) -> str:
        return (
            f"<{self.kind} {self.key!r}: {self.count} times, {format_time(self.cpu_time_total)}, "
            f"own {format_time(self.self_cpu_time_total)}>"
        )

    def corrected_time(self, costs: Costs) -> float:
        """Its own CPU time without what capturing calls costs; an estimate, at least 0."""
        from .costs import corrected

        return corrected(self, costs)


SORT_KEYS: dict[str, Callable[[Average], Any]] = {
    "self": lambda row: row.self_cpu_time_total,
    "total": lambda row: row.cpu_time_total,
    "cpu": lambda row: row.self_thread_time_total,
    "corrected": lambda row: row.self_thread_time_total,  # if what calls cost is not known
    "waits": lambda row: row.self_waiting_time_total,
    "cpu_time": lambda row: row.cpu_time,
    "cpu_time_total": lambda row: row.cpu_time_total,
    "self_cpu_time_total": lambda row: row.self_cpu_time_total,
    "count": lambda row: row.count,
    "cpu_memory_usage": lambda row: row.cpu_memory_usage,
    "self_cpu_memory_usage": lambda row: row.self_cpu_memory_usage,
}


def span_cost(profile: Any) -> float:
    """What storing the two events of a span takes on this machine, in microseconds."""
    return 2 * json.loads(profile.quality())["event cost ns"] / 1000


def dispatch_key_of(profile: Any, key: int) -> str:
    extra = profile.name(key)[5]
    return json.loads(extra).get("dispatch_key", "") if extra else ""


_CALLS = frozenset({"Python", "C", "Callable", "Module", "Optimizer"})


def line_of_caller(span: tuple[Any, ...]) -> int | None:
    """The line that a call was made from; of anything else, or if it was not noted, None."""
    return (span[7] or None) if span[0] in _CALLS else None


class DispatchKeyTime(NamedTuple):
    """What was spent at one dispatch key."""

    dispatch_key: str
    calls: int  # kernels that a call began with
    redispatches: int  # kernels that another one passed its call on to
    self_cpu_time_total: float  # microseconds
    profiler_time_total: float  # of that, what events took that are stored within


class DispatchKeyTimes(list):
    """A row for each dispatch key at which a kernel ran; the largest time first."""

    def __init__(self, profile: Any) -> None:
        per_kernel = span_cost(profile)
        super().__init__(
            DispatchKeyTime(
                key, calls, redispatches, self_ns / 1000, (calls + redispatches) * per_kernel
            )
            for key, calls, redispatches, self_ns in profile.keys()
        )

    def table(self) -> str:
        """The rows as text, for people to read."""
        total = sum(row.self_cpu_time_total for row in self) or 1.0
        cells = [
            [
                row.dispatch_key,
                f"{100 * row.self_cpu_time_total / total:.2f}%",
                format_time(row.self_cpu_time_total),
                format_time(row.profiler_time_total),
                str(row.calls),
                str(row.redispatches),
            ]
            for row in self
        ]
        names = ["Dispatch Key", "Self %", "Self", "Profiler's"]
        names += ["# of Calls", "# of Redispatches"]
        return "\n".join(lines_of_table(names, cells)) + "\n"


_TEXTS = frozenset(
    {"Name", "For", "Dispatch Key", "Input Shapes", "Source Location"}
)  # their columns


class Averages(list):
    """Rows in the order in which they first appear."""

    def __init__(
        self,
        profile: Any,
        *,
        stack: int = 0,
        shapes: bool = False,
        keys: bool = False,
        lines: bool = False,
        memory: bool = False,
    ) -> None:
        super().__init__()
        self._stack, self._has_shapes, self._has_keys = stack, shapes, keys
        self._has_lines = lines
        self._has_memory = memory
        self._profile = profile
        self._costs: Costs | None = None  # what calls cost, if the table corrects for that
        steps: Average | None = None
        self._period = profile.sample_period()  # nanoseconds, of a sampled profile
        per_span = 0.0 if self._period else span_cost(profile)
        for row in profile.averages(stack, shapes, keys, lines):
            average = Average(row)
            average.profiler_time_total = average.count * per_span
            track, example = row[8:10]
            if average.kind == "Step":
                # Each step has a name of its own, and all of them one row.
                average.key = "ProfilerStep*"
                if steps is not None:
                    steps.add(average)
                    continue
                steps = average
            span = profile.span(track, example)
            average.top_level = span[4] < 0
            if lines:
                average.caller_line = line_of_caller(span)
            if average.kind == "Operator":
                if shapes:
                    average.input_shapes = (profile.arguments(track, example) or ("",))[0]
                if keys:
                    average.dispatch_key = dispatch_key_of(profile, span[6])
            for _ in range(stack):
                if span[4] < 0:
                    break
                span = profile.span(track, span[4])
                average.stack.append(span[1])
            self.append(average)

    def total_average_self(self) -> float:
        return sum(row.self_cpu_time_total for row in self)

    def _folded(self) -> Averages:
        return Averages(
            self._profile.folded(),
            stack=self._stack,
            shapes=self._has_shapes,
            keys=self._has_keys,
            lines=self._has_lines,
            memory=self._has_memory,
        )

    @names_keywords
    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        header: str | None = None,
        top_level_events_only: bool = False,
        *,
        fold: bool = True,
        torch_names: bool = False,
    ) -> str:
        """The rows as text, for people to read.

        *Self* and *Total* are times of the clock, without and with what was called. *CPU* is how
        much of Self the thread had a processor, and *Waits* is the rest. With `torch_names` the
        columns are those of torch.profiler, which calls times of the clock CPU time.

        Calls inside of libraries are folded: they count as part of the call of the library. With
        `fold=False` each function has its row, as in the list.
        """
        shown = self._folded() if fold else self
        shown._costs = None if torch_names or self._period else call_costs()
        rows = shown._choose(sort_by, row_limit, top_level_events_only)
        columns = shown._columns(max_name_column_width, max_src_column_width, torch_names)
        cells = [[text(row) for _, text in columns] for row in rows]
        lines = lines_of_table([name for name, _ in columns], cells)
        if header is not None:
            lines.insert(0, header)
        return "\n".join(lines + self._notes(shown, torch_names)) + "\n"

    def html_table(
        self, sort_by: str | None = None, row_limit: int = 100, *, fold: bool = True
    ) -> str:
        """The rows as a table of HTML, for notebooks."""
        from html import escape

        shown = self._folded() if fold else self
        shown._costs = None if self._period else call_costs()
        columns = shown._columns(-1, -1)
        left = [name in _TEXTS for name, _ in columns]

        def line(tag: str, texts: list[str]) -> str:
            sides = ["left" if at_left else "right" for at_left in left]
            cells = [
                f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'
                for text, side in zip(texts, sides, strict=True)
            ]
            return f"<tr>{''.join(cells)}</tr>"

        head = line("th", [name for name, _ in columns])
        body = [
            line("td", [text(row) for _, text in columns])
            for row in shown._choose(sort_by, row_limit, False)
        ]
        notes = "<br>".join(escape(note) for note in self._notes(shown))
        return f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table><p>{notes}</p>"

    def _repr_html_(self) -> str:
        return self.html_table(sort_by="self_cpu_time_total")

    def _choose(self, sort_by: str | None, row_limit: int, top_level_only: bool) -> list[Average]:
        if sort_by is not None and sort_by not in SORT_KEYS:
            raise ValueError(
                f"key_averages().table() cannot sort by {sort_by!r}; it sorts by "
                + ", ".join(SORT_KEYS)
            )
        if not isinstance(row_limit, int):
            raise TypeError(
                f"key_averages().table(): row_limit must be an int, -1 for all, not {row_limit!r}"
            )
        rows = [row for row in self if row.top_level or not top_level_only]
        if sort_by == "corrected" and self._costs is not None:
            rows.sort(key=lambda row: row.corrected_time(self._costs), reverse=True)
        elif sort_by is not None:
            rows.sort(key=SORT_KEYS[sort_by], reverse=True)
        return rows if row_limit < 0 else rows[:row_limit]

    def _notes(self, shown: Averages, torch_names: bool = False) -> list[str]:
        """What is below the table of the rows that are shown."""
        if self._period:
            return self._notes_of_samples(shown)
        lines = []
        folded = sum(row.count for row in self) - sum(row.count for row in shown)
        if folded:
            lines.append(f"Calls inside of libraries that are folded: {folded:,} (fold=False)")
        if (costs := shown._costs) is not None:
            python, other = (round(cost.inside + cost.around) for cost in costs)
            corrected = format_time(sum(row.corrected_time(costs) for row in shown))
            lines.append(
                f"Capturing a call takes {python} ns, one of C {other} ns; without that the CPU "
                f"time is {corrected}"
            )
        if not torch_names and (waits := self._waits()):
            lines.append(f"Waits: {waits}")
        ours = sum(row.profiler_time_total for row in self)
        lines.append(f"Stored events took at least: {format_time(ours)}")
        total = format_time(shown.total_average_self())
        if torch_names:
            return [*lines, f"Self CPU time total: {total}"]
        cpu = sum(row.self_thread_time_total for row in shown)
        return [*lines, f"Self time total: {total}, of which CPU: {format_time(cpu)}"]

    def _notes_of_samples(self, shown: Averages) -> list[str]:
        quality = json.loads(self._profile.quality())
        lines = [
            f"Sampled every {format_time(self._period / 1000)}: {quality['events']:,} stacks, "
            f"{quality['lost']:,} more were torn and left out"
        ]
        lines += [text for text in quality if text.startswith("100 Hz with the GIL")]
        if own := quality.get("CPU time of the sampler ns"):
            lines.append(f"CPU time of the sampler: {format_time(own / 1000)}")
        total = format_time(shown.total_average_self())
        cpu = format_time(sum(row.self_thread_time_total for row in shown))
        return [*lines, f"Self time total: {total}, of which CPU: {cpu}"]

    def _waits(self) -> str:
        """What was waited for, the longest first: of all calls, also of those that are folded."""
        kinds: dict[str, float] = {}
        for row in self:
            kind = row.waits_for or "others"
            kinds[kind] = kinds.get(kind, 0.0) + row.self_waiting_time_total
        total = sum(kinds.values())
        shown = sorted(kinds.items(), key=lambda one: -one[1])
        return ", ".join(f"{kind} {format_time(us)}" for kind, us in shown if us > total / 1000)

    def _columns(
        self, name_width: int, source_width: int, torch_names: bool = False
    ) -> list[tuple[str, Callable[[Average], str]]]:
        total = self.total_average_self() or 1.0
        columns: list[tuple[str, Callable[[Average], str]]] = [
            ("Name", lambda row: cut(row.key, name_width)),
            ("Self %", lambda row: f"{100 * row.self_cpu_time_total / total:.2f}%"),
            ("Self", lambda row: format_time(row.self_cpu_time_total)),
            ("CPU", lambda row: format_time(row.self_thread_time_total)),
            ("Waits", lambda row: format_time(row.self_waiting_time_total)),
            ("Total %", lambda row: f"{100 * row.cpu_time_total / total:.2f}%"),
            ("Total", lambda row: format_time(row.cpu_time_total)),
            ("Total avg", lambda row: format_time(row.cpu_time)),
        ]
        if not torch_names and any(row.kind != "Python" and _wait_text(row) for row in self):
            columns.insert(5, ("For", _wait_text))
        if self._period:
            columns = [column for column in columns if column[0] != "Total avg"]
        if (costs := self._costs) is not None:
            columns.insert(4, ("Corrected", lambda row: format_time(row.corrected_time(costs))))
        if torch_names and not self._period:
            columns[1:] = [
                ("Self CPU %", columns[1][1]),
                ("Self CPU", columns[2][1]),
                ("CPU total %", columns[5][1]),
                ("CPU total", columns[6][1]),
                ("CPU time avg", columns[7][1]),
            ]
        if self._has_memory:
            columns += [
                ("CPU Mem", lambda row: format_memory(row.cpu_memory_usage)),
                ("Self CPU Mem", lambda row: format_memory(row.self_cpu_memory_usage)),
            ]
        counts = "# of Samples" if self._period else "# of Calls"
        columns.append((counts, lambda row: str(row.count)))
        if self._has_keys:
            columns.append(("Dispatch Key", lambda row: row.dispatch_key))
        if self._has_lines:
            columns.append(("Caller Line", lambda row: str(row.caller_line or "--")))
        if self._has_shapes:
            columns.append(("Input Shapes", lambda row: cut(row.input_shapes, source_width)))
        if self._stack:
            columns.append(("Source Location", lambda row: cut("; ".join(row.stack), source_width)))
        if torch_names:
            columns.append(("Total FLOPs", lambda row: "--"))
        return columns


def _wait_text(row: Average) -> str:
    """Nothing for what hardly waits."""
    waits = row.self_waiting_time_total
    return row.waits_for if waits > row.self_cpu_time_total / 100 else ""


def cut(text: str, width: int) -> str:
    return text if width < 0 or len(text) <= width else text[: max(width - 3, 0)] + "..."


def lines_of_table(names: list[str], cells: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    rule = "  ".join("-" * width for width in widths)

    def line(texts: list[str]) -> str:
        return "  ".join(text.rjust(width) for text, width in zip(texts, widths, strict=True))

    return [rule, line(names), rule, *map(line, cells), rule]
