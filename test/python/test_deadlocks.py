"""test_deadlocks.py (T8): no thread waits for ever, with or without the GIL. Suspect gil.cpp.

A row of the matrix is where C++ code runs and whether it holds the GIL; each does every entry,
alone and on eight threads, also from inside itself, in a process of its own that is ended after ten
seconds. The last line that such a process wrote says where it stood.
"""

import itertools
import os

import pytest
from conftest import plain_build, plugin_path
from processes import HUNG, run

PLACES = ["main", "python", "new", "pooled", "forked"]
# There is one interpreter in this version: a second one is refused, see test_import.py.
LATER = {"subinterpreter": "the package serves the main interpreter only"}
KINDS = {"main", "python", "new", "pooled", "subinterpreter", "forked"}
# compile and flush call an operator whose Python kernel compiles a graph and runs it, or ends a
# profile.
ENTRIES = ["call", "drop", "register", "deregister", "raise"]
if "OPYARD_SANITIZER" not in os.environ:  # they have not been tried under one yet
    ENTRIES += ["compile", "flush"]

PROGRAM = """
import importlib.machinery, importlib.util, itertools, os, sys, threading
place, held, plugin, border_path, entries = sys.argv[1:]
held = held == "held"
import opyard
from opyard.library import Library
spec = importlib.util.spec_from_file_location("opyard_test_border", border_path)
border = importlib.util.module_from_spec(spec)
spec.loader.exec_module(border)
opyard.load_library(plugin)

x = opyard.tensor([1.0, 2.0])
lib = Library("deadlocks", "FRAGMENT")
class Planned(Exception):
    pass
counted = itertools.count()
depth = threading.local()

def enter(entry, nested, count, where):
    kind = entry if entry in ("raise", "compile", "flush") else "call"
    name = f"deadlocks::{kind}_{nested}"
    what = "call" if entry in ("compile", "flush") else entry
    try:
        border.enter(what, name, x, Dropped, where, count, held)
    except Planned:
        assert entry == "raise", entry
    else:
        assert entry != "raise"

def inside(entry):
    # From inside Python code that C++ code called: the same again, on a new native thread.
    if not getattr(depth, "nested", None):
        return
    depth.nested = False
    try:
        enter(entry, 0, 1, "new")
    finally:
        depth.nested = True

class Dropped:
    def __del__(self):
        inside("drop")
        next(counted)

def kernel(nested, fails):
    def call(x):
        if nested:
            enter("raise" if fails else "call", 0, 1, "new")
        next(counted)
        if fails:
            raise Planned
        return x
    return call

one_profile = threading.Lock()  # there is one at a time

def compiling(nested):
    text = f"graph(%x : Tensor):\\n  %1 : Tensor = deadlocks::call_{nested}(%x)\\n  return (%1)\\n"
    return lambda x: opyard.jit.compile(opyard.jit.parse_ir(text))(x)

def flushing(nested):
    def call(x):
        with one_profile, opyard.profiler.profile():
            next(counted)
        return kernel(nested, False)(x)
    return call

for nested in (0, 1):
    lib.define(f"compile_{nested}(Tensor x) -> Tensor")
    lib.impl(f"compile_{nested}", compiling(nested), "CPU")
    lib.define(f"flush_{nested}(Tensor x) -> Tensor")
    lib.impl(f"flush_{nested}", flushing(nested), "CPU")
    lib.define(f"call_{nested}(Tensor x) -> Tensor")
    lib.impl(f"call_{nested}", kernel(nested, False), "CPU")
    lib.define(f"raise_{nested}(Tensor x) -> Tensor")
    lib.impl(f"raise_{nested}", kernel(nested, True), "CPU")

listening = opyard.dispatch.on_registration(
    lambda op: inside("call"), lambda op: inside("call"))

def work(entry, nested, count):
    depth.nested = bool(nested)
    where = {"new": "new", "pooled": "pooled"}.get(place, "here")
    enter(entry, nested, count, where)

def on_threads(entry, nested, count):
    threads = [threading.Thread(target=work, args=(entry, nested, 1)) for _ in range(count)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

if place == "forked":
    child = os.fork()
    if child:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.exit(code)
cases = 0
for entry, nested, count in itertools.product(entries.split(","), (0, 1), (1, 8)):
    print(entry, nested, count, flush=True)
    (on_threads if place == "python" else work)(entry, nested, count)
    cases += 1
border.drop([])
opyard.tensor([1])
print("done", cases, flush=True)
"""


def border_path():
    from conftest import import_border

    return import_border().__file__


def run_row(place, held):
    plugin = plugin_path("opyard_test_plugin")
    return run(PROGRAM, place, "held" if held else "free", plugin, border_path(), ",".join(ENTRIES))


@pytest.mark.parametrize(("place", "held"), list(itertools.product(PLACES, (True, False))))
def test_T8_J10_nothing_waits_for_ever(place, held):
    ended = run_row(place, held)
    lines = ended.stdout.splitlines()
    assert ended.code == 0, (lines[-1:], ended.stderr)
    assert ended.stderr == ""
    assert lines[-1] == f"done {len(ENTRIES) * 2 * 2}"


def test_T8_every_kind_of_thread_has_a_row():
    assert {*PLACES, *LATER} == KINDS


WAITING = """
    import sys, threading
    import opyard
    opyard.load_library(sys.argv[2])
    if sys.argv[3] == "warm":
        opyard.ops.aten.neg(opyard.tensor([1.0]))
    lib = opyard.library.Library("waiting", "DEF")
    lib.define("python(Tensor x) -> Tensor")
    lib.impl("python", lambda x: x, "CPU")
    x = opyard.tensor([1.0])
    kernel = getattr(opyard.ops.test_plugin, sys.argv[1])
    threads = [threading.Thread(target=kernel, args=(x, "waiting::python")) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert kernel(x, "waiting::python") is not None
    print("done", flush=True)
"""


@plain_build  # not tried under a sanitizer yet
@pytest.mark.parametrize("first", ["cold", "warm"])
@pytest.mark.parametrize("kernel", ["wait_for_worker", "wait_inside"])
def test_T8_a_kernel_that_released_the_gil_waits_for_a_worker_that_calls_python(kernel, first):
    ended = run(WAITING, kernel, plugin_path("opyard_test_plugin"), first)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "done\n", "")


@plain_build  # not tried under a sanitizer yet
def test_T8_an_intentional_deadlock_is_found():
    """The control: waiting with the GIL for a thread that needs it never ends."""
    program = """
        import importlib.util, sys
        import opyard
        spec = importlib.util.spec_from_file_location("opyard_test_border", sys.argv[1])
        border = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(border)
        print("waiting", flush=True)
        border.deadlock(lambda: None)
        print("never", flush=True)
    """
    ended = run(program, border_path(), limit=2)
    assert (ended.code, ended.stdout) == (HUNG, "waiting\n")
