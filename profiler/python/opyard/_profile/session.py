"""opyard.profiler's profile and record_function: starting, stopping, steps, exporting."""

from __future__ import annotations

import _thread
import atexit
import os
import sys
from _functools import partial
from enum import Enum

from .. import _tracer
from .._core.keywords import names_keywords, refuse_keyword
from .._core.paths import require_path
from .active import Active, warn_of_dropped
from .classes import refresh_classes
from .lines import lines_of
from .results import Results, name_files, name_threads, own_code
from .schedule import ENDINGS, TRANSITIONS, ProfilerAction, always, member_of

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType, TracebackType
    from typing import Any, TypeVar

    _Future = TypeVar("_Future")


class ProfilerActivity(Enum):
    """What can be captured. CUDA is for programs that name it, and does nothing."""

    CPU = 0
    CUDA = 2


def _read_activities(given: Iterable[object] | None) -> tuple[bool, list[str]]:
    """Whether the CPU is among them, and what does nothing. PyTorch's go by their names."""
    listed = given if hasattr(given, "__iter__") else (given,)
    names = ["CPU"] if given is None else [getattr(one, "name", None) for one in listed]
    if not all(isinstance(name, str) for name in names):
        raise TypeError(
            "profile: activities must be a list of members of opyard.profiler.ProfilerActivity, "
            f"not {given!r}"
        )
    return "CPU" in names, [f"activities={name}" for name in names if name != "CPU"]


# Parameters of torch.profiler.profile that do nothing here; giving one is warned of.
_WITHOUT_MEANING = frozenset(
    {
        "acc_events",
        "custom_trace_id_callback",
        "execution_trace_observer",
        "experimental_config",
        "post_processing_timeout_s",
        "use_cuda",
        "with_flops",
    }
)


def read_patterns(name: str, patterns: str | Iterable[str]) -> tuple[str, ...]:
    """As the tracer takes them: a path is whole, and a file's name alone is meant in any folder."""
    several = hasattr(patterns, "__iter__") and not isinstance(patterns, str)
    texts = tuple(patterns) if several else (patterns,)
    for text in texts:
        if not isinstance(text, str) or not text:
            raise TypeError(
                f"{name} takes names of modules, beginnings of file names and shell patterns, "
                f"not {text!r}"
            )
    read = []
    for text in texts:
        if "/" in text:
            read.append(text if text.startswith(("*", "/")) else os.path.abspath(text))
            continue
        read.append(text)
        if text.endswith(".py") and not text.startswith("*"):
            read.append(f"*/{text}")
    return tuple(read)


def _require_depth(depth: int | None) -> int:
    if depth is None:
        return 0
    if not isinstance(depth, int) or not 0 < depth < 1 << 31:
        raise ValueError(f"max_depth is at least 1, or None for any; not {depth!r}")
    return depth


def _require_nanoseconds(microseconds: float) -> int:
    if not isinstance(microseconds, (int, float)) or not 0 <= microseconds < 1e12:
        raise ValueError(f"min_duration must be a number of microseconds, not {microseconds!r}")
    return int(microseconds * 1000)


