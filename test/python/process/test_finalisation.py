"""test_finalisation.py (T9): programs end at once and silently. Suspect runtime/, module.cpp.

A row is a situation in which a program ends: what it is, the exit code, and what may be on
stderr. Each runs several times, since what goes wrong at exit goes wrong now and then; those with
threads that no one joins run forty times, which sees a crash in 7.5 % of exits with 95 %. Each also
runs as the first use of all: nothing was called before, and no plugin is loaded. test_exit.py has
more situations, run less often.
"""

import re

import pytest
from built import plugin_path
from processes import DAEMONS_CRASH, HUNG, run, run_often, volume

RUNS = volume(8)
RUNS_WITH_DAEMONS = volume(40)
RUNS_COLD = volume(4)
SECONDS = 5

PRELUDE = """
import atexit, os, sys, threading, time
import opyard
from opyard.library import Library, override
opyard.load_library(sys.argv[1])
plugin = opyard.ops.test_plugin
x = opyard.tensor([1.0, 2.0])
lib = Library("at_end", "FRAGMENT")
lib.define("op(Tensor x) -> Tensor")
lib.impl("op", lambda x: x, "CPU")
op = opyard.ops.at_end.op
assert op(x) is x
"""

# What a situation uses is made when it is used.
COLD = """
import atexit, os, sys, threading, time
import opyard
class Plugin:
    def __getattr__(self, name):
        opyard.load_library(sys.argv[1])
        return getattr(opyard.ops.test_plugin, name)
plugin = Plugin()
from opyard.library import Library, override
x = opyard.tensor([1.0, 2.0])
lib = Library("at_end", "FRAGMENT")
lib.define("op(Tensor x) -> Tensor")
lib.impl("op", lambda x: x, "CPU")
def op(x):
    return opyard.ops.at_end.op(x)
"""

THERE = '''
there = Interpreter("KIND")
there.run(f"""
import opyard
from opyard.library import Library
opyard.load_library({sys.argv[1]!r})
lib = Library("there", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x, "CPU")
x = opyard.tensor([1.0])
x.note = lib
opyard.ops.test_plugin.keep(x)
assert opyard.ops.there.f(x) is x
""")
there.end()
assert op(x) is x
'''

