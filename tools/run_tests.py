"""tools/run_tests.py: runs every suite, counts what ran, and says so in one last line.

`tools/test` calls this; call that. A suite is a function that returns its tally:

    cpp             test/cpp: one program a room, through gtest_run.py; GoogleTest's XML
    python-3.X      test/python on each CPython found; pytest's XML
    citizens        test/python/publish, and what is compared with PyTorch, where the frameworks are
    remote          test/python/remote, where Ray and Dask are
    consumer        test/consumer against the installed wheel; pytest's XML
    headers         compiles each public header alone
    instructions    what each hot path costs, under callgrind, against what is written down
    cpp-asan        the C++ programs with the address sanitizer: the same tests must run
    python-asan     the Python tests of memory, with the package built for it and CPython as it is
    cpp-tsan        the C++ tests of concurrency with the thread sanitizer
    python-tsan     the Python tests of threads with it
    behaviours      which numbered behaviours the results cover

cpp and python-3.X are suites of `meson test`, which runs them. test/suites.ini has the CPU seconds
that each may take; a mark in a file of test/python says whether it is of memory, of threads, or
runs once.

Results go to build/results/*.xml, which tools/behaviours reads; those of the sanitizers go to
folders below it, because they say nothing about behaviours that the plain run has not said.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import sanitizers
import unsteady
from suites import (
    BUILD,
    RESULTS,
    ROOT,
    SUITE_SECONDS,
    Tally,
    budget_lines,
    declared,
    execute,
    loop,
    say,
)

Suite = Callable[[], Tally]
# How much longer Meson waits for a program that a sanitizer slows down.
PATIENCE = 4
# Of --long: read by test/python/processes.py and test/cpp/jit/generated_graph.h.
LONG = {
    "OPYARD_TEST_VOLUME": "10",
    "OPYARD_TEST_SECONDS": "60",
    "OPYARD_GENERATED_GRAPHS": "200000",
}
LONG_PATIENCE = 4


def listed(name: str) -> list[str]:
    path = BUILD / name
    return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []


def pythons() -> list[str]:
    return listed("pythons.txt") + listed("newer_pythons.txt")


def primary() -> str:
    here = listed("pythons.txt")
    return "3.11" if "3.11" in here else here[-1]


def venv(version: str, program: str = "python") -> str:
    return str(BUILD / f"venv-{version}/bin/{program}")


def meson_test(
    name: str,
    build: str,
    *arguments: str,
    wrapper: list[str] | None = None,
    environment: dict[str, str] | None = None,
    seconds: float = SUITE_SECONDS,
) -> tuple[Tally, bool]:
    """Runs `meson test` in a folder of build/; gives a tally without counts, and whether it was
    content."""
    folder = BUILD / build
    command = [venv(primary(), "meson"), "test", "-C", str(folder), "--no-rebuild"]
    command += ["--logbase", name, *arguments]
    if wrapper:
        command += ["--wrapper", shlex.join(wrapper)]
    code, used, said = execute(command, environment, seconds=seconds)
    # Meson speaks of the folder and of its logs; what the programs said is of interest.
    say(f"== {name}\n{said.rstrip()}")
    return Tally(name, seconds=used), code == 0


def judge(tally: Tally, content: bool) -> Tally:
    """A suite whose command failed has failed, also when no test in it has."""
    if not content and not tally.failed:
        tally.fail("it failed outside of a test; see above")
    tally.closing.insert(0, f"{tally.suite}: {tally.line()}")
    return tally


def cpp(
    name: str = "cpp",
    build: str = "main",
    tests: list[str] | None = None,
    sanitizer: "sanitizers.Sanitizer | None" = None,
) -> Tally:
    """Runs C++ test programs, one process each, as many at once as there are processors."""
    results = RESULTS / sanitizer.name if sanitizer else RESULTS
    results.mkdir(parents=True, exist_ok=True)
    for old in results.glob("cpp-*.xml"):
        old.unlink()
    wrapper = [sys.executable, str(ROOT / "tools/gtest_run.py"), "--results", str(results)]
    arguments = ["--print-errorlogs", *(tests or ["--suite", "cpp"])]
    environment = {}
    if sanitizer:
        arguments += ["-t", str(PATIENCE)]
        environment = {"OPYARD_TEST_SILENCE": "1000", **sanitizer.environment}
        # Libraries that are opened later: a sanitizer opens them, and run paths are not searched.
        environment["LD_LIBRARY_PATH"] = str(BUILD / build / "jit")
        # A quarter of the usual: each takes ten times as long.
        environment["OPYARD_GENERATED_GRAPHS"] = os.environ.get("OPYARD_GENERATED_GRAPHS", "1250")
        wrapper = sanitizer.wrapper + wrapper
    tally, content = meson_test(name, build, *arguments, wrapper=wrapper, environment=environment)
    tally.read(sorted(results.glob("cpp-*.xml")))
    return judge(tally, content)


def python(version: str) -> Tally:
    xml = RESULTS / f"pytest-{version}.xml"
    xml.unlink(missing_ok=True)
    name = f"python-{version}"
    environment = {"PYTEST_ADDOPTS": f"--junitxml={xml} {unsteady.OPTIONS}"}
    tally, content = meson_test(name, "main", "--suite", name, "--verbose", environment=environment)
    tally.read([xml] if xml.exists() else [])
    failed = unsteady.failed_tests(xml) if xml.exists() else []
    # Not if it ended otherwise than by tests that failed: by a crash at its end, say.
    if failed and unsteady.ended_by_failures(BUILD / f"main/meson-logs/{name}.json"):
        return second_look(tally, version, failed, xml)
    return judge(tally, content)


def second_look(first: Tally, version: str, failed: list[str], xml: Path) -> Tally:
    """Runs the few tests that failed again, alone."""
    again = xml.with_suffix(".again")  # no .xml, which tools/behaviours would read
    environment = {
        "OPYARD_BUILD": str(BUILD / "main"),
        "PYTHONPATH": str(BUILD / "main/pyfallback"),
        "PYTEST_ADDOPTS": f"--junitxml={again} {unsteady.OPTIONS}",
    }
    command = [venv(version), "-m", "pytest", "-q", "-p", "no:cacheprovider", *failed]
    code, seconds, said = execute(command, environment)
    say(f"== {first.suite}, again: {', '.join(failed)}\n{said.rstrip()}")
    taken = unsteady.take_over(xml, again) if again.exists() else []
    tally = Tally(first.suite, seconds=first.seconds + seconds)
    tally.read([xml])
    for fault in first.faults:
        if fault not in tally.faults:
            tally.closing.append(f"  unsteady: passed when it ran again alone: {fault}")
    return judge(tally, code == 0 and len(taken) == len(failed))


def sanitized_python(sanitizer: "sanitizers.Sanitizer", part: str) -> Tally:
    """Files of test/python with the package built for a sanitizer, and CPython as it is."""
    name, build = f"python-{sanitizer.name}", sanitizer.name
    xml, logs = RESULTS / build / "pytest.xml", RESULTS / build / "python"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    xml.unlink(missing_ok=True)
    options = [f"--junitxml={xml}", f"--part={part}", "-o", "faulthandler_timeout=1500"]
    environment = {**sanitizer.python_environment(logs), "PYTEST_ADDOPTS": " ".join(options)}
    arguments = ["--suite", f"python-{primary()}", "--verbose", "-t", str(PATIENCE)]
    wrapper = [*sanitizer.wrapper, "env", f"LD_PRELOAD={sanitizer.runtime()}"]
    tally, content = meson_test(
        name,
        build,
        *arguments,
        wrapper=wrapper,
        environment=environment,
        seconds=SUITE_SECONDS * (PATIENCE if part == "all" else 1),
    )
    tally.read([xml] if xml.exists() else [])
    for fault in sanitizer.faults(logs):
        tally.fail(fault)
    return judge(tally, content)


def built(name: str, *command: str) -> Tally:
    """A build is no suite, but what it costs is declared as well."""
    say(f"== {' '.join(command)}")
    code, seconds, _ = execute([str(ROOT / command[0]), *command[1:]], shown=True)
    tally = Tally(name, seconds=seconds)
    if code:
        tally.fail(f"this failed: {' '.join(command)}")
    return tally


def consumer() -> Tally:
    environment = {
        "OPYARD_WHEEL_PYTHON": str(BUILD / "venv-demo/bin/python"),
        "OPYARD_BUILD": str(BUILD / "main"),
    }
    xml = RESULTS / "pytest-consumer.xml"
    xml.unlink(missing_ok=True)
    say("== consumer")
    command = [venv(primary()), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [str(ROOT / "test/consumer"), f"--junitxml={xml}"]
    code, seconds, _ = execute(command, environment, shown=True)
    tally = Tally("consumer", seconds=seconds)
    tally.read([xml] if xml.exists() else [])
    return judge(tally, code == 0)


def apart(name: str, venv_name: str, tests: list[str], variable: str) -> Tally:
    """Tests in an environment that has what they need: what is missing there is a failure, not a
    reason to skip."""
    environment = {
        "OPYARD_BUILD": str(BUILD / "main"),
        variable: "required",
        "PYTHONPATH": str(BUILD / "main/pyfallback"),
    }
    xml = RESULTS / f"pytest-{name}.xml"
    xml.unlink(missing_ok=True)
    say(f"== {name}")
    if not Path(venv(venv_name)).exists():
        tally = Tally(name)
        tally.fail(f"build/venv-{venv_name} is not there: tools/setup --frameworks makes it")
        return judge(tally, False)
    command = [venv(venv_name), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [f"--junitxml={xml}", "--show-capture=no"]
    command += [str(ROOT / each) for each in tests]
    limit = SUITE_SECONDS
    if os.environ.get("OPYARD_TEST_VOLUME") == LONG["OPYARD_TEST_VOLUME"]:
        # One test may kill two hundred workers, each of which takes seconds to begin again.
        limit *= LONG_PATIENCE
        command += ["-o", f"faulthandler_timeout={SUITE_SECONDS}"]
    code, seconds, _ = execute(command, environment, shown=True, seconds=limit)
    tally = Tally(name, seconds=seconds)
    tally.read([xml] if xml.exists() else [])
    if tally.skipped:
        tally.fail("tests were skipped, and all that they need is installed")
    return judge(tally, code == 0)


def citizens() -> Tally:
    """What is published, and each test file that skips a comparison where PyTorch is not there."""
    tests = ["test/python/publish", "test/python/models/test_exported_models.py"]
    for path in sorted((ROOT / "test/python").rglob("test_*.py")):
        if 'importorskip("torch"' in path.read_text("utf-8"):
            tests.append(str(path.relative_to(ROOT)))
    return apart("citizens", "frameworks", tests, "OPYARD_FRAMEWORKS")


def remote() -> Tally:
    return apart("remote", "remote", ["test/python/remote"], "OPYARD_ENGINES")


def headers() -> Tally:
    """Each public header is the only thing that its source includes."""
    say("== headers")
    build = str(BUILD / "main")
    targets = ["test/libheaders_alone.a", "test/python/libpyfallback_headers_alone.a"]
    code, seconds, said = execute([venv(primary(), "ninja"), "-C", build, *targets])
    tally = Tally("headers", seconds=seconds)
    if code:
        say(said.rstrip())
    else:
        tally.passed = len(list((BUILD / "main/test").rglob("alone_*.cpp")))
    return judge(tally, code == 0)


def instructions() -> Tally:
    say("== instructions")
    command = [sys.executable, str(ROOT / "test/bench/instructions.py")]
    code, seconds, said = execute(command, shown=True)
    tally = Tally("instructions", seconds=seconds)
    last = (said.splitlines() or [""])[-1]
    if found := re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", last):
        tally.passed, tally.failed, tally.skipped = map(int, found.groups())
    return judge(tally, code == 0)


def same_tests(plain: Tally, sanitized: Tally) -> Tally:
    ours = {name for name in sanitized.names if not name.startswith("cpp-test_planted")}
    if ours != plain.names:
        only = ", ".join(sorted(plain.names ^ ours))
        sanitized.fail(f"other tests ran than without it: {only}")
    return sanitized


def concurrent_tests(build: str) -> list[str]:
    """The tests of a folder that run under the thread sanitizer, as Meson names them."""
    command = [venv(primary(), "meson"), "introspect", "--tests", str(BUILD / build)]
    names = re.findall(r'"name": "((?:concurrency|planted)\w*)"', execute(command)[2])
    # Without a name Meson would run all tests; with one that does not exist it fails.
    return sorted(set(names)) or ["concurrency"]


def suites_by_name() -> dict[str, tuple[str, Suite]]:
    """What each suite needs to be built, and how it runs."""
    asan, tsan = sanitizers.ASAN, sanitizers.TSAN
    found: dict[str, tuple[str, Suite]] = {"cpp": ("main", cpp)}
    for version in pythons():
        found[f"python-{version}"] = ("main", lambda version=version: python(version))
    return found | {
        "citizens": ("main", citizens),
        "remote": ("main", remote),
        "headers": ("main", headers),
        "consumer": ("wheel", consumer),
        "instructions": ("main", instructions),
        "cpp-asan": ("asan", lambda: cpp("cpp-asan", "asan", None, asan)),
        "cpp-tsan": ("tsan", lambda: cpp("cpp-tsan", "tsan", concurrent_tests("tsan"), tsan)),
        "python-asan": ("asan", lambda: sanitized_python(asan, "memory")),
        "python-tsan": ("tsan", lambda: sanitized_python(tsan, "threads")),
        "whole-python-asan": ("asan", lambda: sanitized_python(asan, "all")),
        "whole-python-tsan": ("tsan", lambda: sanitized_python(tsan, "all")),
    }


def build_commands(quick: bool = False) -> dict[str, list[str]]:
    one = f"--python={primary()}"
    # What is built once is built as a whole; who works on the tree has it one source at a time.
    whole = ["--whole"] if os.environ.get("CI") else []
    return {
        "main": ["tools/setup", *whole, *(["--primary"] if quick else [])],
        "wheel": ["tools/wheel"],
        "asan": ["tools/setup", "--sanitize=address,undefined", one],
        "tsan": ["tools/setup", "--sanitize=thread", one],
    }


# Suites of one process each as a rule: those of a row run two at once.
TWO_AT_ONCE = (r"python-3\.\d+t?|citizens|remote|consumer", r"(whole-)?python-[at]san")


def run(names: list[str], quick: bool) -> list[Tally]:
    """Builds what the suites need, when they need it, and runs them; see TWO_AT_ONCE."""
    suites, commands, done = suites_by_name(), build_commands(quick), {}
    tallies: list[Tally] = []
    waiting = list(names)
    while waiting:
        name = waiting[0]
        together = [name]
        for row in TWO_AT_ONCE:
            if re.fullmatch(row, name):
                together = [other for other in waiting if re.fullmatch(row, other)]
        waiting = [other for other in waiting if other not in together]
        for build in dict.fromkeys(suites[each][0] for each in together):
            if build not in done:
                done[build] = built(f"build {build}", *commands[build])
                tallies.append(done[build])
        unbuilt = [each for each in together if done[suites[each][0]].failed]
        tallies += [Tally(each, failed=1, closing=[f"{each}: not built"]) for each in unbuilt]
        with ThreadPoolExecutor(max_workers=2) as pool:
            built_ones = [each for each in together if each not in unbuilt]
            tallies += pool.map(lambda each: suites[each][1](), built_ones)
    by_name = {tally.suite: tally for tally in tallies}
    if "cpp" in by_name and "cpp-asan" in by_name:
        same_tests(by_name["cpp"], by_name["cpp-asan"])
    return tallies


def out_of_turn(found: list[str], day: int) -> list[str]:
    """The CPythons whose tests are left out on this day where they run with each change: of those
    between the oldest and the newest one a day has its turn, and the primary runs always."""
    between = [each for each in found[1:-1] if each != primary()]
    return [each for i, each in enumerate(between) if i != day % len(between)]


def behaviours() -> Tally:
    say("== behaviours")
    tally = Tally("behaviours")
    if subprocess.run([sys.executable, str(ROOT / "tools/behaviours")]).returncode != 0:
        tally.fail("tools/behaviours found something wrong")
    return tally


# So many tests that failed are named again at the end of a suite.
MOST_FAULTS = 20


def close(tallies: list[Tally], started: float, budgets: bool) -> int:
    say("\n== closing lines")
    total = Tally("all")
    used = {}
    for tally in tallies:
        total.passed += tally.passed
        total.failed += tally.failed
        total.skipped += tally.skipped
        if tally.seconds:
            used[tally.suite] = tally.seconds
        for line in tally.closing:
            say(line)
        for fault in tally.faults[:MOST_FAULTS]:
            say(f"  failed: {fault}")
        if tally.suite in suites_by_name() and not tally.passed + tally.failed + tally.skipped:
            say(f"{tally.suite}: no test ran, which counts as a failure")
            total.failed += 1
    if budgets:
        speed = loop() / declared()["machine"].getfloat("loop")
        lines, over = budget_lines(used, speed)
        for line in [*lines, *over]:
            say(line)
        total.failed += len(over)
    say(f"took {time.monotonic() - started:.0f} s")
    say(total.line())
    return 1 if total.failed else 0


def main() -> int:
    parser = argparse.ArgumentParser("tools/test", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="no sanitizers, no wheel, one CPython")
    parser.add_argument("--suite", nargs="+", metavar="NAME", help="these suites alone")
    parser.add_argument("--long", metavar="NAME", help="one suite, with ten times the volume")
    parser.add_argument(
        "--python-sanitizers", action="store_true", help="all of test/python under the sanitizers"
    )
    asked = parser.parse_args()
    started = time.monotonic()
    known = suites_by_name()
    everything = [name for name in known if not name.startswith("whole-")]
    names = ["cpp", f"python-{primary()}"] if asked.quick else everything
    left_out = out_of_turn(pythons(), date.today().toordinal()) if os.environ.get("CI") else []
    names = [name for name in names if name.removeprefix("python-") not in left_out]
    if asked.python_sanitizers:
        names = ["whole-python-asan", "whole-python-tsan"]
    if asked.long or asked.suite:
        names = asked.suite or [asked.long]
    for name in names:
        if name not in known:
            parser.error(f"there is no suite {name}; there are: {', '.join(known)}")
    if asked.long:
        os.environ |= LONG
    whole = not (asked.python_sanitizers or asked.long or asked.suite)
    if whole:
        shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    tallies = run(names, asked.quick)
    if whole:
        tallies.append(behaviours())
    if whole and left_out:
        say(f"\nnot in turn today: python-{', python-'.join(left_out)}; without CI all run")
    return close(tallies, started, budgets=not (asked.long or asked.python_sanitizers))


if __name__ == "__main__":
    sys.exit(main())