def _place_of_caller() -> str:
    """The file and the line of the call into this module."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


class profile(Results):
    """Captures what every thread of this interpreter does while it is active.

    Python's calls are captured unless `with_stack` is false, and those of functions in C unless
    `c_calls` is. `with_modules` shows calls of modules and optimizers by instance. Each kernel of
    each operator is captured, on every thread of the process, unless `operators` is false;
    `record_shapes` notes the sizes and dtypes of their arguments, and `profile_memory` what memory
    tensors take and give back.

    `include` and `exclude` name what is captured and what is left out: modules and packages
    ("app.models"), beginnings of file names ("/home/me/app"), files ("slow.py") and shell patterns
    ("*/test_*.py"). `max_depth` leaves out calls that are further inside each other, counted from
    where the profile begins, and `min_duration` those that take fewer microseconds. `caller_lines`
    notes the line that each call is made from. `lines` names functions whose time is told by line:
    by their names ("parse", "Reader.*"), with their modules ("app.models.parse") or by their files
    ("slow.py"); line_times() has it. `lines=True` is for the functions of the program that take
    most, up to ten: each is found while it runs, and timed from then on. With a `schedule`, step()
    says where a step ends, and `on_trace_ready` is called with the profile at the end of each
    cycle.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], object] | None = None,
        with_stack: bool = True,
        with_modules: bool = True,
        c_calls: bool = True,
        caller_lines: bool = False,
        lines: bool | str | Iterable[str] = (),
        include: str | Iterable[str] = (),
        exclude: str | Iterable[str] = (),
        max_depth: int | None = None,
        min_duration: float = 0.0,
        operators: bool = True,
        record_shapes: bool = False,
        profile_memory: bool = False,
        **others: object,
    ) -> None:
        unknown = next((name for name in others if name not in _WITHOUT_MEANING), None)
        if unknown is not None:
            code = profile.__init__.__code__
            raise refuse_keyword(
                "profile", unknown, code.co_varnames[1 : code.co_kwonlyargcount + 1]
            )
        cpu, given = _read_activities(activities)
        given += sorted(name for name, value in others.items() if value)
        if given:
            import warnings

            warnings.warn(
                f"profile() does nothing for these arguments: {', '.join(given)}", stacklevel=2
            )
        # As _tracer.start() takes them.
        self._options = (
            with_stack and cpu,
            c_calls,
            with_modules,
            with_stack and cpu,
            operators and cpu,
            record_shapes,
            profile_memory and cpu,
            caller_lines,
            _require_depth(max_depth),
            _require_nanoseconds(min_duration),
            read_patterns("include", include),
            read_patterns("exclude", exclude),
            () if isinstance(lines, bool) else read_patterns("lines", lines),
            lines is True,
            *own_code(),
        )
        super().__init__(stack=with_stack and cpu, lines=caller_lines, memory=profile_memory)
        called: dict[str, Any] = {"schedule": schedule, "on_trace_ready": on_trace_ready}
        for name, given in called.items():
            if given is not None and not callable(given):
                kind = type(given).__name__
                raise TypeError(f"profile: {name} must be a function, not an object of {kind}")
        self._schedule = schedule or always
        self._has_steps = schedule is not None
        self._on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._step_key = 0
        self._thread = 0  # that began it
        self._is_on = [False]  # a list, which outlives it: see _dropped()
        self._entered = False
        self._started_at = ""  # a file and a line
        self._folder: str | None = None  # that the command keeps the capture in
        self._program = ""

    # Life cycle. What Python runs between _tracer.start() and _tracer.stop() is captured: nothing
    # is called in between that need not be.

    def start(self) -> None:
        """Begins as a `with` block does; raises RuntimeError if it has begun."""
        if self._entered:
            raise RuntimeError("the profile has been started already; stop it first")
        self._started_at = _place_of_caller()
        refresh_classes()
        self.current_action = self._require_action()
        if self.current_action is not ProfilerAction.NONE:
            self._begin()
        self._entered = True

    def stop(self) -> None:
        """Ends it and makes the results; raises RuntimeError if it has not begun."""
        if not self._entered:
            raise RuntimeError("the profile has not been started; call start() before stop()")
        self._entered = False
        ending = ENDINGS[self.current_action._value_]
        self.current_action = ProfilerAction.NONE
        self._do(ending)

    def step(self) -> None:
        """Says that a step of the program ends here, and the next one begins."""
        if not self._entered:
            raise RuntimeError("step() belongs inside a profile; start it first")
        before = self.current_action
        self.step_num += 1
        self.current_action = self._require_action()
        what = TRANSITIONS[before._value_, self.current_action._value_]
        if not what and self._is_on[0]:
            _tracer.exit_step(self._step_key)
            self._enter_step()
            _tracer.renew()
            return
        if "warn" in what:
            import warnings

            warnings.warn(
                f"Incorrect schedule: {before.name} followed by {self.current_action.name}",
                stacklevel=2,
            )
        self._do(what)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._entered:
            self.stop()

    def __repr__(self) -> str:
        if self._entered:
            now = "captures" if self._is_on[0] else "waits for its next step"
            return f"<profile: {now}, started at {self._started_at}>"
        return "<profile: not started>" if self._profile is None else "<profile: has ended>"

    def _require_action(self) -> ProfilerAction:
        action = self._schedule(self.step_num)
        return action if type(action) is ProfilerAction else member_of(action, self.step_num)

    def _do(self, what: tuple[str, ...]) -> None:
        if what and what[0] != "start":
            self._end(keep="drop" not in what)
        if "ready" in what and self._on_trace_ready is not None:
            self._on_trace_ready(self)
        if "start" in what:
            self._begin()

    def _begin(self) -> None:
        others = _tracer.is_active()
        _active.add(self, partial(_dropped, self._is_on))
        self._thread = _thread.get_ident()
        try:
            if self._folder is None:
                _tracer.start(*self._options)
            else:
                _tracer.start_in(self._options, self._folder, self._program)
            self._is_on[0] = True
        except BaseException as error:
            # An interrupt may come after the start.
            if not others and not isinstance(error, Exception) and _tracer.is_active():
                _tracer.stop()
            self._is_on[0] = False
            _active.discard(self)
            if isinstance(error, RuntimeError) and (running := active()) is not None:
                raise RuntimeError(f"{error} It is {running!r}.") from None
            raise
        if self._has_steps:
            self._enter_step()

    def _enter_step(self) -> None:
        self._step_key = _tracer.annotation(f"ProfilerStep#{self.step_num}")
        _tracer.enter_step(self._step_key)

    def _end(self, *, keep: bool) -> None:
        if not self._is_on[0]:
            return
        if self._has_steps:
            _tracer.exit_step(self._step_key)
        try:
            self._is_on[0] = False
            captured = _tracer.stop()
        except BaseException:
            self._is_on[0] = _tracer.is_active()
            raise
        _active.discard(self)
        if keep:
            name_threads(captured)
            name_files(captured)
            self._lines = lines_of(captured)
            self._profile = captured


