"""test_first_use.py (T12): parts that are loaded when they are first wanted.

An exception of a signal handler may come in the middle of that; it reaches the caller, and the next
one who wants the part gets it whole. Threads that want it at once all get it whole: suspect
_core/late.py, and whoever takes a module from sys.modules. For the first, bind/bind.cpp,
[Interrupted].
"""

import pytest
from processes import PATIENCE, run, volume

pytestmark = pytest.mark.once

USES = {
    "aten": "opyard.ops.aten.add(x, x)",
    "registry": "opyard.dispatch.has_kernel('aten::add.Tensor', 'CPU')",
    "schema": "__import__('opyard.schema').schema.parse('f() -> ()')",
    "listing": "dir(opyard.ops.aten)",
}

# A timer whose handler raises goes off in the middle of the first use, each time in a
# process of its own forked from here, with nothing loaded yet.
PROGRAM = """
import os, signal, sys, traceback
import opyard
import opyard.dispatch, opyard.library
armed = False
x = opyard.tensor([1.0])

class Interrupt(KeyboardInterrupt):
    pass

def handle(*args):
    if not armed:
        return
    try:
        {handler}
    except Exception:
        pass  # it may meet a module of which half is there
    raise Interrupt

def use():
    {use}

def wrapped_by_cpython(error):
    # CPython's own parts wrap what comes in the middle of them: __set_name__ in a RuntimeError, a
    # module's lock in a KeyError. Ours do not.
    innermost = traceback.extract_tb(error.__traceback__)[-1].filename
    cause = error.__cause__ or error.__context__
    return cause if "opyard" not in innermost and isinstance(cause, Interrupt) else None

def try_it(moment):
    global armed
    signal.signal(signal.SIGALRM, handle)
    armed, came = True, None
    try:
        signal.setitimer(signal.ITIMER_REAL, moment)
        use()
        armed = False
    except Interrupt as interrupt:
        came = interrupt
    except Exception as error:
        came = wrapped_by_cpython(error)
        if came is None:
            raise
    armed = False
    # What was loaded in the middle of the interrupt is whole, also while that is kept.
    use()
    assert opyard.ops.aten.add(x, x).tolist() == [2.0]
    assert opyard.dispatch.has_kernel("aten::add.Tensor", "CPU")
    with opyard.library.override("aten::neg", "CPU", lambda x: x):
        assert opyard.ops.aten.neg(x) is x
    from opyard.schema import parse
    assert parse("f() -> ()").name == "f"
    return came is not None

interrupted = 0
for step in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        try:
            os._exit(10 + try_it(2e-4 * (step + 1)))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (10, 11), (step, code)
    interrupted += code == 11
print(interrupted)
"""


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("handler", ["pass", "opyard.ops.aten.neg(x)"], ids=["raises", "calls"])
def test_T12_an_interrupt_during_the_first_use_comes_out_as_itself(name, handler):
    done = run(PROGRAM.format(use=USES[name], handler=handler), 30 * PATIENCE, limit=60)
    assert done.code == 0, done.stderr
    assert int(done.stdout) > 0, "no interrupt came in time"


# Each is asked for by several threads of a child in which nothing of it is loaded.
FIRST_USES = {
    **USES,
    "repr": "repr(x)",
    "indexing": "x[0:1]",
    "array": "x.numpy()",
    "copy": "__import__('copy').deepcopy(x)",
    "gradient": "(x * x.requires_grad_()).sum().backward()",
    "function": "Double.apply(x)",
    "module": "opyard.nn.Linear(1, 1)(x)",
    "trace": "opyard.jit.trace(lambda a: a * 2, x)",
    "keys": "repr(opyard.dispatch.DispatchKeySet('CPU'))",
    "signature": "opyard.ops.aten.add.Tensor.__signature__",
    "dtype": "opyard.tensor([1], dtype=float)",
    "function of NumPy": "__import__('numpy').add(x, x)",
}
THREADS_PROGRAM = """
import os, sys, threading, traceback
import opyard
x = opyard.tensor([1.0])
sys.setswitchinterval(1e-6)

def use():
    if {function}:
        class Double(opyard.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                return a * 2
    {use}

def work(barrier, faults):
    barrier.wait()
    try:
        use()
    except Exception:
        faults.append(traceback.format_exc())

for step in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        barrier, faults = threading.Barrier(4), []
        threads = [threading.Thread(target=work, args=(barrier, faults)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for fault in faults[:1]:
            sys.stderr.write(fault)
            sys.stderr.flush()
        os._exit(len(faults))
    assert os.waitpid(child, 0)[1] == 0, step
"""


@pytest.mark.parametrize("name", FIRST_USES)
def test_T12_threads_that_want_a_part_at_once_all_get_it_whole(name):
    program = THREADS_PROGRAM.format(use=FIRST_USES[name], function=name == "function")
    done = run(program, volume(12), limit=60 * PATIENCE)
    assert done.code == 0, done.stderr


HALF = """
import test_first_use_gate as gate
def first():
    return second()
gate.is_half.set()
gate.goes_on.wait(60)
def second():
    return 7
"""
HALF_PROGRAM = """
import sys, threading, time, types
gate = types.ModuleType("test_first_use_gate")
gate.is_half, gate.goes_on = threading.Event(), threading.Event()
sys.modules[gate.__name__] = gate
sys.path.insert(0, sys.argv[1])
from opyard._core import late
other = threading.Thread(target=__import__, args=("half_loaded",))
other.start()
gate.is_half.wait()
assert late.loaded("half_loaded") is None
threading.Timer(0.1, gate.goes_on.set).start()
assert late.imported("half_loaded", "first")() == 7
other.join()
assert late.loaded("half_loaded") is sys.modules["half_loaded"]
"""


def test_T12_a_module_that_another_thread_imports_is_waited_for(tmp_path):
    (tmp_path / "half_loaded.py").write_text(HALF)
    done = run(HALF_PROGRAM, tmp_path, limit=60)
    assert done.code == 0, done.stderr
