"""Losses as modules: each gives one number that training makes small.

Here are those that compare x with a target element by element; those of numbers of classes are in
classes.py, those of distances in distances.py.
"""

import math

from .. import _C
from .._autograd.modes import no_grad
from .._core.ops import ops
from .module import Module
from .sizes import number, truth

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}  # as operators number them


class Loss(Module):
    """A loss over a batch; `reduction` says what becomes of the losses: mean, sum, or none."""

    _reductions = ("mean", "sum", "none")

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in self._reductions:
            raise ValueError(
                f"{type(self).__name__}: reduction is one of {', '.join(self._reductions)}, not "
                f"{reduction!r}"
            )
        self.reduction = reduction

    @property
    def _reduction(self) -> int:
        return _REDUCTIONS[self.reduction]

    def _reduced(self, losses: _C.Tensor) -> _C.Tensor:
        if self.reduction == "none":
            return losses
        return ops.aten.mean(losses) if self.reduction == "mean" else ops.aten.sum(losses)

    def _set(self, **settings: float) -> None:
        for name, value in settings.items():
            setattr(self, name, number(type(self).__name__, name, value))

    def _keep_weight(self, name: str, weight: "_C.Tensor | None") -> None:
        """A weight that is part of the state, or None."""
        if weight is not None and not isinstance(weight, _C.Tensor):
            made = _C.tensor_for(weight)
            if made is None:
                hint = f"; give reduction={weight!r}" if weight in _REDUCTIONS else ""
                raise TypeError(
                    f"{type(self).__name__}: {name} must be a Tensor, an array or None, not an "
                    f"object of {type(weight).__name__}{hint}"
                )
            weight = made
        self.register_buffer(name, weight)


def check_same_shape(loss: Module, x: _C.Tensor, target: _C.Tensor) -> None:
    if x.shape != target.shape:
        raise ValueError(
            f"{type(loss).__name__}: x and target have one shape, but they have {list(x.shape)} "
            f"and {list(target.shape)}"
        )


class MSELoss(Loss):
    """(x - target)²."""

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        check_same_shape(self, x, target)
        return self._reduced(ops.aten.square(x - target))


class L1Loss(Loss):
    """|x - target|."""

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        check_same_shape(self, x, target)
        return self._reduced(ops.aten.abs(x - target))


class SmoothL1Loss(Loss):
    """|x - target| - beta / 2, and (x - target)² / (2 beta) where that is below beta / 2."""

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self._set(beta=beta)
        if not beta >= 0:
            raise ValueError(f"SmoothL1Loss: beta must be at least 0, not {beta}")

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        check_same_shape(self, x, target)
        if self.beta == 0:
            return self._reduced(ops.aten.abs(x - target))
        return ops.aten.smooth_l1_loss(x, target, self._reduction, self.beta)


