"""test_first_use.py (T12): an interruption of a part's first use comes out unchanged.

The package loads its parts when they are first wanted. An exception of a signal handler may come
in the middle of that; it reaches the caller, and the next one who wants the part gets it whole.
Suspect bind/bind.cpp, [Interrupted].
"""

import pytest
from processes import PATIENCE, run

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
