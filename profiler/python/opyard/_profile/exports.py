"""Writing a profile to a file, in one of several formats."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from .._core.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    from .leaves import MemoryEvent

FORMATS = ("chrome", "perfetto", "speedscope", "stacks", "pstats", "html")
MOST_BARS = 1_000_000  # of a report in HTML
_BY_ENDING = (
    (".speedscope.json", "speedscope"),
    (".json", "chrome"),
    (".pftrace", "perfetto"),
    (".perfetto-trace", "perfetto"),
    (".pb", "perfetto"),
    (".collapsed", "stacks"),
    (".folded", "stacks"),
    (".txt", "stacks"),
    (".pstats", "pstats"),
    (".prof", "pstats"),
    (".html", "html"),
    (".htm", "html"),
)


def format_of(path: str) -> str:
    """What the ending of a file's name says."""
    plain = path.removesuffix(".gz")
    for ending, name in _BY_ENDING:
        if plain.endswith(ending):
            return name
    raise ValueError(
        f"the ending of {path!r} names no format: give one of {', '.join(FORMATS)}, or an ending "
        f"of {', '.join(ending for ending, _ in _BY_ENDING)}"
    )


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
    path = os.fsdecode(path)
    name = name or format_of(path)
    if name not in FORMATS:
        raise ValueError(f"{name!r} is no format of a profile; they are {', '.join(FORMATS)}")
    with _open(path) as file:
        if name == "pstats":
            import marshal

            marshal.dump(statistics_of(profile), file)
            marshal.dump({"dataQuality": profile.quality()}, file)  # pstats reads no further
            return
        process, program = profile.process() or (os.getpid(), program_name())
        if name == "html":
            profile.report(file.write, metadata, program, process, _deflate, MOST_BARS)
        else:
            getattr(profile, name)(file.write, metadata, program, process)


def _deflate(contents: bytes) -> bytes:
    """Without a head or a checksum, as browsers' DecompressionStream("deflate-raw") takes it."""
    import zlib

    packer = zlib.compressobj(6, wbits=-zlib.MAX_WBITS)
    return packer.compress(contents) + packer.flush()


def export_memory(timeline: list[MemoryEvent], path: str | os.PathLike[str]) -> None:
    import json

    with _open(os.fsdecode(path)) as file:
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
