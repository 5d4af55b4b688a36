"""tools/run_tests.py: runs every suite, counts what ran, and says so in one last line.

`tools/test` calls this after the build; call that. A suite is a function that returns its tally:

    C++             each program of `meson introspect --tests`, suite cpp; GoogleTest's XML
    Python          test/python on each CPython found; pytest's XML
    wheel           test/consumer against the installed wheel; pytest's XML
    instructions    what each hot path costs, under callgrind, against what is written down
    sanitizers      the C++ programs again, built otherwise: the same tests must run; and the Python
                    tests of threads, with the package built otherwise and CPython as it is
    behaviours      which numbered behaviours the results cover

Results go to build/results/*.xml, which tools/behaviours reads; those of the sanitizers go to
folders below it, because they say nothing about behaviours that the plain run has not said.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
RESULTS = BUILD / "results"
PROGRAM_SECONDS = 600
# Each test has its own limit in pyproject.toml, which names it; this one is for what hangs outside.
PYTEST_SECONDS = 2400

# Every report ends the program, and leaks count.
ASAN_ENVIRONMENT = {
    "ASAN_OPTIONS": "halt_on_error=1:detect_leaks=1:detect_stack_use_after_return=1:"
    "strict_init_order=1:check_initialization_order=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "LSAN_OPTIONS": "report_objects=1",
}
TSAN_ENVIRONMENT = {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"}
# Tests of Python ask for more memory than there can be, and are to get an error for it.
NO_MEMORY_IS_NULL = "allocator_may_return_null=1"
TSAN_SUPPRESSIONS = ROOT / "test/python/thread_sanitizer.supp"
INNERMOST_FRAMES = 12
# Threads, and processes that end while threads run: what the thread sanitizer looks at each time.
THREADED_TESTS = ["test_races.py", "test_deadlocks.py", "test_exit.py"]


@dataclass
class Tally:
    """What one suite did. `names` are the tests that ran, by program, to compare two runs."""

    suite: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    closing: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def line(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def say(text: str) -> None:
    print(text, flush=True)


def count(path: Path, tally: Tally, program: str) -> int:
    """Adds one XML file to the tally; returns the failures in it."""
    failures = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        tally.names.add(f"{program}: {case.get('classname')}.{case.get('name')}")
        if case.find("failure") is not None or case.find("error") is not None:
            failures += 1
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            tally.skipped += 1
        else:
            tally.passed += 1
    tally.failed += failures
    return failures


def cpp_programs(folder: Path, wanted: Callable[[str], bool]) -> list[dict]:
    tests = json.loads((folder / "meson-info/intro-tests.json").read_text())
    tests = [test for test in tests if any(s.split(":")[-1] == "cpp" for s in test["suite"])]
    return [test for test in tests if wanted(Path(test["cmd"][0]).name)]


def run_program(
    test: dict, xml: Path, environment: dict[str, str], wrapper: list[str]
) -> tuple[int, str]:
    command = [*wrapper, *test["cmd"], f"--gtest_output=xml:{xml}", "--gtest_brief=1"]
    try:
        done = subprocess.run(
            command,
            cwd=test.get("workdir") or ROOT,
            env={**os.environ, **test.get("env", {}), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PROGRAM_SECONDS,
        )
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode(errors="replace")
        return 1, f"{said}\nended after {PROGRAM_SECONDS} seconds without an end"
    return done.returncode, done.stdout.decode(errors="replace")


def run_cpp(
    suite: str,
    folder: Path,
    results: Path,
    environment: dict[str, str] | None = None,
    wanted: Callable[[str], bool] = lambda name: True,
    wrapper: list[str] | None = None,
) -> Tally:
    """Runs C++ test programs, one process each, as many at once as there are processors."""
    tally = Tally(suite)
    results.mkdir(parents=True, exist_ok=True)
    programs = cpp_programs(folder, wanted)
    jobs = []
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for test in programs:
            xml = results / f"cpp-{Path(test['cmd'][0]).name}.xml"
            xml.unlink(missing_ok=True)
            jobs.append(
                (test, xml, pool.submit(run_program, test, xml, environment or {}, wrapper or []))
            )
        for test, xml, job in jobs:
            code, output = job.result()
            name = Path(test["cmd"][0]).name
            before = len(tally.names)
            failures = count(xml, tally, name) if xml.exists() else 0
            if code != 0 and failures == 0:
                tally.failed += 1  # it crashed, or a sanitizer spoke after the last test
                output += f"\n{name} ended with code {code}"
            if code != 0:
                say(output.rstrip())
            say(f"  {'failed' if code else 'ok':6}  {name} ({len(tally.names) - before} tests)")
    tally.closing.append(f"{suite}: {len(programs)} programs, {tally.line()}")
    return tally


def run_pytest(
    suite: str,
    python: Path,
    tests: list[Path],
    xml: Path,
    environment: dict[str, str],
    wrapper: list[str] | None = None,
    show: Callable[[str], None] = say,
) -> Tally:
    """Runs files or folders with pytest, showing its lines as they come."""
    tally = Tally(suite)
    xml.parent.mkdir(parents=True, exist_ok=True)
    xml.unlink(missing_ok=True)
    command = [
        *(wrapper or []),
        str(python),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *map(str, tests),
        f"--junitxml={xml}",
    ]
    if "OPYARD_SANITIZER" in environment:
        command += ["-o", f"faulthandler_timeout={PYTEST_SECONDS // 2}"]
    last = ""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        limit = threading.Timer(PYTEST_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        limit.start()
        for line in process.stdout:
            show(line.rstrip("\n"))
            last = line.strip() or last
        process.wait()
        limit.cancel()
    failures = count(xml, tally, "pytest") if xml.exists() else 0
    if process.returncode != 0 and failures == 0:
        tally.failed += 1
        last += f" (pytest ended with code {process.returncode})"
    tally.closing.append(f"{suite}: {last.strip('= ')}")
    return tally


def pythons() -> list[str]:
    return [line.split()[0] for line in (BUILD / "pythons.txt").read_text().splitlines()]


def primary() -> str:
    return "3.11" if "3.11" in pythons() else pythons()[-1]


def run_tool(*command: str) -> bool:
    return (
        subprocess.run([str(ROOT / command[0]), *command[1:]], stdin=subprocess.DEVNULL).returncode
        == 0
    )


def python_suite(version: str) -> Tally:
    """Shows what pytest says when it is done: another CPython runs at the same time."""
    said: list[str] = []
    tally = run_pytest(
        f"Python {version}",
        BUILD / f"venv-{version}/bin/python",
        [ROOT / "test/python"],
        RESULTS / f"pytest-{version}.xml",
        {"PYTHONPATH": str(BUILD / "main/pyfallback"), "OPYARD_BUILD": str(BUILD / "main")},
        show=said.append,
    )
    say("\n".join([f"== Python suite, CPython {version}", *said]))
    return tally


def python_suites(versions: list[str]) -> list[Tally]:
    say(f"== Python suites, two at once: CPython {', '.join(versions)}")
    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(python_suite, versions))


def wheel_suite() -> Tally:
    say("== the installed wheel")
    if not run_tool("tools/wheel"):
        return Tally("wheel", failed=1, closing=["wheel: it could not be built or installed"])
    return run_pytest(
        "wheel",
        BUILD / f"venv-{primary()}/bin/python",
        [ROOT / "test/consumer"],
        RESULTS / "pytest-consumer.xml",
        {
            "OPYARD_WHEEL_PYTHON": str(BUILD / "venv-demo/bin/python"),
            "OPYARD_BUILD": str(BUILD / "main"),
        },
    )


def instruction_suite() -> Tally:
    say("== instructions of the hot paths")
    done = subprocess.run(
        [sys.executable, str(ROOT / "test/bench/instructions.py")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print(done.stdout, end="", flush=True)
    last = (done.stdout.splitlines() or ["it said nothing"])[-1]
    found = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", last)
    passed, failed, skipped = map(int, found.groups()) if found else (0, 1, 0)
    return Tally("instructions", passed, failed, skipped, closing=[f"instructions: {last}"])


def without_randomised_addresses() -> list[str]:
    """GCC 12's thread sanitizer does not know how newer kernels spread mappings: go without."""
    wrapper = ["setarch", "--addr-no-randomize"]
    allowed = (
        shutil.which("setarch")
        and subprocess.run([*wrapper, "true"], capture_output=True).returncode == 0
    )
    return wrapper if allowed else []


