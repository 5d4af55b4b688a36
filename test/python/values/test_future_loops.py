"""test_future_loops.py: futures in asyncio and in concurrent.futures.

Suspect opyard/futures.py, objects/convert/future_callbacks.cpp.
"""

import asyncio
import concurrent.futures
import threading

import pytest
from settled_futures import LONG, completed, failed

from opyard.futures import (
    Future,
    from_concurrent,
)

pytestmark = pytest.mark.memory

# asyncio and concurrent.futures -----------------------------------------------------------


def test_K16_await(plugin):
    async def main():
        error = ValueError("why")
        assert await completed(3) == 3
        assert await plugin.later(10, 42) == 42
        got = await asyncio.gather(*(wrap(plugin.later(5, n)) for n in range(5)))
        assert got == [0, 1, 2, 3, 4]
        with pytest.raises(ValueError) as caught:
            await failed(error)
        assert caught.value is error
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wrap(Future()), 0.01)

    async def wrap(future):
        return await future

    asyncio.run(main())


def test_K16_the_loop_goes_on_while_a_future_is_awaited():
    future = Future()
    ticks = []

    async def tick():
        while not future.done():
            ticks.append(1)
            await asyncio.sleep(0.001)

    async def main():
        ticking = asyncio.ensure_future(tick())
        threading.Timer(0.05, future.set_result, [1]).start()
        assert await future == 1
        await ticking

    asyncio.run(main())
    assert len(ticks) > 1


def test_K16_cancelling_the_task_cancels_the_future_and_back():
    async def wait_for(future):
        return await future

    async def main():
        future = Future()
        task = asyncio.ensure_future(wait_for(future))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert future.cancelled()

        other = Future()
        task = asyncio.ensure_future(wait_for(other))
        await asyncio.sleep(0)
        other.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())


def test_K16_a_loop_that_has_ended_is_no_fault(unraisable):
    future = Future()

    async def wait_for():
        await future

    loop = asyncio.new_event_loop()
    task = loop.create_task(wait_for())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    future.set_result(1)
    assert unraisable == []
    task._log_destroy_pending = False


def test_K16_as_concurrent():
    error = ValueError("why")
    future = Future()
    other = future.as_concurrent()
    assert isinstance(other, concurrent.futures.Future)
    assert not other.done()
    future.set_result(3)
    assert other.result(LONG) == 3
    assert failed(error).as_concurrent().exception(LONG) is error

    future = Future()
    other = future.as_concurrent()
    assert other.cancel()
    assert future.cancelled()
    future = Future()
    other = future.as_concurrent()
    future.cancel()
    assert other.cancelled()
    done, _ = concurrent.futures.wait([other], LONG)
    assert done == {other}


def test_K16_from_concurrent():
    error = ValueError("why")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert from_concurrent(pool.submit(lambda: 3)).wait(LONG) == 3

        def fail():
            raise error

        assert from_concurrent(pool.submit(fail)).then(lambda f: f.exception()).wait(LONG) is error
    theirs = concurrent.futures.Future()
    ours = from_concurrent(theirs)
    assert ours.cancel()
    assert theirs.cancelled()
    theirs = concurrent.futures.Future()
    ours = from_concurrent(theirs)
    theirs.cancel()
    assert ours.cancelled()
