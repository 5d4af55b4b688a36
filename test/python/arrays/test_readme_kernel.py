"""test_readme_kernel.py: README's kernel, which people copy first, is right for every array.

The wheel's test, test/consumer/test_readme.py, builds and runs README as it is; here its
operator meets arrays whose elements are not in a row. Suspect README.md.
"""

import re
import shutil
import subprocess

import pytest
from built import ROOT

import opyard
from opyard import _build_info

pytestmark = pytest.mark.once

np = pytest.importorskip("numpy")

README = ROOT / "README.md"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    [block] = blocks("cpp")
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler here")
    folder = tmp_path_factory.mktemp("readme")
    (folder / "demo.cpp").write_text(block)
    subprocess.run(
        [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        + [f"-I{path}" for path in _build_info.include_dirs]
        + ["demo.cpp", "-o", "libdemo.so", _build_info.library],
        cwd=folder,
        check=True,
    )
    opyard.load_library(folder / "libdemo.so")
    yield opyard.ops.demo.twice
    opyard.unload_library(folder / "libdemo.so")


BASE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

ARRAYS = {
    "in a row": BASE,
    "transposed": BASE.T,
    "two axes exchanged": BASE.swapaxes(0, 1),
    "sliced": BASE[:, 1:, ::2],
    "one column": BASE[:, :, 3],
    "broadcast": np.broadcast_to(np.float32(1), (5_000_000,)),
    "broadcast along one axis": np.broadcast_to(BASE[:, :1], (2, 5, 4)),
    "one number": np.array(3, np.float32),
    "empty": BASE[:, :0],
    "an axis of one": BASE[:, 1:2].transpose(2, 1, 0),
    "by columns": np.asfortranarray(BASE),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_the_kernel_of_the_readme_doubles_every_element(twice, name):
    array = ARRAYS[name]
    got = twice(array)
    assert isinstance(got, np.ndarray) and got.shape == array.shape
    assert np.array_equal(got, 2 * array)
    assert np.array_equal(twice(opyard.from_numpy(array)).numpy(), 2 * array)


def test_the_kernel_of_the_readme_is_not_given_a_reversed_array(twice):
    with pytest.raises(ValueError, match="none below zero; copy the array first"):
        twice(BASE[::-1])


def test_the_kernel_of_the_readme_takes_no_other_dtype(twice):
    with pytest.raises(TypeError, match="float64"):
        twice(BASE.astype(np.float64))


def test_the_programs_of_the_readme_print_what_their_comments_say(
    twice, tmp_path, monkeypatch, capsys
):
    """With the library of the fixture: the wheel's test compiles its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(opyard, "load_library", lambda path: None)
    python = "\n".join(blocks("python"))
    exec(compile(python, "README.md", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    for shown in re.findall(r"#.*?(\[[\d., ]+\])", python):
        assert shown.replace(" ", "") in printed.replace(" ", "")
    table = printed[printed.rindex("Name") :]
    assert "demo::twice" in table and "aten::mul.Tensor" in table


def test_every_tool_that_the_readme_names_is_there():
    named = set(re.findall(r"\b(tools/\w+)", README.read_text("utf-8")))
    assert {"tools/wheel", "tools/demo", "tools/test", "tools/docs"} <= named
    for tool in named:
        assert (ROOT / tool).is_file() or (ROOT / f"{tool}.py").is_file(), tool
