"""Protects what a user gets from pip: one folder that holds everything and needs nothing else."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import run

ROOT = Path(__file__).resolve().parents[2]
PROJECT = Path(__file__).parent / "project"
VERSION = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
COMPILE = ["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror"]

# What a wheel may ask of the system that loads it.
SYSTEM_LIBRARIES = {
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libgcc_s.so.1",
    "libm.so.6",
    "libstdc++.so.6",
}


def dynamic(file, tag, folder):
    return re.findall(rf"\({tag}\).*\[(.*)\]", run("readelf", "-d", file, cwd=folder))


def test_the_package_imports_from_any_folder(wheel_python, package, tmp_path):
    printed = run(wheel_python, "-c", "import opyard; print(opyard.__file__)", cwd=tmp_path)
    assert Path(printed.strip()).parent == package
    assert ROOT / "build/main" not in package.parents


def test_the_version_is_the_same_everywhere(wheel_python, build_info, tmp_path):
    program = (
        "import importlib.metadata as m, opyard; print(m.version('opyard'), opyard.__version__)"
    )
    assert run(wheel_python, "-c", program, cwd=tmp_path).split() == [VERSION, VERSION]
    assert build_info["version"] == VERSION
    assert build_info["layout"] == "wheel"


def test_there_is_one_library_under_one_name(package):
    assert [path.name for path in package.parent.rglob("libopyard*.so*")] == ["libopyard.so"]


def test_library_and_kernels_lie_where_the_package_says(build_info, package):
    assert Path(build_info["library"]).is_file()
    assert Path(build_info["kernels"]).is_file()
    assert Path(build_info["pkgconfig_dir"]).parent == package


def test_shared_libraries_find_each_other_and_need_only_the_system(package, tmp_path):
    files = sorted(package.glob("*.so"))
    assert files
    for file in files:
        assert set(dynamic(file, "RUNPATH", tmp_path)) <= {"$ORIGIN"}, file
        needed = set(dynamic(file, "NEEDED", tmp_path)) - {"libopyard.so"}
        assert needed <= SYSTEM_LIBRARIES, f"{file} needs {needed - SYSTEM_LIBRARIES}"


def test_nothing_in_it_names_the_folder_it_was_built_in(package):
    here = str(ROOT / "build/wheel").encode()
    assert [
        file for file in package.rglob("*") if file.is_file() and here in file.read_bytes()
    ] == []


def test_every_public_header_compiles_from_the_package(package, tmp_path):
    include = package / "include"
    headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))
    in_tree = sorted(
        str(path).split("/include/")[1] for path in ROOT.glob("*/include/**/*.h") if path.is_file()
    )
    assert headers == in_tree
    source = tmp_path / "all.cpp"
    source.write_text("".join(f"#include <{header}>\n" for header in headers))
    run(*COMPILE, "-fsyntax-only", f"-I{include}", source, cwd=tmp_path)


def test_the_pc_file_moves_with_the_package(package, tmp_path):
    moved = tmp_path / "elsewhere" / "opyard"
    shutil.copytree(package, moved, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    flags = run(
        "pkg-config",
        "--cflags",
        "--libs",
        "opyard",
        cwd=tmp_path,
        PKG_CONFIG_PATH=moved / "pkgconfig",
    )
    places = [Path(flag[2:]).resolve() for flag in flags.split() if flag[:2] in ("-I", "-L")]
    assert places == [moved / "include", moved]


def test_a_program_finds_it_through_pkg_config(build_info, package, tmp_path):
    found = {"PKG_CONFIG_PATH": build_info["pkgconfig_dir"]}
    flags = run("pkg-config", "--cflags", "--libs", "opyard", cwd=tmp_path, **found).split()
    run(*COMPILE, PROJECT / "consumer.cpp", "-o", "consumer", *flags, cwd=tmp_path)
    assert run("./consumer", cwd=tmp_path, LD_LIBRARY_PATH=package).strip() == VERSION


def test_a_meson_project_finds_it(build_info, tmp_path):
    found = {"PKG_CONFIG_PATH": build_info["pkgconfig_dir"]}
    run(*meson(), "setup", tmp_path / "built", PROJECT, cwd=tmp_path, **found)
    run(*meson(), "compile", "-C", tmp_path / "built", cwd=tmp_path)
    assert run(tmp_path / "built/consumer", cwd=tmp_path).strip() == VERSION


def test_a_meson_project_takes_it_as_a_subproject(tmp_path):
    shutil.copytree(PROJECT, tmp_path / "project")
    (tmp_path / "project/subprojects").mkdir()
    (tmp_path / "project/subprojects/opyard").symlink_to(ROOT)
    options = [f"-Dopyard:{name}=false" for name in ("python", "kernels", "tests", "benchmarks")]
    choices = ["--wrap-mode=nodownload", "--force-fallback-for=opyard"]
    printed = run(*meson(), "setup", "built", "project", *choices, *options, cwd=tmp_path)
    assert f"Dependency opyard for host machine found: YES {VERSION} (overridden)" in printed


CMAKE_PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(consumer C CXX)
find_package(opyard {version} REQUIRED)
add_executable(consumer consumer.cpp)
target_link_libraries(consumer PRIVATE opyard::opyard)
target_compile_features(consumer PRIVATE cxx_std_20)
add_executable(consumer_c consumer.c)
target_link_libraries(consumer_c PRIVATE opyard::opyard)
set_target_properties(consumer_c PROPERTIES C_STANDARD 99)
"""
C_PROGRAM = """
#include <opyard/c_api.h>
#include <stdio.h>

int main(void) {
  opyard_version_info info;
  info.bytes = sizeof info;
  if (opyard_version(&info) != OPYARD_OK) return 1;
  printf("%d.%d.%d", (int)info.major, (int)info.minor, (int)info.patch);
  return 0;
}
"""


