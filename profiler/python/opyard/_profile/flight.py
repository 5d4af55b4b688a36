"""The flight recorder: a bounded ring of the latest events, dumped on demand."""

from __future__ import annotations

import atexit
import os
import sys
from _functools import partial
from _weakref import ref

from .. import _tracer
from .._core.keywords import names_keywords
from .._core.paths import require_path
from .active import Active, warn_of_dropped
from .classes import refresh_classes
from .results import Results, name_files, name_threads
from .session import read_patterns

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType, TracebackType
    from typing import Any


class flight_recorder:
    """Captures all the time, and keeps the last `seconds`, or what fits into `bytes`.

    dump() gives what it has, and may be called as often as you like. With a `path` it is written
    there as well: when an exception ends the program or a thread, or leaves the `with` block, and
    at each of the `signals`. A `{}` in the path is the number of the dump. The recorder may stay on
    beside a profile; there is one in a process.
    """

    _on = False

    @names_keywords
    def __init__(
        self,
        *,
        seconds: float | None = None,
        bytes: int = 64 << 20,
        path: str | os.PathLike[str] | None = None,
        signals: Iterable[int] = (),
        c_calls: bool = True,
        include: str | Iterable[str] = (),
        exclude: str | Iterable[str] = (),
        operators: bool = True,
        profile_memory: bool = False,
    ) -> None:
        if seconds is not None and not 0 < seconds < 1e9:
            raise ValueError(f"seconds is more than 0, or None for as many as fit; not {seconds!r}")
        if not isinstance(bytes, int):
            raise TypeError(f"bytes must be an int, not an object of {type(bytes).__name__}")
        if not 1 << 20 <= bytes < 1 << 50:
            raise ValueError(f"bytes must be from {1 << 20} to {(1 << 50) - 1}, not {bytes}")
        self._signals = tuple(signals)
        if path is not None:
            require_path("flight_recorder", path)
        self._path = None if path is None else os.path.abspath(os.fsdecode(path))
        if self._path is not None:
            from .exports import format_of

            format_of(self._path)  # raises if the ending says nothing
        elif self._signals:
            raise ValueError("signals need a path, to which a signal writes what was captured")
        options = (True, c_calls, True, True, operators, False, profile_memory, False, 0, 0)
        patterns = (read_patterns("include", include), read_patterns("exclude", exclude))
        self._options = (*options, *patterns)
        self._bounds = (bytes, int((seconds or 0) * 1e9))
        self._has_memory = profile_memory
        self._number = 0
        self._handlers = _Handlers()

    def start(self) -> None:
        """Begins to keep the latest events of all threads."""
        if self._on:
            raise RuntimeError("the flight recorder is on already")
        refresh_classes()
        if self._path is not None:
            self._handlers.install(ref(self), self._signals)
        _active.add(self, partial(_dropped, self._handlers))
        try:
            _tracer.start_ring(self._options, *self._bounds)
            self._on = True
        except BaseException as error:
            if not isinstance(error, Exception):  # an interrupt may come after the start
                _stop_ring()
            self._on = False
            _active.discard(self)
            self._handlers.remove()
            raise

    def stop(self) -> None:
        """Ends it; what it has captured is lost."""
        if not self._on:
            raise RuntimeError("the flight recorder is not on; call start() before stop()")
        _tracer.stop_ring()
        self._on = False
        _active.discard(self)
        self._handlers.remove()

    def dump(self, path: str | os.PathLike[str] | None = None) -> Results:
        """What was captured, which is also written if there is a path. The recorder goes on."""
        if not self._on:
            raise RuntimeError("the flight recorder is not on; start it before dumping")
        dumped = _tracer.dump_ring()
        name_threads(dumped)
        name_files(dumped)
        results = Results(stack=True, lines=False, memory=self._has_memory)
        results._profile, results._warns = (
            dumped,
            False,
        )  # what began before a ring is left out always
        if path is not None:
            results.export(path)
        return results

    def __enter__(self) -> flight_recorder:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._on:
            return
        if error is not None and self._path is not None and not isinstance(error, SystemExit):
            self._write()
        self.stop()

    # Who dumps without being asked by the program.

    def _write(self) -> None:
        """Says what goes wrong, and goes on: the program has other things to do."""
        assert self._path is not None
        number, self._number = self._number, self._number + 1
        try:
            self.dump(self._path.replace("{}", str(number)))
        except Exception as error:
            sys.stderr.write(f"opyard: the flight recorder could not be written: {error}\n")


class _Handlers:
    """Those of signals and exceptions, which dump. They hold the recorder weakly, so that it may be
    dropped all the same."""

    def __init__(self) -> None:
        self._former: dict[int, tuple[Any, Any]] = {}  # what was there, and what is ours
        self._hooks: Any = None

    def install(self, weak: ref[flight_recorder], signals: tuple[int, ...]) -> None:
        import signal
        import threading

        def write() -> None:
            recorder = weak()
            if recorder is not None and recorder._on:
                recorder._write()

        _tracer.hide(write.__code__)
        for number in signals:
            on_signal = _signal_handler(write, signal.getsignal(number))
            _tracer.hide(on_signal.__code__)
            self._former[number] = signal.signal(number, on_signal), on_signal
        hooks = self._hooks = (sys.excepthook, threading.excepthook)

        def on_exception(*what: Any) -> None:
            write()
            hooks[0](*what)

        def on_thread_exception(what: Any) -> None:
            if what.exc_type is not SystemExit:
                write()
            hooks[1](what)

        self._ours = (on_exception, on_thread_exception)
        sys.excepthook, threading.excepthook = self._ours

    def remove(self) -> None:
        if self._hooks is None:
            return
        import signal
        import threading

        # On another thread signals cannot be set: then ours stays, and calls what was there.
        is_main = threading.current_thread() is threading.main_thread()
        for number, (former, ours) in self._former.items():
            if is_main and signal.getsignal(number) is ours:
                signal.signal(number, former)
        self._former.clear()
        # A hook that came after us stays, and calls ours.
        if sys.excepthook is self._ours[0]:
            sys.excepthook = self._hooks[0]
        if threading.excepthook is self._ours[1]:
            threading.excepthook = self._hooks[1]
        self._hooks = None


def _dropped(handlers: _Handlers) -> None:
    """Nobody could stop it any more."""
    was_on = _stop_ring()
    handlers.remove()
    if was_on:
        lost = ", and what it had kept is lost"
        warn_of_dropped("a flight recorder", lost, "with flight_recorder() as recorder:")


def _stop_ring() -> bool:
    """False if none is on: an interrupt may come between a start, or a stop, and the note of it."""
    try:
        _tracer.stop_ring()
    except RuntimeError:
        return False
    return True


def _signal_handler(
    write: Callable[[], None], former: Any
) -> Callable[[int, FrameType | None], None]:
    def on_signal(number: int, frame: FrameType | None) -> None:
        write()
        if callable(former):
            former(number, frame)

    return on_signal


_active = Active()


def active_recorder() -> flight_recorder | None:
    """The flight recorder of this interpreter that is on, whoever began it: for its stop()."""
    return next((one for one in _active.all() if one._on), None)


@atexit.register
def _stop_all() -> None:
    """As profiles are: nothing may be captured while Python is taken apart."""
    for recorder in _active.all():
        recorder.stop()


for _method in (
    flight_recorder.start,
    flight_recorder.stop,
    flight_recorder.dump,
    flight_recorder.__enter__,
    flight_recorder.__exit__,
    flight_recorder._write,
    _Handlers.remove,
    _dropped,
    _stop_ring,
):
    _tracer.hide(_method.__code__)
