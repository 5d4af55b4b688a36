"""Protects the guide of extension modules: its commands build both against the wheel."""

import re
from pathlib import Path

from conftest import run

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guides" / "extensions.md").read_text("utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.M | re.S)


def test_the_commands_of_the_guide_build_modules_that_its_program_imports(wheel_python, tmp_path):
    venv = tmp_path / "venv"
    run(wheel_python, "-m", "venv", venv, cwd=tmp_path)
    found = {"PIP_FIND_LINKS": ROOT / "build" / "dist", "PIP_DISABLE_PIP_VERSION_CHECK": 1}
    needed = ["opyard", "numpy", "pybind11>=3,<4"]
    run(venv / "bin/python", "-m", "pip", "install", "-q", *needed, cwd=tmp_path, **found)
    for block in blocks("cpp"):
        [name] = re.findall(r"^// (\w+\.cpp)$", block, re.M)
        (tmp_path / name).write_text(block, "utf-8")
    path = f"{venv / 'bin'}:/usr/bin:/bin"
    run("sh", "-e", "-c", "\n".join(blocks("sh")), cwd=tmp_path, PATH=path)
    run(venv / "bin/python", "-c", "\n".join(blocks("python")), cwd=tmp_path)
