"""test_fork.py (T11): a forked process works at once, and tensors travel between processes.

Suspect opyard/_core/forking.py, and the lock that is held.
"""

import multiprocessing
import os
import pickle

import pytest
from built import plugin_path
from processes import run

import opyard

FORKS = 20

# Forks while four threads are busy: two with Python operators, two native ones.
PROGRAM = """
import os, random, sys, threading, time
import opyard
from opyard.library import Library, override
opyard.load_library(sys.argv[1])
plugin = opyard.ops.test_plugin
add = opyard.ops.aten.add
lib = Library("forks", "FRAGMENT")
lib.define("op(Tensor x) -> Tensor")
lib.impl("op", lambda x: x, "CPU")
op = opyard.ops.forks.op
x = opyard.tensor([1.0, 2.0])
stop = threading.Event()

def busy():
    while not stop.is_set():
        op(x)
        with override("forks::op", "CPU", lambda x: x):
            plugin.call("forks::op", x)

def native():
    while not stop.is_set():
        add(x, x)
        opyard.futures.collect_all([plugin.later(0, 1)]).wait()

threads = [threading.Thread(target=work) for work in (busy, busy, native, native)]
for thread in threads: thread.start()
random.seed(7)
for number in range(int(sys.argv[2])):
    time.sleep(random.random() / 100)
    child = os.fork()
    if child == 0:
        assert add(x, x).tolist() == [2.0, 4.0]
        assert op(x) is x
        assert plugin.call("forks::op", x) is x
        with override("forks::op", "CPU", lambda x: x * 2):
            assert op(x).tolist() == [2.0, 4.0]
        assert plugin.later(1, number).wait(5) == number
        made = Library("forks", "FRAGMENT")
        made.define("in_child(Tensor x) -> Tensor")
        made._destroy()
        os._exit(number + 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == number + 1, number
stop.set()
for thread in threads: thread.join()
assert op(x) is x
print("done")
"""


# The allocator of libasan takes its locks along: a child of a process whose threads allocate then
# waits for ever in its first malloc(). libtsan ends a child of several threads that starts one.
@pytest.mark.skipif(
    "OPYARD_SANITIZER" in os.environ, reason="sanitizers cannot be forked while threads run"
)
def test_T11_a_child_of_a_busy_process_works_at_once():
    ended = run(PROGRAM, plugin_path("opyard_test_plugin"), FORKS, limit=30)
    # CPython 3.12 warns of any fork where threads run; that is what this test does.
    said = [line for line in ended.stderr.splitlines() if "fork" not in line]
    assert (ended.code, said, ended.stdout) == (0, [], "done\n")


def double(tensor):
    tensor = tensor + tensor
    tensor_back = pickle.loads(pickle.dumps(tensor, 5))
    return tensor_back, tensor.dtype, opyard.dispatch.keys_of(tensor), opyard.ops.aten.add.Tensor


PARENT = """
import multiprocessing, sys
sys.path.insert(0, sys.argv[2])
import opyard
from test_fork import double
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    x = opyard.tensor([1.0, 2.0])
    opyard.ops.aten.add(x, x)
    with context.Pool(2) as pool:
        for tensor, dtype, keys, op in pool.map(double, [x] * 4):
            assert tensor.tolist() == [2.0, 4.0]
            assert dtype is opyard.float32
            assert keys == opyard.dispatch.keys_of(x)
            assert op is opyard.ops.aten.add.Tensor
        pool.close()
        pool.join()
    print("done")
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_T11_tensors_travel_both_ways(run_program, method):
    from pathlib import Path

    done = run_program(PARENT, method, Path(__file__).parent, timeout=30)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_T11_a_child_that_waits_for_a_lock_would_be_found():
    """The control: a lock that a thread held at the fork is held for ever in the child."""
    program = """
        import os, threading, time
        lock = threading.Lock()
        def hold():
            with lock:
                time.sleep(60)
        threading.Thread(target=hold, daemon=True).start()
        time.sleep(0.05)
        child = os.fork()
        if child == 0:
            with lock:
                os._exit(0)
        os.waitpid(child, 0)
    """
    assert run(program, limit=1).code == "hung"


# An import that begins when the forking thread has looked already: hooks of earlier ones run later.
BETWEEN = """
import os, sys, threading
from _frozen_importlib import _ModuleLockManager

begun, wanted = threading.Event(), False

def begin():
    kept = _ModuleLockManager("opyard.nn")
    kept.__enter__()
    begun.set()
    threading.Event().wait()

def before():
    if wanted:
        threading.Thread(target=begin, daemon=True).start()
        begun.wait()

