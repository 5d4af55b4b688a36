"""python -m opyard.profiler: a program under a profile; two profiles compared; one recovered.

The program sees the arguments, the exit code, the traceback and the signals that it would see
without us: an exception leaves through the interpreter's own main loop, and the profile is written
by the last exit handler. Meanwhile what is captured is written to a folder, to which the program's
children write, too, and from which `recover` makes a profile if the program is killed.
"""

from __future__ import annotations

import argparse
import atexit
import io
import json
import os
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING

from .. import _tracer
from .children import Following
from .exports import FORMATS, export, format_of
from .repeats import METADATA, run_others
from .results import Results, name_files
from .sampled_run import SampledRun, read_rate, spell_out_rate
from .session import profile, read_patterns

if TYPE_CHECKING:
    from types import CodeType, FrameType, TracebackType
    from typing import Any

_USAGE = """\
python -m opyard.profiler [options] SCRIPT [argument ...]
       python -m opyard.profiler [options] -m MODULE [argument ...]
       python -m opyard.profiler attach PID [--sample [HZ] | --trace] [--seconds N]
       python -m opyard.profiler diff AFTER BEFORE
       python -m opyard.profiler recover FOLDER [-o FILE] [-f FORMAT]"""

_EXAMPLES = """\
examples:
  python -m opyard.profiler program.py                        a table on the error output
  python -m opyard.profiler -o profile.html program.py        a page for any browser
  python -m opyard.profiler --sample -o profile.html program.py   for long runs, at 1,000 Hz
  python -m opyard.profiler -o trace.json.gz -m package.tool  a trace for https://ui.perfetto.dev
  python -m opyard.profiler --include mine --min-duration 100 -o slow.html program.py
  python -m opyard.profiler attach 4711 --seconds 30 -o profile.html
  python -m opyard.profiler --repeat 5 -o after.html program.py
  python -m opyard.profiler diff after.html before.html -o diff.svg
  python -m opyard.profiler recover profile.html.capture -o profile.html"""

# What to do with a file, by its format.
_OPENED_BY = {
    "chrome": "open https://ui.perfetto.dev and drop it there",
    "perfetto": "open https://ui.perfetto.dev and drop it there",
    "pprof": "go tool pprof -http : {file}",
    "speedscope": "open https://www.speedscope.app and drop it there",
    "stacks": "open https://www.speedscope.app and drop it there, or hand it to flamegraph.pl",
    "pstats": "python -m pstats {file}",
    "html": "python -m webbrowser -t {file}",
}


