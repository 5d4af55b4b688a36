"""test_no_memory.py (T5): each allocation of Python fails in turn, in every scenario.

A call raises MemoryError or succeeds; the next one works, and nothing that failed stays registered.
SystemError, another exception, or one that is left pending fails. Each scenario runs in a process
of its own. Suspect what the traceback names.
"""

import pytest
from conftest import plain_build
from processes import PATIENCE, run

pytest.importorskip("_testcapi")

# What is called, and what has to hold afterwards, whether it failed or not. CPython's own faults
# are left out: 3.11 reports no error where it has no
# memory for the frame of a function that it calls, so functions that raise are not among these.
SCENARIOS = {
    "tensor": ("opyard.tensor([1.0, 2.0])", ""),
    "nested tensor": ("opyard.tensor([[1, 2], [3, 4]])", ""),
    "from_numpy": ("opyard.from_numpy(array)", "assert array.sum() == 3"),
    "from_dlpack": ("opyard.from_dlpack(array)", "assert array.sum() == 3"),
    "numpy": ("x.numpy()", "assert x.tolist() == [1.0, 2.0]"),
    "memoryview": ("memoryview(x)", ""),
    "repr": ("repr(x)", ""),
    "tolist": ("x.tolist()", ""),
    "arithmetic": ("x + x", ""),
    "with a number": ("x + 1", ""),
    "with an array": ("x + array", "assert array.sum() == 3"),
    "compared": ("x == array", ""),
    "indexing": ("x[0]", ""),
    "slice": ("x[0:1]", ""),
    "operator": ("opyard.ops.aten.add(x, x)", ""),
    "operator of an array": ("opyard.ops.aten.add(array, array)", "assert array.sum() == 3"),
    "Python kernel": ("opyard.ops.nm.f(x)", ""),
    "boxed Python kernel": ("opyard.ops.nm.g(x, [1, 2], s='t')", ""),
    "subclass": ("opyard.ops.nm.f(held)", ""),
    "mode": ("in_mode()", "assert not opyard.dispatch.get_current_dispatch_mode_stack()"),
    "attribute": ("setattr(x, 'note', object())", ""),
    "explain": ("opyard.dispatch.explain(opyard.ops.nm.f, x)", ""),
    "dump": ("opyard.dispatch.dump('nm::f')", ""),
    "parse": ("opyard.schema.parse('f(Tensor(a!) x, *, int[2] n=[1, 2]) -> Tensor(a!)')", ""),
    "future": ("future()", ""),
    "context": ("opyard.capture_context().run(lambda: None)", ""),
    "copy": ("copy.deepcopy(x)", ""),
    "Library": ("Library('nm2', 'FRAGMENT')", ""),
    "library": ("opyard._C.Library('nm2', 'FRAGMENT', '', 'x.py:1')", ""),
    "define": (
        "lib._library.define('new(Tensor x) -> Tensor', False, (), 'x.py:1', '')",
        "assert not opyard._C.overloads('nm::new')",
    ),
    "Library.define": (
        "lib.define('new(Tensor x) -> Tensor')",
        "assert not opyard._C.overloads('nm::new')",
    ),
    "Library._define_at": (
        "lib._define_at('x.py:1', 'new(Tensor x) -> Tensor', False, (), '')",
        "assert not opyard._C.overloads('nm::new')",
    ),
    "impl": ("made()._library.impl('nm::f', len, 'Meta', 0, True, 'x.py:1')", "gone()"),
    "key set": ("opyard.dispatch.DispatchKeySet(['CPU', 'Python'])", ""),
    "guard": ("in_guard()", "opyard._C.set_local_keys(*keys)"),
}

