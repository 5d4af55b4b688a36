"""test_library_cycles.py (T10): plugins and libraries that come and go a thousand times.

Operators that a program holds on to outlive them: they say that they are gone in between, and are
the same objects afterwards. Neither mappings nor descriptors nor blocks of memory get more. Suspect
plugin.cpp, library.cpp and packet.cpp.
"""

from built import plain_build, plugin_path
from processes import volume

pytestmark = plain_build  # a sanitizer maps and keeps memory of its own

MEASURE = """
import gc, os, sys
import opyard

def counts():
    gc.collect()
    with open("/proc/self/maps") as maps:
        mapped = sum(1 for line in maps if "/" in line)
    return mapped, len(os.listdir("/proc/self/fd")), sys.getallocatedblocks()

def check(before, after):
    assert after[0] <= before[0], ("mappings of files", before, after)
    assert after[1] <= before[1], ("descriptors", before, after)
    # Caches fill for some hundred rounds; a block that each round leaves would be more than this.
    assert after[2] - before[2] < 400, ("blocks", before, after)
"""

PLUGIN = """
path = sys.argv[1]
opyard.load_library(path)
packet, op = opyard.ops.test_plugin.view, opyard.ops.test_plugin.view.default
x = opyard.tensor([1.0])
kept = [op(x)]
for n in range(int(sys.argv[2])):
    opyard.unload_library(path)
    try:
        op(x)
    except RuntimeError as error:
        assert "gone" in str(error)
    else:
        raise AssertionError(n)
    opyard.load_library(path)
    assert opyard.ops.test_plugin.view is packet and packet.default is op
    kept[0] = op(x)
    if n == 99:
        before = counts()
check(before, counts())
assert kept[0].tolist() == [1.0]
"""

LIBRARY = """
from opyard.library import Library
x = opyard.tensor([1.0])
held = None
for n in range(int(sys.argv[1])):
    library = Library("come_and_go", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x, n=n: n and x, "CPU")
    op = opyard.ops.come_and_go.f.default
    assert held is None or op is held
    held = op
    assert n == 0 or held(x) is x
    library = None
    gc.collect(0)
    try:
        held(x)
    except RuntimeError as error:
        assert "gone" in str(error)
    else:
        raise AssertionError(n)
    if n == 1999:
        before = counts()
check(before, counts())
"""

PLANTED = """
kept = []
before = counts()
kept.extend(open("/dev/null") for _ in range(3))
check(before, counts())
"""


def test_P9_a_plugin_comes_and_goes_under_a_handle(run_program):
    done = run_program(
        MEASURE + PLUGIN, plugin_path("opyard_test_plugin"), volume(1000, 200), timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_P9_a_library_of_python_comes_and_goes_under_a_handle(run_program):
    done = run_program(MEASURE + LIBRARY, volume(20_000, 4000), timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


def test_P9_the_measurement_sees_what_is_left_open(run_program):
    done = run_program(MEASURE + PLANTED)
    assert done.returncode == 1
    assert "AssertionError: ('descriptors'" in done.stderr
