"""test_suites.py: what the suites of tools/test may take, and which files they run.

Suspect tools/suites.py, test/suites.ini and the head of test/python/conftest.py.
"""

import importlib
import sys
import types
from pathlib import Path

import pytest
from conftest import PARTS, files_of, pytest_ignore_collect

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "test/python"


@pytest.fixture
def suites(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("suites")


@pytest.mark.parametrize("section", ["once", "memory", "threads"])
def test_listed_files_exist(section):
    assert files_of(section) - {path.stem for path in HERE.glob("test_*.py")} == set()


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_the_files_of_its_list(part):
    config = types.SimpleNamespace(getoption={"--part": part}.get)
    everything = {path.stem for path in HERE.glob("*.py")}
    left_out = {path.stem for path in HERE.glob("*.py") if pytest_ignore_collect(path, config)}
    helpers = {name for name in everything if not name.startswith("test_")}
    wanted = {"all": everything, "elsewhere": everything - files_of("once")}
    assert everything - left_out == (wanted.get(part) or files_of(part) | helpers)


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
    monkeypatch.setattr(run_tests, "pythons", lambda: ["3.10", "3.11", "3.12", "3.13"])
    names = [name for name in run_tests.suites_by_name() if not name.startswith("whole-")]
    assert sorted(names) == sorted(suites.declared()["suites"])
    assert sorted(run_tests.build_commands()) == sorted(suites.declared()["builds"])
