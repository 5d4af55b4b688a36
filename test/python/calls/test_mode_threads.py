"""test_mode_threads.py: threads and contexts that have the modes of another thread (F53).

Suspect dispatcher/src/thread/modes.cpp, thread_context.cpp beside it, autograd/src/engine.cpp.
"""

import contextvars
import threading
import time
import weakref

import pytest

import opyard
from opyard.dispatch import DispatchMode, get_current_dispatch_mode_stack


class Through(DispatchMode):
    """Notes the name of each operator, and lets the call through."""

    def __init__(self, calls):
        self.calls = calls

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        self.calls.append(op.name().partition("::")[2])
        return op(*args, **(kwargs or {}))


@pytest.fixture
def f(define):
    return define("f(Tensor x) -> Tensor", CPU=lambda x: x)


def test_F53_threads_start_without_modes(f, x):
    calls, there = [], []

    def work():
        there.append(get_current_dispatch_mode_stack())
        f(x)

    with Through(calls):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert calls == []
        assert there == [[]]
        f(x)
    assert calls == ["f"]


def test_F53_a_thread_that_ends_inside_a_mode_lets_it_go():
    mode = Through([])
    dead = weakref.ref(mode)
    thread = threading.Thread(target=mode.__enter__)
    thread.start()
    thread.join()
    del mode, thread
    # The system's thread ends a little after Python's; the next thread drops what it let go.
    end = time.monotonic() + 10
    while dead() is not None and time.monotonic() < end:
        opyard.ops.aten.neg(opyard.tensor([1.0]))
    assert dead() is None


def test_F53_a_backward_that_goes_on_on_a_thread_of_its_own_takes_the_modes_along():
    class Deeper(opyard.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x.alias()

        @staticmethod
        def backward(ctx, gradient):
            there.append((threading.get_ident(), get_current_dispatch_mode_stack()))
            if ctx.depth > 1:
                with opyard.autograd.enable_grad():
                    inner = opyard.tensor([1.0]).requires_grad_()
                    Deeper.apply(inner, ctx.depth - 1).backward()
            return gradient, None

    there, calls = [], []
    x = opyard.tensor([1.0]).requires_grad_()
    with Through(calls) as mode:
        Deeper.apply(x, 70).backward()
    threads, stacks = zip(*there, strict=True)
    assert len(set(threads)) == 2, "60 backwards inside of each other are on one thread"
    assert stacks == ([mode],) * 70
    assert calls.count("alias") == 70


def test_F53_a_captured_context_has_modes_and_context_variables(f, x):
    variable = contextvars.ContextVar("variable", default="default")
    calls, there = [], []

    def work():
        there.append((get_current_dispatch_mode_stack(), variable.get()))
        f(x)

    variable.set("mine")
    with Through(calls) as mode:
        context = opyard.capture_context()
    for target in (work, lambda: context.run(work), work):
        thread = threading.Thread(target=contextvars.Context().run, args=(target,))
        thread.start()
        thread.join()
    assert there == [([], "default"), ([mode], "mine"), ([], "default")]
    assert calls == ["f"]
