"""Keyword arguments that a function does not take: refused, with the one that may be meant."""

import functools

from .near_names import hint

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest of this file
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])


def refuse_keyword(function: str, unknown: str, known: "Iterable[str]") -> TypeError:
    """What is raised for a keyword that the function does not have."""
    known = list(known)
    return TypeError(
        f"{function}() has no argument {unknown!r}{hint(unknown, known)}. Its arguments are: "
        f"{', '.join(known)}"
    )


def names_keywords(function: "_Function") -> "_Function":
    """A function, or method, that refuses unknown keywords so. Not for what is called often."""
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    accepted = frozenset(known)

    @functools.wraps(function)
    def checked(*args: "Any", **kwargs: "Any") -> "Any":
        if kwargs and not accepted.issuperset(kwargs):
            unknown = next(each for each in kwargs if each not in accepted)
            name = function.__qualname__.removesuffix(".__init__")
            shown = [each for each in known if each != "self"]
            raise refuse_keyword(name, unknown, shown)
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]
