"""Random numbers that one seed repeats: manual_seed(), and what layers draw."""

import math
import operator
import random

from .. import _C
from .._core.ops import ops

_numbers = random.Random()


def manual_seed(seed: int) -> None:
    """Begins the random numbers of this process anew: with one seed they are the same in each run.

    They are those of layers, of `aten.rand` and its like, and of dropout.

    Until it is called they are others each time. Raises TypeError for what is no int.
    """
    seed = operator.index(seed)
    _numbers.seed(seed)
    ops.aten._seed_random_numbers((seed + 2**63) % 2**64 - 2**63)


def fractions(count: int) -> _C.Tensor:
    """A tensor of `count` numbers from 0 to below 1, as float64 in steps of 2⁻³²."""
    if count == 0:
        return ops.aten.zeros([0], dtype=_C.float64)
    bits = _C.from_numpy(memoryview(bytearray(_numbers.randbytes(4 * count))).cast("i"))
    return ops.aten.to(bits, _C.float64).mul_(2.0**-32).add_(0.5)


def uniform(count: int, low: float, high: float) -> _C.Tensor:
    """A tensor of `count` numbers between two others, as float32."""
    return ops.aten.to(fractions(count).mul_(high - low).add_(low), _C.float32)


def normal(count: int) -> _C.Tensor:
    """A tensor of `count` numbers with mean 0 and variance 1, as float32."""
    size = ((1 - fractions(count)).log() * -2.0).sqrt()
    return ops.aten.to(size * (fractions(count) * (2 * math.pi)).cos(), _C.float32)