# Situation: (the program, its exit code, a pattern of the whole of stderr).
ROWS = {
    "profiler on": (
        """
import opyard.profiler
prof = opyard.profiler.profile()
prof.__enter__()
def work():
    for _ in range(100):
        op(x)
thread = threading.Thread(target=work)
thread.start()
op(x)
""",
        0,
        "",
    ),
    "JIT compile in flight": (
        """
from opyard import jit
TEXT = "graph(%x : Tensor):\\n  %1 : Tensor = at_end::op(%x)\\n  return (%1)\\n"
def work():
    for _ in range(50):
        jit.compile(jit.parse_ir(TEXT))(x)
threading.Thread(target=work).start()
code = jit.compile(jit.parse_ir(TEXT))
state = jit.InterpreterState(code)
state.begin_stage(x)
""",
        0,
        "",
    ),
    "module global": ("kept = [opyard.tensor([n]) for n in range(100)]", 0, ""),
    "C++ static": (
        "plugin.keep(opyard.from_numpy(bytearray(8)))\nplugin.keep_value(object())",
        0,
        "",
    ),
    "cycle": (
        """
class Node:
    def __del__(self):
        op(self.tensor)
node = Node()
node.self, node.tensor, node.lib, node.op = node, x, lib, op
lib.impl("op", lambda x, node=node: x, "CPU")
""",
        0,
        "",
    ),
    "thread-local": (
        """
local = threading.local()
def work():
    local.tensor = opyard.tensor([1.0])
    local.override = override("at_end::op", "CPU", lambda x: x)
    local.future = opyard.futures.Future()
    stopped.wait()
stopped = threading.Event()
thread = threading.Thread(target=work)
thread.start()
local.tensor = op(x)
stopped.set()
""",
        0,
        "",
    ),
    "daemon thread calling operators": (
        """
def work(op=op, x=x, add=opyard.ops.aten.add):
    while True:
        op(x)
        add(x, x)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
""",
        0,
        "",
    ),
    # Before CPython 3.14 a thread that takes the GIL back then is ended by unwinding its frames.
    "daemon thread in kernels that released the GIL": (
        """
def work(released=plugin.same_released, within=plugin.call_released, inside=plugin.wait_inside):
    while True:
        released(x)
        within(x, "at_end::op")
        inside(x, "at_end::op")
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
""",
        0,
        "",
    ),
    "daemon thread that returns to a GIL that is gone": (
        """
import numpy
m = opyard.tensor(numpy.ones((400, 400), numpy.float32))
def work(mm=opyard.ops.aten.mm):
    while True:
        mm(m, m)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
""",
        0,
        "",
    ),
    "C++ thread calling a Python operator": (
        """
plugin.call_in_background("at_end::op", x, 4)
while plugin.count_in_background()[0] < 100:
    time.sleep(0.001)
""",
        0,
        "",
    ),
    "queue of dropped references not drained": (
        """
import numpy
for _ in range(50):
    plugin.drop_in_background(opyard.from_numpy(numpy.zeros(4)))
""",
        0,
        "",
    ),
    "warnings not said": (
        """
for n in range(10):
    plugin.warn_in_background(f"late {n}")
""",
        0,
        # In pieces, since threads that write at once take turns between them.
        r"(<?sys>?|<string>|:\d+: |UserWarning|opyard: warning|: |late \d|\n)*",
    ),
    "futures not completed": (
        """
futures = [plugin.later(20 + n, n) for n in range(50)]
futures += [plugin.call_later("at_end::op", x) for _ in range(20)]
futures[0].then(lambda f: op(x))
""",
        0,
        "",
    ),
    "sys.exit in an operator": (
        """
lib.define("leave(Tensor x) -> Tensor")
lib.impl("leave", lambda x: sys.exit(3), "CPU")
plugin.call("at_end::leave", x)
""",
        3,
        "",
    ),
    "exception in atexit": (
        """
@atexit.register
def last():
    raise ValueError("in " + str(op(x).tolist()))
""",
        0,
        r"(?s).*ValueError: in \[1\.0, 2\.0\]\n",
    ),
    "os._exit": ("plugin.call_in_background('at_end::op', x, 2)\nos._exit(4)", 4, ""),
    "unraisable in __del__": (
        """
class Kernel:
    def __call__(self, x):
        return x
    def __del__(self):
        raise ValueError("late")
lib.impl("op", Kernel(), "CPU")
""",
        0,
        r"(?s)(Exception ignored (in:|while calling) .*ValueError: late\n)?",
    ),
    "legacy subinterpreter": (
        "from interpreters import Interpreter\n" + THERE.replace("KIND", "legacy"),
        0,
        "",
    ),
    "isolated subinterpreter": (
        "from interpreters import Interpreter\n" + THERE.replace("KIND", "isolated"),
        0,
        "",
    ),
    "embedded ten times": (
        """
import sysconfig
build = os.path.dirname(os.path.dirname(os.path.dirname(opyard.__file__)))
program = os.path.join(build, "test", "embed", "embed_cycles")
library = os.path.join(
    sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME") or "none"
)
if not os.path.exists(program) or ".so" not in library or not os.path.exists(library):
    sys.exit()    # test_embed.py says why
path = os.path.join(build, "pyfallback")
environment = {"OPYARD_LIBPYTHON": library, "PYTHONHOME": sys.base_prefix, "PYTHONPATH": path}
os.execve(program, [program, "python", "10"], {**os.environ, **environment})
""",
        0,
        "",
    ),
    "plugin library with static objects": (
        """
plugin.keep(x)
plugin.keep_value(lambda: x)
library = opyard.load_library(sys.argv[1])
atexit.register(plugin.keep, opyard.tensor([2.0]))
""",
        0,
        "",
    ),
    "forked child": (
        """
child = os.fork()
assert op(x) is x
if child != 0:
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 0, code
""",
        0,
        "",
    ),
    "pickled out of band": (
        """
import pickle
buffers = []
kept = pickle.dumps(x, 5, buffer_callback=buffers.append)
made = pickle.loads(kept, buffers=buffers)
del x
""",
        0,
        "",
    ),
}