def preloaded(*runtimes: str) -> str:
    """For LD_PRELOAD, as CPython itself is not built for a sanitizer. libstdc++ has to be there
    when the address sanitizer looks for what it intercepts."""
    asked = [["g++", f"-print-file-name={name}"] for name in (*runtimes, "libstdc++.so")]
    found = [subprocess.run(one, capture_output=True, text=True, check=True) for one in asked]
    return " ".join(one.stdout.strip() for one in found)


def python_with_tsan(tests: list[Path]) -> Tally:
    """CPython 3.13 leaves daemon threads that are over as they are, which is no leak of ours."""
    options = f"suppressions={TSAN_SUPPRESSIONS}:report_thread_leaks=0:{NO_MEMORY_IS_NULL}"
    environment = {
        "TSAN_OPTIONS": f"{TSAN_ENVIRONMENT['TSAN_OPTIONS']}:{options}",
        "OPYARD_SANITIZER": "thread",
        "LD_PRELOAD": preloaded("libtsan.so"),
        "PYTHONPATH": str(BUILD / "tsan/pyfallback"),
        "OPYARD_BUILD": str(BUILD / "tsan"),
    }
    python = BUILD / f"venv-{primary()}/bin/python"
    xml = RESULTS / "tsan/pytest.xml"
    wrapper = without_randomised_addresses()
    return run_pytest("Python with TSan", python, tests, xml, environment, wrapper)


