"""test_no_memory.py (T5): each allocation of Python fails in turn, in every scenario.

A call raises MemoryError or succeeds; the next one works, and nothing that failed stays registered.
SystemError, another exception, or one that is left pending fails. Each scenario runs in a process
of its own. Suspect what the traceback names.
"""

import pytest
from built import plain_build
from processes import PATIENCE, run

pytestmark = pytest.mark.once

pytest.importorskip("_testcapi")

# What is called, and what has to hold afterwards, whether it failed or not. CPython's own faults
# are left out: from 3.11 on it reports no error where it has no memory for the frame of a function
# that it calls, so functions that raise are not among these. See also hold_codes() below.
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
    "guard": ("in_guard()", "assert opyard._C.local_keys() == keys"),
    "item": ("x[0].item(), float(x[1]), bool(x[0]), list(x)", ""),
    "set item": ("other.__setitem__(0, 5.0)", ""),
    "several indices": ("matrix[0, 1:], matrix[None, ..., 0]", ""),
    "a list of tensors": ("opyard.ops.aten.cat([x, x, array])", ""),
    "several results": ("opyard.ops.aten.max(matrix, 1)", ""),
    "an answer of NumPy": ("answered()", ""),
    "einsum": ("opyard.ops.aten.einsum('ij,jk->ik', [matrix, matrix])", ""),
    "custom_op": ("custom(x)", ""),
    "override": ("overridden()", "assert opyard.ops.nm.f(x) is x"),
    "wrapper": ("opyard.Tensor.make_wrapper_subclass(Plain, (2, 3))", ""),
    "subclass made": ("opyard.Tensor.make_subclass(Plain, x)", ""),
    "taped": ("(w * w).sum()", ""),
    "backward": ("backward()", "w.grad = None"),
    "grad of grad": ("grad_of_grad()", "assert w.grad is None"),
    "hooks": ("hooked()", "w.grad = None"),
    "a Function": ("Twice.apply(w).sum().backward()", "w.grad = None"),
    "no_grad": ("without_gradients()", "assert opyard.autograd.is_grad_enabled()"),
    "parse_ir": ("jit.parse_ir(TEXT)", ""),
    "compile": ("jit.compile(graph)", ""),
    "run": ("code(x)", ""),
    "run of a Python kernel": ("python_code(x)", ""),
    "state": ("run_state()", ""),
    "text of a graph": ("str(graph), repr(code)", ""),
    "copy of a graph": ("graph.copy(), list(graph.nodes())", ""),
    "trace": ("jit.trace(lambda x: x + x, (x,))", "assert opyard.ops.aten.neg(x)[0].item() == -1"),
    "builder": ("built()", ""),
    "names of arguments": (
        "jit.Graph().create(kind='aten::neg', inputs=[], outputs=1)",
        "",
    ),
    "passes": ("jit.passes.eliminate_common_subexpressions(graph.copy())", ""),
    "files": ("opyard.save({'x': x}, FILE), opyard.load(FILE)", ""),
    # Python may lack the memory for the frame of __exit__().
    "profile": ("profiled()", "_tracer.is_active() and _tracer.stop(); assert not tools()"),
    "record_function": ("scoped()", ""),
    # The observers of a thread are one list.
    "observe": ("observed()", "outer.enable()"),
    "layer": ("layer(matrix)", ""),
    "names of operators": ("dir(opyard.ops.aten), opyard.dispatch.history()", ""),
    "parts of a schema": ("SCHEMA.arguments[0].type, SCHEMA.returns", ""),
    "a copy of a graph that runs": ("graph.copy()(x)", ""),
    "a function compiled": ("jit.compile(lambda x: x * 2 + x)(x)", ""),
    "a compiled function": ("compiled(x)", ""),
    "key sets": ("DispatchKeySet(['CPU', 'Meta']) | DispatchKeySet('CPU')", ""),
    "an optimizer": ("optimized()", "w.grad = None"),
    "a fallback": ("fallen_back()", ""),
    "an operator for a while": ("for_a_while()", "assert not opyard._C.overloads('nm3::h')"),
}

# With blocks that change their thread's state: afterwards it is as before, whatever failed. All
# classes of such blocks are in test_thread_blocks.py. To make a set_grad_enabled() sets the mode
# for good.
BLOCKS = [
    "opyard.dispatch.IncludeDispatchKeyGuard('OnTop1')",
    "opyard.dispatch.ExcludeDispatchKeyGuard('OnTop1')",
    "opyard.dispatch.AutoDispatchBelowADInplaceOrView()",
    "opyard.dispatch.AutoDispatchBelowAutograd()",
    "opyard.dispatch.no_dispatch()",
    "opyard.dispatch.skip('Tracer')",
    "opyard.dispatch.PreserveDispatchKeyGuard()",
    "opyard.dispatch.ForceDispatchKeyGuard('OnTop1', 'OnTop2')",
    "opyard.dispatch.SetExcludeDispatchKeyGuard('OnTop1', True)",
    "opyard.autocast('cpu', dtype=opyard.bfloat16)",
    "opyard.dispatch.disable_current_modes()",
    "opyard.dispatch.pop_mode_temporarily()",
    "opyard.dispatch.enable_python_dispatcher()",
    "opyard.dispatch.no_python_dispatcher()",
    "opyard.no_grad()",
    "opyard.enable_grad()",
    "opyard.inference_mode()",
    "anomalies",
    "opyard.dispatch.DispatchLog()",
]
SCENARIOS |= {
    f"with {block}": (f"in_block(lambda: {block})", "assert thread_state() == before")
    for block in BLOCKS
}

