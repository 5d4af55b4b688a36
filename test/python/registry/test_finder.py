"""Protects that look-ups in C++ and C load what brings the operator, as Python's do.

Suspect registering/finder.cpp, dispatcher/src/inspect/inspect.cpp.
"""

import shutil
import subprocess

import pytest

from opyard import _build_info

KERNEL = """
#include <opyard/kernel.h>

opyard::Tensor negative(const opyard::Tensor& x) {
  using Unary = opyard::Tensor(const opyard::Tensor&);
  return opyard::require_operator("aten::neg").typed<Unary>().call(x);
}
opyard::Tensor missing(const opyard::Tensor& x) {
  opyard::require_operator("nowhere::f");
  return x;
}
OPYARD_LIBRARY(finding, m) {
  m.def("negative(Tensor x) -> Tensor", &negative);
  m.def("missing(Tensor x) -> Tensor", &missing);
}
"""
FROM_A_KERNEL = """
import opyard
opyard.load_library("./libfinding.so")
assert opyard.loaded_libraries()[-1].endswith("libfinding.so")
print(opyard.ops.finding.negative(opyard.tensor([1.0])).tolist())
try:
    opyard.ops.finding.missing(opyard.tensor([1.0]))
except LookupError as error:
    print(error)
"""
FROM_C = f"""
import ctypes
import opyard
library = ctypes.CDLL({_build_info.library!r})
found = ctypes.c_void_p()
assert not any("opyard_kernels" in path for path in opyard.loaded_libraries())
print(library.opyard_find_operator(b"aten::neg", ctypes.byref(found)), bool(found))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler here")
    folder = tmp_path_factory.mktemp("finding")
    (folder / "finding.cpp").write_text(KERNEL)
    subprocess.run(
        [compiler, "-std=c++20", "-shared", "-fPIC"]
        + [f"-I{path}" for path in _build_info.include_dirs]
        + ["finding.cpp", "-o", "libfinding.so", _build_info.library],
        cwd=folder,
        check=True,
    )
    return folder


def test_a_kernel_finds_operators_that_nobody_has_touched(folder, run_program):
    ended = run_program(f"import os; os.chdir({str(folder)!r})\n{FROM_A_KERNEL}")
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == [
        "[-1.0]",
        "finding::missing: Could not find schema for nowhere::f. Is the library that defines it "
        "loaded? load_library() loads one.",
    ]


def test_so_does_c(run_program):
    ended = run_program(FROM_C)
    assert (ended.stdout, ended.stderr) == ("0 True\n", "")


def test_old_compilers_are_told_what_to_write(tmp_path):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler here")
    (tmp_path / "old.cpp").write_text("#include <opyard/kernel.h>\n")
    command = [compiler, "-std=c++17", "-fsyntax-only", "-fno-diagnostics-show-caret"]
    includes = [f"-I{path}" for path in _build_info.include_dirs]
    done = subprocess.run(
        [*command, *includes, "old.cpp"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert done.stderr.count("error:") == 1 and "compile with -std=c++20" in done.stderr
