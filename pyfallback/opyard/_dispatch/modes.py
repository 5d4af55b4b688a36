"""Dispatch modes: objects that see every call of a thread before the kernels do.

    class Counting(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            self.count += 1
            return op(*args, **kwargs or {})

    with Counting() as mode:
        ...

What people use of this module is in opyard.dispatch.
"""

import enum
from typing import Any, TypeVar

from .. import _C
from .._core.arity import require_count
from .._core.keywords import names_keywords
from .thread_block import ThreadBlock

_Self = TypeVar("_Self", bound="DispatchMode")
_USER = 3  # the place in the stack of modes that have no fixed one


class ModeKey(enum.IntEnum):
    """The fixed places of a thread's stack of modes, outermost first; modes of users are inside.

    For programs that trace or imitate calls: each place holds one mode, and the modes of users
    see a call before these do, whichever was entered first.
    """

    FAKE = 0
    PROXY = 1
    FUNCTIONAL = 2


class DispatchMode:
    """Sees every operator call of its thread while a with block runs. Made to be inherited from.

    The innermost mode of a thread is asked first. While its handler runs it is taken away, so what
    the handler calls goes to the modes outside of it, then on to the tensors and kernels. One
    instance may be entered several times, also inside of itself. Modes belong to their thread; new
    threads have none, see opyard.capture_context().

    A class whose instances take one of the fixed places sets `mode_key` to a ModeKey.
    """

    mode_key: "ModeKey | None" = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        handler = vars(cls).get("__opyard_dispatch__")
        if handler is not None:
            gets = ["self", "op", "types", "args", "kwargs"]
            require_count(f"{cls.__name__}: the handler __opyard_dispatch__", handler, gets)

    def __opyard_dispatch__(
        self,
        op: "_C.OpOverload",
        types: "tuple[type, ...]",
        args: "tuple[Any, ...]" = (),
        kwargs: "dict[str, Any] | None" = None,
    ) -> Any:
        """Answers a call of `op`, or gives NotImplemented: then the next one is asked.

        `types` are the classes of the arguments that have a handler of their own. Arguments that
        equal their default are left out if nothing follows them, and the others come as the
        caller gave them, converted as the schema says. What it gives is checked against the
        schema. An exception reaches the caller as it is.
        """
        raise NotImplementedError(
            f"{type(self).__name__} is a DispatchMode without an __opyard_dispatch__ of its own"
        )

    def __enter__(self: _Self) -> _Self:
        push_mode(self)
        return self

    def __exit__(self, *exception: object) -> None:
        if not _C.leave_mode(self):
            raise RuntimeError(
                f"this thread left a {type(self).__name__} that it is not in: something else took "
                "the mode away, or another thread entered it"
            )

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> "DispatchMode":
        """Makes an instance, as calling the class does, which is enough: `with Mode():`."""
        import warnings

        warnings.warn(
            f"{cls.__name__}.push() is no longer necessary: write `with {cls.__name__}():`",
            DeprecationWarning,
            stacklevel=2,
        )
        return cls(*args, **kwargs)


def get_current_dispatch_mode() -> "DispatchMode | None":
    """The innermost mode of this thread, which is asked first, or None."""
    modes = _C.modes()
    return modes[-1][0] if modes else None


def get_current_dispatch_mode_stack() -> "list[DispatchMode]":
    """The modes of this thread, outermost first. A mode whose handler runs is not among them."""
    return [mode for mode, _ in _C.modes()]


def len_dispatch_mode_stack() -> int:
    """How many modes this thread has."""
    return len(_C.modes())


@names_keywords
def get_mode(key: ModeKey) -> "DispatchMode | None":
    """The mode at a fixed place of this thread's stack, or None."""
    for mode, place in _C.modes():
        if place == ModeKey(key):
            return mode
    return None


def _raw_attribute(kind: type, name: str) -> Any:
    """The attribute as the class or one of its bases stores it; None if there is none."""
    for each in kind.__mro__:
        if name in vars(each):
            return vars(each)[name]
    return None


@names_keywords
def push_mode(mode: DispatchMode) -> None:
    """Enters a mode without a with block: pop_mode() has to follow.

    Raises TypeError for what has no __opyard_dispatch__, RuntimeError if the mode wants a fixed
    place that is taken.
    """
    handler = _raw_attribute(type(mode), "__opyard_dispatch__")
    if isinstance(handler, classmethod):
        raise TypeError(
            f"__opyard_dispatch__ of the mode {type(mode).__name__} is a classmethod; "
            "a mode's is a method of its instance: def __opyard_dispatch__(self, op, types, "
            "args=(), kwargs=None). Subclasses of Tensor have class methods"
        )
    if not hasattr(type(mode), "__opyard_dispatch__"):
        raise TypeError(f"a mode has a method __opyard_dispatch__, and {mode!r} has none")
    key = getattr(mode, "mode_key", None)
    _C.push_mode(mode, _USER if key is None else ModeKey(key))


def pop_mode() -> DispatchMode:
    """Leaves the innermost mode and gives it. Raises RuntimeError if there is none."""
    return _C.pop_mode()[0]


class _Aside(ThreadBlock):
    """A with block that sets modes aside. Their return needs no memory."""

    def _end(self, former: tuple) -> None:
        _C.give_modes_back(former[0])


class pop_mode_temporarily(_Aside):
    """Runs a with block without the innermost mode, which `as` gives.

    Raises RuntimeError if there is none.
    """

    def _begin(self) -> tuple:
        return _C.set_modes_aside(-1)

    def _shown(self, former: tuple) -> DispatchMode:
        return former[1][-1][0]


class disable_current_modes(_Aside):
    """Runs a with block without modes; `as` gives those that there are, outermost first."""

    def _begin(self) -> tuple:
        return _C.set_modes_aside(0)

    def _shown(self, former: tuple) -> list:
        return [mode for mode, _ in former[1]]
