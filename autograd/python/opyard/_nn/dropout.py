"""Dropout: while it trains, elements or whole channels are left out at random."""

import math

from .. import _C
from .._core.ops import ops
from .._tensor import random
from .module import Module
from .sizes import channels_wanted, probability, truth

_SELU_FLOOR = -1.7580993408473766  # what SELU gives far below 0: -scale * alpha


def dropout(x: _C.Tensor, p: float) -> _C.Tensor:
    """Sets elements to 0 with probability p and divides the others by 1 - p."""
    if p == 0:
        return x
    if p == 1:
        return x * 0
    return x * _kept(x, list(x.shape), p).mul_(1 / (1 - p))


def _kept(x: _C.Tensor, shape: list[int], p: float) -> _C.Tensor:
    """Ones, and with probability p zeros, in the dtype of x."""
    drawn = random.fractions(math.prod(shape)).reshape(shape)
    return ops.aten.to(drawn >= p, x.dtype)


class _Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        name = type(self).__name__
        self.p, self.inplace = probability(name, p), truth(name, "inplace", inplace)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        if not self.training or self.p == 0:
            return x
        dropped = self._dropped(x)
        return x.copy_(dropped) if self.inplace else dropped

    def _dropped(self, x: _C.Tensor) -> _C.Tensor:
        return dropout(x, self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Sets elements to 0 with probability p and divides the others by 1 - p, while it trains."""


class _ChannelDropout(_Dropout):
    _dims = 0

    def _dropped(self, x: _C.Tensor) -> _C.Tensor:
        return x * _kept(x, self._channels(x), self.p).mul_(1 / (1 - self.p) if self.p < 1 else 0)

    def _channels(self, x: _C.Tensor) -> list[int]:
        """The shape of x, with 1 for all that channels have."""
        if x.ndim not in (self._dims + 1, self._dims + 2):
            raise ValueError(f"{type(self).__name__}: {channels_wanted(self._dims, x)}")
        return [*x.shape[: -self._dims], *[1] * self._dims]


class Dropout1d(_ChannelDropout):
    """Sets whole channels of x [n, channels, length] to 0 with probability p, while it trains."""

    _dims = 1


class Dropout2d(_ChannelDropout):
    """Sets whole channels of pictures [n, channels, rows, columns] to 0 with probability p, while
    it trains; also of x [n, channels, length]."""

    _dims = 2

    def _channels(self, x: _C.Tensor) -> list[int]:
        return [*x.shape[:2], 1] if x.ndim == 3 else super()._channels(x)


class Dropout3d(_ChannelDropout):
    """Sets whole channels of x [n, channels, planes, rows, columns] to 0, while it trains."""

    _dims = 3


class AlphaDropout(_Dropout):
    """Sets elements to SELU's lowest value with probability p, and keeps mean and variance."""

    def _dropped(self, x: _C.Tensor) -> _C.Tensor:
        if self.p == 1:
            return x * 0
        kept = _kept(x, self._drawn(x), self.p)
        scale = 1 / math.sqrt((1 - self.p) * (1 + self.p * _SELU_FLOOR**2))
        moved = (1 - kept).mul_(_SELU_FLOOR * scale).add_(-scale * _SELU_FLOOR * self.p)
        return x * (kept * scale) + moved

    def _drawn(self, x: _C.Tensor) -> list[int]:
        return list(x.shape)


class FeatureAlphaDropout(AlphaDropout):
    """AlphaDropout of whole channels of x [n, channels, ...]."""

    def _drawn(self, x: _C.Tensor) -> list[int]:
        if x.ndim < 2:
            raise ValueError(
                "FeatureAlphaDropout: x must have the shape [n, channels, ...], not "
                f"{list(x.shape)}"
            )
        return [*x.shape[:2], *[1] * (x.ndim - 2)]
