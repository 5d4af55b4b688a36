"""Checks of the sizes that layers are made with."""

import operator
from collections.abc import Sequence

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


def pair(layer: str, name: str, size: Sizes, least: int = 1) -> list[int]:
    """Two sizes, of rows and columns; one int is both. Raises TypeError, ValueError."""
    return several(layer, name, size, 2, least)


def several(layer: str, name: str, size: Sizes, count: int, least: int = 1) -> list[int]:
    """One to three sizes; one int is all of them. Raises TypeError, ValueError."""
    is_list = isinstance(size, Sequence) and not isinstance(size, str)
    sizes = list(size) if is_list else [size] * count
    if len(sizes) != count:
        accepted = "one int" + ("", " or two", " or three")[count - 1]
        raise ValueError(f"{layer}: {name} must be {accepted}, not {sizes}")
    for each in sizes:
        at_least(layer, least, **{name: each})
    return [operator.index(each) for each in sizes]


def probability(layer: str, p: float) -> float:
    """Raises ValueError for what is no probability."""
    if not isinstance(p, (int, float)) or isinstance(p, bool) or not 0 <= p <= 1:
        raise ValueError(f"{layer}: p must be a probability, from 0 to 1, not {p!r}")
    return float(p)
