"""Fixtures of the consumer tests: the Python that has the wheel, and a way to run programs.

`tools/test` installs the wheel and sets OPYARD_WHEEL_PYTHON; without it these tests are skipped.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest


def run(*command, cwd, **environment):
    """Runs a program outside the repository; what it printed, or a failure that shows it all."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PKG_CONFIG_PATH")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**clean, **{name: str(value) for name, value in environment.items()}},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        pytest.fail(f"{command} ended with code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


@pytest.fixture(scope="session")
def wheel_python():
    """The interpreter of the virtual environment that has the wheel and nothing of the build."""
    python = os.environ.get("OPYARD_WHEEL_PYTHON")
    if not python:
        pytest.skip("OPYARD_WHEEL_PYTHON is not set; tools/test sets it")
    return Path(python)


@pytest.fixture(scope="session")
def build_info(wheel_python, tmp_path_factory):
    """opyard._build_info as the installed package tells it."""
    names = "version", "layout", "library", "kernels", "include_dirs", "pkgconfig_dir", "cmake_dir"
    program = (
        "import json; from opyard import _build_info as info;"
        f"print(json.dumps({{name: getattr(info, name) for name in {names}}}))"
    )
    return json.loads(run(wheel_python, "-c", program, cwd=tmp_path_factory.mktemp("info")))


@pytest.fixture(scope="session")
def package(build_info):
    """The folder opyard/ of the installed package."""
    return Path(build_info["library"]).parent
