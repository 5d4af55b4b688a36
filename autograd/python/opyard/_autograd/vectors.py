"""Tensors and tuples of them, and the vectors of products with Jacobians."""

from typing import Any

from .. import _C
from .._core import ops as _ops
from .errors import GradientError, GradientTypeError


def as_tuple(function: str, what: str, given: Any) -> "tuple[bool, tuple]":
    """Whether several tensors came, and all of them. Raises GradientTypeError."""
    several = isinstance(given, tuple | list)
    tensors = tuple(given) if several else (given,)
    for number, one in enumerate(tensors):
        if not isinstance(one, _C.Tensor):
            which = f"item {number} of {what}" if several else what
            raise GradientTypeError(
                f"{function}: {which} must be a Tensor, not an object of {type(one).__name__}; a "
                "Tensor or a tuple of them is taken"
            )
    return several, tensors


def require_function(name: str, func: Any) -> None:
    """Raises GradientTypeError for what cannot be called."""
    if not callable(func):
        raise GradientTypeError(
            f"{name}: func must be a function, not an object of {type(func).__name__}"
        )


def vectors_like(function: str, given: Any, likes: tuple, of: str) -> tuple:
    """`v` as one tensor for each of `likes`; a one if it is None. Raises GradientError."""
    if given is None:
        if len(likes) == 1 and likes[0].numel() == 1:
            return (_ops.ops.aten.ones_like(likes[0]),)
        raise GradientError(
            f"{function}: v is None, which stands for a one, and the {of} is not one Tensor of one "
            f"element: give a v of the shape of the {of}"
        )
    _, vectors = as_tuple(function, "v", given)
    if len(vectors) != len(likes):
        raise GradientError(
            f"{function}: v has {len(vectors)} tensors, and there are {len(likes)} for the {of}"
        )
    for number, (vector, like) in enumerate(zip(vectors, likes, strict=True)):
        if vector.shape != like.shape:
            raise GradientError(
                f"{function}: v[{number}] has the shape {tuple(vector.shape)}, and the {of} there "
                f"has {tuple(like.shape)}"
            )
    return vectors
