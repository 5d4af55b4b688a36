"""Several interpreters in one process share operators, and nothing else (E26 to E28, F11, P21).

Each test is a program in a process of its own. Suspect runtime/gil.cpp, runtime/runtime.cpp, and
dispatcher/src/registry/interpreter_tables.cpp.
"""

import shutil
import subprocess
import sys

import pytest
from built import TESTS, plugin_path
from interpreters import CAN_ISOLATE, KINDS
from processes import run

PRELUDE = """
import sys, time
import opyard
from interpreters import Interpreter, name
from opyard.library import Library
KIND, PLUGIN = sys.argv[1:]
opyard.load_library(PLUGIN)
plugin = opyard.ops.interpreters
x = opyard.tensor([1.0, 2.0])

THERE = f'''
import sys, threading, time
import opyard
from opyard.library import Library
opyard.load_library({PLUGIN!r})
plugin = opyard.ops.interpreters
x = opyard.tensor([1.0, 2.0])
def raises(function, *args):
    try:
        function(*args)
    except Exception as error:
        return f"{{type(error).__name__}}: {{error}}"
    raise AssertionError("nothing was raised")
'''
def raises(function, *args):
    try:
        function(*args)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("nothing was raised")
def other():
    made = Interpreter(KIND)
    made.run(THERE)
    return made
def outside(op, argument="argument", outcome="outcome"):
    plugin.keep(argument, x)
    plugin.begin(op, argument, outcome)
    while not plugin.outcome(outcome):
        time.sleep(0.001)
    return plugin.outcome(outcome)
"""


@pytest.fixture(params=KINDS)
def program(request):
    """Runs a program with the names of PRELUDE, for each kind of interpreter, in silence."""

    def program(text):
        library = plugin_path("opyard_interpreters_plugin")
        ended = run(PRELUDE + text, request.param, library, limit=60)
        assert ended.stderr == ""
        assert ended.code == 0
        return ended.stdout

    return program


def test_P21_each_interpreter_has_types_and_objects_of_its_own(program):
    program(
        """
there = other()
there.run(f"assert id(opyard.Tensor) != {id(opyard.Tensor)} and id(plugin.add) != {id(plugin.add)}")
there.run("assert plugin.add(x, x).tolist() == [2.0, 4.0] and (x + 1).tolist() == [2.0, 3.0]")
assert plugin.add(x, x).tolist() == [2.0, 4.0]
there.end()
assert (x + x).tolist() == [2.0, 4.0]
"""
    )


def test_P21_a_mode_that_an_ended_interpreter_left_on_is_gone(program):
    program(
        """
from opyard.dispatch import DispatchMode, len_dispatch_mode_stack
there = other()
there.run('''
from opyard.dispatch import DispatchMode
class Mode(DispatchMode):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        return op(*args, **kwargs or {})
left = Mode()
left.__enter__()
''')
there.end()
assert len_dispatch_mode_stack() == 0
assert (x + x).tolist() == [2.0, 4.0]
"""
    )


@pytest.mark.parametrize("kind", KINDS)
def test_P21_an_interpreter_that_is_not_the_main_one_may_import_first(kind):
    ended = run(
        """
import sys
from interpreters import Interpreter
for n in range(3):
    there = Interpreter(sys.argv[1])
    there.run('''
import opyard
from opyard.library import Library
x = opyard.tensor([1.0])
lib = Library("first", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x + 1, "CPU")
assert opyard.ops.first.f(x).tolist() == [2.0]
assert str(opyard.ops.first.f.default._schema) == "first::f(Tensor x) -> Tensor"
''')
    there.end()
import opyard
assert (opyard.tensor([1.0]) + 1).tolist() == [2.0]
""",
        kind,
        limit=60,
    )
    assert ended.stderr == ""
    assert ended.code == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("main_imports", [True, False])
def test_P21_one_that_is_left_over_ends_with_the_program(kind, main_imports):
    program = f"""
import sys
{"import opyard" if main_imports else ""}
from interpreters import Interpreter
there = Interpreter(sys.argv[1])
there.run("import opyard; x = opyard.tensor([1.0]) + 1")
print("done")
"""
    ended = run(program, kind, limit=30)
    assert (ended.code, ended.stdout) == (0, "done\n")


