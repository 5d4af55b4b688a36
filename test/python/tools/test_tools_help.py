"""test_tools_help.py: every tool says with --help what it does, and does nothing else.

Suspect the head comments and docstrings of tools/, and tools/_common.sh.
"""

import os
import shutil
import subprocess
import sys

import pytest
from built import ROOT

pytestmark = pytest.mark.once

# What is sourced or imported, and never run.
PARTS = [
    "_common.sh", "generated.py", "mutants_bench.py", "sanitizers.py", "suites.py", "unsteady.py",
]  # fmt: skip
TOOLS = sorted(
    path.name
    for path in (ROOT / "tools").iterdir()
    if path.suffix in ("", ".py") and path.is_file() and path.name not in PARTS
)
# Which of them print the text of another file.
HEADS = {"bench": "test/bench/run.py"}


def test_there_are_tools():
    assert {"setup", "test", "bench", "behaviours", "lint.py"} <= set(TOOLS)


@pytest.mark.parametrize("tool", TOOLS)
def test_help_says_what_a_tool_does_and_does_nothing(tool, tmp_path):
    for folder in ("tools", "test/bench", "test/fuzz"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    path = tmp_path / "tools" / tool
    command = [str(path)] if os.access(path, os.X_OK) else [sys.executable, str(path)]
    before = sorted(tmp_path.rglob("*"))
    done = subprocess.run(
        [*command, "--help"],
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{HEADS.get(tool, f'tools/{tool}')}: " in done.stdout
    assert len(done.stdout.splitlines()) >= 3
    assert sorted(tmp_path.rglob("*")) == before
