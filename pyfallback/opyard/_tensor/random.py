"""Random numbers that one seed repeats: manual_seed(), and what layers begin with."""

import operator
import random
from array import array

from .. import _C

_numbers = random.Random()


def manual_seed(seed: int) -> None:
    """Begins the random numbers of this process anew: with one seed they are the same in each run.

    Until it is called they are others each time. Raises TypeError for what is no int.
    """
    _numbers.seed(operator.index(seed))


def uniform(count: int, low: float, high: float) -> _C.Tensor:
    """A tensor of `count` numbers between two others, as float32."""
    return _C.from_numpy(
        memoryview(array("f", [_numbers.uniform(low, high) for _ in range(count)]))
    )
