"""Sampled lines: the lines of all functions at which samples were taken, and their table."""

from __future__ import annotations

import os
from typing import NamedTuple

from .averages import cut, format_time, lines_of_table


class LineAverage(NamedTuple):
    """Time that was sampled at a line. Times are microseconds."""

    function: str
    file: str
    line: int
    self_cpu_time_total: float  # of the clock, named as in Average
    self_thread_time_total: float  # with a processor
    cpu_time_total: float  # of the clock, with what the line called

    @property
    def source(self) -> str:
        """The text of the line, empty if its file is not there any more."""
        import linecache

        return linecache.getline(self.file, self.line).strip()


class LineAverages(list):
    """A row for each line at which a sample was taken; the largest CPU time first."""

    def table(self, row_limit: int = 20, max_source_width: int = 60) -> str:
        """The rows as text, for people to read."""
        total = sum(row.self_thread_time_total for row in self) or 1.0
        cells = [
            [
                f"{100 * row.self_thread_time_total / total:.2f}%",
                format_time(row.self_thread_time_total),
                format_time(row.self_cpu_time_total),
                format_time(row.cpu_time_total),
                f"{os.path.basename(row.file)}:{row.line}",
                row.function,
                cut(row.source, max_source_width),
            ]
            for row in (self if row_limit < 0 else self[:row_limit])
        ]
        names = ["CPU %", "CPU", "Self", "Total", "Line", "Function", "Source"]
        return "\n".join(lines_of_table(names, cells)) + "\n"
