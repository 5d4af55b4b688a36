"""Losses of classes: x has a score or a logarithm of a probability for each class, or a target has
the classes that are right.

x is [n, classes, ...], or [classes] of one; numbers of classes are [n, ...], or [].
"""

from .. import _C
from .._core.ops import ops
from .losses import Loss, check_same_shape
from .sizes import at_least, number


class NLLLoss(Loss):
    """-weight[target] * x[target] for logarithms of probabilities x and target int64.

    The shapes are [n, classes] and [n], or with further dimensions, as of pictures; or [classes]
    and [] without n. Targets of ignore_index count nothing. The mean is that by weight.
    """

    def __init__(
        self,
        weight: "_C.Tensor | None" = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self._keep_weight("weight", weight)
        at_least(type(self).__name__, -(2**63), ignore_index=ignore_index)
        self.ignore_index = ignore_index

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        self._check(x, target)
        try:
            return self._computed(x, target)
        except IndexError as error:
            classes = self._classes(x)
            where = str(error).rpartition("aten::gather")
            raise IndexError(
                f"{type(self).__name__}: target must hold numbers of classes from 0 to "
                f"{classes - 1}, since x has {classes} classes; {''.join(where[1:])}"
            ) from error

    def _classes(self, x: _C.Tensor) -> int:
        return x.shape[1 if x.ndim > 1 else 0]

    def _check(self, x: _C.Tensor, target: _C.Tensor) -> None:
        name, wanted = type(self).__name__, (*x.shape[: x.ndim > 1], *x.shape[2:])
        if x.ndim < 1 or target.shape != wanted:
            raise ValueError(
                f"{name}: x has the shape [n, classes, ...] and target [n, ...], or [classes] and "
                f"[], but they have {list(x.shape)} and {list(target.shape)}"
            )
        if target.dtype is not _C.int64:
            raise TypeError(
                f"{name}: target holds the numbers of classes as int64, not as {target.dtype}"
            )
        if self.weight is not None and self.weight.shape != (self._classes(x),):
            raise ValueError(
                f"{name}: weight must have one number for each of {self._classes(x)} classes, and "
                f"it has the shape {list(self.weight.shape)}"
            )

    def _computed(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        return ops.aten.nll_loss_nd(x, target, self.weight, self._reduction, self.ignore_index)


class CrossEntropyLoss(NLLLoss):
    """NLLLoss of log_softmax(x): x holds one score for each class, of any size.

    A target of floats, in the shape of x, holds a probability for each class. label_smoothing is
    the share of the target that all classes have alike.
    """

    def __init__(
        self,
        weight: "_C.Tensor | None" = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, ignore_index=ignore_index, reduction=reduction)
        number("CrossEntropyLoss", "label_smoothing", label_smoothing)
        if not 0 <= label_smoothing <= 1:
            raise ValueError(
                f"CrossEntropyLoss: label_smoothing is a share, from 0 to 1, not {label_smoothing}"
            )
        self.label_smoothing = label_smoothing

    def _check(self, x: _C.Tensor, target: _C.Tensor) -> None:
        if not (target.dtype.is_floating_point and target.shape == x.shape and x.ndim):
            super()._check(x, target)

    def _computed(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        settings = self._reduction, self.ignore_index, self.label_smoothing
        return ops.aten.cross_entropy_loss(x, target, self.weight, *settings)


class MultiLabelSoftMarginLoss(Loss):
    """The mean over classes of the cross-entropy of sigmoid(x) and target, times weight."""

    def __init__(self, weight: "_C.Tensor | None" = None, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self._keep_weight("weight", weight)

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        check_same_shape(self, x, target)
        losses = ops.aten.softplus(x) - x * target
        losses = losses if self.weight is None else losses * self.weight
        return self._reduced(losses.mean([-1]))


class MultiMarginLoss(Loss):
    """The sum over other classes of max(0, margin - x[target] + x)^p, times weight[target], divided
    by the number of classes: x [n, classes] and target int64 [n], or without n."""

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: "_C.Tensor | None" = None,
        *,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: p is 1 or 2, not {p!r}")
        self.p = p
        self._set(margin=margin)
        self._keep_weight("weight", weight)

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        if x.ndim not in (1, 2) or target.shape != x.shape[:-1]:
            raise ValueError(
                "MultiMarginLoss: x has the shape [n, classes] and target [n], or [classes] and "
                f"[], but they have {list(x.shape)} and {list(target.shape)}"
            )
        at = target.unsqueeze(-1)
        losses = ops.aten.clamp(self.margin - ops.aten.gather(x, -1, at) + x, 0)
        losses = losses if self.p == 1 else ops.aten.square(losses)
        if self.weight is not None:
            losses = losses * self.weight[target].unsqueeze(-1)
        others = ops.aten.ones_like(x.detach()).scatter_(-1, at, 0)
        return self._reduced((losses * others).sum([-1]) / x.shape[-1])


class MultiLabelMarginLoss(Loss):
    """The sum over right classes and others of max(0, 1 - x[right] + x[other]), divided by the
    number of classes.

    target int64, in the shape of x, has the right classes, up to the first -1.
    """

    def forward(self, x: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        check_same_shape(self, x, target)
        if x.ndim not in (1, 2):
            raise ValueError(
                "MultiLabelMarginLoss: x must have the shape [n, classes] or [classes], not "
                f"{list(x.shape)}"
            )
        given = ops.aten.cumsum(ops.aten.to(target < 0, _C.int64), -1) == 0
        at = ops.aten.where(given, target, ops.aten.zeros_like(target))
        chosen = ops.aten.to(given, x.dtype)
        right = ops.aten.zeros_like(x.detach()).scatter_add_(-1, at, chosen) > 0
        differences = 1 - ops.aten.gather(x, -1, at).unsqueeze(-1) + x.unsqueeze(-2)
        counted = given.unsqueeze(-1) & ~right.unsqueeze(-2)
        losses = ops.aten.clamp(differences, 0).masked_fill(~counted, 0)
        return self._reduced(losses.sum([-2, -1]) / x.shape[-1])
