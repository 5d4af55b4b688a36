"""Futures: pending results, shared between Python and C++.

    future = Future()
    threading.Thread(target=lambda: future.set_result(42)).start()
    future.wait(timeout=1.0)                # 42; the GIL is free meanwhile, and Ctrl-C ends it
    await future                            # the same, in a coroutine of asyncio

A Future is what a schema calls Future(T): operators take it, give it, and complete it on any
thread. Python code sees the result that was set: a tensor, a number, or any object. An exception
comes out as itself. Callbacks run on the thread that completes the future, in the order in which
they were added, with the context variables, dispatch keys, modes and gradient mode of their
adder; those that are added later run at once.

CancelledError is that of concurrent.futures; a wait that takes too long raises TimeoutError.
"""

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from ._C import Future, collect_all, collect_any
from ._core import late as _late
from ._core.keywords import names_keywords

if TYPE_CHECKING:
    import concurrent.futures
    from concurrent.futures import CancelledError

__all__ = [
    "CancelledError",
    "Future",
    "collect_all",
    "collect_any",
    "from_concurrent",
    "wait_all",
]

_T = TypeVar("_T")


# The module that has it takes long to import, and few need it.
_LATE = {"CancelledError": "concurrent.futures"}


_late.find_names(globals(), _LATE)


def __dir__() -> list[str]:
    return _late.names(globals())


@names_keywords
def wait_all(futures: "Iterable[Future[_T]]", timeout: "float | None" = None) -> "list[_T]":
    """Waits for all of them, and gives their results in the order of the futures.

    The first exception is raised as soon as it is there. Raises TimeoutError.
    """
    if not isinstance(futures, Iterable):
        raise TypeError(
            "wait_all: futures must hold Futures, as a list, not an object of "
            f"{type(futures).__name__}"
        )
    given = list(futures)
    for position, future in enumerate(given):
        if not isinstance(future, Future):
            raise TypeError(
                f"wait_all: futures must hold Futures, and item {position} is an object of "
                f"{type(future).__name__}"
            )
    return [future.value() for future in collect_all(given).wait(timeout)]


@names_keywords
def from_concurrent(future: "concurrent.futures.Future[_T]") -> "Future[_T]":
    """A Future that is completed as a future of concurrent.futures is.

    If it is cancelled first, it cancels that one, which may be running already.
    """
    made = Future()

    def pass_on(done: "concurrent.futures.Future") -> None:
        if made.done():
            return
        if done.cancelled():
            made.cancel()
        elif (error := done.exception()) is not None:
            made.set_exception(error)
        else:
            made.set_result(done.result())

    def pass_back(done: Future) -> None:
        if done.cancelled():
            future.cancel()

    future.add_done_callback(pass_on)
    made.add_done_callback(pass_back)
    return made


def _concurrent_future(future: Future) -> "concurrent.futures.Future":
    """Future.as_concurrent(). Cancelling either cancels the other."""
    import concurrent.futures

    made: concurrent.futures.Future = concurrent.futures.Future()

    def pass_on(done: Future) -> None:
        if done.cancelled():
            made.cancel()
        if not made.set_running_or_notify_cancel():
            return
        if (error := done.exception()) is not None:
            made.set_exception(error)
        else:
            made.set_result(done.value())

    def pass_back(done: "concurrent.futures.Future") -> None:
        if done.cancelled():
            future.cancel()

    made.add_done_callback(pass_back)
    future.add_done_callback(pass_on)
    return made


def _await_future(future: Future) -> "Generator[Any, None, Any]":
    """The iterator of `await future`, in a coroutine of asyncio or of a loop like it.

    If the task is cancelled meanwhile, so is the future; if the future is, the task sees
    asyncio.CancelledError, as from any other future it awaits.
    """
    import asyncio

    if not future.done():
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()

        def wake() -> None:
            if not waiter.done():
                waiter.set_result(None)

        def tell_loop(_: Future) -> None:
            try:
                loop.call_soon_threadsafe(wake)
            except RuntimeError:
                if not loop.is_closed():
                    raise

        future.add_done_callback(tell_loop)
        try:
            yield from waiter
        except asyncio.CancelledError:
            future.cancel()
            raise
    if future.cancelled():
        raise asyncio.CancelledError
    return future.value()
