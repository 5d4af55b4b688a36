"""Protects the example of a wheel with C++ inside: pip builds it in isolation from our wheel."""

import os
import shutil
import sys
import zipfile
from pathlib import Path

from conftest import run

ROOT = Path(__file__).resolve().parents[2]


def test_opyard_config_says_what_compilers_need(wheel_python, build_info, tmp_path):
    config = wheel_python.parent / "opyard-config"
    [flags] = run(config, "--cflags", cwd=tmp_path).splitlines()
    assert [f"-I{folder}" for folder in build_info["include_dirs"]] == flags.split()
    assert run(config, "--libs", cwd=tmp_path).strip() == build_info["library"]


def test_entry_points_lead_cmake_and_pkg_config_here(wheel_python, package, tmp_path):
    program = (
        "from importlib.metadata import entry_points as e;"
        "print(*(p.value for g in ('cmake.prefix', 'pkg_config') for p in e(group=g)))"
    )
    values = run(wheel_python, "-c", program, cwd=tmp_path).split()
    assert "opyard" in values and "opyard.pkgconfig" in values
    assert (package / "cmake" / "opyardConfig.cmake").is_file()
    assert (package / "pkgconfig" / "opyard.pc").is_file()


def test_a_wheel_is_built_by_pip_in_isolation_and_is_for_many_systems(wheel_python, tmp_path):
    shutil.copytree(ROOT / "examples" / "package", tmp_path / "package")
    venv = tmp_path / "venv"
    run(wheel_python, "-m", "venv", venv, cwd=tmp_path)
    python = venv / "bin" / "python"
    found = {"PIP_FIND_LINKS": ROOT / "build" / "dist", "PIP_DISABLE_PIP_VERSION_CHECK": 1}
    build = ["-m", "pip", "wheel", "-q", "--no-deps", "-w", "built", "./package"]
    run(python, *build, cwd=tmp_path, **found)
    [built] = (tmp_path / "built").glob("steps-*.whl")
    repair = ["-m", "auditwheel", "repair", "--exclude", "libopyard.so", "-w", "dist", built]
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    run(sys.executable, *repair, cwd=tmp_path, PATH=programs)
    [wheel] = (tmp_path / "dist").glob("steps-*.whl")
    assert "-manylinux_" in wheel.name
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if "libopyard" in name]
    run(python, "-m", "pip", "install", "-q", wheel, cwd=tmp_path, **found)
    program = "import opyard; print(opyard.ops.steps.count(opyard.tensor([1.0, -1.0, 2.0])))"
    assert run(python, "-c", program, cwd=tmp_path) == "2\n"