def _parser() -> argparse.ArgumentParser:
    from .._core.options import OptionParser

    parser = OptionParser(
        "python -m opyard.profiler",
        usage=_USAGE,
        description="Runs a program, and shows where its time went.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    _add_output(parser)
    add(
        "--sample",
        type=read_rate,
        metavar="[HZ]",
        help="sample the stacks of all threads HZ times a second (1000 if no number is given) "
        "instead of capturing each call, which costs a long run next to nothing; as in --sample "
        "500 program.py",
    )
    add(
        "--include",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only this module or package, or files such as slow.py or '*/test_*.py'; may be "
        "repeated; as in --include app.models --include slow.py",
    )
    add(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="not this module or package, or files such as '*/site-packages/*'; may be repeated; "
        "as in --exclude json",
    )
    add(
        "--max-depth",
        type=int,
        metavar="N",
        help="only the outermost N calls of each stack; what is deeper counts as theirs; as in "
        "--max-depth 20",
    )
    add(
        "--min-duration",
        type=float,
        default=0.0,
        metavar="MICROSECONDS",
        help="no calls that are shorter; their time counts as their callers'; as in "
        "--min-duration 100",
    )
    add(
        "--lines",
        action="append",
        default=[],
        metavar="PATTERN",
        help="time and counts by line of functions of this name (--lines=parse), module and name "
        "(--lines=app.models.parse) or file (--lines=slow.py); may be repeated; alone: of the "
        "functions that take most, up to ten, each from when it was found; as in "
        "--lines -o profile.html",
    )
    add(
        "--caller-lines",
        action="store_true",
        help="note the line that each call is made from; as in --caller-lines -o trace.json",
    )
    add(
        "--no-c-calls",
        action="store_true",
        help="leave functions in C out, which costs less; as in --no-c-calls -o profile.html",
    )
    add(
        "--record-shapes",
        action="store_true",
        help="note the shapes of operators' arguments; as in --record-shapes -o trace.json",
    )
    add(
        "--profile-memory",
        action="store_true",
        help="note what memory tensors take and give back; as in --profile-memory -o memory.html",
    )
    add(
        "--repeat",
        type=int,
        default=1,
        metavar="N",
        help="run the program N times: the page has the last run, and the CPU time of the others, "
        "so that diff says which changes are within the noise; as in --repeat 5 -o profile.html",
    )
    add("--is-repeat", action="store_true", help=argparse.SUPPRESS)  # of those runs
    add(
        "-m",
        dest="module",
        nargs=argparse.REMAINDER,
        metavar="MODULE",
        help="the program is a module, as in python -m; what follows is handed to it; as in "
        "-m package.tool --its-option",
    )
    add("script", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where the profile is written to; without it a table goes to the error output; as in "
        "-o profile.html",
    )
    parser.add_argument(
        "-f",
        "--format",
        choices=FORMATS,
        metavar="FORMAT",
        help=f"of the file: {', '.join(FORMATS)}; else its ending says it; as in -f chrome",
    )
    parser.add_argument(
        "--no-fold",
        action="store_true",
        help="calls inside of libraries have rows in the table, too; a page has a button for that; "
        "as in --no-fold program.py",
    )


def _split(parser: argparse.ArgumentParser, given: list[str]) -> tuple[list[str], list[str]]:
    """Our options, and the program with its arguments.

    `--lines` may be without a pattern: only `=` gives it one, since a script may come next.
    """
    known, at = parser._option_string_actions, 0
    given = [*given]
    while at < len(given) and given[at].startswith("-") and given[at] != "-m":
        takes = known.get(given[at])
        if given[at] == "--lines":
            given[at] = "--lines="
        elif takes is not None and takes.nargs is None:
            at += 1
        at += 1
    return given[:at], given[at:]


def _read_arguments(given: list[str]) -> argparse.Namespace:
    parser = _parser()
    own, program = _split(parser, spell_out_rate(given, parser))
    options = parser.parse_args([*own, *program])
    options.split = own, program
    if any(options.lines) and not all(options.lines):
        parser.error("--lines finds the functions that take most, and --lines=PATTERN names them")
    options.program = options.module or options.script
    if options.sample is not None and (unused := _for_calls(options)):
        parser.error(f"{unused} is for captured calls: leave it, or --sample, out")
    if not options.program:
        parser.error("name a script, or -m and a module")
    _choose_format(parser, options)
    if options.repeat < 1:
        parser.error(f"--repeat takes a number of runs, at least 1; not {options.repeat}")
    if options.repeat > 1 and options.format != "html":
        parser.error("--repeat keeps what each run took in a page: give it -o FILE.html")
    return options


def _for_calls(options: argparse.Namespace) -> str | None:
    """An option that was given and that samples know nothing of."""
    given = {
        "--include": options.include,
        "--exclude": options.exclude,
        "--max-depth": options.max_depth,
        "--min-duration": options.min_duration,
        "--caller-lines": options.caller_lines,
        "--lines": options.lines,
        "--no-c-calls": options.no_c_calls,
        "--record-shapes": options.record_shapes,
        "--repeat": options.repeat > 1,
        "--profile-memory": options.profile_memory,
    }
    return next((name for name, value in given.items() if value), None)


def _choose_format(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.output is not None and options.format is None:
        try:
            options.format = format_of(options.output)
        except ValueError as error:
            parser.error(str(error))


def _make_folder(output: str | None) -> str:
    """Beside the file that was asked for, where a user looks for that."""
    base = f"{output}.capture"
    if output is None:
        base = f"{os.environ.get('TMPDIR') or '/tmp'}/opyard-capture-{os.getpid()}"
    n = 1
    while True:
        folder = base if n == 1 else f"{base}.{n}"
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:  # of a program that was killed
            n += 1
        except FileNotFoundError:
            todo = "name another file" if output else "set TMPDIR to another one"
            raise SystemExit(
                f"python -m opyard.profiler: the folder {os.path.dirname(base)!r}, in which the "
                f"profile is to be written, is not there: make it, or {todo}"
            ) from None
        except OSError as error:
            raise SystemExit(f"python -m opyard.profiler: {error}") from None
        else:
            return folder


class _Run:
    """One program under a profile."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        # The program may change its folder.
        self.output = None if options.output is None else os.path.abspath(options.output)
        self.process = os.getpid()
        self.folder = _make_folder(self.output)
        self.script = ""  # its file
        self.profile = profile(
            c_calls=not options.no_c_calls,
            caller_lines=options.caller_lines,
            lines=options.lines if any(options.lines) else bool(options.lines),
            include=options.include,
            exclude=options.exclude,
            max_depth=options.max_depth,
            min_duration=options.min_duration,
            record_shapes=options.record_shapes,
            profile_memory=options.profile_memory,
        )

        program = " ".join(options.program)
        self.profile._folder, self.profile._program = self.folder, program
        self.following = Following(self.profile._options, self.folder, program)

    def forget(self) -> None:
        """The program was not found: there is no profile."""
        self.profile.stop()
        self.profile._profile = None

    def begin(self) -> None:
        """The profile goes on until finish(): threads may, and the program's exit handlers do.

        What is open here is ours, and the runpy that runs us: no part of the program.
        """
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            _tracer.hide(frame.f_code)
            frame = frame.f_back
        self.following.begin()
        self.profile.start()

    def finish(self) -> None:
        """The last exit handler, since it is the first that is registered."""
        if self.profile._entered:
            self.profile.stop()
        # In a child of a fork the file is its parent's.
        if os.getpid() != self.process:
            return
        try:
            # A program that did not begin has no profile.
            if self.profile._profile is not None:
                self._add_children(self.profile._profile)
                _say_unmatched(self.options, self.profile._profile, self.script)
                _say_without_lines(self.options, self.profile)
                _write(self.profile, self.options, self.output)
        finally:
            import shutil

            shutil.rmtree(self.folder, ignore_errors=True)

    def _add_children(self, captured: Any) -> None:
        captured.add_processes(self.folder, self.process)
        # Those of its fork server are forks of that.
        started = [pid for pid, parent, _ in captured.processes() if parent == self.process]
        missing = self.following.interpreters - len(started)
        for text, number in (
            ("other programs that were started, and not followed", _tracer.programs_started()),
            ("interpreters of multiprocessing without a capture", missing),
        ):
            if number > 0:
                captured.note(text, number)


def _fits(pattern: str, files: set[str], modules: set[str]) -> bool:
    """Whether a pattern is for one of these files or modules; see tracer/filter.h."""
    if any(letter in pattern for letter in "*?["):
        import fnmatch

        return any(fnmatch.fnmatchcase(file, pattern) for file in files)
    if "/" in pattern or pattern.startswith("<") or pattern.endswith(".py"):
        return any(file.startswith(pattern) for file in files)
    if any(name == pattern or name.startswith(f"{pattern}.") for name in modules):
        return True
    path = pattern.replace(".", "/")
    return any(f"/{file}".endswith(f"/{path}.py") or f"/{path}/" in f"/{file}" for file in files)


def _say_without_lines(options: argparse.Namespace, results: Results) -> None:
    if not options.lines or results._lines:
        return
    if any(options.lines):
        names = " ".join(f"--lines={pattern}" for pattern in options.lines)
        said = f"{names} fits no function that was called; it takes names of functions (parse, "
        said += "Reader.*), with modules (app.models.parse), and files (slow.py)"
    else:
        said = "--lines found no function of the program that runs for a twentieth of a second"
    sys.stderr.write(f"opyard.profiler: {said}\n")


def _say_unmatched(options: argparse.Namespace, captured: Any, script: str) -> None:
    """Patterns that are for nothing of the program: of those to include no call is captured."""
    given = [*(("include", text) for text in options.include)]
    given += [("exclude", text) for text in options.exclude]
    if not given:
        return
    modules = {name for name in sys.modules if name != "__main__"}
    files = {str(getattr(module, "__file__", "")) for module in [*sys.modules.values()]}
    files |= {captured.name(key)[2] for key, *_ in captured.calls()} | {script}
    for option, text in given:
        if not any(_fits(one, files, modules) for one in read_patterns(option, text)):
            sys.stderr.write(
                f"opyard.profiler: --{option} {text} fits no module and no file of the program; "
                "it takes names of modules (app.models), of files (slow.py, /home/me/app) and "
                "shell patterns ('*/test_*.py')\n"
            )


def _write(results: Results, options: argparse.Namespace, output: str | None) -> None:
    results._warns = False  # the program's filters are no matter of its profile
    if output is None:
        averages = results.key_averages()
        fold = not options.no_fold
        sys.stderr.write(averages.table(sort_by=results._sort_by, row_limit=40, fold=fold))
        if results._lines:
            sys.stderr.write("\n" + results.line_times().table())
    else:
        export(results._profile, results._metadata, output, options.format)
        if not getattr(options, "is_repeat", False):
            _say_written(output, options.format)


def _say_written(output: str, format: str | None) -> None:
    """Only to people: what reads the error output gets the program's own."""
    import shlex

    try:
        if not sys.stderr.isatty():
            return
        size = os.path.getsize(output) / 1e6
        how = _OPENED_BY[format or format_of(output)].format(file=shlex.quote(output))
        sys.stderr.write(f"opyard.profiler: wrote {output} ({size:.1f} MB). To see it: {how}\n")
    except (OSError, ValueError):  # the stream is closed, or the folder is gone
        pass


def _recover(given: list[str]) -> None:
    """What is left of a program that was killed."""
    from .._core.options import OptionParser

    parser = OptionParser(
        "python -m opyard.profiler recover",
        description="Makes a profile of what a program left that was killed.",
        allow_abbrev=False,
    )
    parser.add_argument("folder", help="FILE.capture, or a file in it; as in trace.html.capture")
    _add_output(parser)
    options = parser.parse_args(given)
    _choose_format(parser, options)
    folder = options.folder
    results = Results(stack=True, lines=False, memory=False)
    try:
        results._profile = _tracer.recover(
            os.path.dirname(os.path.abspath(folder)) if os.path.isfile(folder) else folder
        )
        name_files(results._profile)
        _write(results, options, options.output)
    except (OSError, ValueError) as error:
        raise SystemExit(f"python -m opyard.profiler recover: {error}") from None


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

    _tracer.hide(show.__code__)
    sys.excepthook = show


def _new_main() -> ModuleType:
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    if sys.version_info < (3, 14):  # later ones compute them when they are asked for
        main.__dict__["__annotations__"] = {}
    sys.modules["__main__"] = main
    return main


def _holds_modules(path: str) -> bool:
    """Whether it is a folder or an archive, which Python runs by the __main__ inside."""
    for hook in sys.path_hooks:
        try:
            hook(path)
        except ImportError:
            continue
        return True
    return False


def _compile(script: str) -> CodeType:
    try:
        with io.open_code(script) as file:
            return compile(file.read(), script, "exec", dont_inherit=True)
    except OSError as error:
        message = f"{sys.executable}: can't open file {script!r}"
        sys.stderr.write(f"{message}: [Errno {error.errno}] {error.strerror}\n")
        raise SystemExit(2) from None  # as Python ends


def _run_script(run: _Run | SampledRun, script: str) -> None:
    if _holds_modules(script):
        sys.path[0] = os.path.join(os.getcwd(), script)  # as Python names it
        return _run_module(run, "__main__", alter_argv=False)
    # As an interpreter without us: `-P` and `-I` keep the folder of the script out.
    if getattr(sys.flags, "safe_path", bool(sys.flags.isolated)) is False:
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    script = os.path.abspath(script)  # as Python names it
    main = _new_main()
    main.__file__ = script
    if sys.version_info < (3, 15):
        main.__dict__["__cached__"] = None
    main.__loader__ = SourceFileLoader("__main__", script)
    code = _compile(script)
    run.script = script
    run.begin()
    exec(code, main.__dict__)


def _run_module(run: _Run | SampledRun, module: str, *, alter_argv: bool = True) -> None:
    import runpy

    _new_main()
    run.begin()
    try:
        runpy._run_module_as_main(module, alter_argv)  # type: ignore[attr-defined]
    except SystemExit as error:
        if _was_not_found(error):
            from .._core.near_names import near_module

            run.forget()
            raise SystemExit(f"{error.code}{near_module(module)}") from None
        raise


def _was_not_found(error: SystemExit) -> bool:
    """Whether it is what runpy itself raises for a module that it cannot run."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return (
        isinstance(error.code, str)
        and at is not None
        and at.tb_frame.f_code.co_name == "_run_module_as_main"
    )


def main(given: list[str]) -> None:
    if given[:1] == ["diff"]:
        from .compare import compare_files

        return compare_files(given[1:])
    if given[:1] == ["recover"]:
        return _recover(given[1:])
    if given[:1] == ["attach"]:
        from .attach import attach

        return attach(given[1:])
    options = _read_arguments(given)
    others = run_others(*options.split, options.repeat) if options.repeat > 1 else None
    run = _Run(options) if options.sample is None else SampledRun(options, _write)
    if others is not None:
        run.profile.add_metadata_json(METADATA, json.dumps(others))
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


for _function in (_Run.finish, _hide_our_frames):
    _tracer.hide(_function.__code__)
