"""Initialization of layers: uniform numbers, in bounds that keep results in their range.

A layer makes empty parameters and calls its reset_parameters(), which fills them and may be called
again; a subclass may define its own.
"""

import math
from collections.abc import Iterable

from .._autograd.modes import no_grad
from .._core.ops import ops
from .._tensor import random
from .parameter import Parameter


def empty(*shape: int) -> Parameter:
    """A parameter of float32 for reset_parameters() to fill."""
    return Parameter(ops.aten.empty(list(shape)))


def uniform(shape: "tuple[int, ...]", bound: float) -> Parameter:
    """A parameter of float32 with numbers between -bound and bound; see opyard.manual_seed()."""
    return Parameter(random.uniform(math.prod(shape), -bound, bound).reshape(list(shape)))


def fill_uniform(parameters: "Iterable[Parameter | None]", bound: float) -> None:
    """Fills those that are there with numbers between -bound and bound, in this order."""
    with no_grad():
        for each in parameters:
            if each is not None:
                each.copy_(random.uniform(each.numel(), -bound, bound).reshape(list(each.shape)))


def fill(parameter: "Parameter | None", value: float) -> None:
    """Fills a parameter that is there with one number."""
    if parameter is not None:
        with no_grad():
            parameter.fill_(value)


def bound_of(fan_in: int) -> float:
    """1/√fan_in, with which sums over so many inputs stay near the inputs' size; 0 of nothing."""
    return 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0
