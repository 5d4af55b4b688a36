"""Keyword arguments that a class here does not take: refused, with those that it does take."""

import functools
from collections.abc import Callable
from typing import Any

from .._core.near_names import near_name

# Names that other libraries have for arguments of these classes.
_CALLED_HERE = {
    "axis": "dim",
    "epsilon": "eps",
    "filters": "out_channels",
    "in_dim": "in_features",
    "keepdims": "keepdim",
    "learning_rate": "lr",
    "out_dim": "out_features",
    "prob": "p",
    "rate": "p",
    "strides": "stride",
    "use_bias": "bias",
}
_VARKEYWORDS = 0x08  # of code objects, as in inspect


def naming_arguments(init: Callable[..., None]) -> Callable[..., None]:
    """An `__init__` that raises TypeError for the first keyword that is none of its parameters,
    with the name that may be meant, and all that there are. One with **kwargs stays as it is."""
    code = init.__code__
    if code.co_flags & _VARKEYWORDS:
        return init
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    accepted = frozenset(known)

    @functools.wraps(init)
    def checked(self: Any, /, *args: Any, **kwargs: Any) -> None:
        if kwargs and not accepted.issuperset(kwargs):
            raise TypeError(_refusal(type(self).__name__, known, kwargs))
        init(self, *args, **kwargs)

    return checked


def name_arguments_of(cls: type) -> None:
    """Gives a class of this package such an `__init__`, if it has one of its own."""
    init = vars(cls).get("__init__")
    if init is not None and cls.__module__.partition(".")[0] == "opyard":
        cls.__init__ = naming_arguments(init)  # type: ignore[misc]


def _refusal(name: str, known: tuple[str, ...], given: dict[str, Any]) -> str:
    unknown = next(each for each in given if each not in known)
    meant = _CALLED_HERE.get(unknown)
    if meant not in known:
        meant = near_name(unknown, known)
    hint = f"; {meant!r} may be meant" if meant else ""
    has = f"Its arguments are: {', '.join(known)}" if known else "It takes none by name"
    return f"{name} has no argument {unknown!r}{hint}. {has}"
