"""opyard.profiler.sample: stacks of all threads, looked at many times a second.

The program runs as it does without it: a native thread reads the stacks, and asks for no GIL. If
the system forbids that, stacks are taken by a thread of Python's, at most 100 times a second.
"""

from __future__ import annotations

import _thread
import atexit
import os
import sys
from _functools import partial

from .. import _tracer
from .._core.keywords import names_keywords
from .active import Active, warn_of_dropped
from .results import Results, name_files, name_threads

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest
if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from .sampled_lines import LineAverages

MOST_HZ = 10_000
_HZ_WITH_GIL = 100
_MOST_SLICES = 1024


def require_hz(hz: float) -> float:
    if isinstance(hz, bool) or not isinstance(hz, (int, float)):
        raise TypeError(f"hz is a number of samples a second, not an object of {type(hz).__name__}")
    if not 1 <= hz <= MOST_HZ:
        raise ValueError(f"hz is from 1 to {MOST_HZ} samples a second, not {hz!r}")
    return hz


class _WithGil:
    """Samples by a thread of Python's, for where stacks cannot be read without the GIL."""

    def __init__(self, period: float) -> None:
        self._period = period
        self._stopping = self._ended = False
        _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        import time

        own = _thread.get_ident()
        try:
            while not self._stopping:
                time.sleep(self._period)
                frames = sys._current_frames()
                frames.pop(own, None)
                _tracer.sample_now(frames)
        finally:
            self._ended = True

    def stop(self) -> None:
        import time

        self._stopping = True
        while not self._ended:
            time.sleep(self._period / 10)


class sample(Results):
    """Samples what every thread of this interpreter does, `hz` times a second, while it is active.

    It costs the program little at any length: stacks are folded into a tree of bounded size, for
    each of at most `slices` slices of time. There is one in a process; a child that is forked has
    none. Tables, exports and pages are those of a profile: a row's count is its number of samples,
    and its times are those between them. `hz` is from 1 to 10,000. Where the system forbids to
    read stacks from outside, `hz` is at most 100, with the GIL, and data_quality() says so. Samples
    become rarer if one takes more than 22 microseconds of CPU time, with many threads say: at 1,000
    a second they take at most 3 % of a processor.
    """

    _sort_by = "cpu"

    @names_keywords
    def __init__(self, hz: float = 1000, *, slices: int = 128) -> None:
        self.hz = require_hz(hz)
        if not isinstance(slices, int) or not 1 <= slices <= _MOST_SLICES:
            raise ValueError(f"slices is an int from 1 to {_MOST_SLICES}, not {slices!r}")
        self._slices = slices
        self._is_on = [False]  # a list, which outlives it: see _dropped()
        self._started_at = ""
        self._with_gil: _WithGil | None = None
        self.why_with_gil = ""  # why stacks are read with the GIL; empty if they are not
        super().__init__(stack=True, lines=False, memory=False)

    def start(self) -> None:
        """Begins as a `with` block does; raises RuntimeError if one is on in this process."""
        if self._is_on[0]:
            raise RuntimeError("the sampling profile has been started already; stop it first")
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back
        self._started_at = "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
        self.why_with_gil = _tracer.why_unreadable()
        if self.why_with_gil:
            self.hz = min(self.hz, _HZ_WITH_GIL)
        try:
            _tracer.start_sampling(int(1e9 / self.hz), self._slices, bool(self.why_with_gil))
        except RuntimeError as error:
            if (running := active_sample()) is not None:
                raise RuntimeError(f"{error} It is {running!r}.") from None
            raise
        self._is_on[0] = True
        _active.add(self, partial(_dropped, self._is_on))
        if self.why_with_gil:
            self._with_gil = _WithGil(1 / self.hz)

    def stop(self) -> None:
        """Ends it and makes the results; raises RuntimeError if it is not on."""
        if not self._is_on[0]:
            raise RuntimeError(
                "the sampling profile is not on; call start() before stop(). A child that was "
                "forked has none"
            )
        if self._with_gil is not None:
            self._with_gil.stop()
            self._with_gil = None
        self._is_on[0] = False
        _active.discard(self)
        captured = _tracer.stop_sampling()
        name_threads(captured)
        name_files(captured)
        if self.why_with_gil:
            text = f"100 Hz with the GIL, as stacks are not readable: {self.why_with_gil}"
            captured.note(text, 1)
        self._profile = captured

    def __enter__(self) -> sample:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_on[0]:
            self.stop()

    def __repr__(self) -> str:
        if self._is_on[0]:
            return f"<sample: {self.hz:g} Hz, started at {self._started_at}>"
        return "<sample: not started>" if self._profile is None else "<sample: has ended>"

    def line_averages(self) -> LineAverages:
        """Where in functions the time went: one row for each line, the largest CPU time first."""
        from .sampled_lines import LineAverage, LineAverages

        captured = self._require_profile()
        rows = []
        for key, line, own, cpu, total in captured.lines():
            text, qualified, file, *_ = captured.name(key)
            rows.append(
                LineAverage(qualified or text, file, line, own / 1000, cpu / 1000, total / 1000)
            )
        rows.sort(key=lambda row: (row.self_thread_time_total, row.cpu_time_total), reverse=True)
        return LineAverages(rows)


_active = Active()


def active_sample() -> sample | None:
    """The sampling profile of this interpreter that is on; its text says where it was started."""
    return next((one for one in _active.all() if one._is_on[0]), None)


def _dropped(is_on: list[bool]) -> None:
    """Nobody could stop it any more."""
    if is_on[0]:
        is_on[0] = False
        _tracer.stop_sampling()
        lost = ", and what it had sampled is lost"
        warn_of_dropped("a sampling profile", lost, "with sample() as prof:")


@atexit.register
def _stop_all() -> None:
    """Before Python is taken apart."""
    for one in _active.all():
        if one._is_on[0]:
            one.stop()


def _end_in_child() -> None:
    """The sampler's thread is not there, and what it sampled is the parent's."""
    for one in _active.all():
        one._is_on[0] = False
        one._with_gil = None
        _active.discard(one)


os.register_at_fork(after_in_child=_end_in_child)

for _method in (sample.start, sample.stop, sample.__enter__, sample.__exit__, _WithGil.stop):
    _tracer.hide(_method.__code__)