PROGRAM = """
import copy, gc, sys
import _testcapi
import numpy as np
import opyard, opyard.dispatch, opyard.futures, opyard.library, opyard.schema
from opyard.library import Library

lib = Library("nm", "FRAGMENT")
lib.define("f(Tensor x) -> Tensor")
lib.define('g(Tensor x, int[] n, *, str s="") -> Tensor')
lib.define("bad(Tensor x) -> Tensor")
lib.impl("f", lambda x: x, "CPU")
lib.impl("g", lambda x, n, s='': x, "CPU")

def raises(x):
    raise KeyError("bad")

lib.impl("bad", raises, "CPU")
array = np.array([1.0, 2.0], np.float32)
x = opyard.tensor([1.0, 2.0])
keys = opyard._C.local_keys()

class Held(opyard.Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return super().__opyard_dispatch__(op, types, args, kwargs)

class Mode(opyard.dispatch.DispatchMode):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        return op(*args, **(kwargs or dict()))

held = opyard.Tensor.make_subclass(Held, x)

def in_mode():
    with Mode():
        return opyard.ops.nm.f(x)

def in_guard():
    with opyard.dispatch.ExcludeDispatchKeyGuard("OnTop1"):
        return opyard.ops.nm.f(x)

def future():
    done = opyard.futures.Future()
    then = done.then(lambda f: f.value())
    done.set_result(1)
    return then.value()

def made():
    return Made()

class Made:
    def __init__(self):
        self._library = opyard._C.Library("nm", "IMPL", "", "x.py:1")

def gone():
    for name in list(opyard._C.overloads("nm::new")):
        raise_if_kept.append(name)

raise_if_kept = []

def scenario():
    {call}

def check():
    {check}
    assert opyard.ops.aten.neg(x).tolist() == [-1.0, -2.0]
    assert opyard.ops.nm.f(x) is x

scenario_is_repeatable = {repeatable}
if scenario_is_repeatable:
    scenario()
check()
gc.disable()
succeeded = failures = 0
for number in range(1, 400):
    try:
        _testcapi.set_nomemory(number, number + 1)
        try:
            scenario()
        finally:
            _testcapi.remove_mem_hooks()
        succeeded += 1
    except MemoryError:
        succeeded, failures = 0, failures + 1
        raise_if_kept.clear()
        check()
        assert not raise_if_kept, "what failed stays registered"
    {afterwards}
    if succeeded > 20:
        break
gc.enable()
gc.collect()
check()
print(failures)
"""


@plain_build
@pytest.mark.parametrize("name", SCENARIOS)
def test_T5_P4_a_failing_allocation_raises_and_the_next_call_works(name):
    call, check = SCENARIOS[name]
    done = run(
        PROGRAM.format(
            call=call,
            check=check or "pass",
            repeatable="define" not in name,
            afterwards=TAKE_BACK if "define" in name else "pass",
        ),
        limit=60 * PATIENCE,
    )
    assert done.code == 0, f"{done.code}: {done.stderr[-3000:]}"


# After a definition that succeeded, the library is made anew.
TAKE_BACK = """
    if opyard._C.overloads("nm::new"):
        lib._destroy()
        lib = Library("nm", "FRAGMENT")
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x, "CPU")
"""


def test_T5_a_planted_loss_is_found():
    """A call that answers with MemoryError set, and one that turns it into another exception."""
    for call, found in (
        ("swallow()", "AssertionError"),
        ("opyard.tensor(1) and wrong()", "ValueError"),
    ):
        program = PROGRAM.replace("scenario_is_repeatable = {repeatable}", "").replace(
            "if scenario_is_repeatable:\n    scenario()\ncheck()\n", PLANTED
        )
        done = run(
            program.format(call=call, check="pass", repeatable=True, afterwards="pass"), limit=60
        )
        assert done.code != 0 and found in done.stderr, done.stderr


PLANTED = """
kept = []

def swallow():
    try:
        kept.append(object())
    except MemoryError:
        raise AssertionError("lost")

def wrong():
    try:
        bytearray(1000)
    except MemoryError:
        raise ValueError("another one")

"""