class HuberLoss(Loss):
    """delta * (|x - target| - delta / 2), and (x - target)² / 2 where that is below delta² / 2."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self._set(delta=delta)
        if not delta > 0:
            raise ValueError(f"HuberLoss: delta must be above 0, not {delta}")

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        check_same_shape(self, x, target)
        return ops.aten.huber_loss(x, target, self._reduction, self.delta)


class BCELoss(Loss):
    """The cross-entropy of probabilities x and a target between 0 and 1, times weight.

    Logarithms are taken as -100 at least. BCEWithLogitsLoss takes what comes before sigmoid.
    Raises ValueError for an element of x or of the target that is not between 0 and 1.
    """

    def __init__(self, weight: "_C.Tensor | None" = None, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self._keep_weight("weight", weight)

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        check_same_shape(self, x, target)
        return ops.aten.binary_cross_entropy(x, target, self.weight, self._reduction)


class BCEWithLogitsLoss(Loss):
    """The cross-entropy of sigmoid(x) and a target between 0 and 1, computed without overflow.

    Losses are multiplied by weight; pos_weight multiplies the part of the target, not the rest.
    """

    def __init__(
        self,
        weight: "_C.Tensor | None" = None,
        *,
        reduction: str = "mean",
        pos_weight: "_C.Tensor | None" = None,
    ) -> None:
        super().__init__(reduction)
        self._keep_weight("weight", weight)
        self._keep_weight("pos_weight", pos_weight)

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        check_same_shape(self, x, target)
        if self.pos_weight is None:
            losses = ops.aten.softplus(x) - x * target
        else:
            share = (self.pos_weight - 1) * target + 1
            losses = (1 - target) * x + share * ops.aten.softplus(-x)
        return self._reduced(losses if self.weight is None else losses * self.weight)


class KLDivLoss(Loss):
    """target * (log(target) - x) for x and target that are logarithms of probabilities and
    probabilities; with log_target the target is logarithms, too. batchmean is the sum, divided by
    the size of the first dimension."""

    _reductions = ("mean", "sum", "none", "batchmean")

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = truth("KLDivLoss", "log_target", log_target)

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        check_same_shape(self, x, target)
        if self.reduction == "batchmean":
            total = ops.aten.kl_div(x, target, 2, log_target=self.log_target)
            return total / x.shape[0] if x.ndim else total
        return ops.aten.kl_div(x, target, self._reduction, log_target=self.log_target)


class PoissonNLLLoss(Loss):
    """exp(x) - target * x, or x - target * log(x + eps) without log_input. With `full` Stirling's
    approximation of log(target!) is added where the target is above 1."""

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        *,
        eps: float = 1e-8,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.log_input = truth("PoissonNLLLoss", "log_input", log_input)
        self.full = truth("PoissonNLLLoss", "full", full)
        self._set(eps=eps)

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        check_same_shape(self, x, target)
        if self.log_input:
            losses = ops.aten.exp(x) - target * x
        else:
            losses = x - target * ops.aten.log(x + self.eps)
        if self.full:
            log = ops.aten.log(target)
            stirling = target * log - target + 0.5 * (log + math.log(2 * math.pi))
            losses = losses + stirling.masked_fill(target <= 1, 0)
        return self._reduced(losses)


class GaussianNLLLoss(Loss):
    """(log(var) + (x - target)² / var) / 2, with var of eps at least; with `full` log(2π) / 2 more.

    var has the shape of x, or 1 for its last dimension, or lacks it; or it is a number.
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full = truth("GaussianNLLLoss", "full", full)
        self._set(eps=eps)

    def forward(self, x: _C.Tensor, target: _C.Tensor, var: "_C.Tensor | float") -> _C.Tensor:
        if not isinstance(var, _C.Tensor):
            var = ops.aten.full_like(x.detach(), var)
        if var.shape != x.shape:
            if var.shape == x.shape[:-1]:
                var = var.unsqueeze(-1)
            elif var.ndim != x.ndim or var.shape != (*x.shape[:-1], 1):
                raise ValueError(
                    "GaussianNLLLoss: var has the shape of x, or 1 for its last dimension, or "
                    f"lacks it, but they have {list(var.shape)} and {list(x.shape)}"
                )
        if ops.aten.any(var < 0).item():
            raise ValueError("GaussianNLLLoss: var has a number below 0, and a variance has none")
        with no_grad():
            floor = ops.aten.clamp(var, self.eps) - var
        var = var + floor
        losses = 0.5 * (ops.aten.log(var) + ops.aten.square(x - target) / var)
        if self.full:
            losses = losses + 0.5 * math.log(2 * math.pi)
        return self._reduced(losses)


class SoftMarginLoss(Loss):
    """log(1 + exp(-target * x)) for targets of 1 and -1."""

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        check_same_shape(self, x, target)
        return self._reduced(ops.aten.softplus(-target * x))


class HingeEmbeddingLoss(Loss):
    """x for a target of 1, max(0, margin - x) for one of -1."""

    def __init__(self, margin: float = 1.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self._set(margin=margin)

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        check_same_shape(self, x, target)
        far = ops.aten.clamp(self.margin - x, 0)
        zero = ops.aten.zeros_like(x.detach())
        near_part = ops.aten.where(target == -1, zero, x)
        return self._reduced(near_part + ops.aten.where(target == 1, zero, far))
