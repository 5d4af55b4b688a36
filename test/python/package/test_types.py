"""test_types.py: type checkers accept the package, and its types are those at run time.

Suspect the .pyi files, and the signatures of opyard/_library.
"""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built import ROOT

import opyard

pytestmark = pytest.mark.once

HERE = Path(__file__).parent
PROGRAMS = ["typed_program.py", "typed_arrays.py"]
PACKAGE = ROOT / "pyfallback"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with the texts of the package in one piece, as a wheel has them: type checkers know
    of no package in several."""
    folder = tmp_path_factory.mktemp("package")
    for part in opyard.__path__:
        others = shutil.ignore_patterns("*.so", "*.p", "__pycache__")
        shutil.copytree(part, folder / "opyard", ignore=others, dirs_exist_ok=True)
    return folder


def test_every_dispatch_key_is_known_to_type_checkers():
    text = (PACKAGE / "opyard" / "_core" / "_key_names.pyi").read_text()
    members = [line.split(" = ") for line in text.splitlines() if " = " in line]
    # In a process of its own: a layer for users may have been named in this one.
    asked = "from opyard import _C; print(_C.dispatch_keys())"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = [(name.strip(), int(number)) for name, number in members]
    assert done.stdout.strip() == repr(wanted)


def test_methods_of_tensor_have_the_results_of_their_operators():
    tool = PACKAGE.parent / "tools" / "method_stubs.py"
    done = subprocess.run(
        [sys.executable, tool, "--check"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, "run tools/python tools/method_stubs.py\n" + done.stderr


@pytest.fixture(scope="module")
def mypy(package, tmp_path_factory):
    """What mypy --strict says of files of this folder; one cache serves them all."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    cache = tmp_path_factory.mktemp("mypy")

    def checked(*files):
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "mypy",
                "--strict",
                "--follow-imports=silent",
                f"--cache-dir={cache}",
                *(str(HERE / file) for file in files),
            ],
            env={**os.environ, "MYPYPATH": str(package)},
            capture_output=True,
            text=True,
        )

    return checked


def test_programs_are_clean_under_mypy_strict(mypy):
    done = mypy(*PROGRAMS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_with_arrays_runs_as_it_is_typed():
    done = subprocess.run(
        [sys.executable, HERE / "typed_arrays.py"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and done.stdout.startswith("60 epochs, error 0."), done.stderr


def test_calls_that_raise_are_refused_by_mypy(mypy):
    """Each call of the file raises, and mypy has an error for its line; it has none for others."""
    lines = set()
    for call in runpy.run_path(str(HERE / "typed_refusals.py"))["CALLS"]:
        line = call.__code__.co_firstlineno
        lines.add(line)
        with pytest.raises((TypeError, ValueError, AttributeError)):
            print(f"line {line} gave {call()}")
    done = mypy("typed_refusals.py")
    found = re.findall(r"typed_refusals\.py:(\d+): error", done.stdout)
    assert {int(line) for line in found} == lines, done.stdout


def test_programs_are_clean_under_basedpyright(package, tmp_path):
    checker = shutil.which("basedpyright", path=str(Path(sys.executable).parent))
    if checker is None:
        pytest.skip("basedpyright is not installed")
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps(
            {
                "include": [str(HERE / name) for name in PROGRAMS],
                "extraPaths": [str(package)],
                "typeCheckingMode": "standard",
            }
        )
    )
    done = subprocess.run(
        [checker, "--project", str(tmp_path), "--pythonpath", sys.executable],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stubs_are_what_runs(package, tmp_path):
    """stubtest compares each name, parameter and default with the module that is imported."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    # What the package itself does with its types is no matter of its users.
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\n[mypy-opyard.*]\nignore_errors = True\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy.stubtest",
            "opyard",
            "--concise",
            "--ignore-disjoint-bases",
            "--ignore-unused-allowlist",
            f"--mypy-config-file={settings}",
            f"--allowlist={HERE / 'stubtest_allowed.txt'}",
        ],
        env={
            **os.environ,
            "MYPYPATH": str(package),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_typed_as_generic_is_so_when_it_runs():
    assert opyard.futures.Future[int]
    assert opyard.library.CustomOpDef[[int], int]


SHELL = """
import jedi

import opyard

names = {"opyard": opyard, "x": opyard.zeros(3)}
for code, found in [
    ("opyard.zeros(3).resh", "reshape"), ("x.resh", "reshape"), ("x.sha", "shape"),
    ("opyard.zeros(3).sum(0).rel", "relu"), ("opyard.ops.aten.rel", "relu"),
    ("opyard.nn.Linear(2, 3).wei", "weight"), ("opyard.nn.Lin", "Linear"), ("opyard.zer", "zeros"),
]:
    names_found = [each.name for each in jedi.Interpreter(code, [names]).complete()]
    assert found in names_found, (code, names_found)
"""


def test_jedi_completes_names_of_a_tensor(package, tmp_path):
    """As IPython does, by the stubs for what a call gives, and by dir() for what is there."""
    pytest.importorskip("jedi", reason="jedi is not installed")
    done = subprocess.run(
        [sys.executable, "-c", SHELL],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "XDG_CACHE_HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
