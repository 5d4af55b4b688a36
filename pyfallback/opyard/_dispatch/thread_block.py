"""With blocks that change what their thread adds to its calls: keys, modes, the Python dispatcher.

What a block changed is undone on the thread that it changed it on. A generator or coroutine may be
closed on another one: undoing there would change the wrong thread's state: that is an error.
"""

from _thread import _local
from collections.abc import Callable
from typing import Any

_here = _local()


class Holder:
    """Whose the state is that a block changes: a thread's own, or a coroutine's that runs on it."""

    __slots__ = ()


def _holder() -> Holder:
    try:
        return _here.holder
    except AttributeError:
        _here.holder = Holder()
        return _here.holder


def run_as(holder: Holder, f: Callable[..., Any], *args: Any) -> Any:
    """Gives f(*args). What it enters as this holder, another such call may leave."""
    former, _here.holder = _holder(), holder
    try:
        return f(*args)
    finally:
        _here.holder = former


class ThreadBlock:
    """A with block of one thread. May be entered again, also inside, and by several threads."""

    def __init__(self) -> None:
        self._entered: list = []  # [by whom, what the end undoes]

    def _begin(self) -> Any:
        """Changes the state, the last that it does; gives what the end undoes."""
        raise NotImplementedError

    def _shown(self, former: Any) -> Any:
        """What `as` gives."""
        return self

    def _end(self, former: Any) -> None:
        raise NotImplementedError

    def __enter__(self) -> Any:
        entered = [_holder(), None]
        # First, since it may fail for want of memory.
        self._entered.append(entered)
        try:
            entered[1] = self._begin()
        except BaseException:
            self._entered.remove(entered)
            raise
        return self._shown(entered[1])

    def __exit__(self, *exception: object) -> None:
        here, entered = _holder(), self._entered
        if entered and entered[-1][0] is here:  # as mostly; this needs no memory
            return self._end(entered.pop()[1])
        for at in range(len(entered) - 1, -1, -1):
            if entered[at][0] is here:
                return self._end(entered.pop(at)[1])
        raise RuntimeError(
            f"this thread left a {type(self).__name__} that it is not in: another thread entered "
            "it, as happens in a generator that is closed elsewhere, and what it changed there "
            "stays; end the block on the thread that began it"
        )