HOLD_CODES = """
import ctypes, gc, sys, types

# CPython 3.12.1 and 3.13.0 give back a reference to its code if they have no memory for a function,
# which they did not take: a closure that fails often enough frees the code under its function. The
# references that are added here are never given back.
def hold_codes():
    def hold(code):
        ctypes.c_ssize_t.from_address(id(code)).value += 1000
        for each in code.co_consts:
            if isinstance(each, types.CodeType):
                hold(each)

    for found in gc.get_objects() if sys.version_info >= (3, 12) else ():
        if isinstance(found, types.FunctionType):
            hold(found.__code__)
"""

PROGRAM = """
import copy, ctypes, gc, os, sys, tempfile, types, warnings
import _testcapi
import numpy as np
import opyard, opyard.autograd, opyard.dispatch, opyard.futures, opyard.library, opyard.schema
from opyard import _bind, _tracer, jit, nn, optim, profiler
from opyard.dispatch import DispatchKeySet
from opyard.library import Library, custom_op, override

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

def in_block(block):
    with Mode():
        with block():
            pass

# CPython's warnings.warn() raises SystemError where there is no memory for its warning.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    anomalies = opyard.autograd.detect_anomaly()

def thread_state():
    on = opyard._C.set_python_dispatcher(False)
    opyard._C.set_python_dispatcher(on)
    modes = opyard.dispatch.get_current_dispatch_mode_stack()
    gradients = opyard._gradients.gradient_mode(), opyard._gradients.anomaly()
    include, exclude = opyard._C.local_keys()
    chosen = opyard._dispatch.autocast._chosen.__dict__.get("cpu")
    keys = include.raw_repr(), exclude.raw_repr()
    return keys, modes, on, gradients, chosen, opyard._bind.dispatch_log()

def future():
    done = opyard.futures.Future()
    then = done.then(lambda f: f.value())
    done.set_result(1)
    return then.value()

matrix = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
other = opyard.tensor([1.0, 2.0])
layer = nn.Linear(2, 2)
w = opyard.tensor([1.0, 2.0]).requires_grad_()
FILE = os.path.join(tempfile.mkdtemp(), "file")

@custom_op("nm::custom", mutates_args=())
def custom(x: opyard.Tensor) -> opyard.Tensor:
    return x.clone()

class Plain(opyard.Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return super().__opyard_dispatch__(op, types, args, kwargs)

class Twice(opyard.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2

def overridden():
    with override("nm::f", "CPU", lambda x: x):
        return opyard.ops.nm.f(x)

def backward():
    (w * w).sum().backward()
    found, w.grad = w.grad.tolist(), None
    assert found == [2.0, 4.0]

def grad_of_grad():
    (first,) = opyard.autograd.grad((w * w * w).sum(), [w], create_graph=True)
    (second,) = opyard.autograd.grad(first.sum(), [w])
    assert second.tolist() == [6.0, 12.0]

def hooked():
    y = w * w
    handle = y.register_hook(lambda grad: grad)
    y.sum().backward()
    handle.remove()
    w.grad = None

def without_gradients():
    with opyard.autograd.no_grad():
        return w * w

TEXT = (
    "graph(%x):\\n  %y = aten::neg(%x)\\n  %z = aten::neg(%x)\\n"
    "  %s = aten::mul(%y, %z)\\n  return (%s)\\n"
)
graph = jit.parse_ir(TEXT)
code = jit.compile(graph)
python_code = jit.compile(jit.parse_ir("graph(%x):\\n  %y = nm::f(%x)\\n  return (%y)\\n"))

def run_state():
    state = jit.InterpreterState(code)
    state.run_one_stage(x)
    return state.save()

def built():
    b = jit.GraphBuilder()
    b.output(b.input("x") + 1)
    return b.graph

def profiled():
    with profiler.profile() as prof:
        opyard.ops.aten.neg(x)
    return str(prof.key_averages())

# From 3.12 on a profile has a tool number, which it gives back.
def tools():
    monitoring = getattr(sys, "monitoring", None)
    return monitoring and [n for n in range(6) if monitoring.get_tool(n) is not None]

outer = profiler.observe()

def observed():
    if not outer._kept:
        outer.start()
    kept = []
    _tracer.begin_observer(kept, None, None, False, False, 1.0)
    _tracer.end_observer(kept[0])

def scoped():
    with profiler.record_function("scope"):
        pass

SCHEMA = opyard.schema.parse("nm::q(Tensor(a!) x, *, int[2] n=[1, 2]) -> Tensor(a!)")
compiled = jit.compile(lambda x: x * 2 + x)
compiled(x)
steps = optim.SGD([w], lr=0.0)

def optimized():
    (w * w).sum().backward()
    steps.step()
    steps.zero_grad()

# NumPy 2.2 to 2.5 itself reports no error if a function of its own lacks memory.
def answered():
    try:
        return opyard.ops.aten.linalg_det(matrix)
    except SystemError as error:
        if not str(error).startswith("<ufunc"):
            raise
        raise MemoryError from None

def fallen_back():
    tracers = Library("_", "IMPL", "Tracer")
    try:
        tracers.fallback(lambda op, *args: op(*args))
    finally:
        tracers._destroy()

def for_a_while():
    own = Library("nm3", "FRAGMENT")
    try:
        own.define("h(Tensor x) -> Tensor")
        own.impl("h", lambda x: x, "CPU")
        assert opyard.ops.nm3.h(x) is x
    finally:
        try:
            own._destroy()
        except MemoryError:
            own._destroy()
            raise

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

{hold_codes}
import opyard._dispatch.autocast
before = thread_state()
scenario_is_repeatable = {repeatable}
if scenario_is_repeatable:
    scenario()
check()
hold_codes()
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
            hold_codes=HOLD_CODES,
            repeatable="define" not in name,
            afterwards=TAKE_BACK if "define" in name else "pass",
        ),
        limit=60 * PATIENCE,
    )
    assert done.code == 0, f"{done.code}: {done.stderr[-3000:]}"


# Each call as the first that a thread makes, which looks for the table of the plugin anew.
ON_A_THREAD = """
import os, sys, threading
import _testcapi
import opyard, opyard.autograd
from opyard import jit

