"""Gradients where something ends: a fork in a backward, an interpreter that ends before one, and
what a thousand steps of training leave behind (G9, T11, P21).

Programs run in processes of their own. Suspect autograd/src/tape/engine.cpp, and
autograd/python/gradients/functions.cpp.
"""

import os

import pytest
from built import plugin_path
from interpreters import KINDS
from processes import leaks, run

import opyard
from opyard import autograd

# Children are made in a hook, in the backward of a function, and from another thread at any time.
FORKS = """
import os, random, sys, threading, time
import opyard
from opyard import autograd
from leaves import leaf

def in_child(check):
    child = os.fork()
    if child == 0:
        check()
        return True
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return False

def works():
    x = leaf([1.0, 2.0])
    with autograd.enable_grad():            # inside of a backward they are off
        (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]

class Forks(autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 1
    @staticmethod
    def backward(ctx, gradient):
        forked.append(in_child(works))
        return gradient

def hooked(h):
    h.register_hook(lambda gradient: forked.append(in_child(works)))
    return h

for through in (Forks.apply, hooked):
    forked = []
    x = leaf([1.0, 2.0])
    through(x * x).sum().backward()         # goes on in parent and child
    assert x.grad.tolist() == [2.0, 4.0]
    if forked[0]:
        os._exit(0)

stop = threading.Event()
def train():
    while not stop.is_set():
        works()
threads = [threading.Thread(target=train) for _ in range(2)]
for thread in threads: thread.start()
random.seed(11)
for number in range(int(sys.argv[1])):
    time.sleep(random.random() / 100)
    child = os.fork()
    if child == 0:
        works()
        os._exit(number + 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == number + 1, number
stop.set()
for thread in threads: thread.join()
works()
print("done")
"""


# As in test_fork.py: sanitizers take the locks of their allocators along.
@pytest.mark.skipif(
    "OPYARD_SANITIZER" in os.environ, reason="sanitizers cannot be forked while threads run"
)
def test_T11_a_fork_in_a_backward_ends_it_in_both_processes():
    ended = run(FORKS, 20, limit=60)
    said = [line for line in ended.stderr.splitlines() if "fork" not in line]
    assert (ended.code, said, ended.stdout) == (0, [], "done\n")


@pytest.mark.parametrize("kind", KINDS)
def test_P21_a_function_of_an_interpreter_that_ended_raises_and_frees(kind):
    program = """
import gc, sys
import opyard
from interpreters import Interpreter
KIND, PLUGIN = sys.argv[1:]
opyard.load_library(PLUGIN)
plugin = opyard.ops.interpreters
there = Interpreter(KIND)
there.run(f'''
import opyard
from opyard import autograd
opyard.load_library({PLUGIN!r})
plugin = opyard.ops.interpreters
class Triple(autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 3
    @staticmethod
    def backward(ctx, gradient):
        ctx.saved_tensors
        return gradient * 3
x = opyard.tensor([1.0, 2.0]).requires_grad_()
tripled = Triple.apply(x)
hooked = x * 1
hooked.register_hook(lambda gradient: gradient * 5)
plain = x * 7
for name in ("x", "tripled", "hooked", "plain"):
    plugin.keep(name, globals()[name])
for tensor, factor in ((tripled, 3.0), (hooked, 5.0), (plain, 7.0)):
    x.grad = None
    tensor.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [factor, factor]
x.grad = None
''')
there.end()
x = plugin.give("x")
for name in ("tripled", "hooked"):
    try:
        plugin.give(name).sum().backward()
    except RuntimeError as error:
        assert "interpreter" in str(error), error
    else:
        raise AssertionError(f"{name}: nothing was raised, {x.grad}")
    assert x.grad is None
    plugin.forget(name)
plugin.give("plain").sum().backward()       # is no function of an interpreter
assert x.grad.tolist() == [7.0, 7.0]
(x * x).sum().backward()
gc.collect()
assert x.grad.tolist() == [9.0, 11.0]
print("done")
"""
    ended = run(program, kind, plugin_path("opyard_interpreters_plugin"), limit=60)
    assert (ended.code, ended.stderr, ended.stdout) == (0, "", "done\n")


def test_T16_a_thousand_steps_of_training_leave_nothing():
    """Counted in blocks of Python, which wrap every tensor, and in memory that waits."""
    weights = [
        opyard.tensor([[0.5, -0.25], [0.125, 1.0]], dtype=opyard.float64).requires_grad_()
        for _ in range(2)
    ]
    rows = opyard.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=opyard.float64)

    def step():
        hidden = opyard.ops.aten.tanh(rows @ weights[0])
        buffer = opyard.ops.aten.zeros([2, 2], dtype=opyard.float64)
        buffer[0] = hidden[0]
        buffer[1] = hidden[1] * 2
        loss = ((buffer @ weights[1]) ** 2).sum()
        loss.backward()
        with autograd.no_grad():
            for weight in weights:
                weight.sub_(weight.grad * 1e-3)
                weight.grad = None
        return loss.item()

    first = step()
    assert leaks(lambda: [step() for _ in range(25)]) is None  # 40 rounds of it
    for _ in range(200):
        last = step()
    assert last < first
    kept = opyard.memory.stats()["cached_bytes"]
    for _ in range(1000):
        step()
    assert opyard.memory.stats()["cached_bytes"] <= kept + 4096
