"""python -m opyard.profiler: running a program under a profile, and comparing two traces.

The program sees the arguments, the exit code, the traceback and the signals that it would see
without us: an exception leaves through the interpreter's own main loop, and the trace is written by
the last exit handler.
"""

from __future__ import annotations

import argparse
import atexit
import io
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from .exports import FORMATS, export, format_of
from .session import profile

if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Any

_USAGE = """\
python -m opyard.profiler [options] SCRIPT [argument ...]
       python -m opyard.profiler [options] -m MODULE [argument ...]
       python -m opyard.profiler diff AFTER BEFORE"""


def _read_arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m opyard.profiler", usage=_USAGE, allow_abbrev=False)
    parser.add_argument("-o", "--output", metavar="FILE", help="where the trace is written to")
    parser.add_argument("-f", "--format", choices=FORMATS, help="else the ending of FILE says it")
    parser.add_argument("--include", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--exclude", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--max-depth", type=int, metavar="N")
    parser.add_argument("--min-duration", type=float, default=0.0, metavar="MICROSECONDS")
    parser.add_argument("--lines", action="store_true", help="note the line of each call")
    parser.add_argument("--no-c-calls", action="store_true", help="leave functions in C out")
    parser.add_argument("--record-shapes", action="store_true")
    parser.add_argument("--profile-memory", action="store_true")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE")
    parser.add_argument("script", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    options.program = options.module or options.script
    if not options.program:
        parser.error("name a script, or -m and a module")
    if options.output is not None and options.format is None:
        try:
            options.format = format_of(options.output)
        except ValueError as error:
            parser.error(str(error))
    return options


class _Run:
    """One program under a profile."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        # The program may change its folder.
        self.output = None if options.output is None else os.path.abspath(options.output)
        self.process = os.getpid()
        self.profile = profile(
            c_calls=not options.no_c_calls,
            lines=options.lines,
            include=options.include,
            exclude=options.exclude,
            max_depth=options.max_depth,
            min_duration=options.min_duration,
            record_shapes=options.record_shapes,
            profile_memory=options.profile_memory,
        )

    def finish(self) -> None:
        """The last exit handler, since it is the first that is registered."""
        if self.profile._entered:
            self.profile.stop()
        # In a child of a fork the file is its parent's; a program that did not begin has no trace.
        if os.getpid() != self.process or self.profile._trace is None:
            return
        if self.output is None:
            table = self.profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=40)
            sys.stderr.write(table)
            return
        export(self.profile._trace, self.profile._metadata, self.output, self.options.format)


def _hide_our_frames() -> None:
    """Tracebacks begin where they would without us."""
    shown = sys.excepthook

    def show(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> Any:
        at, first = traceback, traceback
        while at is not None:
            if at.tb_frame.f_code.co_filename == __file__:
                first = at.tb_next
            at = at.tb_next
        return shown(kind, error.with_traceback(first), first)

    sys.excepthook = show


def _new_main() -> ModuleType:
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = main
    return main


def _compile(script: str) -> CodeType:
    try:
        with io.open_code(script) as file:
            return compile(file.read(), script, "exec", dont_inherit=True)
    except OSError as error:
        message = f"{sys.executable}: can't open file {script!r}"
        raise SystemExit(f"{message}: [Errno {error.errno}] {error.strerror}") from None


def _run_script(run: _Run, script: str) -> None:
    sys.path[0] = os.path.dirname(os.path.realpath(script))
    script = os.path.abspath(script)  # as Python names it
    main = _new_main()
    main.__file__ = script
    main.__dict__["__cached__"] = None
    code = _compile(script)
    with run.profile:
        exec(code, main.__dict__)


def _run_module(run: _Run, module: str) -> None:
    import runpy

    _new_main()
    with run.profile:
        runpy._run_module_as_main(module)  # type: ignore[attr-defined]


def main(given: list[str]) -> None:
    if given[:1] == ["diff"]:
        from .compare import compare_files

        return compare_files(given[1:])
    options = _read_arguments(given)
    run = _Run(options)
    atexit.register(run.finish)
    sys.argv[:] = options.program
    try:
        if options.module:
            _run_module(run, options.program[0])
        else:
            _run_script(run, options.program[0])
    except SystemExit:
        raise
    except BaseException:
        _hide_our_frames()
        raise
