"""Losses as modules: each gives one number that training makes small."""

from .. import _C
from .._core.ops import ops
from .module import Module

_REDUCTIONS = ("mean", "sum", "none")


class _Loss(Module):
    """A loss over a batch; `reduction` says what becomes of the losses: mean, sum, or none."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in _REDUCTIONS:
            raise ValueError(
                f"{type(self).__name__}: reduction is one of {', '.join(_REDUCTIONS)}, not "
                f"{reduction!r}"
            )
        self.reduction = reduction

    def _reduced(self, losses: _C.Tensor) -> _C.Tensor:
        if self.reduction == "none":
            return losses
        return ops.aten.mean(losses) if self.reduction == "mean" else ops.aten.sum(losses)

    def extra_repr(self) -> str:
        return f"reduction={self.reduction!r}"


def _check_same_shape(loss: Module, x: _C.Tensor, target: _C.Tensor) -> None:
    if x.shape != target.shape:
        raise ValueError(
            f"{type(loss).__name__}: x and target have one shape, but they have {list(x.shape)} "
            f"and {list(target.shape)}"
        )


class MSELoss(_Loss):
    """(x - target)²."""

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        _check_same_shape(self, x, target)
        return self._reduced(ops.aten.square(x - target))


class L1Loss(_Loss):
    """|x - target|."""

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        _check_same_shape(self, x, target)
        return self._reduced(ops.aten.abs(x - target))


class BCEWithLogitsLoss(_Loss):
    """The cross-entropy of sigmoid(x) and a target between 0 and 1, computed without overflow."""

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        _check_same_shape(self, x, target)
        return self._reduced(ops.aten.softplus(x) - x * target)


class NLLLoss(_Loss):
    """-x[i, target[i]] for logarithms of probabilities x [n, classes] and target int64 [n].

    Further dimensions of x and target, as of pictures, are alike: x [n, classes, ...].
    """

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        name = type(self).__name__
        if x.ndim < 2 or target.shape != (x.shape[0], *x.shape[2:]):
            raise ValueError(
                f"{name}: x has the shape [n, classes, ...] and target [n, ...], but they have "
                f"{list(x.shape)} and {list(target.shape)}"
            )
        if target.dtype is not _C.int64:
            raise TypeError(
                f"{name}: target holds the numbers of classes as int64, not as {target.dtype}"
            )
        try:
            chosen = ops.aten.gather(x, 1, target.unsqueeze(1))
        except IndexError as error:
            raise IndexError(
                f"{name}: target must hold numbers of classes from 0 to {x.shape[1] - 1}, since x "
                f"has {x.shape[1]} classes; {error}"
            ) from error
        return self._reduced(-chosen.squeeze(1))


class CrossEntropyLoss(NLLLoss):
    """NLLLoss of log_softmax(x): x holds one score for each class, of any size."""

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        return super().forward(ops.aten.log_softmax(x, 1) if x.ndim > 1 else x, target)
