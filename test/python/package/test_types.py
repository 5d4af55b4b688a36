"""test_types.py: type checkers accept the package, and its types are those at run time.

Suspect the .pyi files, and the signatures of opyard/_library.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built import ROOT

import opyard
from opyard import _C

pytestmark = pytest.mark.once

HERE = Path(__file__).parent
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
    assert [(name.strip(), int(number)) for name, number in members] == _C.dispatch_keys()


def test_methods_of_tensor_have_the_results_of_their_operators():
    tool = PACKAGE.parent / "tools" / "method_stubs.py"
    done = subprocess.run(
        [sys.executable, tool, "--check"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, "run tools/python tools/method_stubs.py\n" + done.stderr


def test_a_program_is_clean_under_mypy_strict(package, tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--follow-imports=silent",
            f"--cache-dir={tmp_path}",
            str(HERE / "typed_program.py"),
        ],
        env={**os.environ, "MYPYPATH": str(package)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_is_clean_under_basedpyright(package, tmp_path):
    checker = shutil.which("basedpyright", path=str(Path(sys.executable).parent))
    if checker is None:
        pytest.skip("basedpyright is not installed")
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps(
            {
                "include": [str(HERE / "typed_program.py")],
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
