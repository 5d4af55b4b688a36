"""Dropout: while it trains, elements are left out at random."""

from .. import _C
from .._core.ops import ops
from .._tensor import random
from .module import Module
from .sizes import probability


def dropout(x: _C.Tensor, p: float) -> _C.Tensor:
    """Sets elements to 0 with probability p and divides the others by 1 - p."""
    if p == 0:
        return x
    if p == 1:
        return x * 0
    chosen = random.fractions(x.numel()).reshape(list(x.shape)) >= p
    return x * ops.aten.to(chosen, x.dtype).mul_(1 / (1 - p))


class Dropout(Module):
    """Sets elements to 0 with probability p and divides the others by 1 - p, while it trains."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = probability("Dropout", p)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return dropout(x, self.p) if self.training else x

    def extra_repr(self) -> str:
        return f"p={self.p}"
