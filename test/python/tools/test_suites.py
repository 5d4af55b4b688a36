"""test_suites.py: budgets of the suites of tools/test, and the files that they run.

Suspect tools/suites.py, test/suites.ini and test/python/parts.py.
"""

import importlib
import re
import subprocess
import sys
import time
import types

import pytest
from built import ROOT
from parts import MARKS, PARTS, is_left_out, marks_of

pytestmark = pytest.mark.once

HERE = ROOT / "test/python"
# Marks of pytest that files have as a whole.
OTHERS = {"skipif", "filterwarnings"}
VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15", "3.13t"]


@pytest.fixture
def suites(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("suites")


def planted(folder):
    """Test files by their marks; none can be imported."""
    heads = {
        "test_plain": "",
        "test_skipped": "pytestmark = pytest.mark.skipif(SANITIZED, reason='no memory')",
        "test_once": "pytestmark = pytest.mark.once",
        "test_memory": "pytestmark = pytest.mark.memory  # no threads",
        "test_both": "pytestmark = [pytest.mark.once, pytest.mark.memory]",
        "test_long": "pytestmark = [\n    pytest.mark.threads,\n    pytest.mark.skipif(True),\n]",
        "test_one_function": "@pytest.mark.memory\ndef test(): pass",
        "helper": "pytestmark = pytest.mark.once",
    }
    for name, head in heads.items():
        (folder / f"{name}.py").write_text(f"import pytest\n\n{head}\nraise SystemExit\n")
    return {name: folder / f"{name}.py" for name in heads}


LEFT_OUT = {
    "all": [],
    "elsewhere": ["test_both", "test_once"],
    "memory": ["test_long", "test_once", "test_one_function", "test_plain", "test_skipped"],
    "threads": [
        "test_both",
        "test_memory",
        "test_once",
        "test_one_function",
        "test_plain",
        "test_skipped",
    ],
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_the_files_with_its_mark_and_imports_no_other(part, tmp_path):
    files = planted(tmp_path)
    known = {*MARKS, "skipif"}
    left_out = [name for name, path in files.items() if is_left_out(path, part, known)]
    assert sorted(left_out) == LEFT_OUT[part]


def test_an_unknown_mark_is_refused(tmp_path, pytestconfig):
    file = tmp_path / "test_x.py"
    file.write_text("pytestmark = [pytest.mark.once, pytest.mark.memories]\n")
    with pytest.raises(pytest.UsageError, match="no mark is called memories; pyproject.toml lists"):
        pytest_ignore_collect_of(pytestconfig, file, "memory")
    file.write_text("pytestmark = [pytest.mark.once, pytest.mark.memory]\n")
    assert pytest_ignore_collect_of(pytestconfig, file, "memory") is None
    assert pytest_ignore_collect_of(pytestconfig, file, "elsewhere") is True


def pytest_ignore_collect_of(config, file, part):
    """What conftest.py says of a file in a run of a part."""
    (plugin,) = [
        each
        for each in config.pluginmanager.get_plugins()
        if getattr(each, "__file__", None) == str(HERE / "conftest.py")
    ]
    asked = types.SimpleNamespace(getoption={"--part": part}.get, getini=config.getini)
    return plugin.pytest_ignore_collect(file, asked)


def test_marks_of_parts_are_marks_of_files():
    """One that a function or a class has would choose nothing."""
    files = sorted(HERE.glob("*/test_*.py"))
    assert len(files) > 150
    found = {path: marks_of(path, MARKS | OTHERS) & MARKS for path in files}
    written = {
        path: set(re.findall(r"\bpytest\.mark\.(\w+)", path.read_text("utf-8"))) & MARKS
        for path in files
        if path.name != "test_suites.py"
    }
    assert {path: marks for path, marks in written.items() if marks != found[path]} == {}
    for mark in MARKS:
        assert any(mark in marks for marks in found.values()), mark


def test_cpu_seconds_are_those_of_all_processes(suites):
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    inner = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])"
    code, seconds, said = suites.execute([sys.executable, "-c", f"{inner}\nprint('done')"])
    assert (code, said) == (0, "done\n")
    assert seconds >= 0.5


