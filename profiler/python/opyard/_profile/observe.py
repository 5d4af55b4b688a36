"""Observers in Python: functions that are told of the operator calls of a thread."""

from __future__ import annotations

from _functools import partial

from .. import _tracer
from .._core.keywords import names_keywords
from .active import Active, warn_of_dropped

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from .. import _C

    _Enter = Callable[[_C.OpOverload, _C.DispatchKeySet, tuple[Any, ...] | None], object]
    _Exit = Callable[[_C.OpOverload, Any, bool, tuple[Any, ...] | None], object]


class observe:
    """Tells functions of each operator call of this thread, for a `with` block.

    on_enter(operator, keys, arguments) is called before the kernels of a call, and what it returns
    is the context of on_exit(operator, context, failed, results) after them. `arguments` is None
    without `inputs`, and `results` is None without `outputs` and if the call failed. With a
    `probability` so many of the calls are told of, drawn at random.

    Redispatches are part of a call. What the functions call themselves is not told of; what they
    raise goes to sys.unraisablehook, and the call goes on. Blocks nest: the outermost is told
    first. disable() and enable() act within the block. Other threads have observers of their own; a
    profile captures all threads. One that was started and never stopped ends with its thread or
    when it is dropped, and warns.
    """

    _kept: Any = ()  # of one whose __init__() raised

    @names_keywords
    def __init__(
        self,
        on_enter: _Enter | None = None,
        on_exit: _Exit | None = None,
        *,
        inputs: bool = False,
        outputs: bool = False,
        probability: float = 1.0,
    ) -> None:
        for name, function in (("on_enter", on_enter), ("on_exit", on_exit)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} must be a callable, not a {type(function).__name__}")
        if not 0 <= probability <= 1:
            raise ValueError(f"Invalid sampling probability {probability!r}; it is between 0 and 1")
        # The tracer holds none of it: an observer that a function leads to may be dropped, too.
        self._options = (on_enter, on_exit, inputs, outputs, probability)
        self._kept = []  # its handle while it is on, which the tracer puts there

    def start(self) -> None:
        """Begins on this thread."""
        if self._kept:
            raise RuntimeError("the observer is on already; it ends before it begins again")
        _active.add(self, partial(_dropped, self._kept))
        try:
            _tracer.begin_observer(self._kept, *self._options)
        except BaseException:
            if not self._kept:
                _active.discard(self)
            raise

    def stop(self) -> None:
        """Ends, on the thread that began it, and after all that began later."""
        _tracer.end_observer(self._require())
        self._kept.clear()
        _active.discard(self)

    def disable(self) -> None:
        """Is told of nothing until enable()."""
        _tracer.set_observer(self._require(), False)

    def enable(self) -> None:
        """Is told of calls again, after disable()."""
        _tracer.set_observer(self._require(), True)

    def _require(self) -> object:
        if not self._kept:
            raise RuntimeError("the observer is not on; start it first")
        return self._kept[0]

    def __enter__(self) -> observe:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._kept:
            self.stop()


_active = Active()


def _dropped(kept: list[object]) -> None:
    """Nobody could stop it any more; while Python ends it may be."""
    if kept and _tracer.drop_observer(kept[0]):
        kept.clear()
        warn_of_dropped("an observer", "", "with observe(...):")


def active_observers() -> list[observe]:
    """Those that this thread began, the last one last: for their stop(), which goes backwards."""
    of_this_thread = _tracer.is_observer_of_this_thread
    return [one for one in _active.all() if one._kept and of_this_thread(one._kept[0])]
