"""Protects the example of an operator with a derivative: it builds as users do, and trains."""

import re
import shutil
import sys
from pathlib import Path

from conftest import run

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "gradients"


def test_the_example_of_gradients_builds_and_trains(wheel_python, build_info, tmp_path):
    meson = shutil.which("meson", path=f"{Path(sys.executable).parent}:/usr/bin")
    found = {"PKG_CONFIG_PATH": build_info["pkgconfig_dir"]}
    run(meson, "setup", tmp_path / "build", EXAMPLE, cwd=tmp_path, **found)
    run(meson, "compile", "-C", tmp_path / "build", cwd=tmp_path)
    library = tmp_path / "build" / "libgradients.so"
    printed = run(wheel_python, EXAMPLE / "train.py", library, cwd=tmp_path)
    losses = re.fullmatch(r"loss (\d\.\d+) before, (\d\.\d+) after 200 steps\n", printed)
    assert losses, printed
    assert float(losses[2]) < float(losses[1]) / 100
