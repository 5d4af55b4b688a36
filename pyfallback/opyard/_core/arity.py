"""Functions of users that would be called with other arguments than they take: refused at once."""

from types import FunctionType, MethodType

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest of this file
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_VARARGS = 0x04  # of code objects, as in inspect


def counted(number: int) -> str:
    return f"{number} argument" if number == 1 else f"{number} arguments"


def require_count(what: str, fn: "Callable[..., Any]", gets: "list[str]") -> None:
    """Raises TypeError if a function in Python cannot be called with so many arguments by position.

    `what` says what it is, and is the beginning of the message; `gets` are the arguments by name.
    """
    bound = isinstance(fn, MethodType)
    function = fn.__func__ if isinstance(fn, MethodType) else fn
    if not isinstance(function, FunctionType):
        return
    code = function.__code__
    most = code.co_argcount - bound
    least = most - len(function.__defaults__ or ())
    wanted = len(gets)
    if least <= wanted and (wanted <= most or code.co_flags & _VARARGS):
        return
    verb, number = ("needs", least) if wanted < least else ("takes", most)
    raise TypeError(f"{what} {verb} {counted(number)}, and gets {wanted}: {', '.join(gets)}")
