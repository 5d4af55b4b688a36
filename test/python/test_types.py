"""test_types.py: what type checkers see of the package, and that it is what runs.

Suspect the .pyi files, and the signatures of opyard/_library.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import opyard
from opyard import _C

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "pyfallback"


def test_every_dispatch_key_is_known_to_type_checkers():
    text = (PACKAGE / "opyard" / "_core" / "_key_names.pyi").read_text()
    members = [line.split(" = ") for line in text.splitlines() if " = " in line]
    assert [(name.strip(), int(number)) for name, number in members] == _C.dispatch_keys()


def test_a_program_is_clean_under_mypy_strict(tmp_path):
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
        env={**os.environ, "MYPYPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_typed_as_generic_is_so_when_it_runs():
    assert opyard.futures.Future[int]
    assert opyard.library.CustomOpDef[[int], int]
