"""With blocks that change what their thread adds to its calls: keys, modes, the Python dispatcher.

What a block changed is undone on the thread that it changed it on. A generator or coroutine may be
closed on another one: undoing there would change the wrong thread's state: that is an error.
"""

from _thread import _local
from collections.abc import Callable
from typing import Any

_here = _local()


class Holder:
    """Whose the state is that a block changes: a thread's own, or a coroutine's that runs on it.

    It knows the blocks that it is in. The last comes first: [block, what its end undoes, the rest].
    To leave one needs no memory; a list, which shrinks, would.
    """

    __slots__ = ("entered",)

    def __init__(self) -> None:
        self.entered: list | None = None


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

    def _begin(self) -> Any:
        """Changes the state, the last that it does; gives what the end undoes."""
        raise NotImplementedError

    def _shown(self, former: Any) -> Any:
        """What `as` gives."""
        return self

    def _end(self, former: Any) -> None:
        raise NotImplementedError

    def __enter__(self) -> Any:
        here = _holder()
        entered = [self, None, None]  # first, since it may fail for want of memory
        entered[1] = former = self._begin()
        entered[2] = here.entered  # now: the blocks may be others than before
        here.entered = entered
        try:
            return self._shown(former)
        except BaseException:  # no one leaves what was not entered
            self.__exit__()
            raise

    def __exit__(self, kind: object = None, error: object = None, trace: object = None) -> None:
        here = _holder()
        entered = here.entered
        if entered and entered[0] is self:  # as mostly
            here.entered = entered[2]
            return self._end(entered[1])
        while entered and (rest := entered[2]):
            if rest[0] is self:
                entered[2] = rest[2]
                return self._end(rest[1])
            entered = rest
        raise RuntimeError(
            f"this thread left a {type(self).__name__} that it is not in: another thread entered "
            "it, as happens in a generator that is closed elsewhere, and what it changed there "
            "stays; end the block on the thread that began it"
        )
