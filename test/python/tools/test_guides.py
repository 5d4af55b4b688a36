"""test_guides.py: the programs of docs/guides and docs/tutorials run as they are there.

The C blocks of a guide become one library, lib<name>.so after the file that the text calls
`<name>.c`; its C++ blocks, if they register something, one named after the namespace. The Python
blocks are run beside it as one program. C++ blocks with a main() are a program of its own: it gets
the library of operators as its argument, and the Python blocks as the module that the text calls
`<name>.py`. A Python block that begins with "python needs torch" is left out where that cannot be
imported. Suspect the guide.
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

pytestmark = pytest.mark.once

GUIDES = ROOT / "docs" / "guides"
TUTORIALS = ROOT / "docs" / "tutorials"


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def python_blocks(text):
    """The program of a page, without the blocks that need what is not installed."""
    found = re.findall(r"^```python(?: needs (\w+))?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return "\n".join(
        block for needs, block in found if not needs or importlib.util.find_spec(needs)
    )


# What a program of a guide links besides libopyard.so, and what it prints at its end.
PROGRAMS = {
    "embedding": (["pyfallback/libopyard_embed.so"], "the sum is 0"),
    "graphs": (["jit/libopyard_jit.so"], "6 elements"),
    "models": (["jit/libopyard_jit.so", "models/libopyard_models.so"], "1 output"),
}


# What the programs of a guide need to be installed.
NEEDS = {"publishing": "torch"}


def run_program(guide, text, in_cpp, folder):
    from opyard import _build_info

    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler here")
    assert "int main(" in in_cpp
    (folder / "main.cpp").write_text(in_cpp, "utf-8")
    for module in set(re.findall(r"`(\w+)\.py`", text)):
        (folder / f"{module}.py").write_text(python_blocks(text), "utf-8")
    libraries, printed = PROGRAMS[guide]
    linked = [Path(_build_info.library), *(build_folder() / name for name in libraries)]
    subprocess.run(
        [compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        + [f"-I{include}" for include in _build_info.include_dirs]
        + [f"-I{include}" for include in GUIDES.parents[1].glob("*/include")]
        + ["main.cpp", "-o", "program", *map(str, linked), "-pthread"]
        + [f"-Wl,-rpath,{each.parent}" for each in linked],
        cwd=folder,
        check=True,
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    if guide == "embedding":
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


@pytest.mark.parametrize(
    "guide",
    sorted([*GUIDES.glob("*.md"), *TUTORIALS.glob("*.md")]),
    ids=lambda guide: guide.stem,
)
def test_the_programs_of_a_guide_work(guide, tmp_path):
    from opyard import _build_info

    if guide.stem in NEEDS:
        pytest.importorskip(NEEDS[guide.stem])
    text = guide.read_text("utf-8")
    in_c = blocks(text, "c")
    if in_c:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("there is no C compiler here")
        [name] = set(re.findall(r"`(\w+)\.c`", text))
        (tmp_path / f"{name}.c").write_text("\n".join(in_c), "utf-8")
        subprocess.run(
            [compiler, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC"]
            + [f"-I{folder}" for folder in _build_info.include_dirs]
            + [f"{name}.c", "-o", f"lib{name}.so", _build_info.library],
            cwd=tmp_path,
            check=True,
        )
    in_cpp = "\n".join(blocks(text, "cpp"))
    if namespaces := set(re.findall(r"^OPYARD_LIBRARY\((\w+)", in_cpp, re.MULTILINE)):
        compiler = shutil.which("c++")
        if compiler is None:
            pytest.skip("there is no C++ compiler here")
        [name] = namespaces
        (tmp_path / f"{name}.cpp").write_text(in_cpp, "utf-8")
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
            + [f"-I{folder}" for folder in _build_info.include_dirs]
            + [f"{name}.cpp", "-o", f"lib{name}.so", _build_info.library],
            cwd=tmp_path,
            check=True,
        )
    elif in_cpp:
        run_program(guide.stem, text, in_cpp, tmp_path)
    program = tmp_path / "program.py"
    program.write_text(python_blocks(text), "utf-8")
    done = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_the_page_of_operators_is_as_the_tool_writes_it():
    tool = GUIDES.parents[1] / "tools" / "operators_page.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, "run tools/python tools/operators_page.py\n" + done.stderr


@pytest.mark.parametrize("folder", [GUIDES, TUTORIALS], ids=lambda folder: folder.name)
def test_the_page_of_readers_lists_every_guide_once(folder):
    text = (folder.parent / "README.md").read_text("utf-8")
    listed = re.findall(rf"\({folder.name}/(\w+)\.md\)", text)
    assert sorted(listed) == sorted(page.stem for page in folder.glob("*.md"))
