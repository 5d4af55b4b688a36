"""Protects the example of object detection: it builds, agrees with references, passes opcheck."""

import shutil
import sys
from pathlib import Path

from conftest import run

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "vision"


def test_the_example_of_vision_builds_and_works(wheel_python, build_info, tmp_path):
    meson = shutil.which("meson", path=f"{Path(sys.executable).parent}:/usr/bin")
    found = {"PKG_CONFIG_PATH": build_info["pkgconfig_dir"]}
    run(meson, "setup", tmp_path / "build", EXAMPLE, cwd=tmp_path, **found)
    run(meson, "compile", "-C", tmp_path / "build", cwd=tmp_path)
    library = tmp_path / "build" / "libvision.so"
    printed = run(wheel_python, EXAMPLE / "use.py", "--library", library, cwd=tmp_path)
    assert "NumPy, float64: nms keeps" in printed
    assert "Opyard, float32: nms keeps" in printed
    assert "opcheck of nms: SUCCESS SUCCESS" in printed
