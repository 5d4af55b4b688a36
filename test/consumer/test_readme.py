"""Protects the README: its C++ is compiled and its Python is run, as a stranger would do it.

The C++ blocks become one plugin, lib<namespace>.so, in an empty folder; the Python blocks are run
there as one program.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import run

README = Path(__file__).resolve().parents[2] / "README.md"


# A program that needs a library besides the dispatcher.
MODELS = """
#include <cstdio>
#include <opyard/models/model.h>
int main() { std::puts(opyard::jit::Model().graph ? "a graph" : "no graph"); }
"""


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_readme_work(wheel_python, build_info, tmp_path):
    cpp, python = "\n".join(blocks("cpp")), "\n".join(blocks("python"))
    namespace = re.search(r"OPYARD_LIBRARY\((\w+)", cpp)[1]
    (tmp_path / "plugin.cpp").write_text(cpp)
    (tmp_path / "program.py").write_text(python)

    found = {"PKG_CONFIG_PATH": build_info["pkgconfig_dir"]}
    flags = run("pkg-config", "--cflags", "--libs", "opyard", cwd=tmp_path, **found).split()
    command = ["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    run(*command, "plugin.cpp", "-o", f"lib{namespace}.so", *flags, cwd=tmp_path)
    printed = run(wheel_python, "program.py", cwd=tmp_path)
    for shown in re.findall(r"#.*?(\[[\d., ]+\])", python):  # what the comments promise
        assert shown.replace(" ", "") in printed.replace(" ", "")
    assert "demo::twice" in printed.partition("Corrected")[2], "the table of the profile"
    assert (tmp_path / "profile.html").stat().st_size > 10_000


def test_the_first_program_needs_nothing_but_the_wheel(wheel_python, tmp_path):
    (tmp_path / "program.py").write_text(blocks("python")[0])
    assert "[18., 45.]" in run(wheel_python, "program.py", cwd=tmp_path)


def test_the_command_that_compiles_the_kernel_is_right(wheel_python, tmp_path):
    [command] = [line for line in blocks("sh") if line.startswith("c++ ")]
    (tmp_path / "demo.cpp").write_text("\n".join(blocks("cpp")))
    path = f"{wheel_python.parent}:{os.environ['PATH']}"
    run("bash", "-c", command, cwd=tmp_path, PATH=path)
    assert (tmp_path / "libdemo.so").exists()


def test_a_program_of_pkg_config_runs_with_the_run_path_of_the_readme(build_info, tmp_path):
    [way] = re.findall(r"`(-Wl,-rpath,[^`]*)`", README.read_text())
    (tmp_path / "demo.cpp").write_text(MODELS)
    flags = f"$(pkg-config --cflags --libs opyard_models) {way}"
    found = {"PKG_CONFIG_PATH": build_info["pkgconfig_dir"]}
    run("sh", "-ec", f"c++ -std=c++20 demo.cpp -o demo {flags}", cwd=tmp_path, **found)
    assert run(tmp_path / "demo", cwd=tmp_path) == "no graph\n"


def test_the_lines_of_cmake_compile_as_they_are(build_info, tmp_path):
    program = Path(sys.executable).parent / "cmake"
    if not program.exists() and shutil.which("cmake") is None:
        pytest.skip("there is no cmake")
    lines = re.findall(r"`((?:find_package|target_link_libraries)\(.*?\))`", README.read_text())
    text = ["cmake_minimum_required(VERSION 3.20)", "project(demo CXX)"]
    text += [lines[0], "add_executable(demo demo.cpp)", *lines[1:]]
    (tmp_path / "CMakeLists.txt").write_text("\n".join(text))
    (tmp_path / "demo.cpp").write_text(MODELS)
    cmake = program if program.exists() else "cmake"
    where = f"-Dopyard_DIR={build_info['cmake_dir']}"
    run(cmake, "-S", ".", "-B", "built", where, cwd=tmp_path)
    run(cmake, "--build", "built", cwd=tmp_path)
    assert run(tmp_path / "built" / "demo", cwd=tmp_path) == "no graph\n"
