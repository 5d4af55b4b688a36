"""opyard.profiler's profile and record_function: starting, stopping, steps, exporting."""

from __future__ import annotations

import _thread
import atexit
import os
import sys
from enum import Enum

from .. import _tracer
from .classes import refresh_classes
from .schedule import ENDINGS, TRANSITIONS, ProfilerAction, always

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any, TypeVar

    from .averages import Averages, DispatchKeyTimes
    from .compare import Difference
    from .events import Events, MemoryEvent, Task

    _Future = TypeVar("_Future")


class ProfilerActivity(Enum):
    """What can be recorded."""

    CPU = 0


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


def _prefixes() -> list[str]:
    """Where modules are found, longest first: what file names begin with and need not show."""
    places = {os.path.abspath(place) for place in sys.path}
    return sorted((place.rstrip("/") + "/" for place in places if place != "/"), key=len)[::-1]


def _name_threads(trace: Any) -> None:
    """Those that are alive. A program that never imported threading has named no thread."""
    threading = sys.modules.get("threading")
    for thread in () if threading is None else threading.enumerate():
        if thread.ident:
            trace.name_thread(thread.ident, thread.native_id or 0, str(thread.name))


def read_patterns(name: str, patterns: str | Iterable[str]) -> tuple[str, ...]:
    """As the tracer takes them: a path is whole."""
    texts = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    for text in texts:
        if not isinstance(text, str) or not text:
            raise TypeError(
                f"{name} takes names of modules, beginnings of file names and shell patterns, "
                f"not {text!r}"
            )
    return tuple(
        os.path.abspath(text) if "/" in text and not text.startswith(("*", "/")) else text
        for text in texts
    )


def _require_depth(depth: int | None) -> int:
    if depth is None:
        return 0
    if not isinstance(depth, int) or not 0 < depth < 1 << 31:
        raise ValueError(f"max_depth is at least 1, or None for any; not {depth!r}")
    return depth


def _require_nanoseconds(microseconds: float) -> int:
    if not 0 <= microseconds < 1e12:
        raise ValueError(f"min_duration is a number of microseconds, not {microseconds!r}")
    return int(microseconds * 1000)


