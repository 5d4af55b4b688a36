"""Keyword arguments that a class here does not take: refused, with those that it does take."""

import functools
from collections.abc import Callable
from typing import Any

from .._core.keywords import keyword_hint
from .place import checked_place

_VARARGS, _VARKEYWORDS = 0x04, 0x08  # of code objects, as in inspect

_PLACE = frozenset({"device", "dtype"})  # what layers with weights take by name besides


def _taken_place(layer: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """device and dtype of a layer with weights, taken out of its arguments: what is not None."""
    taken = {name: kwargs.pop(name) for name in _PLACE.intersection(kwargs)}
    device, dtype = checked_place(type(layer).__name__, **taken)
    place = {"device": device, "dtype": dtype}
    return {name: value for name, value in place.items() if value is not None}


def naming_arguments(init: Callable[..., None]) -> Callable[..., None]:
    """An `__init__` that names the class and its arguments if a call does not fit: an unknown
    keyword, with the one that may be meant, one that is missing, too many by position. That is a
    TypeError. One with *args or **kwargs stays as it is."""
    code = init.__code__
    if code.co_flags & (_VARARGS | _VARKEYWORDS):
        return init
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    accepted = frozenset(known)
    has_weights = accepted >= _PLACE
    most = code.co_argcount - 1
    needed = frozenset(known[: most - len(init.__defaults__ or ())])

    @functools.wraps(init)
    def checked(self: Any, /, *args: Any, **kwargs: Any) -> None:
        place = _taken_place(self, kwargs) if kwargs and has_weights else None
        is_unknown = kwargs and not accepted.issuperset(kwargs)
        if is_unknown or len(args) > most or not needed.issubset((*known[: len(args)], *kwargs)):
            raise TypeError(_refusal(type(self).__name__, known, most, needed, args, kwargs))
        init(self, *args, **kwargs)
        if place:
            self.to(**place)

    return checked


def name_arguments_of(cls: type) -> None:
    """Gives a class of this package such an `__init__`, if it has one of its own."""
    init = vars(cls).get("__init__")
    if init is not None and cls.__module__.partition(".")[0] == "opyard":
        cls.__init__ = naming_arguments(init)  # type: ignore[misc]


def _refusal(
    name: str,
    known: tuple[str, ...],
    most: int,
    needed: frozenset[str],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> str:
    has = f"Its arguments are: {', '.join(known)}" if known else "It takes none by name"
    for unknown in kwargs:
        if unknown in known:
            continue
        return f"{name} has no argument {unknown!r}{keyword_hint(unknown, known)}. {has}"
    if len(args) > most:
        takes = f"at most {most} by position" if most else "no arguments"
        given = f"{len(args)} {'was' if len(args) == 1 else 'were'} given"
        return f"{name} takes {takes}, and {given}. " + (
            has if most else f"What it makes is called: {name}()(...)"
        )
    missing = [each for each in known[len(args) :] if each in needed and each not in kwargs]
    return f"{name} is missing {', '.join(missing)}. {has}"
