"""Adamax: Adam with the largest gradient of late in the place of the mean of squares."""

from collections.abc import Iterable
from typing import Any

from .. import _C
from .._core.ops import ops
from .optimizer import Optimizer, check_at_least_zero, check_shares, directed, pairs


class Adamax(Optimizer):
    """parameter -= lr * (mean of the gradient, corrected) / (the largest size of late).

    `betas` are the shares of the former mean and of the former largest size that stay; `eps` is
    added to the size of each gradient. weight_decay adds that share of the parameter to its
    gradient; maximize goes up the gradient.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**settings, "maximize": maximize})

    def _check(self, group: dict[str, Any]) -> None:
        check_at_least_zero(self, group, "lr", "eps", "weight_decay")
        check_shares(self, group, "betas")

    def _update(self, parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> None:
        gradient = directed(parameter, gradient, group)
        state = self.state.get(parameter)
        if state is None:
            zeros = ops.aten.zeros_like
            state = {"step": 0, "exp_avg": zeros(gradient), "exp_inf": zeros(gradient)}
            self.state[parameter] = state
        state["step"] += 1
        beta1, beta2 = group["betas"]
        mean, largest = state["exp_avg"], state["exp_inf"]
        parameter, gradient, mean, largest = pairs(parameter, gradient, mean, largest)
        mean.lerp_(gradient, 1 - beta1)
        largest.mul_(beta2)
        largest.copy_(ops.aten.maximum(largest, gradient.abs().add_(group["eps"])))
        parameter.addcdiv_(mean, largest, value=-group["lr"] / (1 - beta1 ** state["step"]))
