"""Protects the example of one library for everybody's arrays: it builds and does what it says."""

import shutil
import sys
from pathlib import Path

from conftest import run

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "arrays"

EACH = """\
{0}: scaled_add [[3.0, 4.0], [5.0, 7.0]], of the same kind: True
{0}: clip_ gives its argument back: True, [[1.5, 2.0], [3.0, 4.0]]
{0}: moments [1.75, 3.5] [0.0625, 0.25]
{0}: rows are views: [[1.5, 2.0], [7.0, 4.0]], True
{0}: softmax [0.5, 0.5]
"""
REFUSED = (
    "NumPy: refused: the operator writes to this argument, and the memory of the array is "
    "read-only; pass one that can be written, such as a copy.\n"
)
MIXED = "PyTorch: with an array of NumPy [[2.0, 3.0]], Tensor\n"
SKIPPED = "PyTorch: not installed, skipped\n"


def test_the_example_of_arrays_builds_and_works(wheel_python, build_info, tmp_path):
    meson = shutil.which("meson", path=f"{Path(sys.executable).parent}:/usr/bin")
    found = {"PKG_CONFIG_PATH": build_info["pkgconfig_dir"]}
    run(meson, "setup", tmp_path / "build", EXAMPLE, cwd=tmp_path, **found)
    run(meson, "compile", "-C", tmp_path / "build", cwd=tmp_path)
    library = tmp_path / "build" / "libarrays.so"
    printed = run(wheel_python, EXAMPLE / "use.py", "--library", library, cwd=tmp_path)
    numpy = EACH.format("NumPy") + REFUSED
    assert printed in (numpy + SKIPPED, numpy + EACH.format("PyTorch") + MIXED)
