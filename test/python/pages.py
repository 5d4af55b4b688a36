"""Pages of docs/ as programs, for the tests that run them.

The C blocks of a page become one library, lib<name>.so after the file that the text calls
`<name>.c`; its C++ blocks, if they register something, one named after the namespace. The Python
blocks are run beside it as one program; one that begins with "python needs torch" is left out
where that cannot be imported. C++ blocks that are extension modules are files, which the shell
blocks of the page build. C++ blocks with a main() are a program of its own: it gets
the library of operators as its argument, and the Python blocks as the module that the text calls
`<name>.py`.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built import ROOT, build_folder, libpython

DOCS = ROOT / "docs"


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def is_there(module):
    """Whether a module can be imported, without importing more than packages above it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def python_blocks(text):
    """The program of a page, without the blocks that need what is not installed."""
    found = re.findall(r"^```python(?: needs ([\w. ]+))?\n(.*?)^```$", text, re.M | re.S)
    return "\n".join(block for needs, block in found if all(map(is_there, needs.split())))


# What a program of a page links besides libopyard.so, and what it prints at its end.
PROGRAMS = {
    "embedding": (["pyfallback/libopyard_embed.so"], "the sum is 0"),
    "graphs": (["jit/libopyard_jit.so"], "6 elements"),
    "profiling": (["profiler/libopyard_profiler.so"], "aten::sin    10 calls"),
    "models": (["jit/libopyard_jit.so", "models/libopyard_models.so"], "1 output"),
}


def run_program(page, text, in_cpp, folder):
    from opyard import _build_info

    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler here")
    assert "int main(" in in_cpp
    (folder / "main.cpp").write_text(in_cpp, "utf-8")
    for module in set(re.findall(r"`(\w+)\.py`", text)):
        (folder / f"{module}.py").write_text(python_blocks(text), "utf-8")
    libraries, printed = PROGRAMS[page]
    linked = [Path(_build_info.library), *(build_folder() / name for name in libraries)]
    subprocess.run(
        [compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        + [f"-I{include}" for include in _build_info.include_dirs]
        + [f"-I{include}" for include in ROOT.glob("*/include")]
        + ["main.cpp", "-o", "program", *map(str, linked), "-pthread"]
        + [f"-Wl,-rpath,{each.parent}" for each in linked],
        cwd=folder,
        check=True,
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    if page == "embedding":
        environment |= {"OPYARD_LIBPYTHON": str(libpython()), "PYTHONHOME": sys.base_prefix}
    done = subprocess.run(
        [folder / "program", _build_info.kernels],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout


def build_extensions(text, folder):
    """Builds the extension modules of a page by its own commands."""
    if shutil.which("c++") is None or not is_there("pybind11"):
        pytest.skip("there is no C++ compiler here, or no pybind11")
    programs = folder / "bin"
    programs.mkdir()
    for name, command in (("python", ""), ("opyard-config", " -m opyard")):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable}{command} "$@"\n', "utf-8")
        (programs / name).chmod(0o755)
    for block in blocks(text, "cpp"):
        [name] = re.findall(r"^// (\w+\.cpp)$", block, re.M)
        (folder / name).write_text(block, "utf-8")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    packages = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        ["sh", "-e", "-c", "\n".join(blocks(text, "sh"))],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": packages},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def run_page(page, folder, timeout=60):
    """Builds and runs what is on a page, in an empty folder."""
    from opyard import _build_info

    text = page.read_text("utf-8")
    in_c = blocks(text, "c")
    if in_c:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("there is no C compiler here")
        [name] = set(re.findall(r"`(\w+)\.c`", text))
        (folder / f"{name}.c").write_text("\n".join(in_c), "utf-8")
        subprocess.run(
            [compiler, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC"]
            + [f"-I{include}" for include in _build_info.include_dirs]
            + [f"{name}.c", "-o", f"lib{name}.so", _build_info.library],
            cwd=folder,
            check=True,
        )
    in_cpp = "\n".join(blocks(text, "cpp"))
    if re.search(r"^PYBIND11_MODULE\(", in_cpp, re.M):
        build_extensions(text, folder)
    elif namespaces := set(re.findall(r"^OPYARD_LIBRARY\((\w+)", in_cpp, re.MULTILINE)):
        compiler = shutil.which("c++")
        if compiler is None:
            pytest.skip("there is no C++ compiler here")
        [name] = namespaces
        (folder / f"{name}.cpp").write_text(in_cpp, "utf-8")
        subprocess.run(
            [
                compiler,
                "-std=c++20",
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Werror",
                "-shared",
                "-fPIC",
            ]
            + [f"-I{include}" for include in _build_info.include_dirs]
            + [f"{name}.cpp", "-o", f"lib{name}.so", _build_info.library],
            cwd=folder,
            check=True,
        )
    elif in_cpp:
        run_program(page.stem, text, in_cpp, folder)
    program = folder / "program.py"
    program.write_text(python_blocks(text), "utf-8")
    done = subprocess.run(
        [sys.executable, program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