def cmake_project(folder, version=VERSION):
    folder.mkdir()
    shutil.copy(PROJECT / "consumer.cpp", folder)
    (folder / "consumer.c").write_text(C_PROGRAM)
    (folder / "CMakeLists.txt").write_text(CMAKE_PROJECT.format(version=version))
    return folder


def cmake():
    found = Path(sys.executable).parent / "cmake"
    return found if found.exists() else shutil.which("cmake") or pytest.skip("there is no cmake")


def test_a_cmake_project_finds_it(build_info, tmp_path):
    project = cmake_project(tmp_path / "project")
    where = f"-Dopyard_DIR={build_info['cmake_dir']}"
    run(cmake(), "-S", project, "-B", tmp_path / "built", where, cwd=tmp_path)
    run(cmake(), "--build", tmp_path / "built", cwd=tmp_path)
    for program in ("consumer", "consumer_c"):
        assert run(tmp_path / "built" / program, cwd=tmp_path).strip() == VERSION


def test_the_cmake_file_moves_with_the_package_and_knows_its_version(package, tmp_path):
    moved = tmp_path / "elsewhere" / "opyard"
    shutil.copytree(package, moved, ignore=shutil.ignore_patterns("_*.so", "__pycache__"))
    where = f"-Dopyard_DIR={moved / 'cmake'}"
    project = cmake_project(tmp_path / "project")
    run(cmake(), "-S", project, "-B", tmp_path / "built", where, cwd=tmp_path)
    run(cmake(), "--build", tmp_path / "built", cwd=tmp_path)
    needed = dynamic(tmp_path / "built/consumer", "RUNPATH", tmp_path)
    assert [Path(path).resolve() for path in needed] == [moved]
    future = cmake_project(tmp_path / "future", version="99.0")
    done = subprocess.run(
        [cmake(), "-S", future, "-B", tmp_path / "never", where], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert f"opyardConfig.cmake, version: {VERSION}" in done.stderr


def meson():
    return [sys.executable, "-m", "mesonbuild.mesonmain"]


@pytest.mark.parametrize(
    "option", ["--pkgconfigdir", "--cmakedir", "--includedir", "--library", "--kernels"]
)
def test_python_m_opyard_says_where_things_lie(wheel_python, option, tmp_path):
    printed = run(wheel_python, "-m", "opyard", option, cwd=tmp_path).strip()
    assert Path(printed).exists(), printed