class profile:
    """Records what every thread of this interpreter does while it is active.

    Python's calls are recorded unless `with_stack` is false, and those of functions in C unless
    `c_calls` is. `with_modules` shows calls of modules and optimizers by instance. Each kernel of
    each operator is recorded, on every thread of the process, unless `operators` is false;
    `record_shapes` notes the sizes and dtypes of their arguments, and `profile_memory` what memory
    tensors take and give back.

    `include` and `exclude` name what is recorded and what is left out: modules and packages
    ("app.models"), beginnings of file names ("/home/me/app") and shell patterns of them
    ("*/test_*.py"). `max_depth` leaves out calls that are further inside each other, counted from
    where the profile begins, and `min_duration` those that take fewer microseconds. `lines` notes
    the line that each call is made from. With a `schedule`, step() says where a step ends, and
    `on_trace_ready` is called with the profile at the end of each cycle.
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
        lines: bool = False,
        include: str | Iterable[str] = (),
        exclude: str | Iterable[str] = (),
        max_depth: int | None = None,
        min_duration: float = 0.0,
        operators: bool = True,
        record_shapes: bool = False,
        profile_memory: bool = False,
        **others: object,
    ) -> None:
        unknown = others.keys() - _WITHOUT_MEANING
        if unknown:
            raise TypeError(f"profile() got unexpected arguments: {', '.join(sorted(unknown))}")
        given = sorted(name for name, value in others.items() if value)
        if given:
            import warnings

            warnings.warn(
                f"profile() does nothing for these arguments: {', '.join(given)}", stacklevel=2
            )
        wanted = set(ProfilerActivity) if activities is None else set(activities)
        if not wanted <= set(ProfilerActivity):
            raise TypeError("activities are members of opyard.profiler.ProfilerActivity")
        cpu = ProfilerActivity.CPU in wanted
        # As _tracer.start() takes them.
        self._options = (
            with_stack and cpu,
            c_calls,
            with_modules,
            with_stack and cpu,
            operators and cpu,
            record_shapes,
            profile_memory and cpu,
            lines,
            _require_depth(max_depth),
            _require_nanoseconds(min_duration),
            read_patterns("include", include),
            read_patterns("exclude", exclude),
        )
        self._has_stack = with_stack and cpu
        self._has_lines = lines
        self._has_memory = profile_memory
        self._schedule = schedule or always
        self._has_steps = schedule is not None
        self._on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._step_key = 0
        self._recording = False
        self._thread = 0  # that began it
        self._entered = False
        self._trace: Any = None
        self._metadata: dict[str, str] = {}

    # Life cycle. What Python runs between _tracer.start() and _tracer.stop() is recorded: nothing
    # is called in between that need not be.

    def start(self) -> None:
        if self._entered:
            raise RuntimeError("the profile has been started already; stop it first")
        refresh_classes()
        self.current_action = self._schedule(self.step_num)
        if self.current_action is not ProfilerAction.NONE:
            self._begin()
        self._entered = True

    def stop(self) -> None:
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
        self.current_action = self._schedule(self.step_num)
        what = TRANSITIONS[before._value_, self.current_action._value_]
        if not what and self._recording:
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

    def _do(self, what: tuple[str, ...]) -> None:
        if what and what[0] != "start":
            self._end(keep="drop" not in what)
        if "ready" in what and self._on_trace_ready is not None:
            self._on_trace_ready(self)
        if "start" in what:
            self._begin()

    def _begin(self) -> None:
        _running.add(self)
        self._thread = _thread.get_ident()
        try:
            _tracer.start(*self._options)
        except BaseException:
            _running.discard(self)
            raise
        self._recording = True
        if self._has_steps:
            self._enter_step()

    def _enter_step(self) -> None:
        self._step_key = _tracer.annotation(f"ProfilerStep#{self.step_num}")
        _tracer.enter_step(self._step_key)

    def _end(self, *, keep: bool) -> None:
        if not self._recording:
            return
        if self._has_steps:
            _tracer.exit_step(self._step_key)
        trace = _tracer.stop()
        self._recording = False
        _running.discard(self)
        if keep:
            _name_threads(trace)
            trace.set_prefixes(_prefixes())
            self._trace = trace

    # What was recorded.

    def _require_trace(self) -> Any:
        if self._trace is None:
            raise RuntimeError(
                "the profile has recorded nothing yet: start and stop it before asking for results"
            )
        return self._trace

    def events(self) -> Events:
        """Everything that was recorded, in the order of the starts within each thread."""
        from .events import Events

        return Events(self._require_trace())

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        *,
        group_by_dispatch_key: bool = False,
        group_by_line: bool = False,
    ) -> Averages:
        """One row for each function, operator and range: how often, and how long.

        All kernels of an operator are in its row. `group_by_input_shape` gives each combination of
        shapes a row of its own, if `record_shapes` was asked for; `group_by_dispatch_key` gives
        each dispatch key one, and then counts kernels. `group_by_line` gives one to each line that
        calls a function, if `lines` was asked for.
        """
        if group_by_line and not self._has_lines:
            raise RuntimeError("group_by_line needs a profile with lines=True")
        from .averages import Averages

        return Averages(
            self._require_trace(),
            stack=group_by_stack_n,
            shapes=group_by_input_shape,
            keys=group_by_dispatch_key,
            lines=group_by_line,
            memory=self._has_memory,
        )

    def dispatch_keys(self) -> DispatchKeyTimes:
        """How much time was spent at each dispatch key, in its kernels and in none inside them."""
        from .averages import DispatchKeyTimes

        return DispatchKeyTimes(self._require_trace())

    def memory_timeline(self) -> list[MemoryEvent]:
        """Memory that tensors took and gave back, in the order of time; needs `profile_memory`."""
        from .events import memory_timeline

        return memory_timeline(self._require_trace())

    def diff(self, other: profile) -> Difference:
        """What takes longer here than in another profile, as a table; the largest change first.

        Its flame_graph(path) writes a picture of the same.
        """
        from .compare import Difference, times_of

        return Difference(times_of(self._require_trace()), times_of(other._require_trace()))

    def data_quality(self) -> dict[str, Any]:
        """What was lost or made up, which clock it was, and what an event costs on this machine."""
        import json

        return json.loads(self._require_trace().quality())

    def add_metadata(self, key: str, value: str) -> None:
        """A text that the exports carry."""
        import json

        self._metadata[key] = json.dumps(str(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """A JSON value, as text, that the exports carry."""
        import json

        self._metadata[key] = json.dumps(json.loads(value))

    preset_metadata_json = add_metadata_json

    def tasks(self) -> list[Task]:
        """What each task of asyncio did that ran within the profile: when it ran, and awaited."""
        from .events import tasks

        return tasks(self._require_trace())

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Writes the trace; compressed if the path ends in .gz.

        `format` is "chrome" (JSON), "perfetto" (protocol buffers), "speedscope" (JSON), "stacks"
        (collapsed ones, for flame graphs), "pstats" or "html" (one page with everything, for any
        browser); without one the path says it.
        """
        from .exports import export

        export(self._require_trace(), self._metadata, path, format)

    def export_memory_timeline(self, path: str | os.PathLike[str]) -> None:
        """Writes memory_timeline() as JSON: a list of objects; compressed if the path ends in .gz.

        Needs `profile_memory`.
        """
        if not self._has_memory:
            raise RuntimeError("export_memory_timeline() requires profile_memory=True")
        from .exports import export_memory

        export_memory(self.memory_timeline(), path)

    def get_trace_id(self) -> str:
        """Tells this recording from all others, of other processes too: 32 digits."""
        begin, duration = self._require_trace().times()
        return f"{begin:016x}{os.getpid():08x}{duration & 0xFFFFFFFF:08x}"

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the trace in Chrome's JSON format; compressed if the path ends in .gz."""
        self.export(path, "chrome")

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Writes collapsed stacks: a line for each that has time of its own, in nanoseconds."""
        metrics = ["self_cpu_time_total"]
        if metric not in metrics:
            raise ValueError(f"metric should be one of: {metrics}")
        if not self._has_stack:
            raise RuntimeError("export_stacks() requires with_stack=True")
        self.export(path, "stacks")

    def _repr_html_(self) -> str:
        import html

        if self._trace is None:
            return "<p>a profile that has recorded nothing yet</p>"
        table = self.key_averages().table(sort_by="self_cpu_time_total", row_limit=20)
        return f"<pre>{html.escape(table)}</pre>"


_running: set[profile] = set()


@atexit.register
def _stop_all() -> None:
    """Python may end with a profile on; nothing may be recorded while it is taken apart."""
    for active in list(_running):
        active._end(keep=True)


def _end_without_thread() -> None:
    """In a forked child the profile of a thread that is not there ends: no one could stop it."""
    for active in list(_running):
        if active._thread != _thread.get_ident():
            active._end(keep=True)
            active._entered = False
            active.current_action = ProfilerAction.NONE


os.register_at_fork(after_in_child=_end_without_thread)


class record_function:
    """A named range in the trace, as a context manager or a decorator."""

    __slots__ = ("_key", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._key = _tracer.annotation(name)

    def __enter__(self) -> record_function:
        _tracer.enter(self._key)
        return self

    def __exit__(self, *exception: object) -> None:
        _tracer.exit(self._key)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        from functools import wraps

        @wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return within


def watch_future(future: _Future, name: str = "future") -> _Future:
    """Shows a future in the trace, from now on until it is completed, on whichever thread.

    Any future will do that has add_done_callback(): of opyard.futures, concurrent.futures, asyncio.
    Gives it back. Without a profile this does nothing.
    """
    if _tracer.is_active():
        from functools import partial

        key = _tracer.annotation(name)
        done = partial(_tracer.end_future, key, _tracer.begin_future(key))
        future.add_done_callback(done)  # type: ignore[attr-defined]
    return future


def tensorboard_trace_handler(
    folder: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """For on_trace_ready: writes each trace to a file of its own in the folder, which is made."""
    import socket
    import time

    def write(prof: profile) -> None:
        os.makedirs(folder, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(folder, name))

    return write


for _method in (
    profile.start,
    profile.stop,
    profile.step,
    profile.__enter__,
    profile.__exit__,
    profile._do,
    profile._begin,
    profile._enter_step,
    profile._end,
    _end_without_thread,
    watch_future,
    record_function.__init__,
    record_function.__enter__,
    record_function.__exit__,
):
    _tracer.hide(_method.__code__)
