"""Gradient modes of a thread: no_grad, enable_grad, set_grad_enabled, inference_mode.

Each is a context manager and a decorator. The mode belongs to the thread; a captured thread context
takes it along.
"""

import functools
import inspect
import warnings
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, TypeVar

from .. import _gradients
from .._dispatch.thread_block import ThreadBlock

_F = TypeVar("_F", bound=Callable[..., Any])
_ON, _OFF = 0, 1


class _Mode(ThreadBlock):
    """A mode for a `with` statement, or for the calls of a function."""

    def _shown(self, former: Any) -> None:
        """Nothing: there is nothing to ask of a mode."""

    def _fresh(self) -> "_Mode":
        return type(self)()

    def __call__(self, fn: _F) -> _F:
        if not callable(fn):
            raise TypeError(
                f"{type(self).__name__} decorates a function, not an object of "
                f"{type(fn).__name__}; with no function it is a context manager"
            )
        if isinstance(fn, type):
            warnings.warn(
                f"Decorating classes is deprecated: {type(self).__name__} holds while "
                f"{fn.__name__} is called, in no method of it, and makes a function of the class; "
                "decorate its __init__, or single methods",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(fn):
            return self._of_generator(fn)  # type: ignore[return-value]

        @functools.wraps(fn)
        def wrapped(*args: object, **kwargs: object) -> object:
            with self._fresh():
                return fn(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    def _of_generator(self, fn: Callable) -> Callable:
        """The mode holds while the generator runs, and not between two of its values."""

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Generator:
            generator = fn(*args, **kwargs)
            resume, given = generator.send, None
            try:
                while True:
                    try:
                        with self._fresh():
                            value = resume(given)
                    except StopIteration as end:
                        return end.value
                    try:
                        resume, given = generator.send, (yield value)
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        resume, given = generator.throw, error
            finally:
                with self._fresh():
                    generator.close()

        return wrapped


class _GradientMode(_Mode):
    _mode = _OFF

    def _begin(self) -> int:
        former = _gradients.gradient_mode()
        if former != 3:  # inference goes before both
            _gradients.set_gradient_mode(self._mode)
        return former

    def _end(self, former: int) -> None:
        _gradients.set_gradient_mode(former)


class _Switch(_GradientMode):
    """One that is also a decorator without parentheses."""

    def __new__(cls, orig_func: "Callable | None" = None, *rest: object, **other: object) -> Any:
        if rest or other:
            raise TypeError(
                f"{cls.__name__} takes a function that it decorates, or nothing as a context "
                f"manager; what came besides is {', '.join(map(repr, [*rest, *other]))}"
            )
        mode = super().__new__(cls)
        if orig_func is None:
            return mode
        mode.__init__()  # type: ignore[misc]
        return mode(orig_func)

    def __init__(self, orig_func: "Callable | None" = None) -> None:
        super().__init__()


class no_grad(_Switch):
    """Nothing is taped: results require no gradient. Changes no dispatch key."""

    _mode = _OFF


class enable_grad(_Switch):
    """Calls are taped again, inside of no_grad()."""

    _mode = _ON


class set_grad_enabled(_GradientMode):
    """set_grad_enabled(mode): for good, or for a `with` statement.

    The mode is set when the object is made. If a `with` statement cannot be entered then, as for
    want of memory, it stays set; no_grad() and enable_grad() set nothing before they are entered.
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled: mode must be True or False, not {mode!r}")
        super().__init__()
        self.mode = mode
        self._mode = _ON if self.mode else _OFF
        self._first: int | None = _gradients.gradient_mode()
        if self._first != 3:
            _gradients.set_gradient_mode(self._mode)

    def _fresh(self) -> "_Mode":
        return set_grad_enabled(self.mode)

    def _begin(self) -> int:
        former = super()._begin()
        first, self._first = self._first, None
        return former if first is None else first  # what was there before this object was made

    def __call__(self, fn: _F) -> _F:
        if self._first is not None:  # a decorator sets nothing until the function is called
            _gradients.set_gradient_mode(self._first)
            self._first = None
        return super().__call__(fn)


class inference_mode(_Mode):
    """Nothing is taped, and tensors that are made inside never are: they lack the autograd keys.

    Faster than no_grad(), and what is made inside cannot be saved while gradients are enabled.
    """

    def __new__(cls, mode: "bool | Callable" = True) -> Any:
        fresh = super().__new__(cls)
        if isinstance(mode, bool):
            return fresh
        fresh.__init__(True)  # type: ignore[misc]
        return fresh(mode)

    def __init__(self, mode: "bool | Callable" = True) -> None:
        super().__init__()
        self.mode = mode is not False

    def _fresh(self) -> "_Mode":
        return inference_mode(self.mode)

    def _begin(self) -> Any:
        return _gradients.enter_inference(self.mode)

    def _end(self, former: Any) -> None:
        _gradients.leave_inference(*former)


class detect_anomaly:
    """Functions note where their call was made, and a gradient with a NaN raises; for one process.

    For looking into a fault: it is slow, and says so in a warning.
    """

    def __init__(self, check_nan: bool = True) -> None:
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )
        self.check_nan = check_nan
        self._former: Any = None  # what was there, with what was before the blocks around it

    def __enter__(self) -> None:
        self._former = _gradients.anomaly(), self._former
        _gradients.set_anomaly(True, self.check_nan)

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        _gradients.set_anomaly(*self._former[0])
        self._former = self._former[1]


def is_grad_enabled() -> bool:
    """Whether gradients are enabled on this thread."""
    return _gradients.gradient_mode() == _ON


def is_inference_mode_enabled() -> bool:
    """Whether this thread is under inference_mode()."""
    return bool(_gradients.gradient_mode() & 2)