_active = Active()


def _dropped(is_on: list[bool]) -> None:
    """Nobody could stop it any more. It is not on if an interrupt came behind the stop."""
    if is_on[0]:
        _tracer.stop()
        lost = ", and what it had captured is lost"
        warn_of_dropped("a profile", lost, "with profile() as prof:")


def active() -> profile | None:
    """The profile of this interpreter that captures, whoever began it; its text says where."""
    return next((one for one in _active.all() if one._is_on[0]), None)


def stop_active() -> profile | None:
    """Stops the profile of this interpreter that captures, whoever began it, and gives it.

    None if there is none.
    """
    found = active()
    if found is not None:
        found.stop()
    return found


@atexit.register
def _stop_all() -> None:
    """Python may end with a profile on; nothing may be captured while it is taken apart."""
    for one in _active.all():
        one._end(keep=True)


def _end_without_thread() -> None:
    """In a forked child the profile of a thread that is not there ends: no one could stop it.

    One that the command keeps in files goes on there.
    """
    profiles = _active.all()
    keeps = bool(profiles) and _tracer.begin_child()
    for one in profiles:
        if keeps:
            one._thread = _thread.get_ident()
        elif one._thread != _thread.get_ident():
            one._end(keep=True)
            one._entered = False
            one.current_action = ProfilerAction.NONE


os.register_at_fork(after_in_child=_end_without_thread)


class record_function:
    """A named range in the profile, as a context manager or a decorator.

    `args` is a text that the profile shows with it. Ranges of one name are one row of the tables.
    """

    __slots__ = ("_key", "args", "name")

    def __init__(self, name: str, args: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a range must be a str, not {type(name).__name__}")
        if args is not None and not isinstance(args, str):
            raise TypeError(f"the args of a range must be a str or None, not {type(args).__name__}")
        self.name, self.args = name, args
        self._key = 0  # of the name, once something has been captured of it

    def __enter__(self) -> record_function:
        self._key = _tracer.begin_range(self.name, self.args, self._key)
        return self

    def __exit__(self, *exception: object) -> None:
        _tracer.end_range(self.name, self._key)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        from functools import wraps

        @wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        _tracer.hide(within.__code__)
        return within


def watch_future(future: _Future, name: str = "future") -> _Future:
    """Shows a future in the profile, from now on until it is completed, on whichever thread.

    Any future will do that has add_done_callback(): of opyard.futures, concurrent.futures, asyncio.
    Gives it back. Without a profile this does nothing.
    """
    if _tracer.is_active():
        from functools import partial

        key = _tracer.annotation(name)
        done = partial(_tracer.end_future, key, _tracer.begin_future(key))
        future.add_done_callback(done)  # type: ignore[attr-defined]
    return future


@names_keywords
def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """For on_trace_ready: writes each profile to a file of its own in a folder, which is made."""
    import socket
    import time

    require_path("tensorboard_trace_handler", dir_name, "dir_name")

    def write(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return write


for _method in (
    profile.start,
    profile.stop,
    profile.step,
    profile.__enter__,
    profile.__exit__,
    profile._do,
    profile._require_action,
    profile._begin,
    profile._enter_step,
    profile._end,
    _dropped,
    _place_of_caller,
    _end_without_thread,
    watch_future,
    record_function.__init__,
    record_function.__enter__,
    record_function.__exit__,
):
    _tracer.hide(_method.__code__)
