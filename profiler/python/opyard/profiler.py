"""One timeline of a program: Python's calls, C's calls, ranges of your own.

    with opyard.profiler.profile() as prof:
        work()
    prof.export_chrome_trace("trace.json")      # open it in https://ui.perfetto.dev
    print(prof.key_averages().table(sort_by="self_cpu_time_total"))

It needs no tensors: any Python program can be profiled. `import opyard` does not load this
module; naming it does. In a notebook, `%load_ext opyard.profiler` adds the cell magic %%profile.
"""

from ._core import late as _late
from ._profile.classes import show_instances
from ._profile.flight import active_recorder, flight_recorder
from ._profile.observe import active_observers, observe
from ._profile.sampling import active_sample, sample
from ._profile.schedule import ProfilerAction, schedule
from ._profile.scopes import RecordScope
from ._profile.session import (
    ProfilerActivity,
    active,
    profile,
    record_function,
    stop_active,
    tensorboard_trace_handler,
    watch_future,
)

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "RecordScope",
    "active",
    "active_observers",
    "active_recorder",
    "active_sample",
    "flight_recorder",
    "observe",
    "profile",
    "record_function",
    "sample",
    "schedule",
    "show_instances",
    "stop_active",
    "tensorboard_trace_handler",
    "watch_future",
]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())


def load_ipython_extension(ipython: object) -> None:
    """For %load_ext: the cell magic %%profile runs a cell and shows its profile."""

    from ._profile.notebook import register

    register(ipython)


if __name__ == "__main__":
    import sys

    from ._profile.command import main

    main(sys.argv[1:])