def leaks_of_ours(logs: Path) -> dict[str, int]:
    """Where memory was asked for that nothing leads to at the end of a process, and how often, as
    far as a line of this project is among the innermost frames. CPython leaves much behind at its
    end, which says nothing; what objects of ours still had then hangs below that, indirectly.
    pybind11 leaves what it keeps for each interpreter to that one, whose end nobody tells it."""
    found: dict[str, int] = {}
    for log in logs.iterdir():
        for block in re.split(r"\n\n", log.read_text(errors="replace")):
            if not block.lstrip().startswith("Direct leak"):
                continue
            frames = re.findall(r"#\d+ 0x\w+ in (.+)", block)[:INNERMOST_FRAMES]
            if any("pybind11::detail::internals_pp_manager<" in frame for frame in frames):
                continue
            ours = [frame for frame in frames if "../../" in frame and "/gcc/" not in frame]
            ours = [frame for frame in ours if "libsanitizer" not in frame]
            if ours:
                found[ours[0]] = found.get(ours[0], 0) + 1
    return found


def python_with_asan(tests: list[Path]) -> Tally:
    logs = RESULTS / "asan/python"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    environment = {
        **ASAN_ENVIRONMENT,
        "ASAN_OPTIONS": ":".join(
            [ASAN_ENVIRONMENT["ASAN_OPTIONS"], NO_MEMORY_IS_NULL, f"log_path={logs / 'log'}"]
        ),
        "LSAN_OPTIONS": "exitcode=0",
        "OPYARD_SANITIZER": "address",
        "PYTHONMALLOC": "malloc",
        "LD_PRELOAD": preloaded("libasan.so"),
        "PYTHONPATH": str(BUILD / "asan/pyfallback"),
        "OPYARD_BUILD": str(BUILD / "asan"),
    }
    python = BUILD / f"venv-{primary()}/bin/python"
    xml = RESULTS / "asan/pytest.xml"
    tally = run_pytest("Python with ASan+UBSan", python, tests, xml, environment)
    leaks = leaks_of_ours(logs)
    planted_leak = [frame for frame in leaks if "border.cpp" in frame]
    if not planted_leak:
        tally.failed += 1
        tally.closing.append(f"{tally.suite}: the planted leak was not found")
    for frame, times in leaks.items():
        if frame not in planted_leak:
            tally.failed += 1
            tally.closing.append(f"{tally.suite}: leaked in {times} processes: {frame}")
    return tally


