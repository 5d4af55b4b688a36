"""Initialization of layers: uniform numbers, in bounds that keep results in their range."""

import math

from .._tensor import random
from .parameter import Parameter


def uniform(shape: "tuple[int, ...]", bound: float) -> Parameter:
    """A parameter of float32 with numbers between -bound and bound; see opyard.manual_seed()."""
    return Parameter(random.uniform(math.prod(shape), -bound, bound).reshape(list(shape)))


def bound_of(fan_in: int) -> float:
    """1/√fan_in, with which sums over so many inputs stay near the inputs' size; 0 of nothing."""
    return 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0
