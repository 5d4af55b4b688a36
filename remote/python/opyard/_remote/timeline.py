"""One profile of a driver and its workers on one timeline.

Each process captures a profile of its own, in the clock of its machine. The driver asks each worker
for the time, several times, and takes the answer that came back soonest: the worker's clock was
read halfway, give or take half of that. Events are moved by the difference; it and its error are
shown with the worker's name.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from .._profile.session import profile

ROUNDS = 8


class Offset(NamedTuple):
    """By how many nanoseconds a worker's clock is ahead, and how far that may be wrong."""

    ahead: int
    error: int


class Recorder:
    """What a worker captures, between start() and stop()."""

    def __init__(self) -> None:
        self._profile: Any = None

    def start(self, options: "dict[str, Any]") -> None:
        self._profile = profile(**options)
        self._profile.__enter__()

    def stop(self) -> bytes:
        """The trace, as Chrome reads it."""
        ended, self._profile = self._profile, None
        if ended is None:
            raise RuntimeError("this worker captures no profile: it was begun after start()")
        ended.__exit__(None, None, None)
        return _trace(ended)


def _trace(captured: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        captured.export_chrome_trace(path)
        with open(path, "rb") as file:
            return file.read()


def measure(ask: "Callable[[], int]") -> Offset:
    """The offset of a clock that `ask` reads."""
    best: Offset | None = None
    for _ in range(ROUNDS):
        before = time.time_ns()
        there = ask()
        after = time.time_ns()
        found = Offset(there - (before + after) // 2, (after - before) // 2)
        if best is None or found.error < best.error:
            best = found
    assert best is not None
    return best


class Timeline:
    """A profile of a session; made by Session.profile(). It is there after the `with`."""

    def __init__(self, session: Any, options: "dict[str, Any]") -> None:
        self._session = session
        self._options = options
        self._own: Any = None
        self._trace: dict[str, Any] | None = None
        self.offsets: dict[int, Offset] = {}
        """How far each worker's clock is ahead, in nanoseconds, and how far that may be wrong."""
        self.missing: list[int] = []
        """The workers that ended meanwhile, or were begun, and of which there is nothing."""

    def __enter__(self) -> "Timeline":
        ask = self._session._ask_worker
        for worker in self._session.workers:
            self.offsets[worker] = measure(lambda worker=worker: ask(worker, "clock"))
        for worker in self.offsets:
            ask(worker, "profile", True, self._options)
        self._own = profile(**self._options)
        self._own.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._own.__exit__(*exc)
        merged = json.loads(_trace(self._own))
        for worker, offset in self.offsets.items():
            try:
                found = json.loads(self._session._ask_worker(worker, "profile", False, {}))
            except RuntimeError:  # it has ended, or the session has
                self.missing.append(worker)
                continue
            _join(merged, found, worker, offset)
        self._trace = merged

    def export_chrome_trace(self, path: "str | os.PathLike[str]") -> None:
        """Writes all of it in Chrome's JSON format, a process for the driver and each worker.

        Raises RuntimeError before the end of the `with`.
        """
        if self._trace is None:
            raise RuntimeError("export_chrome_trace: the profile is there after the `with`")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self._trace, file)


def _join(merged: "dict[str, Any]", found: "dict[str, Any]", worker: int, offset: Offset) -> None:
    """Adds the events of a worker, in the driver's time."""
    base = "baseTimeNanoseconds"
    shift = (found[base] - offset.ahead - merged[base]) / 1000
    taken = {event["pid"] for event in merged["traceEvents"] if "pid" in event}
    renamed: dict[int, int] = {}
    for event in found["traceEvents"]:
        process = event.get("pid")
        if process is not None:
            if process not in renamed:  # two machines may have one of the same number
                renamed[process] = process if process not in taken else (worker + 1 << 24) + process
            event["pid"] = renamed[process]
        if event["ph"] == "M" and event["name"] == "process_name":
            error = offset.error / 1000
            event["args"]["name"] = (
                f"worker {worker}, clock {offset.ahead / 1000:+.1f} us, within {error:.1f} us"
            )
        if "ts" in event:
            event["ts"] += shift
        merged["traceEvents"].append(event)
