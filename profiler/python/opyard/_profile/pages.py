"""Reader of profile pages: the data of a page, whose form opyard/profiler/report.h has."""

from __future__ import annotations

import binascii
import json
import re
import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_DATA = re.compile(r'<script id="data" type="text/plain">([a-z-]+),([A-Za-z0-9+/=]*)</script>')


class Bar(NamedTuple):
    """A call, or several short ones that share a bar."""

    start: int  # nanoseconds
    duration: int
    depth: int
    name: str
    calls: int


def _contents_of(page: str, path: str) -> bytes:
    found = _DATA.search(page)
    if found is None:
        raise ValueError(f"{path} is a page, but none that a profile was written to")
    try:
        data = binascii.a2b_base64(found[2])
        return zlib.decompress(data, wbits=-15) if found[1] == "deflate-raw" else data
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def _numbers(column: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in column:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number = shift = 0


def _sparse(column: bytes) -> dict[int, int]:
    numbers, found, bar = _numbers(column), {}, -1
    for step in numbers:
        bar += step
        found[bar] = next(numbers)
    return found


def _bars_of(head: dict[str, Any], columns: list[bytes]) -> Iterator[Bar]:
    merged = _sparse(columns[5])
    start = open_bars = 0
    rows = zip(*map(_numbers, columns[:4]), strict=True)
    for number, (step, duration, levels, name) in enumerate(rows):
        start += step
        open_bars += 1 - levels
        label = head["names"][name - 1][0] if name else "short calls, merged"
        yield Bar(start, duration, open_bars - 1, label, merged.get(number, 1))


class Page(NamedTuple):
    """The head, which has tables, and the bars of each thread of the whole profile."""

    head: dict[str, Any]
    tracks: list[Iterator[Bar]]

    def cpu_times(self) -> dict[str, float]:
        """The own CPU time of each name, in microseconds."""
        times: dict[str, float] = {}
        for row in self.head["rows"]:
            times[row[1]] = times.get(row[1], 0.0) + row[8] / 1000
        return times


def read_page(text: str, path: str) -> Page:
    """Raises ValueError if it is none."""
    contents = _contents_of(text, path)
    if contents[:4] != b"OPR1":
        raise ValueError(f"{path} is damaged: what is behind the page is no profile")
    at = 8 + int.from_bytes(contents[4:8], "little")
    head = json.loads(contents[8:at])
    tracks = []
    for track in head["tracks"]:
        columns = []
        for size in track["columns"]:
            columns.append(contents[at : at + size])
            at += size
        if not track["derived"]:
            tracks.append(_bars_of(head, columns))
    return Page(head, tracks)