def test_X12_a_python_kernel_serves_its_own_interpreter_and_others_go_on_below(program):
    program(
        """
lib = Library("interpreters", "IMPL", "CPU")
lib.impl("add", lambda x, y: x)
assert plugin.add(x, x) is x
a, b = other(), other()
a.run("assert plugin.add(x, x).tolist() == [2.0, 4.0]")     # what is below
a.run('''
lib = Library("interpreters", "IMPL", "CPU")
lib.impl("add", lambda x, y: opyard.tensor([7.0]))
assert plugin.add(x, x).tolist() == [7.0]
assert plugin.add.default._call_boxed(x, x).tolist() == [7.0]
''')
b.run("assert plugin.add(x, x).tolist() == [2.0, 4.0]")
assert plugin.add(x, x) is x
a.run("lib._destroy()")
a.run("assert plugin.add(x, x).tolist() == [2.0, 4.0]")
lib._destroy()
assert plugin.add(x, x).tolist() == [2.0, 4.0]
opyard.dispatch.check_invariants()
a.end(), b.end()
opyard.dispatch.check_invariants()
"""
    )


def test_F11_interpreters_define_one_operator_together(program):
    program(
        """
lib = Library("together", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x, "CPU")
there = other()
there.run('''
lib = Library("together", "DEF")
lib.define("f(Tensor x) -> Tensor")
f = opyard.ops.together.f
''')
there.run("said = raises(f, x)")
there.run("assert 'together::f has no kernel at CPU' in said, said")
there.run("lib.impl('f', lambda x: x + 1, 'CPU')")
there.run("assert f(x).tolist() == [2.0, 3.0]")
lib._destroy()                       # the other one keeps it
there.run("assert f(x).tolist() == [2.0, 3.0]")
assert opyard.ops.together.f.default.declaration == "together::f(Tensor x) -> Tensor"
there.run("lib._destroy()")
assert opyard.dispatch.dump("together::f") == ""
there.end()
"""
    )


def test_F11_another_schema_is_refused_and_names_both(program):
    said = program(
        """
lib = Library("apart", "DEF")
lib.define("f(Tensor x) -> Tensor")
there = other()
there.run("lib = Library('apart', 'DEF')")
there.run("print(raises(lib.define, 'f(Tensor x, int n) -> Tensor'))")
print(there.number)
there.end()
"""
    )
    *message, number = said.strip().splitlines()
    message = "\n".join(message)
    assert message.startswith(
        "RuntimeError: Interpreters of one process share their operators, but interpreter CPython "
    )
    assert (
        f", interpreter {number} defines apart::f(Tensor x, int n) -> Tensor (registered at "
        in message
    )
    assert "has defined apart::f(Tensor x) -> Tensor (registered at " in message
    assert message.endswith("; give both the same schema, or one of them another name")


def test_F11_a_definition_that_an_ended_interpreter_left_makes_way(program):
    program(
        """
there = other()
there.run('''
lib = Library("left", "DEF")
lib.define("f(Tensor x) -> Tensor")
opyard._C.leaked = opyard._C.Library  # the type stays, and with it the registry's view
import gc
gc.disable()
kept = [lib]
kept.append(kept)
''')
there.end()
lib = Library("left", "DEF")
lib.define("f(Tensor x, int n) -> Tensor")
lib.impl("f", lambda x, n: x, "CPU")
assert opyard.ops.left.f(x, 1) is x
"""
    )


def test_X12_dump_table_shows_the_view_of_an_interpreter(program):
    program(
        """
lib = Library("interpreters", "IMPL", "CPU")
lib.impl("add", lambda x, y: x)
there = other()
mine = opyard.dispatch.dump_table("interpreters::add")
theirs = opyard.dispatch.dump_table("interpreters::add", interpreter=there.number)
line = next(line for line in mine.splitlines() if line.startswith("CPU:"))
assert "[kernel]" in line and "<string>" in line, mine
line = next(line for line in theirs.splitlines() if line.startswith("CPU:"))
assert "interpreters_plugin.cpp" in line, theirs
assert opyard.dispatch.dump_table("interpreters::add", interpreter=0) == mine
there.run("assert opyard.dispatch.dump_table('interpreters::add') == " + repr(theirs))
there.run("dump = opyard.dispatch.dump('interpreters::add')")
there.run("assert 'CPU (of another interpreter): registered at <string>' in dump, dump")
assert raises(lambda: opyard.dispatch.dump_table(
    "interpreters::add", interpreter=999)) == (
    "LookupError: no interpreter with the number 999 has imported opyard in this process")
there.end()
"""
    )


def test_E28_a_tensor_of_one_interpreter_raises_in_another_naming_both(program):
    program(
        """
x.note = 1                           # x is this interpreter's
plugin.keep("x", x)
there = other()
there.run("said = raises(plugin.give, 'x')")
there.run(f'''
assert said == ("RuntimeError: this object belongs to interpreter {name(0)} and cannot be used in "
    "interpreter {name(there.number)}; pass t.alias() to get an untagged tensor on the same "
    "storage"), said
''')
there.run("shared = plugin.give_alias('x')")
there.run("assert shared.tolist() == [1.0, 2.0]")
there.run("shared[0] = 5.0")
assert x.tolist() == [5.0, 2.0]      # one storage
there.end()
"""
    )


