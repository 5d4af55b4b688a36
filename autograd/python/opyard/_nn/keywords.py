"""Keyword arguments that a class here does not take: refused, with those that it does take."""

import difflib
import inspect
from collections.abc import Iterable

# What other libraries call some of them.
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


def require_known(cls: type, given: Iterable[str]) -> None:
    """Raises TypeError for the first name that is no parameter of the class's `__init__`, with the
    name that may be meant, and all that there are. What takes **kwargs takes any."""
    code = getattr(cls.__init__, "__code__", None)  # type: ignore[misc]
    if code is None or code.co_flags & inspect.CO_VARKEYWORDS:
        return
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    for name in given:
        if name in known:
            continue
        meant = _CALLED_HERE.get(name)
        if meant not in known:
            meant = next(iter(difflib.get_close_matches(name, known, 1)), None)
        hint = f"; {meant!r} may be meant" if meant else ""
        has = ", ".join(known) or "none"
        raise TypeError(f"{cls.__name__} has no argument {name!r}{hint}. Its arguments are: {has}")
