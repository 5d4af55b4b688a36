"""test_thread_blocks.py: with blocks that change their thread's state, left on another thread.

Suspect opyard/_dispatch/thread_block.py, opyard/_dispatch/context.py, opyard/_autograd/modes.py.
"""

import asyncio
import gc
import threading

import pytest

import opyard
import opyard._dispatch.autocast  # so that all classes of such blocks are there
import opyard._library.py_impl
import opyard.autograd
from opyard import dispatch as d
from opyard._dispatch.thread_block import ThreadBlock


class Mode(d.DispatchMode):
    pass


BLOCKS = {
    "IncludeDispatchKeyGuard": lambda: d.IncludeDispatchKeyGuard("OnTop1"),
    "ExcludeDispatchKeyGuard": lambda: d.ExcludeDispatchKeyGuard("OnTop1"),
    "AutoDispatchBelowADInplaceOrView": d.AutoDispatchBelowADInplaceOrView,
    "AutoDispatchBelowAutograd": d.AutoDispatchBelowAutograd,
    "no_dispatch": d.no_dispatch,
    "skip": lambda: d.skip("Tracer"),
    "PreserveDispatchKeyGuard": d.PreserveDispatchKeyGuard,
    "ForceDispatchKeyGuard": lambda: d.ForceDispatchKeyGuard("OnTop1", "OnTop2"),
    "SetExcludeDispatchKeyGuard": lambda: d.SetExcludeDispatchKeyGuard("OnTop1", True),
    "autocast": lambda: opyard.autocast("cpu"),
    "disable_current_modes": d.disable_current_modes,
    "pop_mode_temporarily": d.pop_mode_temporarily,
    "enable_python_dispatcher": d.enable_python_dispatcher,
    "no_python_dispatcher": d.no_python_dispatcher,
    "no_grad": opyard.no_grad,
    "enable_grad": opyard.enable_grad,
    "set_grad_enabled": lambda: opyard.set_grad_enabled(False),
    "inference_mode": opyard.inference_mode,
}


# state() does not see these: autograd_graph/test_saved_tensor_hooks.py has tests of them.
OF_SAVED_TENSORS = {"saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks"}


def test_every_block_has_its_row():
    def below(cls):
        for each in cls.__subclasses__():
            yield each.__name__
            yield from below(each)

    found = {name for name in below(ThreadBlock) if not name.startswith("_")}
    assert found - OF_SAVED_TENSORS == set(BLOCKS)


def state():
    on = opyard._C.set_python_dispatcher(False)
    opyard._C.set_python_dispatcher(on)
    grad = opyard.is_grad_enabled(), opyard.autograd.is_inference_mode_enabled()
    return opyard._C.local_keys(), d.get_current_dispatch_mode_stack(), on, grad


def on_a_thread(f):
    """What it raised there, or None."""
    caught = []

    def run():
        try:
            f()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return caught[0] if caught else None


@pytest.fixture(autouse=True)
def restored():
    before = opyard._C.local_keys()
    with Mode():  # one that can be taken away
        yield
        opyard._C.exchange_modes([(m, 3) for m in d.get_current_dispatch_mode_stack()[:1]])
    opyard._C.set_local_keys(*before)
    opyard._C.set_python_dispatcher(False)
    opyard._gradients.set_gradient_mode(0)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_generator_closed_on_another_thread_raises_there(name):
    def generator():
        with BLOCKS[name]():
            yield

    here = generator()
    mode = d.get_current_dispatch_mode()
    next(here)
    inside = state()

    def close():
        with Mode():
            before = state()
            try:
                here.close()
            finally:
                assert state() == before, "the other thread's own state was changed"

    error = on_a_thread(close)
    assert type(error) is RuntimeError
    assert f"this thread left a {name} that it is not in: another thread entered it" in str(error)
    assert state() == inside
    if name == "pop_mode_temporarily":
        d.push_mode(mode)
    elif name == "disable_current_modes":
        opyard._C.exchange_modes([(mode, 3)])


@pytest.mark.parametrize("name", BLOCKS)
def test_one_block_serves_several_threads_at_once(name):
    before = state()
    block = BLOCKS[name]()
    block.__enter__()
    inside = state()
    entered, left = threading.Event(), threading.Event()

    def other():
        with Mode(), opyard.no_grad():  # not the state of the first thread
            first = state()
            with block:
                entered.set()
                assert left.wait(10)
            assert state() == first

    thread = threading.Thread(target=lambda: caught.append(on_a_thread(other)))
    caught = []
    thread.start()
    assert entered.wait(10)
    block.__exit__(None, None, None)  # this thread's, though the other one entered it last
    assert state() == before != inside or name.startswith(("Preserve", "no_python", "enable_grad"))
    left.set()
    thread.join()
    assert caught == [None]


def test_a_thread_that_has_the_number_of_an_earlier_one_is_another_thread():
    idents, generators = [], []

    def generator():
        with d.skip("Tracer"):
            yield

    def begin():
        idents.append(threading.get_ident())
        generators.append(generator())
        next(generators[0])

    on_a_thread(begin)
    for _ in range(50):  # glibc gives the number again

        def close():
            idents.append(threading.get_ident())
            if idents[0] == idents[-1]:
                generators[0].close()

        error = on_a_thread(close)
        if error is not None:
            break
    else:
        with pytest.raises(RuntimeError):  # now, not while the next test counts reports
            generators.pop().close()
        pytest.skip("no thread got that number again")
    assert type(error) is RuntimeError


def test_a_block_that_the_collector_closes_elsewhere_is_reported(monkeypatch):
    def generator():
        with d.skip("Tracer"):
            yield

    reports = []
    gc.collect()  # what other tests left
    monkeypatch.setattr("sys.unraisablehook", lambda report: reports.append(report.exc_value))
    here = generator()
    next(here)
    cycle = [here]
    cycle.append(cycle)
    gc.disable()  # else it may run here before the thread does
    try:
        del here, cycle
        assert on_a_thread(gc.collect) is None
    finally:
        gc.enable()
    assert [type(error) for error in reports] == [RuntimeError]


def test_a_coroutine_that_was_wrapped_takes_its_blocks_from_thread_to_thread():
    async def work():
        with d.skip("Tracer"), d.disable_current_modes(), d.enable_python_dispatcher():
            await asyncio.sleep(0)
        return state()

    before = state()
    coroutine = opyard.capture_context().wrap(work)()
    coroutine.send(None)
    assert state() == before
    error = on_a_thread(lambda: coroutine.send(None))
    assert type(error) is StopIteration
    assert error.value == before
