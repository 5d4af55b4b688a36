"""tools/mutants_bench.py: builds the copy of the sources that tools/mutants.py keeps, and tests it.

A Bench runs the programs that reach the ideas in which mutants are planted. What each takes
without a mutant is measured first: it decides the order, and when a program counts as one that
does not end. It is given much more than it needs, so that a busy machine kills nothing.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# The ideas of programs are the rooms of test/cpp/meson.build. Programs that none of them lists:
PLACED = {"test_fuzz_corpus": "schema"}
# These read the sources, or what a compiler makes of them, and say nothing about what they do.
NO_JUDGES = {"test_compile_fail", "test_call_path"}
PYTHON_TESTS = [
    "keys",
    "schema",
    "dispatch",
    "registry",
    "registry_model",
    "library",
    "library_fallbacks",
]
PYTHON_TESTS += ["call"]
# A defect may eat memory or write without end; neither may eat the machine.
LIMITS = [f"--as={8 << 30}", f"--fsize={256 << 20}", "--core=0"]
LEAST_SECONDS = 60
LONGEST_FILE = 30.0


def say(text: str) -> None:
    print(text, flush=True)


def tail(log: Path, lines: int = 30) -> str:
    return "\n".join(log.read_text("utf-8", "replace").splitlines()[-lines:])


def tables_of_programs(tree: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Of test/cpp/meson.build: its table, rooms or apart, a room, and the names of its files."""
    text = (tree / "test/cpp/meson.build").read_text("utf-8")
    for table, block in re.findall(
        r"^ *(rooms|apart) \+?= \{(.*?)\}$", text, re.MULTILINE | re.DOTALL
    ):
        for room, names in re.findall(r"'(\w+)': \[(.*?)\]", block, re.DOTALL):
            yield table, room, re.findall(r"'(\w+)'", names)


def ideas_of_programs(tree: Path) -> dict[str, str]:
    """test_keys -> keys and test_reclaim -> registry, as test/cpp/meson.build has it."""
    found = dict(PLACED)
    for table, room, names in tables_of_programs(tree):
        programs = [room] if table == "rooms" else names
        found |= {f"test_{program}": room for program in programs}
    return found


def programs_of_files(tree: Path) -> dict[str, str]:
    """test_c_closure -> test_ffi and test_reclaim -> test_reclaim."""
    return {
        f"test_{name}": f"test_{room if table == 'rooms' else name}"
        for table, room, names in tables_of_programs(tree)
        for name in names
    }


def tests_called(tree: Path, name: str) -> list[Path]:
    """The file of a test, in whatever room: test_x.py in test/python, test_x in test/cpp."""
    folder, end = ("python", "") if name.endswith(".py") else ("cpp", ".cpp")
    return sorted((tree / "test" / folder).rglob(name + end))


def failed_gtest(output: str) -> str:
    """The test that failed, else the one that was running."""
    failed = re.search(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", output, re.MULTILINE)
    began = re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)
    return failed[1] if failed else began[-1] if began else "before its first test"


def failed_pytest(output: str) -> str:
    failed = re.search(r"^(?:FAILED|ERROR) (?:\S*/)?(\S+)", output, re.MULTILINE)
    began = re.findall(r"^(?:\S*/)?(test_\w+\.py::\S+)", output, re.MULTILINE)
    return failed[1] if failed else began[-1] if began else "before its first test"