os.register_at_fork(before=before)
import opyard
wanted = True
child = os.fork()
if child == 0:
    import opyard.nn
    os._exit(7 if opyard.nn.Linear(2, 3)(opyard.ones(1, 2)).shape == (1, 3) else 8)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
os._exit(0)
"""


@pytest.mark.skipif(
    os.environ.get("OPYARD_SANITIZER") == "thread", reason="libtsan ends a child of several threads"
)
def test_P10_T11_a_child_imports_what_another_thread_began_to_import_at_the_last_moment():
    done = run(BETWEEN, limit=20)
    assert done.code == 0, done.stderr


# What the process has not loaded yet when it forks: another thread makes the first call of all.
FIRST_USE = """
import os, random, sys, threading, time
import opyard
import opyard.dispatch
random.seed(int(sys.argv[1]))
ready = threading.Barrier(2)

def first():
    ready.wait()
    {use}

x = opyard.tensor([1.0, 2.0])
thread = threading.Thread(target=first)
thread.start()
ready.wait()
time.sleep(random.random() * 0.03)
child = os.fork()
if child == 0:
    import faulthandler
    faulthandler.dump_traceback_later(10, exit=True)
    {use}
    assert opyard.ops.aten.add(x, x).tolist() == [2.0, 4.0]
    os._exit(7)
thread.join()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
{use}
"""

FIRST_USES = {
    "aten": "opyard.ops.aten.add(x, x)",
    "registry": "opyard.dispatch.has_kernel('aten::add.Tensor', 'CPU')",
    "schema": "import opyard.schema; opyard.schema.parse('f() -> ()')",
    "listing": "dir(opyard.ops.aten)",
    "NumPy": "assert x.numpy().tolist() == [1.0, 2.0]",
    "taping": "w = opyard.ones(2).requires_grad_(); (w * w).sum().backward(); "
    "assert w.grad.tolist() == [2.0, 2.0]",
}


@pytest.mark.skipif(
    os.environ.get("OPYARD_SANITIZER") == "thread", reason="libtsan ends a child of several threads"
)
@pytest.mark.parametrize("name", FIRST_USES)
def test_P10_T11_a_child_works_where_another_thread_was_making_the_first_call(name):
    if name == "NumPy":
        pytest.importorskip("numpy")
    for number in range(8):
        done = run(FIRST_USE.format(use=FIRST_USES[name]), number, limit=60)
        assert done.code == 0, (number, done.stderr)


def test_P10_a_load_that_waits_for_the_forking_thread_does_not_hold_it_up_for_ever():
    done = run(
        """
        import os, threading, time
        import opyard
        from opyard._core import forking as _forking
        _forking._LONGEST_WAIT = 0.2
        entered, forked = threading.Event(), threading.Event()
        def load():
            entered.set()
            assert forked.wait(10)
        thread = threading.Thread(target=lambda: _forking.while_loading(load))
        thread.start()
        entered.wait()
        child = os.fork()
        if child == 0:
            assert not _forking._loading and not _forking._forking
            os._exit(3)
        forked.set()
        thread.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        assert not _forking._loading and not _forking._forking
        """,
        limit=30,
    )
    assert done.code == 0, done.stderr


def test_P10_a_load_that_begins_while_another_thread_forks_waits_for_it():
    done = run(
        """
        import threading, time
        import opyard
        from opyard._core import forking as _forking
        _forking._forking.add(-1)  # as if another thread were about to fork
        loaded = threading.Event()
        thread = threading.Thread(target=lambda: _forking.while_loading(loaded.set))
        thread.start()
        time.sleep(0.05)
        assert not loaded.is_set()
        _forking._forking.clear()
        thread.join(10)
        assert loaded.is_set() and not _forking._loading
        """,
        limit=30,
    )
    assert done.code == 0, done.stderr


DRAWS = """
import os
import opyard

def draw():
    return tuple(opyard.rand(4).tolist())

def draws_of_children(count):
    found = []
    for _ in range(count):
        read, write = os.pipe()
        if os.fork() == 0:
            os.write(write, repr((draw(), draw())).encode())
            os._exit(0)
        os.wait()
        found.append(eval(os.read(read, 1000)))
    return found

opyard.manual_seed(7)
draw()
found = draws_of_children(3)
mine = [draw(), draw()]
opyard.manual_seed(7)
assert draw() not in (one for child in found for one in child)
assert draws_of_children(3) == found, "a seed repeats what children draw"
assert [draw(), draw()] == mine, "what children draw is not taken from the parent"
assert len({*mine, *(one for child in found for one in child)}) == 8
print("done")
"""


def test_the_child_of_a_fork_draws_random_numbers_of_its_own():
    ended = run(DRAWS)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "done\n", "")
