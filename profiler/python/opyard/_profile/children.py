"""Following the children of a program that the command runs, into the folder of its capture.

The child of a fork goes on capture by itself, see opyard/detail/profiler/files.h. The interpreters
that multiprocessing starts get a line in front of theirs, which begins a profile; so does its fork
server, whose children are forks. Whatever else is started is another program, and is counted: see
tracer/programs.h.
"""

from __future__ import annotations

import sys

from .. import _tracer
from .session import profile

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest
if TYPE_CHECKING:
    from typing import Any

_INTERPRETERS = (
    "from multiprocessing.spawn import ",
    "from multiprocessing.forkserver import ",
    "import sys; from multiprocessing.forkserver import ",  # from CPython 3.14 on
)
_HELPERS = ("from multiprocessing.resource_tracker import ",)  # run nothing of the program
# A child that cannot import opyard runs without a profile, and is missed in the folder.
_LINES = """
try:
 from opyard._profile import children
except ImportError:
 pass
else:
 children.begin(*{arguments!r})
"""


class Following:
    """What a program starts, from begin() on to its end."""

    def __init__(self, options: tuple[Any, ...], folder: str, program: str) -> None:
        lines = _LINES.format(arguments=(options, folder, program))
        self._line = f"exec({lines!r}); "
        self.interpreters = 0  # that were asked to capture

    def begin(self) -> None:
        self._watch_processes()
        _tracer.watch_programs()

    def _watch_processes(self) -> None:
        import _posixsubprocess

        original = _posixsubprocess.fork_exec

        def fork_exec(args: Any, *rest: Any) -> int:
            return original(self._with_line(args), *rest)

        _tracer.hide(fork_exec.__code__)
        _posixsubprocess.fork_exec = fork_exec
        # From CPython 3.11 on subprocess has a name of its own for it.
        subprocess = sys.modules.get("subprocess")
        if getattr(subprocess, "_fork_exec", None) is original:
            subprocess._fork_exec = fork_exec  # type: ignore[union-attr]

    def _with_line(self, args: Any) -> Any:
        for n, argument in enumerate(args):
            if argument == "-c" and n + 1 < len(args) and isinstance(args[n + 1], str):
                if args[n + 1].startswith(_INTERPRETERS):
                    self.interpreters += 1
                    return [*args[: n + 1], self._line + args[n + 1], *args[n + 2 :]]
                if args[n + 1].startswith(_HELPERS):
                    return args
        _tracer.count_program()
        return args


_of_this_process: profile | None = None  # which captures to the end: nobody else holds it


def begin(options: tuple[Any, ...], folder: str, program: str) -> None:
    """In an interpreter that multiprocessing has started. It captures until it ends."""
    global _of_this_process
    active = _of_this_process = profile()
    active._options = options
    active._folder, active._program = folder, program
    following = Following(options, folder, program)
    try:
        active.start()
        following.begin()
    except Exception as error:  # the program comes first
        sys.stderr.write(f"opyard: a child process is not profiled: {error}\n")


for _method in (
    begin,
    Following.begin,
    Following._watch_processes,
    Following._with_line,
):
    _tracer.hide(_method.__code__)
