"""test_cycles.py (P8): interpreters that begin and end leave little behind. Suspect module.cpp.

test/embed/cycles.cpp runs cycles of Python alone and then cycles that use the package, in one
process. The difference is ours. CPython's own loss is in both, for which the control imports the
same modules of the standard library. CPython 3.12 and 3.13 do not give back the names that they
have interned, and those of our classes and functions are among them: their figures grow with the
source, and leave a third of room for it.
"""

import itertools
import statistics
import subprocess
import sys

import pytest
from built import plain_build
from test_embed import run

pytestmark = plain_build  # a sanitizer has an allocator of its own

CYCLES = 10
SETTLED = 5  # of these
KIB = 1024

IMPORT = "import opyard\n"
LIBRARY = """
from opyard.library import Library
library = Library('cycles', 'DEF')
library.define('f(Tensor x) -> Tensor')
library.impl('f', lambda x: x.alias(), 'CPU')
library.impl('f', lambda x, call_next: x, 'CUDA', with_next=True)
x = opyard.tensor([1.0])
x.note = library
class Sub(opyard.Tensor):
    pass
subclass = x.as_subclass(Sub)
"""
CALL = """
assert opyard.ops.cycles.f(x).tolist() == [1.0]
assert opyard.dispatch.explain(opyard.ops.cycles.f, x)
"""
PLANTED = """
import ctypes
ctypes.pythonapi.Py_IncRef(ctypes.py_object(opyard._C.OpOverload))
"""

# Limits of a cycle's loss in KiB by program: plain, and where CPython keeps names.
ROWS = {
    "import": (IMPORT, 12, 54),
    "library": (IMPORT + LIBRARY, 12, 84),
    "calls": (IMPORT + LIBRARY + CALL, 24, 112),
}
NAMES_ARE_KEPT = (3, 12) <= sys.version_info < (3, 14)


def imported_by(program):
    """The modules of the standard library that a program imports."""
    code = f"import sys\nbefore = set(sys.modules)\n{program}\nprint(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0
    return [name for name in done.stdout.split() if name.split(".")[0] != "opyard"]


def loss_of(program):
    """Bytes that one cycle of a program loses beside one of Python alone."""
    control = "".join(f"import {name}\n" for name in imported_by(program)) or "pass"
    told = run(
        "cycles",
        "compare",
        CYCLES,
        control,
        program,
        PYTHONMALLOC="malloc",
        PYTHONHASHSEED="0",
    )
    sizes = [int(size) for size in told.split()]
    assert len(sizes) == 2 * CYCLES
    lost = [after - before for before, after in itertools.pairwise(sizes)]
    alone, with_ours = lost[CYCLES - 1 - SETTLED : CYCLES - 1], lost[-SETTLED:]
    return statistics.median(with_ours) - statistics.median(alone)


@pytest.mark.parametrize("row", ROWS)
def test_P8_a_cycle_loses_little(row):
    program, limit, limit_with_names = ROWS[row]
    assert loss_of(program) < KIB * (limit_with_names if NAMES_ARE_KEPT else limit)


def test_P8_the_measurement_sees_one_class_that_is_left():
    program, _, limit_with_names = ROWS["import"]
    assert loss_of(program + PLANTED) > 1.5 * KIB * limit_with_names