SITUATIONS = {
    "module global", "C++ static", "cycle", "thread-local", "daemon thread calling operators",
    "C++ thread calling a Python operator", "queue of dropped references not drained",
    "profiler on",
    "JIT compile in flight", "sys.exit in an operator", "exception in atexit", "os._exit",
    "unraisable in __del__", "embedded ten times", "legacy subinterpreter",
    "plugin library with static objects",
}  # fmt: skip


def faults(program, code, stderr, ended):
    """What is wrong with how a program ended; empty for nothing."""
    wrong = []
    if ended.code != code:
        wrong.append(f"exit code {ended.code}")
    if not re.fullmatch(stderr, ended.stderr):
        wrong.append(f"stderr {ended.stderr!r}")
    if ended.seconds > SECONDS:
        wrong.append(f"{ended.seconds:.1f} s")
    return wrong


# They end while threads run that no one waits for.
WITH_DAEMONS = {
    "daemon thread calling operators",
    "daemon thread in kernels that released the GIL",
    "C++ thread calling a Python operator",
    "futures not completed",
}


@pytest.mark.parametrize("first", ["warm", "cold"])
@pytest.mark.parametrize("situation", ROWS)
def test_T9_a_program_ends_silently(situation, first):
    if DAEMONS_CRASH and "daemon" in situation:
        pytest.skip("CPython 3.10 itself crashes now and then when daemon threads are running")
    program, code, stderr = ROWS[situation]
    times = RUNS_COLD if first == "cold" else RUNS
    if first == "warm" and situation in WITH_DAEMONS:
        times = RUNS_WITH_DAEMONS
    prelude = COLD if first == "cold" else PRELUDE
    for ended in run_often(times, prelude + program, plugin_path("opyard_test_plugin")):
        assert faults(program, code, stderr, ended) == []


@pytest.mark.parametrize(("seconds", "said"), [(0.03, "left"), (1000, "")])
def test_T9_a_native_thread_in_a_kernel_is_given_a_moment(seconds, said):
    """It leaves Python before that ends, and a kernel that does not return is not waited for."""
    program = f"""
lib.define("slow(Tensor x) -> Tensor")
inside = threading.Event()
def slow(x):
    inside.set()
    time.sleep({seconds})
    os.write(1, b"left")
    return x
lib.impl("slow", slow, "CPU")
plugin.call_in_background("at_end::slow", x, 1)
assert inside.wait(10)
"""
    ended = run(PRELUDE + program, plugin_path("opyard_test_plugin"), limit=10.0)
    assert (ended.code, ended.stdout, ended.stderr) == (0, said, "")


def test_T9_every_situation_has_a_row():
    assert set(ROWS) >= SITUATIONS | WITH_DAEMONS


PLANTED = {
    "os.abort()": "exit code -6",
    "sys.stderr.write('spoken')": "stderr 'spoken'",
    "time.sleep(100)": f"exit code {HUNG}",
}


@pytest.mark.parametrize("prelude", [PRELUDE, COLD], ids=["warm", "cold"])
@pytest.mark.parametrize("plant", PLANTED)
def test_T9_a_planted_fault_is_found(plant, prelude):
    """The control: a program that does not end silently and at once is seen."""
    program = prelude + f"atexit.register(lambda: {plant})\n"
    ended = run(program, plugin_path("opyard_test_plugin"), limit=2 if "sleep" in plant else 10)
    assert PLANTED[plant] in faults(program, 0, "", ended)
