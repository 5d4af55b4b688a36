"""Time by line: the lines of chosen functions, with their source text."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest
if TYPE_CHECKING:
    from typing import Any


class LineTime:
    """A line: how often it began, and what it took, in microseconds, with what it called."""

    __slots__ = ("count", "line", "source", "time")

    def __init__(self, line: int, count: int, time: float, source: str) -> None:
        self.line, self.count, self.time, self.source = line, count, time, source

    def __repr__(self) -> str:
        return f"<line {self.line}: {self.count} times, {self.time:.3f}us: {self.source.strip()!r}>"


class FunctionLines:
    """A function and its lines, in the order of its text: those without a count, too."""

    __slots__ = ("file", "lines", "name")

    def __init__(self, name: str, file: str, lines: list[LineTime]) -> None:
        self.name, self.file, self.lines = name, file, lines

    @property
    def time(self) -> float:
        """Of all lines, in microseconds."""
        return sum(line.time for line in self.lines)

    @property
    def first_line(self) -> int:
        return self.lines[0].line

    def __repr__(self) -> str:
        return f"<lines of {self.name}, {self.file}:{self.first_line}: {self.time:.3f}us>"


def _text_of(file: str) -> list[str]:
    """As the program has it: also of cells of a notebook. Nothing if there is none to be had."""
    import linecache

    try:
        return linecache.getlines(file)
    except (MemoryError, ValueError):
        return []


def lines_of(captured: Any) -> list[FunctionLines]:
    """While the source files are what they were."""
    functions: dict[int, dict[int, tuple[int, int]]] = {}
    for key, line, count, time in captured.line_times():
        functions.setdefault(key, {})[line] = (count, time)
    found = []
    for key, times in functions.items():
        _, name, file, first, _, _ = captured.name(key)
        text = _text_of(file)
        shown = [
            LineTime(
                number,
                *_of(times.get(number, (0, 0))),
                text[number - 1].rstrip("\n") if 0 < number <= len(text) else "",
            )
            for number in _numbers(first, times)
        ]
        found.append(FunctionLines(name, file, shown))
    found.sort(key=lambda function: -function.time)
    if found:
        captured.set_line_texts(_json_of(found))
    return found


def _json_of(functions: list[FunctionLines]) -> str:
    """As opyard/profiler/report.h has it."""
    import json

    return json.dumps(
        [
            [
                function.name,
                f"{function.file}:{function.first_line}",
                [
                    [line.line, line.count, round(line.time * 1000), line.source.expandtabs(4)]
                    for line in function.lines
                ],
            ]
            for function in functions
        ]
    )


def _of(counted: tuple[int, int]) -> tuple[int, float]:
    return counted[0], counted[1] / 1000


def _numbers(first: int, times: dict[int, tuple[int, int]]) -> list[int]:
    """From the head of the function on; of a function with wild numbers those that ran."""
    begin, end = min(first, *times), max(first, *times)
    if end - begin > 10_000:
        return sorted(times)
    return [*range(begin, end + 1)]


class LineTimes(list):
    """Functions whose lines were timed, the one that takes most first."""

    def __init__(self, functions: list[FunctionLines]) -> None:
        super().__init__(functions)

    def table(self) -> str:
        """A table for each function, for people to read."""
        from .averages import format_time

        tables = []
        for function in self:
            total = function.time or 1.0
            rows = [f"{function.name}, {function.file}:{function.first_line}"]
            rows.append(_row("Line", "Count", "Time", "Each", "%", "Source"))
            rows += [
                _row(
                    str(line.line),
                    f"{line.count:,}" if line.count else "",
                    format_time(line.time) if line.time else "",
                    format_time(line.time / line.count) if line.count else "",
                    f"{100 * line.time / total:.1f}" if line.time else "",
                    line.source.expandtabs(4),
                )
                for line in function.lines
            ]
            tables.append("\n".join(rows) + "\n")
        return "\n".join(tables)


def _row(line: str, count: str, time: str, each: str, percent: str, source: str) -> str:
    return f"{line:>6} {count:>12} {time:>10} {each:>10} {percent:>6}  {source}".rstrip()
