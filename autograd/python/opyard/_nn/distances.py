"""Distances of vectors, and losses that make some small and others large."""

from collections.abc import Callable

from .. import _C
from .._core.ops import ops
from .losses import Loss
from .module import Module
from .sizes import at_least, number, truth

Distance = Callable[[_C.Tensor, _C.Tensor], _C.Tensor]


def _norm(x: _C.Tensor, p: float, keepdim: bool = False) -> _C.Tensor:
    return ops.aten.linalg_vector_norm(x, p, [-1], keepdim)


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dimension, which `keepdim` keeps as 1."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = number("PairwiseDistance", "p", p)
        self.eps = number("PairwiseDistance", "eps", eps)
        self.keepdim = truth("PairwiseDistance", "keepdim", keepdim)

    def forward(self, x1: _C.Tensor, x2: _C.Tensor) -> _C.Tensor:
        return _norm(x1 - x2 + self.eps, self.norm, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between x1 and x2 along a dimension; norms are eps at least."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        at_least("CosineSimilarity", -64, dim=dim)
        self.dim, self.eps = dim, number("CosineSimilarity", "eps", eps)

    def forward(self, x1: _C.Tensor, x2: _C.Tensor) -> _C.Tensor:
        return ops.aten.cosine_similarity(x1, x2, self.dim, self.eps)


class MarginRankingLoss(Loss):
    """max(0, margin - target * (x1 - x2)) for targets of 1 and -1."""

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self._set(margin=margin)

    def forward(self, x1: _C.Tensor, x2: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        if not x1.ndim == x2.ndim == target.ndim:
            raise ValueError(
                "MarginRankingLoss: x1, x2 and target have as many dimensions, but their shapes "
                f"are {list(x1.shape)}, {list(x2.shape)} and {list(target.shape)}"
            )
        return self._reduced(ops.aten.clamp(self.margin - target * (x1 - x2), 0))


class CosineEmbeddingLoss(Loss):
    """1 - cos(x1, x2) for a target of 1, max(0, cos(x1, x2) - margin) for one of -1: x1 and x2
    [n, size] and target [n], or without n."""

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self._set(margin=margin)

    def forward(self, x1: _C.Tensor, x2: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        if x1.ndim not in (1, 2) or x1.shape != x2.shape or target.shape != x1.shape[:-1]:
            raise ValueError(
                "CosineEmbeddingLoss: x1 and x2 have the shape [n, size] and target [n], or [size] "
                f"and [], but they have {list(x1.shape)}, {list(x2.shape)} and "
                f"{list(target.shape)}"
            )
        eps = 1e-12  # of squares, so that a vector of zeros has the cosine 0
        squares = [ops.aten.square(each).sum([-1]) + eps for each in (x1, x2)]
        cosine = (x1 * x2).sum([-1]) / ops.aten.sqrt(squares[0] * squares[1])
        zero = ops.aten.zeros_like(cosine.detach())
        near = ops.aten.where(target == 1, 1 - cosine, zero)
        far = ops.aten.where(target == -1, ops.aten.clamp(cosine - self.margin, 0), zero)
        return self._reduced(near + far)


class TripletMarginWithDistanceLoss(Loss):
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative)).

    The distance is PairwiseDistance() unless a function is given. With `swap` that of positive and
    negative is taken for the last one if it is less.
    """

    def __init__(
        self,
        *,
        distance_function: "Distance | None" = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        name = type(self).__name__
        if distance_function is not None and not callable(distance_function):
            raise TypeError(
                f"{name}: distance_function must be a function or None, not an object of "
                f"{type(distance_function).__name__}"
            )
        self.distance_function = (
            PairwiseDistance() if distance_function is None else distance_function
        )
        self._set_margin(margin, swap)

    def _set_margin(self, margin: float, swap: bool) -> None:
        name = type(self).__name__
        self._set(margin=margin)
        self.swap = truth(name, "swap", swap)
        if not margin > 0:
            raise ValueError(f"{name}: margin must be above 0, not {margin}")

    def forward(self, anchor: _C.Tensor, positive: _C.Tensor, negative: _C.Tensor) -> _C.Tensor:
        distance = self._distance
        far = distance(anchor, negative)
        if self.swap:
            far = ops.aten.minimum(far, distance(positive, negative))
        return self._reduced(ops.aten.clamp(self.margin + distance(anchor, positive) - far, 0))

    def _distance(self, x1: _C.Tensor, x2: _C.Tensor) -> _C.Tensor:
        return self.distance_function(x1, x2)


class TripletMarginLoss(TripletMarginWithDistanceLoss):
    """max(0, margin + |anchor - positive| - |anchor - negative|) for p-norms, as of
    PairwiseDistance(p, eps)."""

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        *,
        reduction: str = "mean",
    ) -> None:
        Loss.__init__(self, reduction)
        self._set_margin(margin, swap)
        self._set(p=p, eps=eps)

    def _distance(self, x1: _C.Tensor, x2: _C.Tensor) -> _C.Tensor:
        return _norm(x1 - x2 + self.eps, self.p)
