"""Features of CPython 3.14 and 3.15: interpreters of the library, scripts sent to a process, lazy
imports.

Suspect pyfallback/runtime/runtime.cpp, and for lazy imports opyard/_core/late.py.
"""

import sys

import pytest

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="they came with CPython 3.14")

INTERPRETERS = """
from concurrent import interpreters
from concurrent.futures import InterpreterPoolExecutor

import opyard

one = interpreters.create()
one.exec("import opyard; seen = opyard.ones(2) + 1")
one.exec("print(seen.tolist())")
one.close()

def work(n):
    import opyard
    doubled = opyard.jit.compile(lambda x: x * 2)
    return doubled(opyard.ones(n)).tolist()

with InterpreterPoolExecutor(3) as pool:
    print(list(pool.map(work, [1, 2, 3, 1, 2, 3])))
print(opyard.ones(1).tolist())
"""


def test_interpreters_of_the_library_have_operators_each(run_program):
    done = run_program(INTERPRETERS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "[2.0, 2.0]\n[[2.0], [2.0, 2.0], [2.0, 2.0, 2.0], [2.0], [2.0, 2.0], [2.0, 2.0, 2.0]]\n"
        "[1.0]\n"
    )


SENT = """
import os, sys, tempfile, threading, time
import opyard

x = opyard.ones(8)
step = opyard.jit.compile(lambda x: x * 2 - x)
with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
    script.write("import __main__, opyard; __main__.answer = (opyard.ones(2) + 2).tolist()")
    script.flush()
    answer = None
    sys.remote_exec(os.getpid(), script.name)
    until = time.monotonic() + 30
    while answer is None and time.monotonic() < until:
        x = step(x)
print(answer, x.tolist() == [1.0] * 8)
"""


def test_a_script_that_is_sent_to_the_process_calls_operators(run_program):
    done = run_program(SENT)
    if "PermissionError" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip("this system forbids to read the memory of a process")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[3.0, 3.0] True\n"


LAZY = """
import sys
sys.set_lazy_imports(MODE)
lazy import opyard
lazy import opyard.profiler
lazy from opyard import nn

print("opyard" in sys.modules)
print(opyard.ones(2).tolist(), tuple(nn.Linear(2, 3)(opyard.ones(2)).shape))
print(opyard.ops.aten.exp(opyard.zeros(1)).tolist())
with opyard.profiler.profile() as prof:
    opyard.ops.aten.exp(opyard.zeros(1))
print(any("exp" in event.name for event in prof.events()))
"""


@pytest.mark.skipif(sys.version_info < (3, 15), reason="lazy imports came with CPython 3.15")
@pytest.mark.parametrize("mode", ["normal", "all"])
def test_lazy_imports_change_nothing(run_program, mode):
    done = run_program(LAZY.replace("MODE", repr(mode)))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "False\n[1.0, 1.0] (3,)\n[1.0]\nTrue\n"