def test_E28_alias_hands_a_tensor_over_untagged(program):
    program(
        """
plugin.keep("x", x.alias())
there = other()
there.run("shared = plugin.give('x')")
there.run("shared[0] = 5.0")
assert x.tolist() == [5.0, 2.0]
there.run("del shared")
there.end()
assert plugin.give("x").tolist() == [5.0, 2.0]   # the other one has ended: its tag counts as none
"""
    )


def test_E28_a_tag_of_an_ended_interpreter_counts_as_none(program):
    program(
        """
there = other()
there.run("x.note = 1")
there.run("plugin.keep('x', x)")
assert "belongs to interpreter " + name(there.number) in raises(plugin.give, "x")
there.end()
given = plugin.give("x")
given.note = 2
assert given.tolist() == [1.0, 2.0] and plugin.give("x") is given
plugin.forget("x")
"""
    )


def test_E28_a_subclass_of_one_interpreter_answers_there_only(program):
    program(
        """
class Loud(opyard.Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return opyard.tensor([9.0])
loud = x.as_subclass(Loud)
plugin.keep("loud", loud)
there = other()
there.run("said = raises(plugin.give, 'loud')")
there.run("assert 'belongs to interpreter' in said and 'cannot be used in' in said, said")
x = loud
assert outside("interpreters::plain") == "ok"     # enters the owner of the class
assert plugin.give("outcome").tolist() == [9.0]
there.end()
"""
    )


def test_X12_a_thread_in_no_interpreter_enters_the_owner_of_the_kernel(program):
    program(
        """
there = other()
there.run('''
lib = Library("interpreters", "IMPL", "CPU")
lib.impl("plain", lambda x: x + 40)
''')
assert "has no kernel at CPU" in raises(plugin.plain, x)
plugin.keep("argument", x.alias())
there.run('''
plugin.begin("interpreters::plain", "argument", "done")
while not plugin.outcome("done"):
    time.sleep(0.001)
''')
assert plugin.outcome("done") == "ok", plugin.outcome("done")
there.run("assert plugin.give('done').tolist() == [41.0, 42.0]")
assert "belongs to interpreter" in raises(plugin.give, "done")
there.end()
plugin.keep("argument", opyard.tensor([0.0]).alias())
plugin.begin("interpreters::plain", "argument", "after")
while not plugin.outcome("after"):
    time.sleep(0.001)
assert "has no kernel at CPU" in plugin.outcome("after"), plugin.outcome("after")
"""
    )


@pytest.mark.parametrize("end_first", [False, True])
def test_H36_a_function_of_a_graph_raises_once_its_interpreter_has_ended(program, end_first):
    """A fork runs the graph, and outlives its state, its code and its interpreter."""
    program(
        f"end_first = {end_first}\n"
        """
import warnings
warnings.filterwarnings("ignore", "remaining subinterpreters")  # of 3.15
there = other()
there.run('''
from opyard import jit
inner = jit.Graph()
passed = inner.append_node(inner.create("interpreters::pass_gate", [inner.add_input("x")]))
node = inner.append_node(jit.create_python_op(inner, lambda x: x, [passed.output()]))
inner.register_output(node.output())
outer = jit.Graph()
fork = outer.append_node(outer.create("prim::fork", [outer.add_input("x")]))
fork.g_("Subgraph", inner)
fork.output().type = "Future(Tensor)"
outer.register_output(fork.output())
plugin.watch("fork", jit.compile(outer)(x))
''')
if end_first:
    there.end()
assert plugin.outcome("fork") == ""
plugin.open_gate()
while not plugin.outcome("fork"):
    time.sleep(0.001)
said = plugin.outcome("fork")
if end_first:
    assert "the Python interpreter has ended; C++ operators still work\\nin %2" in said, said
    assert "in the graph that was begun by %1 = prim::fork (stage 0)" in said, said
else:
    assert said == "ok", said
"""
    )


def test_P21_listeners_and_fallbacks_are_their_interpreters_own(program):
    program(
        """
from opyard import _bind
heard = []
listening = opyard._C.listen(lambda op: heard.append(op.name()), None)
del heard[:]
there = other()
there.run('''
lib = Library("heard", "DEF")
lib.define("f(Tensor x) -> Tensor")
fallback = Library("_", "IMPL", "PrivateUse1")
fallback.fallback(lambda op, *args: args[0])
''')
assert heard == ["heard::f"], heard
key = int(opyard.dispatch.DispatchKey.PrivateUse1)
assert not _bind.has_fallback(key)
there.run("from opyard import _bind")
there.run(f"assert _bind.has_fallback({key})")
mine = Library("_", "IMPL", "PrivateUse1")
mine.fallback(lambda op, *args: args[0])
there.end()
mine._destroy()
opyard.dispatch.check_invariants()
"""
    )


