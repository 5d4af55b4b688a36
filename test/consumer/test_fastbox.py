"""Protects the example of one wheel for all frameworks: pip builds it without any of them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import run

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
from importlib.metadata import distribution

import numpy as np

import opyard

assert distribution("fastbox").requires == ["opyard~=0.1.0"]
angles = np.outer(np.arange(3), [1.0, 0.1])
x = np.ones((2, 3, 4))
turned = opyard.ops.fastbox.rotary(x, np.cos(angles), np.sin(angles))
assert type(turned) is np.ndarray
assert np.allclose(opyard.ops.fastbox.rotary(turned, np.cos(angles), -np.sin(angles)), x)
boxes = np.float32([[0, 0, 4, 4], [0, 0, 4, 5], [8, 8, 9, 9]])
print(opyard.ops.fastbox.nms(boxes, np.float32([1, 2, 3]), 0.5))
assert not {"torch", "jax"} & set(sys.modules)
"""

# The stub came with the wheel: a wrong call is found, and right ones are not.
USE = """\
import numpy as np
import opyard
from fastbox import nms

boxes = np.asarray([[0, 0, 4, 4], [0, 0, 4, 5], [8, 8, 9, 9]], np.float32)
def wrong() -> None:
    nms(boxes, 0.5)
kept: opyard.Tensor = nms(opyard.from_numpy(boxes), opyard.tensor([1.0, 2.0, 3.0]), np.float32(0.5))
print(nms(boxes, np.asarray([1, 2, 3], np.float32), 0.5))
"""


def test_one_wheel_is_built_in_isolation_and_needs_no_framework(wheel_python, tmp_path):
    shutil.copytree(ROOT / "examples" / "fastbox", tmp_path / "fastbox")
    venv = tmp_path / "venv"
    run(wheel_python, "-m", "venv", venv, cwd=tmp_path)
    python = venv / "bin" / "python"
    found = {"PIP_FIND_LINKS": ROOT / "build" / "dist", "PIP_DISABLE_PIP_VERSION_CHECK": 1}
    run(python, "-m", "pip", "install", "-q", "numpy", tmp_path / "fastbox", cwd=tmp_path, **found)
    assert run(python, "-c", PROGRAM, cwd=tmp_path) == "[2 1]\n"
    mypy = pytest.importorskip("mypy", reason="mypy is not installed").__name__
    (tmp_path / "use.py").write_text(USE)
    said = subprocess.run(
        [sys.executable, "-m", mypy, "--strict", "--python-executable", python, "use.py"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
    ).stdout
    assert re.findall(r"use.py:(\d+): error.*\[([\w-]+)\]", said) == [("7", "call-overload")], said
    assert run(python, "use.py", cwd=tmp_path) == "[2 1]\n"
