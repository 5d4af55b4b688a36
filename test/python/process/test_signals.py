"""test_signals.py (T12): an exception of a signal handler, at random times in every kind of work.

It comes out as that object, the next call works, and nothing of the thread's state is left changed.
The first use of each part is in test_first_use.py. Suspect what the traceback names.
"""

import pytest
from processes import PATIENCE, run

pytestmark = pytest.mark.once

OPERATIONS = {
    "native calls": "opyard.ops.aten.add(x, x)",
    "a Python kernel": "opyard.ops.sig.f(x)",
    "a boxed Python kernel": "opyard.ops.sig.g(x, [1, 2])",
    "a kernel that calls on": "opyard.ops.sig.deep(x)",
    "a mode": "in_mode()",
    "a subclass": "opyard.ops.sig.f(held)",
    "an override": "overridden()",
    "a definition": "defined()",
    "arrays": "opyard.ops.aten.add(array, array); opyard.from_numpy(array); x + array",
    "a key guard": "guarded()",
    "futures": "futures()",
    "texts": "repr(x); opyard.dispatch.explain(opyard.ops.sig.f, x)",
    "schemas": "opyard.schema.parse('f(Tensor(a!) x, *, int[2] n=[1, 2]) -> Tensor(a!)')",
    "attributes": "setattr(x, 'note', [x]); gc.collect(0)",
    "gradients": "gradients()",
    "gradients in Python": "Twice.apply(w).sum().backward()",
    "a loop of a graph": "LOOP(1_000_000)",
    "graphs": "opyard.jit.compile(opyard.jit.parse_ir(TEXT))(x)",
    "traces": "opyard.jit.trace(lambda x: opyard.ops.sig.f(x) + x, (x,))(x)",
    "profiles": "profiled()",
    "flight recorders": "flying()",
    "a custom operator": "custom(x)",
    "answers of NumPy": "opyard.ops.aten.linalg_det(matrix)",
    "large operators": "opyard.ops.aten.sort(large); large @ large",
    "layers": "layer(matrix).sum().backward()",
    "files": "opyard.save({'x': x}, FILE); opyard.load(FILE)",
}

PROGRAM = """
import gc, random, signal, sys, threading, warnings
import numpy as np
import os, tempfile
import opyard, opyard.autograd, opyard.dispatch, opyard.futures, opyard.library, opyard.schema
from opyard import jit, nn, profiler
from opyard.library import Library, custom_op, override

# An interrupt within __enter__ leaves what no one can stop.
warnings.filterwarnings("ignore", "an? .* was dropped", RuntimeWarning)

lib = Library("sig", "FRAGMENT")
for name in ("f(Tensor x)", "g(Tensor x, int[] n)", "deep(Tensor x)"):
    lib.define(name + " -> Tensor")
lib.impl("f", lambda x: x, "CPU")
lib.impl("g", lambda x, n: x, "CPU")
lib.impl("deep", lambda x: opyard.ops.sig.g(opyard.ops.sig.f(x), [1]), "CPU")
x = opyard.tensor([1.0, 2.0])
array = np.ones(2, np.float32)

class Held(opyard.Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return super().__opyard_dispatch__(op, types, [*args], kwargs)

held = opyard.Tensor.make_subclass(Held, opyard.tensor([3.0]))

class Mode(opyard.dispatch.DispatchMode):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        return op(*args, **kwargs or dict())

def in_mode():
    with Mode():
        opyard.ops.sig.f(x)

def overridden():
    made = override("sig::f", "CPU", lambda x: x)
    try:
        opyard.ops.sig.f(x)
    finally:
        made.remove()

def defined():
    made = Library("sig2", "FRAGMENT")
    try:
        made.define("h(Tensor x) -> Tensor")
        made.impl("h", lambda x: x, "CPU")
    finally:
        made._destroy()

def guarded():
    with opyard.dispatch.ExcludeDispatchKeyGuard("OnTop1"):
        opyard.ops.sig.f(x)

def futures():
    done = opyard.futures.Future()
    then = done.then(lambda f: f.value())
    done.set_result(1)
    assert then.wait() == 1

w = opyard.tensor([1.0, 2.0]).requires_grad_()
matrix = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
large = opyard.ops.aten.rand([300, 300])
layer = nn.Linear(2, 2)
FILE = os.path.join(tempfile.mkdtemp(), "file")
TEXT = "graph(%x):\\n  %y = sig::f(%x)\\n  %z = aten::mul(%y, %x)\\n  return (%z)\\n"
LOOP = jit.compile(jit.parse_ir("graph(%n : int):" + chr(10) + chr(10).join([
    "  %true : bool = prim::Constant[value=1]()",
    "  %zero : int = prim::Constant[value=0]()",
    "  %last : int = prim::Loop(%n, %true, %zero)",
    "    block0(%i : int, %v : int):",
    "      %w : int = aten::sub(%i, %v)",
    "      -> (%true, %w)",
    "  return (%last)",
])))

@custom_op("sig::custom", mutates_args=())
def custom(x: opyard.Tensor) -> opyard.Tensor:
    return x.clone()

class Twice(opyard.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2

def gradients():
    y = w * w
    y.register_hook(lambda grad: grad)
    (first,) = opyard.autograd.grad(y.sum(), [w], create_graph=True)
    first.sum().backward()
    with opyard.autograd.no_grad():
        opyard.ops.sig.f(w)

def profiled():
    with profiler.profile() as prof:
        opyard.ops.sig.f(x)
    prof.key_averages()

def flying():
    with profiler.flight_recorder(bytes=1 << 20):
        opyard.ops.sig.f(x)

def work():
    WORK

class Interrupt(KeyboardInterrupt):
    pass

armed = False

def handle(*args):
    global armed
    if armed:
        armed = False
        raise Interrupt

work()  # the first use of each part is another test's
signal.signal(signal.SIGALRM, handle)
keys, gradient_mode = opyard._C.local_keys(), opyard._gradients.gradient_mode()
random.seed(int(sys.argv[1]))
for number in range(int(sys.argv[2])):
    armed = True
    try:
        signal.setitimer(signal.ITIMER_REAL, random.random() * 0.004 + 1e-5)
        while armed:
            work()
    except Interrupt:
        pass
    else:
        raise AssertionError("the interrupt did not come out")
    # With blocks of Python itself may be left between two of its own steps; what they change is the
    # thread's, and is restored by code that interrupts a thread at will.
    opyard._C.exchange_modes([])
    opyard._C.set_local_keys(*keys)
    opyard._gradients.set_gradient_mode(gradient_mode)
    opyard._profile.session._stop_all()
    assert opyard.ops.aten.add(x, x).tolist() == [2.0, 4.0]
    assert opyard.ops.sig.g(x, [1]) is x
    w.grad = None
    (w * w).sum().backward()
    assert w.grad.tolist() == [2.0, 4.0]
    assert jit.compile(jit.parse_ir(TEXT))(x).tolist() == [1.0, 4.0]
gc.collect()
opyard.dispatch.check_invariants()
"""


