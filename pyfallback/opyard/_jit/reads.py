"""What a traced function reads of tensors by itself: in the graph it is a constant."""

import sys
import warnings

from .. import _C, _graphs


class TracerWarning(UserWarning):
    """A graph holds something of the example that may be another one at the next run."""


def trace_read(tensor: _C.Tensor, what: str) -> None:
    """Warns at the line that read it; what the package itself reads is its own business."""
    frame = _graphs.user_frame()
    if frame is None or _sees_package(frame) or not _graphs.is_computed(tensor):
        return
    warn_at(
        frame,
        f"{_NAMES.get(what, what)} of a tensor was read while it is traced; the graph keeps what "
        "it was this time, as a constant, and is right only for inputs that give the same",
    )


_NAMES = {"item": "item()", "bool": "bool()", "int": "int()", "float": "float()"}
_NAMES["index"] = "the value as an index"


# Where the hook is found late; it lies above this room.
_HERE = (__file__, __file__.replace("_jit/reads.py", "_hooks.py"))


def _sees_package(frame: object) -> bool:
    """Whether the frame that asked is of the package: then a user did not read it himself."""
    asking = sys._getframe(2)
    while asking is not None and asking.f_code.co_filename in _HERE:
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
    _graphs.add_made(tensor)
