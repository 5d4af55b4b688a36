"""Checks of the sizes that layers are made with."""

import operator
from collections.abc import Sequence

from .. import _C

Sizes = int | Sequence[int]


def positive(layer: str, **sizes: int) -> None:
    """Raises TypeError for what is no int, ValueError for what is below 1; both name it."""
    at_least(layer, 1, **sizes)


def at_least(layer: str, least: int, **sizes: int) -> None:
    """As positive(), for another smallest size."""
    for name, size in sizes.items():
        if isinstance(size, bool) or not hasattr(type(size), "__index__"):
            raise TypeError(
                f"{layer}: {name} must be an int, not an object of {type(size).__name__}"
            )
        if operator.index(size) < least:
            raise ValueError(f"{layer}: {name} must be at least {least}, not {size}")


def several(layer: str, name: str, size: Sizes, count: int, least: int = 1) -> tuple[int, ...]:
    """One to three sizes; one int is all of them. Raises TypeError, ValueError."""
    is_list = isinstance(size, Sequence) and not isinstance(size, str)
    sizes = list(size) if is_list else [size] * count
    if len(sizes) != count:
        accepted = "one int" + ("", " or two", " or three")[count - 1]
        raise ValueError(f"{layer}: {name} must be {accepted}, not {sizes}")
    for each in sizes:
        at_least(layer, least, **{name: each})
    return tuple(operator.index(each) for each in sizes)


def number(layer: str, name: str, value: float) -> float:
    """An int or a float, as it is given. Raises TypeError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        what = "None" if value is None else f"an object of {type(value).__name__}"
        raise TypeError(f"{layer}: {name} must be an int or a float, not {what}")
    return value


def truth(layer: str, name: str, value: bool) -> bool:
    """True or False. Raises TypeError."""
    if not isinstance(value, bool):
        what = repr(value) if value is None or isinstance(value, int) else ""
        hint = f"; what it makes is called: {layer}()(...)" if isinstance(value, _C.Tensor) else ""
        what = what or f"an object of {type(value).__name__}"
        raise TypeError(f"{layer}: {name} must be True or False, not {what}{hint}")
    return value


def probability(layer: str, p: float) -> float:
    """Raises ValueError for what is no probability."""
    if not isinstance(p, (int, float)) or isinstance(p, bool) or not 0 <= p <= 1:
        raise ValueError(f"{layer}: p must be a probability, from 0 to 1, not {p!r}")
    return float(p)


def channels_wanted(dims: int, x: _C.Tensor) -> str:
    """What shape a layer of channels with `dims` dimensions takes, for a message about another."""
    sizes = "length" if dims == 1 else ", ".join(("planes", "rows", "columns")[-dims:])
    return (
        f"x must have the shape [n, channels, {sizes}] or [channels, {sizes}], not {list(x.shape)}"
    )
