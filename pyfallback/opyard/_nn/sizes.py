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
            raise TypeError(f"{layer}: {name} is an int, not an object of {type(size).__name__}")
        if operator.index(size) < least:
            raise ValueError(f"{layer}: {name} is at least {least}, not {size}")


def pair(layer: str, name: str, size: Sizes, least: int = 1) -> list[int]:
    """Two sizes, of rows and columns; one int stands for both. Raises TypeError, ValueError."""
    sizes = list(size) if isinstance(size, Sequence) and not isinstance(size, str) else [size] * 2
    if len(sizes) != 2:
        raise ValueError(f"{layer}: {name} is one int or two, not {sizes}")
    for each in sizes:
        at_least(layer, least, **{name: each})
    return [operator.index(each) for each in sizes]


def probability(layer: str, p: float) -> float:
    """Raises ValueError for what is no probability."""
    if not isinstance(p, (int, float)) or isinstance(p, bool) or not 0 <= p <= 1:
        raise ValueError(f"{layer}: p is a probability, from 0 to 1, not {p!r}")
    return float(p)