def test_what_is_over_is_said(suites, monkeypatch, tmp_path):
    figures = tmp_path / "suites.ini"
    figures.write_text("[suites]\ncpp = 100\n[builds]\nmain = 10\n")
    monkeypatch.setattr(suites, "declared", lambda read=suites.declared: read(figures))
    lines, over = suites.budget_lines({"cpp": 149.0, "build main": 16.0}, 1.0)
    assert lines[1].split() == ["cpp", "149", "100"]
    assert over == ["build main took 16 CPU seconds; test/suites.ini allows 10"]
    assert suites.budget_lines({"cpp": 149.0}, 0.9)[1] != []
    assert suites.budget_lines({"build main": 16.0}, 2.0)[1] == []


def test_every_suite_and_build_is_declared(suites, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["run_tests.py"])
    run_tests = importlib.import_module("run_tests")
    monkeypatch.setattr(run_tests, "pythons", lambda: VERSIONS)
    names = [name for name in run_tests.suites_by_name() if not name.startswith("whole-")]
    assert sorted(names) == sorted(suites.declared()["suites"])
    assert sorted(run_tests.build_commands()) == sorted(suites.declared()["builds"])


def test_a_leak_is_ours_from_whichever_folder_its_object_was_made_in(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    sanitizers = importlib.import_module("sanitizers")
    places = [
        "../../dispatcher/src/base/error.cpp:1",
        f"{ROOT}/dispatcher/src/base/error.cpp:2",
        "/elsewhere/dispatcher/src/base/error.cpp:3",
        "/elsewhere/src/base/other.cpp:4",
        "/usr/include/c++/12/bits/stl_vector.h:5",
        f"{ROOT}/build/venv-3.11/lib/numpy.so+0x1",
        "../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:69",
        "Objects/obmalloc.c:3",
    ]
    head = "Direct leak of 8 byte(s) in 1 object(s) allocated from:"
    blocks = [f"{head}\n    #0 0x7f in f {place}" for place in places]
    (tmp_path / "log.1").write_text("\n\n".join(blocks), "utf-8")
    found = sanitizers.leaks_of_ours(tmp_path)
    assert found == {f"f {place}": 1 for place in places[:3]}


@pytest.mark.parametrize("maker", ["PyFloat_FromDouble", "_PyObject_GC_NewVar", "_PyObject_GC_New"])
@pytest.mark.parametrize("objects", [1, 17, 99, 100])
def test_memory_that_cpython_recycles_is_a_leak_if_it_is_much(
    monkeypatch, tmp_path, maker, objects
):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    sanitizers = importlib.import_module("sanitizers")
    head = f"Direct leak of 56 byte(s) in {objects} object(s) allocated from:"
    frames = [f"{maker} Modules/a.c:1", "ours ../../dispatcher/src/base/error.cpp:2"]
    lines = [f"    #{i} 0x7f in {frame}" for i, frame in enumerate(frames)]
    (tmp_path / "log.1").write_text("\n".join([head, *lines]), "utf-8")
    is_found = objects == 100 or maker == "_PyObject_GC_New"  # of which our own objects are made
    assert sanitizers.leaks_of_ours(tmp_path) == ({frames[1]: 1} if is_found else {})


UNSTEADY = """
import pathlib

def test_steady():
    pass

def test_once_only(tmp_path_factory):
    seen = pathlib.Path({seen!r})
    first = not seen.exists()
    seen.touch()
    assert not first, "the machine was slow"

class TestOfClass:
    def test_never(self):
        assert False
"""


@pytest.fixture
def unsteady(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("unsteady")


def test_what_failed_runs_again_and_only_what_passes_then_has_passed(unsteady, suites, tmp_path):
    (tmp_path / "test_x.py").write_text(UNSTEADY.format(seen=str(tmp_path / "seen")))
    first, again = tmp_path / "first.xml", tmp_path / "again"

    def pytest_run(results, *arguments):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        options = [f"--junitxml={results}", *unsteady.OPTIONS.split()]
        return subprocess.run([*command, *options], cwd=tmp_path, capture_output=True).returncode

    assert pytest_run(first, "test_x.py") == 1
    failed = unsteady.failed_tests(first)
    assert failed == ["test_x.py::test_once_only", "test_x.py::TestOfClass::test_never"]
    assert pytest_run(again, *failed) == 1
    assert unsteady.take_over(first, again) == failed[:1]
    tally = suites.Tally("x")
    tally.read([first])
    assert (tally.passed, tally.failed) == (2, 1)
    assert unsteady.failed_tests(first) == failed[1:]


@pytest.mark.parametrize(("returned", "looks"), [([1], True), ([-11], False), ([], False)])
def test_only_what_ended_by_failures_runs_again(unsteady, tmp_path, returned, looks):
    log = tmp_path / "log.json"
    log.write_text("".join(f'{{"name": "x", "returncode": {code}}}\n' for code in returned))
    assert unsteady.ended_by_failures(log) is looks
    assert unsteady.ended_by_failures(tmp_path / "none") is False


def test_more_than_a_few_that_failed_do_not_run_again(unsteady, tmp_path):
    case = '<testcase file="test_x.py" classname="test_x" name="test_{}"><failure/></testcase>'
    cases = "".join(map(case.format, range(unsteady.MOST + 1)))
    (tmp_path / "x.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    assert unsteady.failed_tests(tmp_path / "x.xml") == []


def test_with_each_change_one_of_the_cpythons_between_has_its_turn(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    run_tests = importlib.import_module("run_tests")
    found = ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
    monkeypatch.setattr(run_tests, "primary", lambda: "3.11")
    days = [run_tests.out_of_turn(found, day) for day in range(3)]
    assert days == [["3.13", "3.14"], ["3.12", "3.14"], ["3.12", "3.13"]]
    assert run_tests.out_of_turn(["3.10", "3.11"], 5) == []
    assert run_tests.out_of_turn(["3.11"], 5) == []


@pytest.mark.parametrize("broken", ["", "build wheel"])
def test_suites_of_one_process_run_two_at_once(monkeypatch, broken):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    run_tests, suites = map(importlib.import_module, ("run_tests", "suites"))
    started, running, most = [], set(), {}

    def suite(name):
        def run():
            started.append(name)
            running.add(name)
            most[name] = len(running)
            time.sleep(0.02)
            running.discard(name)
            return suites.Tally(name, passed=1)

        return run

    known = {name: (build, suite(name)) for name, (build, _) in run_tests.suites_by_name().items()}
    known |= {f"python-3.{n}": ("main", suite(f"python-3.{n}")) for n in (10, 11)}
    monkeypatch.setattr(run_tests, "suites_by_name", lambda: known)
    built = lambda name, *_: suites.Tally(name, failed=int(name == broken))  # noqa: E731
    monkeypatch.setattr(run_tests, "built", built)
    names = [name for name in known if not name.startswith("whole-")]
    tallies = {tally.suite: tally for tally in run_tests.run(names, quick=False)}
    assert tallies.keys() >= set(names)
    assert sorted(started) == sorted(set(names) - ({"consumer"} if broken else set()))
    assert tallies["consumer"].failed == (1 if broken else 0)
    alone = {name for name, count in most.items() if count == 1}
    assert alone >= {"cpp", "headers", "instructions", "cpp-asan", "cpp-tsan"}
    assert max(most.values()) == 2 and most["python-tsan"] + most["python-asan"] == 3


def test_frameworks_that_are_not_installed_are_a_failure_that_says_so(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    run_tests = importlib.import_module("run_tests")
    monkeypatch.setattr(run_tests, "BUILD", tmp_path)
    monkeypatch.setattr(run_tests, "RESULTS", tmp_path)
    tally = run_tests.citizens()
    assert (tally.passed, tally.failed) == (0, 1)
    assert "tools/setup --frameworks makes it" in " ".join([*tally.closing, *tally.faults])


@pytest.mark.parametrize("volume", ["10", "1"])
def test_tests_of_a_long_suite_may_take_an_hour_each(monkeypatch, tmp_path, volume):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    run_tests = importlib.import_module("run_tests")
    monkeypatch.setattr(run_tests, "BUILD", tmp_path)
    monkeypatch.setattr(run_tests, "RESULTS", tmp_path)
    monkeypatch.setenv("OPYARD_TEST_VOLUME", volume)
    python = tmp_path / "venv-remote/bin/python"
    python.parent.mkdir(parents=True)
    python.touch()
    given = []

    def execute(command, environment, shown, seconds):
        given.append((command, seconds))
        return 0, 1.0, ""

    monkeypatch.setattr(run_tests, "execute", execute)
    run_tests.remote()
    [(command, seconds)] = given
    is_long = volume == "10"
    assert ("faulthandler_timeout=3600" in command) == is_long
    assert seconds == (4 if is_long else 1) * 3600
