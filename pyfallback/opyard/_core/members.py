"""Members of Tensor that are written in Python: shifts, and protocols of arrays.

The type of `_C` gets them when the package is imported. Each asks a hook, so that what answers is
imported when it is first needed.
"""

from .. import _C
from . import hooks

TYPE_CHECKING = False  # as in typing, which importing the package does not need
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def __array_namespace__(self: _C.Tensor, /, *, api_version: "str | None" = None) -> "Any":
    """The namespace of the array API standard: the module opyard.array_api."""
    return hooks["array_namespace"](api_version)


def __array_function__(
    self: _C.Tensor, func: "Any", types: "Any", args: "Any", kwargs: "Any"
) -> "Any":
    """What a function of NumPy such as numpy.mean gives for tensors."""
    return hooks["answer_function"](func, args, kwargs)


def __complex__(self: _C.Tensor, /) -> complex:
    """The only element as a complex number. Raises ValueError for any other number of elements."""
    if self.numel() != 1:
        raise ValueError(
            f"complex: the tensor has {self.numel()} elements; only a tensor of one element is a "
            "number"
        )
    return complex(self.item())


def _shift(name: str, doc: str) -> "Callable[[_C.Tensor, Any], Any]":
    def shift(self: _C.Tensor, other: "Any", /) -> "Any":
        return hooks["shift"](name, self, other)

    shift.__name__ = shift.__qualname__ = name
    shift.__doc__ = doc
    return shift


_MEMBERS: "tuple[Callable[..., Any], ...]" = (
    __array_namespace__,
    __array_function__,
    __complex__,
    _shift("__lshift__", "self << other: bits moved up."),
    _shift("__rlshift__", "other << self: bits moved up."),
    _shift("__ilshift__", "self <<= other: bits moved up, in place."),
    _shift("__rshift__", "self >> other: bits moved down; the sign stays."),
    _shift("__rrshift__", "other >> self: bits moved down; the sign stays."),
    _shift("__irshift__", "self >>= other: bits moved down, in place; the sign stays."),
)


def add_to(cls: type) -> None:
    """Adds the members to a class."""
    for member in _MEMBERS:
        setattr(cls, member.__name__, member)