@pytest.mark.parametrize("name", OPERATIONS)
def test_T12_an_interrupt_comes_out_and_the_next_call_works(name):
    done = run(PROGRAM.replace("WORK", OPERATIONS[name]), 7, 50, limit=60 * PATIENCE)
    assert (done.code, done.stderr) == (0, ""), (done.code, done.stderr[-3000:])


def test_T12_an_interrupt_that_is_lost_is_found():
    """The planted defect: work that swallows whatever comes."""
    swallows = "try: opyard.ops.sig.f(x)\n    except BaseException: pass"
    program = PROGRAM.replace("while armed:", "for _ in range(30_000):")
    done = run(program.replace("WORK", swallows), 7, 50, limit=60)
    assert "the interrupt did not come out" in done.stderr


# A loop that never ends: of numbers alone, of texts, and of an operator.
ENDLESS = """
import signal, sys, threading, time
import opyard
from opyard import jit

BODIES = {
    "numbers": ("int", "aten::sub(%i, %v)", 1),
    "texts": ("str", "aten::upper(%v)", "a"),
    "an operator": ("Tensor", "aten::neg(%v)", opyard.zeros(4)),
}
kind, body, FIRST = BODIES[sys.argv[1]]
LINES = [
    f"graph(%n : int, %first : {kind}):",
    "  %true : bool = prim::Constant[value=1]()",
    f"  %last : {kind} = prim::Loop(%n, %true, %first)",
    f"    block0(%i : int, %v : {kind}):",
    f"      %w : {kind} = {body}",
    "      -> (%true, %w)",
    "  return (%last)",
]
LOOP = jit.parse_ir(chr(10).join(LINES))
code = jit.compile(LOOP)
LONG = 1 << 62
signal.signal(signal.SIGALRM, signal.default_int_handler)
"""

ENDS = {
    "a code": "code(LONG, FIRST)",
    "a graph": "LOOP(LONG, FIRST)",
    "a state": "jit.InterpreterState(code).run_one_stage(LONG, FIRST)",
    # The main thread waits for the other one, and has to get the GIL to handle the signal.
    "a thread": """
    thread = threading.Thread(target=code, args=(LONG, FIRST), daemon=True)
    thread.start()
    thread.join()
""",
    "a backward": """
    w = opyard.zeros(1).requires_grad_()
    y = w
    for _ in range(400_000):
        y = -y
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        y.sum().backward()
    finally:
        assert w.grad is None, "the backward ran to its end"
""",
}
CASES = [("numbers", end) for end in ENDS] + [("texts", "a code"), ("an operator", "a code")]


@pytest.mark.parametrize(("kind", "end"), CASES)
def test_P11_ctrl_c_ends_a_long_run_of_cpp(kind, end):
    program = (
        ENDLESS
        + "signal.setitimer(signal.ITIMER_REAL, 0.3)\ntry:\n    "
        + ENDS[end].strip()
        + "\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    )
    done = run(program, kind, limit=20)
    assert (done.code, done.stdout, done.stderr) == (0, "interrupted\n", "")


def test_P11_a_state_that_was_interrupted_goes_on_where_it_was():
    rest = """
state = jit.InterpreterState(code)
signal.setitimer(signal.ITIMER_REAL, 0.02)
try:
    state.run_one_stage(20_000_001, 0)
except KeyboardInterrupt:
    print(state.resume())
"""
    done = run(ENDLESS + rest, "numbers", limit=20)
    assert (done.code, done.stdout, done.stderr) == (0, "10000000\n", "")


def test_other_threads_run_during_a_loop_of_a_graph():
    rest = """
ticks, ended = 0, False

def tick():
    global ticks
    while not ended:
        ticks += 1
        time.sleep(0.001)

thread = threading.Thread(target=tick)
thread.start()
before = ticks
code(100_000_000, 1)
print(ticks - before > 3)
ended = True
thread.join()
"""
    done = run(ENDLESS + rest, "numbers", limit=20)
    assert (done.code, done.stdout, done.stderr) == (0, "True\n", "")