def planted(name: str) -> bool:
    return name.startswith("test_planted")


def sanitizer_suites(plain: Tally) -> list[Tally]:
    tallies = []
    say("== C++ suite under the address and undefined-behaviour sanitizers")
    if run_tool("tools/setup", "--sanitize=address,undefined"):
        asan = run_cpp("C++ with ASan+UBSan", BUILD / "asan", RESULTS / "asan", ASAN_ENVIRONMENT)
        ours = {name for name in asan.names if not planted(name)}
        if ours != plain.names:
            asan.failed += 1
            only = sorted(plain.names ^ ours)
            asan.closing.append(f"{asan.suite}: other tests ran than without it: {', '.join(only)}")
        else:
            asan.closing.append(f"{asan.suite}: the same {len(ours)} tests as without")
        tallies.append(asan)
    else:
        tallies.append(
            Tally(
                "C++ with ASan+UBSan", failed=1, closing=["C++ with ASan+UBSan: it did not build"]
            )
        )

    say("== concurrency under the thread sanitizer")
    if run_tool("tools/setup", "--sanitize=thread", f"--python={primary()}"):
        tallies.append(
            run_cpp(
                "C++ with TSan",
                BUILD / "tsan",
                RESULTS / "tsan",
                TSAN_ENVIRONMENT,
                lambda name: name.startswith("test_concurrency") or planted(name),
                without_randomised_addresses(),
            )
        )
        say("== threads in Python under the thread sanitizer")
        threaded = [ROOT / "test/python" / name for name in THREADED_TESTS]
        tallies.append(python_with_tsan(threaded))
    else:
        tallies.append(
            Tally("C++ with TSan", failed=1, closing=["C++ with TSan: it did not build"])
        )
    return tallies


def sanitized_python_suites() -> list[Tally]:
    """All of test/python with the package built for a sanitizer: half an hour."""
    everything = [ROOT / "test/python"]
    tallies = []
    for kind, run in [("address,undefined", python_with_asan), ("thread", python_with_tsan)]:
        say(f"== Python suite under the sanitizers {kind}")
        if run_tool("tools/setup", f"--sanitize={kind}", f"--python={primary()}"):
            tallies.append(run(everything))
        else:
            closing = [f"Python with {kind}: it did not build"]
            tallies.append(Tally(kind, failed=1, closing=closing))
    return tallies


def usual_suites(quick: bool) -> list[Tally]:
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    say("== C++ suite")
    plain = run_cpp("C++", BUILD / "main", RESULTS)
    tallies = [plain, *python_suites([primary()] if quick else pythons())]
    if not quick:
        tallies.append(wheel_suite())
        tallies.append(instruction_suite())
        tallies.extend(sanitizer_suites(plain))

    say("== behaviours")
    if subprocess.run([sys.executable, str(ROOT / "tools/behaviours")]).returncode != 0:
        closing = ["behaviours: tools/behaviours found something wrong"]
        tallies.append(Tally("behaviours", failed=1, closing=closing))
    return tallies


def main() -> int:
    parser = argparse.ArgumentParser("tools/test", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="no sanitizers, no wheel, one CPython")
    parser.add_argument(
        "--python-sanitizers", action="store_true", help="only test/python, under the sanitizers"
    )
    asked = parser.parse_args()
    started = time.monotonic()
    sanitized = asked.python_sanitizers
    tallies = sanitized_python_suites() if sanitized else usual_suites(asked.quick)

    say("\n== closing lines")
    total = Tally("all")
    for tally in tallies:
        total.passed += tally.passed
        total.failed += tally.failed
        total.skipped += tally.skipped
        for line in tally.closing:
            say(line)
    empty = [t.suite for t in tallies if t.passed + t.failed + t.skipped == 0]
    for suite in empty:
        say(f"{suite}: no test ran, which counts as a failure")
    total.failed += len(empty)
    say(f"took {time.monotonic() - started:.0f} s")
    say(total.line())
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