x, w = opyard.tensor([1.0, 2.0]), opyard.tensor([1.0, 2.0]).requires_grad_()
TEXT = "graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)\\n"
graph, y = jit.parse_ir(TEXT), (w * w).sum()
code, compiled = jit.compile(graph), jit.compile(lambda x: x * 2)
begun = jit.InterpreterState(code)
begun.begin_stage(x)
calls = {
    "code": lambda: code(x),
    "graph": lambda: graph(x),
    "copy": lambda: graph.copy()(x),
    "state": lambda: jit.InterpreterState(code).run_one_stage(x),
    "begun": lambda: begun.resume(),
    "compiled": lambda: compiled(x),
    "compiled, with gradients": lambda: compiled(w),
    "parse_ir": lambda: jit.parse_ir(TEXT),
    "backward": lambda: (w * w).sum().backward(),
    "functions": lambda: y.grad_fn.next_functions,
}
for name in calls.keys() - {"begun"}:
    calls[name]()

def run(number):
    call = calls[sys.argv[1]]
    try:
        _testcapi.set_nomemory(number, number + 1)
        try:
            call()
        finally:
            _testcapi.remove_mem_hooks()
    except MemoryError:
        ended[0] = True

failures = 0
for number in range(1, 60):
    child = os.fork()
    if child == 0:
        ended = [False]
        thread = threading.Thread(target=run, args=(number,))
        thread.start()
        thread.join()
        assert code(x).tolist() == [-1.0, -2.0]
        os._exit(10 + ended[0])
    result = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert result in (10, 11), (number, result)
    failures += result == 11
assert failures
"""


# An error for which there is no memory is MemoryError, also where pybind11 completes it. What
# raises enters functions of Python, for whose frames CPython reports nothing: see the top.
REFUSED = """
import _testcapi
import opyard, opyard.autograd

w = opyard.tensor([1.0, 2.0]).requires_grad_()
kinds = set()
for number in range(1, 120):
    try:
        _testcapi.set_nomemory(number, number + 1)
        try:
            w.backward()
        finally:
            _testcapi.remove_mem_hooks()
    except Exception as error:
        kinds.add(type(error))
refused = {ValueError, opyard.autograd.GradientError}
assert MemoryError in kinds and kinds & refused, kinds
assert kinds <= {MemoryError, SystemError} | refused, kinds
"""


@plain_build
def test_T5_an_error_for_which_there_is_no_memory_is_memory_error():
    done = run(REFUSED, limit=60 * PATIENCE)
    assert (done.code, done.stderr) == (0, ""), f"{done.code}: {done.stderr[-3000:]}"


FIRST = ["code", "graph", "copy", "state", "begun", "compiled", "compiled, with gradients"]
FIRST += ["parse_ir", "backward", "functions"]


@plain_build
@pytest.mark.parametrize("name", FIRST)
def test_T5_P4_the_first_call_of_a_thread_may_lack_memory(name):
    done = run(ON_A_THREAD, name, limit=60 * PATIENCE)
    assert (done.code, done.stderr) == (0, ""), f"{done.code}: {done.stderr[-3000:]}"


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
            program.format(
                call=call,
                check="pass",
                hold_codes=HOLD_CODES,
                repeatable=True,
                afterwards="pass",
            ),
            limit=60,
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
