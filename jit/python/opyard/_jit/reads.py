"""Tensor reads by a traced function, which become constants of the graph: warnings."""

import sys
import warnings
from typing import Any

from .. import _C, _graphs


class TracerWarning(UserWarning):
    """A graph holds something of the example that may be another one at the next run."""


def trace_read(tensor: _C.Tensor, what: str) -> None:
    """Warns at the line that read it; what the package itself reads is its own business.

    A trace for compile() gives up instead, also for reads by other code. Sizes are in its key.
    """
    frame = _graphs.user_frame()
    if _graphs.give_up(""):
        if what not in _OF_SIZES and _graphs.is_computed(tensor):
            _graphs.give_up(
                f"{_NAMES.get(what, what)} of a tensor is read {place_of(frame)}, and another "
                "value would lead another way"
            )
        return
    if what == "repr()":  # to look at it while it is traced
        return
    if frame is None or _sees_package(frame) or not _graphs.is_computed(tensor):
        return
    warn_at(
        frame,
        f"{_NAMES.get(what, what)} of a tensor was read while it is traced; the graph keeps what "
        "it was this time, as a constant, and is right only for inputs that give the same",
    )


_NAMES = {"item": "item()", "bool": "bool()", "int": "int()", "float": "float()"}
_NAMES["index"] = "the value as an index"
# What a tensor's sizes and strides say by themselves.
_OF_SIZES = ("size()", "stride()", "numel()", "shape", "strides", "len()", "the number of rows")


def place_of(frame: Any) -> str:
    """Where a line is, in words."""
    return "" if frame is None else f"at {frame.f_code.co_filename}:{frame.f_lineno}"


# The second finds the hook late; it is above this room.
_ASKING = (__name__, "opyard._hooks")


def _sees_package(frame: object) -> bool:
    """Whether the frame that asked is of the package: then a user did not read it himself."""
    asking = sys._getframe(2)
    while asking is not None and asking.f_globals.get("__name__") in _ASKING:
        asking = asking.f_back
    return asking is not frame


def warn_at(frame: object, message: str) -> None:
    """Warns as if the line of the frame did."""
    warnings.warn_explicit(
        message,
        TracerWarning,
        frame.f_code.co_filename,  # type: ignore[attr-defined]
        frame.f_lineno,  # type: ignore[attr-defined]
        module=frame.f_globals.get("__name__", "<unknown>"),  # type: ignore[attr-defined]
        registry=frame.f_globals.setdefault("__warningregistry__", {}),  # type: ignore[attr-defined]
    )


def trace_made(tensor: _C.Tensor) -> None:
    """A tensor of numbers that the function itself has: each run makes it anew."""
    if _graphs.give_up(""):
        _graphs.give_up(
            f"a tensor is made of Python's own numbers {place_of(_graphs.user_frame())}, which may "
            "be others at the next call; make it outside, or by an operator such as aten.full"
        )
        return
    _graphs.add_made(tensor)
