"""test_leakcheck.py (J17): OPYARD_LEAKCHECK=1 reports leaked objects. Suspect leak_check.cpp."""

import os
import re

import pytest
from built import import_border, plugin_path
from processes import run

pytestmark = pytest.mark.memory

PRELUDE = """
import sys
import opyard
from opyard.library import Library, override
opyard.load_library(sys.argv[1])
plugin = opyard.ops.test_plugin
x = opyard.tensor([1.0, 2.0])
lib = Library("left", "FRAGMENT")
lib.define("op(Tensor x) -> Tensor")
lib.impl("op", lambda x: x, "CPU")
class Sub(opyard.Tensor):
    def __new__(cls, data):
        return opyard.Tensor.make_subclass(cls, data)
"""

# Program: a pattern of what is printed on stderr.
ROWS = {
    "nothing": ("opyard.ops.left.op(x)", ""),
    "a cycle": ("x.self = x; y = Sub(x); y.self = y", ""),
    "many that came and went": ("for n in range(1000): x + n; Sub(x)", ""),
    "a tensor that a C++ static holds": (
        "y = opyard.tensor([3.0]); y.note = 1; plugin.keep(y)",
        r"opyard: left at the end: 1 tensors, 0 libraries, 0 Python functions\n"
        r"  tensor .*float32.*\n",
    ),
    "tensors without an owner that is known": (
        """
import ctypes
for n in range(3):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(opyard.tensor([[n]])))
""",
        r"opyard: left at the end: 3 tensors, 0 libraries, 0 Python functions\n"
        r"(  tensor .*int64.*\n){3}",
    ),
    "a kernel that holds its library": (
        """
def kernel(x, lib=lib):
    return x
lib.impl("op", kernel, "CPU")
""",
        "",
    ),
    "a library that is lost": (
        """
import ctypes
other = Library("other", "FRAGMENT")
other.define("f() -> ()")
other.define("g() -> ()")
ctypes.pythonapi.Py_IncRef(ctypes.py_object(other._library))
""",
        r"opyard: left at the end: 0 tensors, 1 libraries, 0 Python functions\n"
        r"  library other FRAGMENT, made at .*:\d+ \(other::f, other::g\)\n",
    ),
    "the function of a call that never ends": (
        """
import threading
del lib
inside = threading.Event()
def waits_for_ever(x):
    inside.set()
    threading.Event().wait()
other = Library("other", "FRAGMENT")
other.define("wait(Tensor x) -> ()")
other.impl("wait", waits_for_ever, "CPU")
threading.Thread(target=opyard.ops.other.wait, args=(x,), daemon=True).start()
inside.wait()
""",
        r"opyard: left at the end: 1 tensors, 1 libraries, 1 Python functions\n"
        r"  tensor .*float32.*\n"
        r"  library other FRAGMENT, made at .*:\d+ \(other::wait\)\n"
        r"  Python function .*waits_for_ever\n",
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_J17_F60_what_is_left_is_told(run_program, monkeypatch, row):
    monkeypatch.setenv("OPYARD_LEAKCHECK", "1")
    program, expected = ROWS[row]
    done = run_program(PRELUDE + program, plugin_path("opyard_test_plugin"))
    assert done.returncode == 0
    assert re.fullmatch(expected, done.stderr), done.stderr


def test_J17_nobody_is_told_who_did_not_ask(run_program):
    program, _ = ROWS["tensors without an owner that is known"]
    done = run_program(PRELUDE + program, plugin_path("opyard_test_plugin"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(
    os.environ.get("OPYARD_SANITIZER") != "address", reason="only the address sanitizer sees it"
)
def test_T15_a_planted_leak_is_there_to_be_found():
    """The control: `tools/test --python-sanitizers` looks for it in what the sanitizer wrote."""
    program = """
        import importlib.util, sys
        import opyard
        spec = importlib.util.spec_from_file_location("opyard_test_border", sys.argv[1])
        border = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(border)
        border.leak()
    """
    ended = run(program, import_border().__file__)
    assert (ended.code, ended.stderr) == (0, "")
