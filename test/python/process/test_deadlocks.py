"""test_deadlocks.py (T8): no thread waits for ever, with or without the GIL. Suspect gil.cpp.

A row of the matrix is where C++ code runs and whether it holds the GIL; each does every entry,
alone and on eight threads, also from inside itself, in a process of its own that is ended after ten
seconds. The last line that such a process wrote says where it was.
"""

import itertools
import os

import pytest
from built import plain_build, plugin_path
from processes import HUNG, run

pytestmark = pytest.mark.threads

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
PREPARE

x = opyard.tensor([1.0, 2.0])
lib = Library("deadlocks", "FRAGMENT")
class Planned(Exception):
    pass
counted = itertools.count()
depth = threading.local()

def enter(entry, nested, count, where):
    first = entry.startswith("first ")
    kind = entry.replace(" ", "_") if first or entry in ("raise", "compile", "flush") else "call"
    name = f"deadlocks::{kind}_{nested}"
    what = "call" if first or entry in ("compile", "flush") else entry
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

# What a kernel does that is the first use of a part, on whichever thread comes first.
FIRST_USES = {
    "aten": lambda: opyard.ops.aten.neg(x),
    "bind": lambda: opyard.schema.parse("f(Tensor x) -> Tensor"),
    "plugin": lambda: opyard.load_library(plugin),
    "jit": lambda: compiling(0),
    "profiler": lambda: opyard.profiler.record_function,
}

def using(nested, use):
    def call(x):
        if nested:
            enter(f"first {use}", 0, 1, "new")
        FIRST_USES[use]()
        next(counted)
        return x
    return call

for use, nested in itertools.product(FIRST_USES, (0, 1)):
    lib.define(f"first_{use}_{nested}(Tensor x) -> Tensor")
    lib.impl(f"first_{use}_{nested}", using(nested, use), "CPU")
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
SIGPROF
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
    from built import import_border

    return import_border().__file__


def run_row(place, held, entries=ENTRIES, prepare="opyard.load_library(plugin)", sigprof=""):
    plugin = plugin_path("opyard_test_plugin")
    program = PROGRAM.replace("PREPARE", prepare).replace("SIGPROF", sigprof)
    return run(program, place, "held" if held else "free", plugin, border_path(), ",".join(entries))


def assert_done(ended, entries=ENTRIES):
    lines = ended.stdout.splitlines()
    assert ended.code == 0, (lines[-1:], ended.stderr)
    assert ended.stderr == ""
    assert lines[-1] == f"done {len(entries) * 2 * 2}"


@pytest.mark.parametrize(("place", "held"), list(itertools.product(PLACES, (True, False))))
def test_T8_J10_nothing_waits_for_ever(place, held):
    assert_done(run_row(place, held))


FIRST_USES = ["first " + use for use in ("aten", "bind", "plugin", "jit", "profiler")]


@plain_build  # not tried under a sanitizer yet
@pytest.mark.parametrize("number", range(len(FIRST_USES)))
@pytest.mark.parametrize("place", PLACES)
def test_T8_the_first_use_of_a_part_waits_for_nothing(place, number):
    """Each part comes first once: it may bring the others."""
    entries = FIRST_USES[number:] + FIRST_USES[:number]
    assert_done(run_row(place, number % 2 == 0, entries, prepare=""), entries)


TICKING = """
import atexit, signal
ticks = [0]
def tick(*args):
    ticks[0] += 1
    opyard.ops.deadlocks.call_0(x)
signal.signal(signal.SIGPROF, tick)
atexit.register(signal.setitimer, signal.ITIMER_PROF, 0)  # the handler ends before the process
signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
until = os.times().user + 5
while ticks[0] <= 5 and os.times().user < until:
    pass
assert ticks[0] > 5, ticks
"""


@plain_build  # a sanitizer takes signals itself
@pytest.mark.parametrize(("place", "held"), list(itertools.product(PLACES, (True, False))))
def test_T12_T8_nothing_waits_for_ever_while_a_profiler_interrupts(place, held):
    """SIGPROF each millisecond, with a handler that calls an operator."""
    assert_done(run_row(place, held, sigprof=TICKING))


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
