"""Protects the example in plain C: it builds with its own meson.build, and does what it says."""

import shutil
import sys
from pathlib import Path

from conftest import run

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "c_operators"

PRINTED = """\
clamp 1.0 2.0
hypot 5.0
dot 11.0 norm 3.162
the layer counted 2 calls of dot
refused: dot: the vectors differ in length
the exception of a kernel in Python: division by zero
unloaded: False
"""


def test_the_example_in_c_builds_and_works(wheel_python, build_info, tmp_path):
    meson = shutil.which("meson", path=f"{Path(sys.executable).parent}:/usr/bin")
    found = {"PKG_CONFIG_PATH": build_info["pkgconfig_dir"]}
    run(meson, "setup", tmp_path / "build", EXAMPLE, cwd=tmp_path, **found)
    run(meson, "compile", "-C", tmp_path / "build", cwd=tmp_path)
    library = tmp_path / "build" / "libc_operators.so"
    printed = run(wheel_python, EXAMPLE / "use.py", "--library", library, cwd=tmp_path)
    assert printed == PRINTED
