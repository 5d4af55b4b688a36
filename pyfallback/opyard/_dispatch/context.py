"""capture_context(): a thread's keys and modes, for another thread or task."""

import contextvars
import functools
import inspect
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from .. import _C
from .thread_block import Holder, run_as


class CapturedContext:
    """What the capturing thread had: dispatch keys, dispatch modes and context variables.

    It may be used as often as wanted, on several threads at once. Each use starts from what was
    captured, and what it changes is gone afterwards. Made by opyard.capture_context().
    """

    def __init__(self) -> None:
        self._thread = _C.capture_thread_context()
        self._variables = contextvars.copy_context()

    def run(self, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Gives f(*args, **kwargs), called on this thread with what was captured."""
        return self._variables.copy().run(
            _C.run_in_thread_context, self._thread, False, f, args, kwargs
        )

    def wrap(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """A function that calls `f` with what was captured, on whichever thread it is called.

        Of a coroutine function it makes another one: every step of it runs with what was captured,
        or with what the step before left, and other tasks see nothing of that.
        """
        if inspect.iscoroutinefunction(f):

            @functools.wraps(f)
            async def run_in_steps(*args: Any, **kwargs: Any) -> Any:
                return await _steps(self, f(*args, **kwargs))

            return run_in_steps

        @functools.wraps(f)
        def run(*args: Any, **kwargs: Any) -> Any:
            return self.run(f, *args, **kwargs)

        return run


def capture_context() -> CapturedContext:
    """What this thread adds to its calls, as it is now, to be taken along.

        context = opyard.capture_context()
        with ThreadPoolExecutor() as pool:
            pool.submit(context.run, work, x)       # sees the modes that are active here
        asyncio.create_task(context.wrap(work_later)(x))

    New threads have no modes and the default keys otherwise.
    """
    return CapturedContext()


@types.coroutine
def _steps(captured: CapturedContext, coroutine: Coroutine) -> Generator:
    """Drives a coroutine, each step in the context that the one before left."""
    # The thread's part of the copy is this coroutine's own, since it changes.
    thread = captured.run(_C.capture_thread_context)
    variables = captured._variables.copy()
    holder = Holder()

    def run(*step: Any) -> Any:
        inside = (holder, *step)
        return variables.run(_C.run_in_thread_context, thread, True, run_as, inside, {})

    step, given = coroutine.send, None
    while True:
        try:
            asked = run(step, given)
        except StopIteration as stop:
            return stop.value
        try:
            step, given = coroutine.send, (yield asked)
        except GeneratorExit:
            run(coroutine.close)
            raise
        except BaseException as error:
            step, given = coroutine.throw, error
