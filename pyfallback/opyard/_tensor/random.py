"""Random numbers that one seed repeats: manual_seed(), and the draws of layers.

All come from the process's generator, which gives the same on every machine.
"""

from .. import _C
from .._core.generator import require_seed
from .._core.keywords import names_keywords
from .._core.ops import ops


@names_keywords
def manual_seed(seed: int) -> None:
    """Begins the random numbers of this process anew: with one seed they are the same in each run.

    Until it is called they are others each time. Raises TypeError for what is no int.
    """
    ops.opyard.seed_random_numbers(require_seed(seed))


def fractions(count: int) -> _C.Tensor:
    """A tensor of `count` numbers from 0 to below 1, as float64."""
    return ops.aten.rand([count], dtype=_C.float64)


def uniform(count: int, low: float, high: float) -> _C.Tensor:
    """A tensor of `count` numbers between two others, as float32."""
    return ops.aten.to(fractions(count).mul_(high - low).add_(low), _C.float32)


def normal(count: int) -> _C.Tensor:
    """A tensor of `count` numbers with mean 0 and variance 1, as float32."""
    return ops.aten.randn([count], dtype=_C.float32)
