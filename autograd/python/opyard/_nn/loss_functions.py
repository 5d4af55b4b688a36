"""Functional forms of losses, as in torch.nn.functional: the loss is made and called."""

from collections.abc import Callable

from .. import _C
from .._core.keywords import names_keywords
from . import classes, distances, losses


@names_keywords
def mse_loss(input: _C.Tensor, target: _C.Tensor, *, reduction: str = "mean") -> _C.Tensor:
    """What nn.MSELoss computes."""
    return losses.MSELoss(reduction)(input, target)


@names_keywords
def l1_loss(input: _C.Tensor, target: _C.Tensor, *, reduction: str = "mean") -> _C.Tensor:
    """What nn.L1Loss computes."""
    return losses.L1Loss(reduction)(input, target)


@names_keywords
def smooth_l1_loss(
    input: _C.Tensor, target: _C.Tensor, *, reduction: str = "mean", beta: float = 1.0
) -> _C.Tensor:
    """What nn.SmoothL1Loss computes."""
    return losses.SmoothL1Loss(reduction, beta)(input, target)


@names_keywords
def huber_loss(
    input: _C.Tensor, target: _C.Tensor, reduction: str = "mean", delta: float = 1.0
) -> _C.Tensor:
    """What nn.HuberLoss computes."""
    return losses.HuberLoss(reduction, delta)(input, target)


@names_keywords
def binary_cross_entropy(
    input: _C.Tensor,
    target: _C.Tensor,
    weight: "_C.Tensor | None" = None,
    *,
    reduction: str = "mean",
) -> _C.Tensor:
    """What nn.BCELoss computes."""
    return losses.BCELoss(weight, reduction=reduction)(input, target)


@names_keywords
def binary_cross_entropy_with_logits(
    input: _C.Tensor,
    target: _C.Tensor,
    weight: "_C.Tensor | None" = None,
    *,
    reduction: str = "mean",
    pos_weight: "_C.Tensor | None" = None,
) -> _C.Tensor:
    """What nn.BCEWithLogitsLoss computes."""
    made = losses.BCEWithLogitsLoss(weight, reduction=reduction, pos_weight=pos_weight)
    return made(input, target)


@names_keywords
def nll_loss(
    input: _C.Tensor,
    target: _C.Tensor,
    weight: "_C.Tensor | None" = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> _C.Tensor:
    """What nn.NLLLoss computes."""
    made = classes.NLLLoss(weight, ignore_index=ignore_index, reduction=reduction)
    return made(input, target)


@names_keywords
def cross_entropy(
    input: _C.Tensor,
    target: _C.Tensor,
    weight: "_C.Tensor | None" = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> _C.Tensor:
    """What nn.CrossEntropyLoss computes."""
    made = classes.CrossEntropyLoss(
        weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
    return made(input, target)


@names_keywords
def kl_div(
    input: _C.Tensor, target: _C.Tensor, *, reduction: str = "mean", log_target: bool = False
) -> _C.Tensor:
    """What nn.KLDivLoss computes."""
    return losses.KLDivLoss(reduction, log_target)(input, target)


@names_keywords
def poisson_nll_loss(
    input: _C.Tensor,
    target: _C.Tensor,
    log_input: bool = True,
    full: bool = False,
    *,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> _C.Tensor:
    """What nn.PoissonNLLLoss computes."""
    made = losses.PoissonNLLLoss(log_input, full, eps=eps, reduction=reduction)
    return made(input, target)


@names_keywords
def gaussian_nll_loss(
    input: _C.Tensor,
    target: _C.Tensor,
    var: "_C.Tensor | float",
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> _C.Tensor:
    """What nn.GaussianNLLLoss computes."""
    made = losses.GaussianNLLLoss(full=full, eps=eps, reduction=reduction)
    return made(input, target, var)


@names_keywords
def soft_margin_loss(input: _C.Tensor, target: _C.Tensor, *, reduction: str = "mean") -> _C.Tensor:
    """What nn.SoftMarginLoss computes."""
    return losses.SoftMarginLoss(reduction)(input, target)


@names_keywords
def hinge_embedding_loss(
    input: _C.Tensor, target: _C.Tensor, margin: float = 1.0, *, reduction: str = "mean"
) -> _C.Tensor:
    """What nn.HingeEmbeddingLoss computes."""
    return losses.HingeEmbeddingLoss(margin, reduction=reduction)(input, target)


@names_keywords
def multilabel_soft_margin_loss(
    input: _C.Tensor,
    target: _C.Tensor,
    weight: "_C.Tensor | None" = None,
    *,
    reduction: str = "mean",
) -> _C.Tensor:
    """What nn.MultiLabelSoftMarginLoss computes."""
    return classes.MultiLabelSoftMarginLoss(weight, reduction=reduction)(input, target)


@names_keywords
def multilabel_margin_loss(
    input: _C.Tensor, target: _C.Tensor, *, reduction: str = "mean"
) -> _C.Tensor:
    """What nn.MultiLabelMarginLoss computes."""
    return classes.MultiLabelMarginLoss(reduction)(input, target)


@names_keywords
def multi_margin_loss(
    input: _C.Tensor,
    target: _C.Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: "_C.Tensor | None" = None,
    *,
    reduction: str = "mean",
) -> _C.Tensor:
    """What nn.MultiMarginLoss computes."""
    return classes.MultiMarginLoss(p, margin, weight, reduction=reduction)(input, target)


@names_keywords
def margin_ranking_loss(
    input1: _C.Tensor,
    input2: _C.Tensor,
    target: _C.Tensor,
    margin: float = 0,
    *,
    reduction: str = "mean",
) -> _C.Tensor:
    """What nn.MarginRankingLoss computes."""
    return distances.MarginRankingLoss(margin, reduction=reduction)(input1, input2, target)


@names_keywords
def cosine_embedding_loss(
    input1: _C.Tensor,
    input2: _C.Tensor,
    target: _C.Tensor,
    margin: float = 0,
    *,
    reduction: str = "mean",
) -> _C.Tensor:
    """What nn.CosineEmbeddingLoss computes."""
    return distances.CosineEmbeddingLoss(margin, reduction=reduction)(input1, input2, target)


@names_keywords
def triplet_margin_loss(
    anchor: _C.Tensor,
    positive: _C.Tensor,
    negative: _C.Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
) -> _C.Tensor:
    """What nn.TripletMarginLoss computes."""
    made = distances.TripletMarginLoss(margin, p, eps, swap, reduction=reduction)
    return made(anchor, positive, negative)


@names_keywords
def triplet_margin_with_distance_loss(
    anchor: _C.Tensor,
    positive: _C.Tensor,
    negative: _C.Tensor,
    *,
    distance_function: "Callable[[_C.Tensor, _C.Tensor], _C.Tensor] | None" = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> _C.Tensor:
    """What nn.TripletMarginWithDistanceLoss computes."""
    made = distances.TripletMarginWithDistanceLoss(
        distance_function=distance_function, margin=margin, swap=swap, reduction=reduction
    )
    return made(anchor, positive, negative)
