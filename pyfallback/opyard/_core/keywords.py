"""Keyword arguments that a function does not take: refused, with the one that may be meant."""

import functools

from .near_names import near_name

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest of this file
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])
    _Class = TypeVar("_Class", bound=type)


# Names that other libraries have for arguments here.
_CALLED_HERE = {
    "axes": "dims",
    "axis": "dim",
    "epsilon": "eps",
    "filters": "out_channels",
    "in_dim": "in_features",
    "keepdims": "keepdim",
    "learning_rate": "lr",
    "out_dim": "out_features",
    "prob": "p",
    "rate": "p",
    "shape": "size",
    "strides": "stride",
    "use_bias": "bias",
}


def keyword_hint(unknown: str, known: "Iterable[str]") -> str:
    """`; 'dim' may be meant`, or ""."""
    known = list(known)
    meant = _CALLED_HERE.get(unknown)
    if meant not in known:
        meant = near_name(unknown, known)
    return f"; {meant!r} may be meant" if meant else ""


def refuse_keyword(function: str, unknown: str, known: "Iterable[str]") -> TypeError:
    """What is raised for a keyword that the function does not have."""
    known = list(known)
    meant = keyword_hint(unknown, known)
    return TypeError(
        f"{function}() has no argument {unknown!r}{meant}. Its arguments are: {', '.join(known)}"
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
            name = function.__qualname__.removesuffix(".__init__").removesuffix(".__new__")
            if name.startswith("_") and function.__name__ == "__init__":
                name = type(args[0]).__name__  # users know no private class above it
            shown = [each for each in known if each not in ("self", "cls")]
            raise refuse_keyword(name, unknown, shown)
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]


def methods_name_keywords(cls: "_Class") -> "_Class":
    """The same for `__init__` and all public methods of a class."""
    for name, method in list(vars(cls).items()):
        if type(method) is type(keyword_hint) and (name == "__init__" or name[0] != "_"):
            setattr(cls, name, names_keywords(method))
    return cls
