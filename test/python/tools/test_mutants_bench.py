"""test_mutants_bench.py: the bench of tools/mutants.py names what failed, and then stops.

Its programs here are lines of Python. If these fail, suspect tools/mutants_bench.py.
"""

import importlib
import os
import sys
import textwrap

import pytest
from built import ROOT, plain_build

pytestmark = pytest.mark.once


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("mutants_bench")


def program(bench, name, idea, code, seconds=0.0):
    made = bench.Program(
        name, idea, [sys.executable, "-c", textwrap.dedent(code)], {}, bench.failed_gtest
    )
    made.seconds = seconds
    return made


@plain_build
def test_a_program_says_which_test_failed_or_was_running(bench, tmp_path):
    def run(code, most=60):
        return program(bench, "test_x", "keys", code).run(tmp_path, tmp_path, most)

    ran = (
        "print('[ RUN      ] A.First\\n[       OK ] A.First\\n[ RUN      ] A.Second', flush=True)\n"
    )
    failed = "print('[  FAILED  ] A.Second (0 ms)\\n[  FAILED  ] A.Third')\nraise SystemExit(1)"
    assert run(ran) is None
    assert run(ran + failed) == "test_x, A.Second"
    assert run(ran + "import os; os.abort()") == "test_x, A.Second, SIGABRT"
    assert run("raise SystemExit(3)") == "test_x, before its first test"
    assert run(ran + "import time; time.sleep(60)", 1) == "test_x, A.Second, no end after 1 s"


def test_pytest_says_which_test_failed_or_was_running(bench):
    began = "../tree/test/python/test_a.py::test_x[1] PASSED\ntest/python/test_a.py::test_y "
    assert bench.failed_pytest(began) == "test_a.py::test_y"
    failed = "FAILED test/python/test_a.py::test_x[1] - assert 1 == 2\n"
    assert bench.failed_pytest(began + "\n" + failed) == "test_a.py::test_x[1]"
    assert bench.failed_pytest("ERROR test/python/test_b.py - ImportError\n") == "test_b.py"


@plain_build
def test_programs_of_the_idea_come_first_and_the_first_failure_ends_it(
    bench, tmp_path, monkeypatch
):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    subject = bench.Bench(tmp_path / "tree")
    subject.tree.mkdir()
    note = "open('ran', 'a').write('{} ')\nraise SystemExit({})"
    subject.programs = [
        program(bench, "slow", "keys", note.format("slow", 0), 2),
        program(bench, "quick", "keys", note.format("quick", 0), 1),
        program(bench, "other", "schema", note.format("other", 0), 0),
    ]
    subject.python = program(bench, "pytest", "", note.format("pytest", 0))
    ran = subject.tree / "ran"
    assert subject.run("keys") is None
    assert ran.read_text() == "quick slow other pytest "
    ran.unlink()
    subject.programs[1].command[-1] = note.format("quick", 1)
    assert subject.run("schema") == "quick, before its first test"
    assert ran.read_text() == "other quick "


def test_programs_are_found_below_their_ideas(bench):
    ideas = bench.ideas_of_programs(ROOT)
    assert ideas["test_keys"] == "keys"
    assert ideas["test_schema"] == ideas["test_fuzz_corpus"] == "schema"
    assert ideas["test_registry"] == ideas["test_reclaim"] == "registry"
    assert ideas["test_base"] == "base"
    programs = bench.programs_of_files(ROOT)
    assert programs["test_c_closure"] == "test_ffi"
    assert programs["test_reclaim"] == "test_reclaim"
    assert set(programs.values()) <= set(ideas)
    assert ideas["test_jit"] == "jit"
    assert ideas["test_autograd"] == ideas["test_concurrency_autograd"] == "autograd"
    assert {"base", "tensor", "value", "interpreter", "thread", "ffi", "plugin", "c_api"} <= set(
        ideas.values()
    )
    for name in bench.PYTHON_TESTS:
        assert len(bench.tests_called(ROOT, f"test_{name}.py")) == 1
