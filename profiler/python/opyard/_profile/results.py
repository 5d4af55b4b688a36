"""Results of a profile or a flight recorder: events, tables, exports."""

from __future__ import annotations

import os
import sys

from .._core.keywords import names_keywords

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest
if TYPE_CHECKING:
    from typing import Any

    from .averages import Averages, DispatchKeyTimes
    from .compare import Difference
    from .events import Events, Task
    from .leaves import MemoryEvent
    from .lines import FunctionLines, LineTimes


def prefixes() -> list[str]:
    """Where modules are found, longest first: what file names begin with and need not show."""
    places = {os.path.abspath(place) for place in sys.path}
    return sorted((place.rstrip("/") + "/" for place in places if place != "/"), key=len)[::-1]


def _libraries() -> list[str]:
    """Folders of the standard library and of Opyard; those of other packages say so themselves."""
    ours = sys.modules[__name__.partition(".")[0]].__path__
    return [f"{place}/" for place in (os.path.dirname(os.__file__), *ours)]


def _own_files() -> list[str]:
    """The package that is run, or the file: it may be an installed one."""
    main = sys.modules.get("__main__")
    package = (getattr(main, "__package__", None) or "").partition(".")[0]
    if package == "opyard":
        return []
    places = getattr(sys.modules.get(package), "__path__", ())
    file = getattr(main, "__file__", None)
    return [f"{place}/" for place in places] or ([os.path.abspath(file)] if file else [])


def own_code() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Beginnings of names of files of libraries, and of those that are the program's anyway."""
    return tuple(_libraries()), tuple(_own_files())


def name_files(profile: Any) -> None:
    """Which part of a file's name is not shown, and whose functions are folded."""
    profile.set_files(tuple(prefixes()), *own_code())


def name_threads(profile: Any) -> None:
    """Those that are alive. A program that never imported threading has named no thread."""
    threading = sys.modules.get("threading")
    for thread in () if threading is None else threading.enumerate():
        if thread.ident:
            profile.name_thread(thread.ident, thread.native_id or 0, str(thread.name))


_said = [False]  # of exits without an enter, once in a process


class Results:
    """The events of a capture."""

    _warns = True  # of what is wrong with it, on first use
    _sort_by = "self_cpu_time_total"  # of tables that nobody asked to sort

    def __init__(self, *, stack: bool, lines: bool, memory: bool) -> None:
        self._has_stack, self._has_lines, self._has_memory = stack, lines, memory
        self._profile: Any = None
        self._metadata: dict[str, str] = {}
        self._lines: list[FunctionLines] = []

    def _require_captured(self) -> Any:
        if self._profile is None:
            raise RuntimeError(
                "the profile has captured nothing yet: start and stop it before asking for results"
            )
        return self._profile

    def _require_profile(self) -> Any:
        captured = self._require_captured()
        if self._warns and not _said[0] and (dropped := captured.dropped_exits()):
            _said[0] = True
            import warnings

            warnings.warn(
                f"the profile left out {dropped} ends of what had not begun in it: calls that were "
                "open before it, or whose begin was lost; data_quality() counts them for each "
                "profile, and this warning comes once",
                RuntimeWarning,
                stacklevel=3,
            )
        return captured

    def events(self) -> Events:
        """Everything that was captured, in the order of the starts within each thread."""
        from .events import Events

        return Events(self._require_profile())

    @names_keywords
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
        calls a function, if `caller_lines` was asked for.
        """
        if group_by_line and not self._has_lines:
            raise RuntimeError("group_by_line needs a profile with caller_lines=True")
        if not isinstance(group_by_stack_n, int):
            kind = type(group_by_stack_n).__name__
            raise TypeError(
                f"key_averages: group_by_stack_n must be an int, not an object of {kind}"
            )
        from .averages import Averages

        return Averages(
            self._require_profile(),
            stack=group_by_stack_n,
            shapes=group_by_input_shape,
            keys=group_by_dispatch_key,
            lines=group_by_line,
            memory=self._has_memory,
        )

    def line_times(self) -> LineTimes:
        """Time and counts by line of the functions that `lines` names; those that take most first.

        A line's time has what it calls, but for calls of the function that it is in: those count at
        their own lines. Lines of child processes are not known.
        """
        from .lines import LineTimes

        self._require_profile()
        return LineTimes(self._lines)

    def dispatch_keys(self) -> DispatchKeyTimes:
        """How much time was spent at each dispatch key, in its kernels and in none inside them."""
        from .averages import DispatchKeyTimes

        return DispatchKeyTimes(self._require_profile())

    def memory_timeline(self) -> list[MemoryEvent]:
        """Memory that tensors took and gave back, in the order of time; needs `profile_memory`."""
        from .events import memory_timeline

        return memory_timeline(self._require_profile())

    def diff(self, other: Results) -> Difference:
        """What takes longer here than in another profile, as a table; the largest change first.

        Its flame_graph(path) writes a picture of the same.
        """
        from .compare import Difference, times_of

        return Difference(times_of(self._require_profile()), times_of(other._require_profile()))

    def data_quality(self) -> dict[str, Any]:
        """What was lost or made up, which clock it was, and what an event costs on this machine."""
        import json

        return json.loads(self._require_captured().quality())

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

        return tasks(self._require_profile())

    @names_keywords
    def export(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Writes the profile; compressed if the path ends in .gz.

        `format` is "chrome" (JSON), "perfetto" or "pprof" (protocol buffers), "speedscope" (JSON),
        "stacks" (collapsed ones, for flame graphs), "pstats" or "html" (one page with everything,
        for any browser). Without one the ending of the path says it, and one that says another
        format is refused.
        """
        from .exports import export

        export(self._require_profile(), self._metadata, path, format)

    def export_memory_timeline(self, path: str | os.PathLike[str]) -> None:
        """Writes memory_timeline() as JSON: a list of objects; compressed if the path ends in .gz.

        Needs `profile_memory`.
        """
        if not self._has_memory:
            raise RuntimeError("export_memory_timeline() requires profile_memory=True")
        from .exports import export_memory

        export_memory(self.memory_timeline(), path)

    def get_trace_id(self) -> str:
        """Tells this capture from all others, of other processes too: 32 digits."""
        begin, duration = self._require_profile().times()
        return f"{begin:016x}{os.getpid():08x}{duration & 0xFFFFFFFF:08x}"

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the profile in Chrome's JSON format; compressed if the path ends in .gz."""
        self.export(path, "chrome")

    @names_keywords
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
        if self._profile is None:
            return "<p>a profile that has captured nothing yet</p>"
        from .exports import frame_of

        table = self.key_averages().html_table(sort_by=self._sort_by, row_limit=20)
        return frame_of(self._profile, self._metadata) + table
