"""Writing a profile to a file, in one of several formats."""

from __future__ import annotations

import contextlib
import html
import os
import sys
from typing import TYPE_CHECKING

from .._core.paths import require_path
from .._core.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO

    from .leaves import MemoryEvent

FORMATS = ("chrome", "perfetto", "pprof", "speedscope", "stacks", "pstats", "html")
MOST_BARS = 1_000_000  # of a report in HTML
_BY_ENDING = (
    (".speedscope.json", "speedscope"),
    (".json", "chrome"),
    (".pftrace", "perfetto"),
    (".perfetto-trace", "perfetto"),
    (".pprof", "pprof"),
    (".pb", "pprof"),
    (".collapsed", "stacks"),
    (".folded", "stacks"),
    (".txt", "stacks"),
    (".pstats", "pstats"),
    (".prof", "pstats"),
    (".html", "html"),
    (".htm", "html"),
)


# Endings that say no more than what kind of text it is.
_FOR_MANY = frozenset({".json", ".txt"})


def _ending_of(path: str) -> tuple[str, str] | None:
    plain = path.removesuffix(".gz")
    return next((known for known in _BY_ENDING if plain.endswith(known[0])), None)


def format_of(path: str) -> str:
    """What the ending of a file's name says."""
    if (found := _ending_of(path)) is not None:
        return found[1]
    raise ValueError(
        f"the ending of {path!r} names no format: give one of {', '.join(FORMATS)}, or an ending "
        f"of {', '.join(ending for ending, _ in _BY_ENDING)}"
    )


def _refuse_other_ending(path: str, name: str) -> None:
    """A file that says it is a page is none of Chrome's."""
    found = _ending_of(path)
    if found is None or found[1] == name or found[0] in _FOR_MANY:
        return
    endings = ", ".join(ending for ending, format in _BY_ENDING if format == name)
    raise ValueError(
        f"{path!r} ends as files of the format {found[1]} do, and {name} is to be written: give "
        f"it an ending of {endings}, or call export() without a format"
    )


def require_ending(path: str, *endings: str) -> None:
    """For what is written in one format alone."""
    if not path.endswith(endings):
        raise ValueError(f"{path!r} must end in {' or '.join(endings)}, as what is written")


def program_name() -> str:
    return " ".join(sys.argv) or "python"


@contextlib.contextmanager
def _open(path: str) -> Iterator[BinaryIO]:
    with whole_file(path) as file:
        if not path.endswith(".gz"):
            yield file
            return
        import gzip

        name = os.path.basename(path)
        with gzip.GzipFile(name, "wb", compresslevel=6, fileobj=file) as packed:
            yield packed  # type: ignore[misc]


def export(
    profile: Any, metadata: dict[str, str], path: str | os.PathLike[str], name: str | None = None
) -> None:
    require_path("export", path)
    path = os.fsdecode(path)
    name = name or format_of(path)
    if name not in FORMATS:
        raise ValueError(f"{name!r} is no format of a profile; they are {', '.join(FORMATS)}")
    _refuse_other_ending(path, name)
    with _open(path) as file:
        if name == "pstats":
            import marshal

            marshal.dump(statistics_of(profile), file)
            marshal.dump({"dataQuality": profile.quality()}, file)  # pstats reads no further
            return
        if name == "html":
            _write_page(profile, metadata, file.write, MOST_BARS)
        else:
            process, program = profile.process() or (os.getpid(), program_name())
            getattr(profile, name)(file.write, metadata, program, process)


def _write_page(
    profile: Any, metadata: dict[str, str], write: Callable[[bytes], object], most_bars: int
) -> None:
    process, program = profile.process() or (os.getpid(), program_name())
    profile.report(write, metadata, program, process, _deflate, most_bars)


def page_of(profile: Any, metadata: dict[str, str], most_bars: int) -> bytes:
    """A profile as one HTML page of at most so many bars, whole and again folded."""
    pieces: list[bytes] = []
    _write_page(profile, metadata, pieces.append, most_bars)
    return b"".join(pieces)


MOST_BYTES_OF_FRAME = 1 << 20  # of a page that a notebook keeps
_BARS_OF_FRAME = 200_000
_FRAME = (
    '<iframe srcdoc="{page}" sandbox="allow-scripts" title="Profile as a page" '
    'style="width: 100%; height: {height}px; border: 1px solid #8888"></iframe>'
)


def frame_of(captured: Any, metadata: dict[str, str], height: int = 620) -> str:
    """A page in an element of HTML, which needs nothing from elsewhere.

    If all calls do not fit, the shortest are merged until they do.
    """
    bars = _BARS_OF_FRAME
    while True:
        page = page_of(captured, metadata, bars).decode()
        frame = _FRAME.format(page=html.escape(page), height=height)
        if len(frame) <= MOST_BYTES_OF_FRAME or bars < 1000:
            return frame
        # Names, tables and the page itself take room, too, whatever the number of bars.
        bars = min(bars // 2, bars * MOST_BYTES_OF_FRAME // len(frame))


def _deflate(contents: bytes) -> bytes:
    """Without a head or a checksum, as browsers' DecompressionStream("deflate-raw") takes it."""
    import zlib

    packer = zlib.compressobj(6, wbits=-zlib.MAX_WBITS)
    return packer.compress(contents) + packer.flush()


def export_memory(timeline: list[MemoryEvent], path: str | os.PathLike[str]) -> None:
    import json

    require_path("export_memory_timeline", path)
    name = os.fsdecode(path)
    require_ending(name, ".json", ".json.gz")
    with _open(name) as file:
        for n, event in enumerate(timeline):
            row = event._asdict()
            row["within"] = None if event.within is None else event.within.name
            file.write(("[\n" if n == 0 else ",\n").encode() + json.dumps(row).encode())
        file.write(b"\n]\n" if timeline else b"[]\n")


Place = tuple[str, int, str]  # file, line, function


def _place_of(profile: Any, key: int) -> Place:
    """A function as cProfile names it."""
    text, _, file, line, _, _ = profile.name(key)
    return (file, line, text) if file else ("~", 0, text)


def statistics_of(profile: Any) -> dict[Place, tuple[Any, ...]]:
    """What pstats.Stats loads: {place: (primitive calls, calls, own s, total s, callers)}."""
    places: dict[int, Place] = {}
    rows: dict[Place, list[Any]] = {}
    for key, caller, count, outermost, own, total in profile.calls():
        for one in (key, caller):
            if one and one not in places:
                places[one] = _place_of(profile, one)
        row = rows.setdefault(places[key], [0, 0, 0.0, 0.0, {}])
        numbers = (outermost, count, own / 1e9, total / 1e9)
        for n, number in enumerate(numbers):
            row[n] += number
        if caller:
            former = row[4].get(places[caller], (0, 0, 0.0, 0.0))
            # Calls come first here, unlike in a row.
            calls = (count, outermost, *numbers[2:])
            row[4][places[caller]] = tuple(map(sum, zip(former, calls, strict=True)))
    return {place: tuple(row) for place, row in rows.items()}
