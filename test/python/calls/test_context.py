"""test_context.py: capture_context(): modes, keys and variables on other threads and in tasks.

Suspect opyard/_dispatch/context.py, kernels/thread_context.cpp, then
dispatcher/src/thread/thread_context.cpp.
"""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import opyard
from opyard.dispatch import (
    DispatchMode,
    ExcludeDispatchKeyGuard,
    IncludeDispatchKeyGuard,
    get_current_dispatch_mode_stack,
    tls_is_dispatch_key_excluded,
    tls_is_dispatch_key_included,
    tls_local_include_set,
)

variable = contextvars.ContextVar("variable", default="default")


class Mode(DispatchMode):
    def __init__(self):
        self.seen = 0

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        self.seen += 1
        return op(*args, **kwargs or {})


def state():
    return (
        get_current_dispatch_mode_stack(),
        tls_is_dispatch_key_included("OnTop1"),
        tls_is_dispatch_key_excluded("Tracer"),
        variable.get(),
    )


DEFAULT = ([], False, False, "default")


@pytest.fixture
def captured():
    """A context with a mode, keys and a variable; the mode; and what state() is in it."""
    token = variable.set("captured")
    try:
        with IncludeDispatchKeyGuard("OnTop1"), ExcludeDispatchKeyGuard("Tracer"), Mode() as mode:
            context = opyard.capture_context()
    finally:
        variable.reset(token)
    assert state() == DEFAULT
    return context, mode, ([mode], True, True, "captured")


def on_a_thread(f):
    result = []
    thread = threading.Thread(target=lambda: result.append((f(), state())))
    thread.start()
    thread.join()
    (inside, after) = result[0]
    assert after == DEFAULT
    return inside


def on_an_executor(f):
    with ThreadPoolExecutor(1) as pool:
        inside, after = pool.submit(f).result(), pool.submit(state).result()
    assert after == DEFAULT
    return inside


def in_a_task(f):
    async def task():
        return f()

    async def main():
        return await asyncio.create_task(task())

    return asyncio.run(main())


def in_a_loop_s_executor(f):
    async def main():
        return await asyncio.get_running_loop().run_in_executor(None, f)

    return asyncio.run(main())


def here(f):
    return f()


# Where a context may be used. Every function above that runs another one has a row.
PLACES = {
    "a thread": on_a_thread,
    "an executor": on_an_executor,
    "a task": in_a_task,
    "the executor of a loop": in_a_loop_s_executor,
    "here": here,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", ["run", "wrap"])
def test_X14_a_context_is_there_in_every_place(captured, place, way):
    context, _, expected = captured
    inside = (lambda: context.run(state)) if way == "run" else context.wrap(state)
    assert PLACES[place](inside) == expected
    assert state() == DEFAULT


def test_X14_calls_see_the_modes(captured):
    context, mode, _ = captured
    x = opyard.tensor([1.0])
    on_a_thread(lambda: context.run(opyard.ops.aten.neg, x))
    assert mode.seen == 1


def test_X14_it_replaces_what_the_thread_has(captured):
    context, _, expected = captured
    with Mode() as own:
        before = tls_local_include_set()
        assert context.run(state) == expected
        assert state() == ([own], False, False, "default")
        assert tls_local_include_set() == before


def test_X14_what_a_run_changes_is_gone_afterwards(captured):
    context, _, expected = captured

    def change():
        variable.set("changed")
        opyard.dispatch.push_mode(Mode())
        opyard.dispatch.tls_set_dispatch_key_included("OnTop2", True)

    context.run(change)
    assert state() == DEFAULT
    assert not tls_is_dispatch_key_included("OnTop2")
    assert context.run(state) == expected


def test_X14_arguments_results_and_exceptions_pass(captured):
    context, _, _ = captured
    assert context.run(lambda *a, **k: (a, k), 1, two=2) == ((1,), {"two": 2})
    error = KeyError("k")

    def fail():
        raise error

    with pytest.raises(KeyError) as caught:
        context.wrap(fail)()
    assert caught.value is error
    assert state() == DEFAULT
    assert context.wrap(fail).__name__ == "fail"


def test_X14_runs_nest_and_overlap(captured):
    context, _, expected = captured
    assert context.run(lambda: context.run(state)) == expected
    both = threading.Barrier(2, timeout=30)

    def work():
        both.wait()
        inside = state()
        both.wait()
        return inside

    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(context.run, work) for _ in range(2)]
        assert [future.result() for future in running] == [expected] * 2


def test_X14_each_step_of_a_coroutine_runs_in_its_own_context(captured):
    context, mode, expected = captured
    states = []

    async def work(name):
        states.append((name, state()))
        with Mode() as inner:
            variable.set(name)
            await asyncio.sleep(0)
            assert state() == ([mode, inner], True, True, name)
            await asyncio.sleep(0)
        return state()

    async def main():
        tasks = [asyncio.create_task(context.wrap(work)(name)) for name in "ab"]
        while not all(task.done() for task in tasks):
            assert state() == DEFAULT
            await asyncio.sleep(0)
        return [task.result() for task in tasks]

    results = asyncio.run(main())
    assert states == [("a", expected), ("b", expected)]
    assert results == [([mode], True, True, "a"), ([mode], True, True, "b")]


def test_X14_a_coroutine_is_cancelled_and_closed_in_its_context(captured):
    context, mode, _ = captured
    seen = []

    async def wait(seconds):
        with Mode() as inner:
            try:
                await asyncio.sleep(seconds)
            finally:
                seen.append(get_current_dispatch_mode_stack() == [mode, inner])

    async def cancel():
        task = asyncio.create_task(context.wrap(wait)(60))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    coroutine = context.wrap(wait)(0)
    coroutine.send(None)
    coroutine.close()
    assert seen == [True, True]
    assert state() == DEFAULT