def test_P21_an_exception_that_another_interpreter_raised_arrives_as_text(program):
    program(
        """
there = other()
there.run('''
lib = Library("interpreters", "IMPL", "CPU")
def fails(x):
    raise KeyError("mine")
lib.impl("plain", fails)
''')
x = x.alias()
said = outside("interpreters::plain")
assert said == "KeyError: 'mine'", said
there.end()
"""
    )


@pytest.mark.skipif(not CAN_ISOLATE, reason="interpreters share one GIL before CPython 3.12")
def test_P21_interpreters_come_and_go_while_others_work():
    ended = run(
        PRELUDE
        + """
import threading
stop = False
def work():
    lib = Library("interpreters", "IMPL", "CPU")
    while not stop:
        lib.impl("add", lambda x, y: x)
        assert plugin.add(x, x) is x
threads = [threading.Thread(target=work) for _ in range(1)]
for thread in threads:
    thread.start()
for n in range(12):
    there = other()
    there.run("lib = Library('interpreters', 'IMPL', 'CPU')\\nlib.impl('add', lambda x, y: y)")
    there.run("for _ in range(200):\\n    assert plugin.add(x, x) is x")
    there.end()
stop = True
for thread in threads:
    thread.join()
opyard.dispatch.check_invariants()
""",
        "isolated",
        plugin_path("opyard_interpreters_plugin"),
        limit=60,
    )
    assert (ended.code, ended.stderr) == (0, "")


@pytest.mark.skipif(not CAN_ISOLATE, reason="interpreters share one GIL before CPython 3.12")
def test_X12_P14_two_isolated_interpreters_of_four_threads_override_add_on_shared_storage():
    """The experiment that the design relies on; it holds under the thread sanitizer as well."""
    ended = run(
        PRELUDE
        + """
import os, threading
ROUNDS = int(os.environ.get("OPYARD_TEST_ROUNDS", "300"))
x = opyard.tensor([float(n) for n in range(256)])
plugin.keep("shared", x.alias())
WORK = '''
import threading
lib = Library("interpreters", "IMPL", "CPU")
calls = 0
def add(x, y):
    global calls
    calls += 1
    return plugin.sum(plugin.sum(x, y), own)
own = opyard.tensor([float(OWN)] * 256)
shared = plugin.give_alias("shared")
want = plugin.sum(plugin.sum(shared, shared), own).tolist()
lib.impl("add", add)
failures = []
def work():
    try:
        mine = plugin.give_alias("shared")
        for n in range(ROUNDS):
            assert plugin.add(mine, shared).tolist() == want
            assert plugin.add.default._call_boxed(mine, shared).tolist() == want
            if n % 50 == 0:
                lib.impl("add", add)
    except BaseException as error:
        failures.append(repr(error))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures
assert calls == 8 * ROUNDS, calls
lib._destroy()
'''
made = [other() for _ in range(2)]
failures = []
def work(number):
    try:
        made[number].run(WORK.replace("OWN", str(number + 1)).replace("ROUNDS", str(ROUNDS)))
    except BaseException as error:
        failures.append(repr(error))
threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
for thread in threads:
    thread.start()
while any(thread.is_alive() for thread in threads):
    assert plugin.add(x, x).tolist()[1] == 2.0     # goes on below
for thread in threads:
    thread.join()
assert not failures, failures
for one in made:
    one.end()
opyard.dispatch.check_invariants()
""",
        "isolated",
        plugin_path("opyard_interpreters_plugin"),
        limit=300,
    )
    assert ended.stderr == ""
    assert ended.code == 0


ANOTHER_DEFINITION = """
import sys
sys.path.insert(0, {folder!r})
import interpreters
import opyard
lib = opyard.library.Library("named", "DEF")
lib.define("f(Tensor x) -> Tensor")
try:
    interpreters.Interpreter("legacy").run(
        "from opyard.library import Library\\n"
        "Library('named', 'FRAGMENT').define('f(Tensor x, int n) -> Tensor')")
except Exception as error:
    print(interpreters.name(0) in str(error), interpreters.name(1) in str(error))
"""


def test_errors_name_the_cpython_that_runs_not_that_of_the_build():
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    other = shutil.which(f"python{version}", path="/usr/bin")
    if other is None:
        pytest.skip("there is one CPython of this version here")
    program = ANOTHER_DEFINITION.format(folder=str(TESTS / "python"))
    done = subprocess.run([other, "-c", program], capture_output=True, text=True)
    assert done.stdout == "True True\n", done.stderr