class Program:
    """A test program, or pytest, with what it took when nothing was planted."""

    def __init__(self, name: str, idea: str, command: list[str], environment: dict, failed):
        self.name, self.idea, self.command, self.failed = name, idea, command, failed
        self.environment = environment
        self.seconds = 0.0

    def run(self, tree: Path, logs: Path, most: float) -> str | None:
        """What failed, or None. The output goes to a file in `logs`."""
        log = logs / f"{self.name}.log"
        limited = ["prlimit", *LIMITS, "--"] if shutil.which("prlimit") else []
        with (
            open(log, "wb") as output,
            subprocess.Popen(
                [*limited, *self.command],
                cwd=tree,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process,
        ):
            try:
                code = process.wait(most)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                # Also what it has started: a plugin's test, an interpreter.
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        if code == 0:
            return None
        text = log.read_text("utf-8", "replace")
        ended = f", no end after {most:.0f} s" if code is None else ""
        if code is not None and code < 0:
            ended = f", {signal.Signals(-code).name}"
        return f"{self.name}, {self.failed(text)}{ended}"


class Bench:
    def __init__(self, tree: Path):
        self.tree, self.folder, self.logs = tree, tree / "build/main", tree.parent / "logs"
        self.logs.mkdir(exist_ok=True)
        self.programs: list[Program] = []
        self.python: Program | None = None

    def command(self, *words: object, shown: bool = False) -> str:
        """Runs a command of the build; gives what it said if it failed."""
        command, log = [str(word) for word in words], self.logs / f"{words[0]}.log"
        tools = Path(sys.executable).parent
        with open(log, "wb") as output:
            done = subprocess.run(
                command,
                env={**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"},
                stdin=subprocess.DEVNULL,
                stdout=None if shown else output,
                stderr=subprocess.STDOUT,
            )
        said = "" if shown else f":\n{tail(log)}"
        return f"this failed: {' '.join(command)}{said}" if done.returncode else ""

    def configure(self) -> str:
        # As build/main has it, so that the compiler's cache serves both. A defect of which the
        # compiler warns is none: it does not build.
        options = ["--wrap-mode=nodownload", "-Dwerror=true", f"-Dpythons={sys.executable}"]
        options += ["-Dbenchmarks=false"]
        key = self.folder / ".key"
        if key.exists() and key.read_text("utf-8") == str(options):
            return ""
        shutil.rmtree(self.folder, ignore_errors=True)
        fault = self.command("meson", "setup", *options, self.folder, self.tree)
        if not fault:
            key.write_text(str(options), "utf-8")
        return fault

    def build(self, shown: bool = False) -> str:
        """Builds what has changed; gives what the build said if it failed and was not shown."""
        jobs = os.environ.get("OPYARD_JOBS") or os.cpu_count() or 1
        ninja = ["ninja", "-C", self.folder, "-j", jobs]
        return self.configure() or self.command(*ninja, shown=shown)

    def find_programs(self) -> None:
        ideas = ideas_of_programs(self.tree)
        tests = json.loads((self.folder / "meson-info/intro-tests.json").read_text("utf-8"))
        for test in tests:
            name = Path(test["cmd"][0]).name
            idea = ideas.get(name, "kernels" if name.startswith("test_kernels") else None)
            if idea is not None and name not in NO_JUDGES:
                command, environment = test["cmd"], test.get("env", {})
                self.programs.append(Program(name, idea, command, environment, failed_gtest))
        self.python = self.pytest("pytest", [f"test_{name}.py" for name in PYTHON_TESTS])

    def pytest(self, name: str, files: list[str]) -> Program:
        paths = [str(path) for file in files for path in tests_called(self.tree, file)]
        command = [sys.executable, "-m", "pytest", "-x", "-v", "-p", "no:cacheprovider", *paths]
        package = {"PYTHONPATH": str(self.folder / "pyfallback"), "OPYARD_BUILD": str(self.folder)}
        package["HYPOTHESIS_STORAGE_DIRECTORY"] = str(self.logs / "hypothesis")
        return Program(name, "", command, package, failed_pytest)

    def named(self, name: str) -> Program:
        """The program that a mutant names. A file of Python tests was not measured."""
        if not name.endswith(".py"):
            wanted = programs_of_files(self.tree).get(name, name)
            (program,) = [program for program in self.programs if program.name == wanted]
            return program
        program = self.pytest(name.removesuffix(".py"), [name])
        program.seconds = LONGEST_FILE
        return program

    def measure(self) -> str:
        """Runs everything once; gives what failed."""
        self.find_programs()
        for program in [*self.programs, self.python]:
            started = time.monotonic()
            if fault := program.run(self.tree, self.logs, 600):
                return f"{fault}\n{tail(self.logs / f'{program.name}.log')}"
            program.seconds = time.monotonic() - started
        say(
            f"{len(self.programs)} C++ programs and {len(PYTHON_TESTS)} Python files pass, "
            f"in {sum(program.seconds for program in [*self.programs, self.python]):.0f} s"
        )
        return ""

    def run(self, idea: str, killers: Sequence[str] = ()) -> str | None:
        """What first failed with the mutant in place, or None."""
        for program in map(self.named, killers):
            if fault := program.run(self.tree, self.logs, LEAST_SECONDS + 10 * program.seconds):
                return fault
        queue = sorted(self.programs, key=lambda each: (each.idea != idea, each.seconds))
        failures: dict[str, str] = {}

        def one(program: Program) -> None:
            if failures:
                return
            most = LEAST_SECONDS + 10 * program.seconds
            if fault := program.run(self.tree, self.logs, most):
                failures[program.name] = fault

        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            try:
                list(pool.map(one, queue))
            except BaseException:
                failures[""] = "broken off"  # those that have not begun do not begin
                raise
        if not failures:
            one(self.python)
        order = [program.name for program in [*queue, self.python]]
        return min(failures.items(), key=lambda each: order.index(each[0]))[1] if failures else None
