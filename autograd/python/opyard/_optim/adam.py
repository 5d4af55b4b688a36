"""Adam, and AdamW, which decays weights beside the gradient."""

import math
from collections.abc import Iterable
from typing import Any

from .. import _C
from .._core.ops import ops
from .._nn.sizes import truth
from .optimizer import Optimizer, check_at_least_zero, check_shares

_MEANS = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")


class Adam(Optimizer):
    """Steps of about lr: means of the gradient, divided by the root of those of its square.

    `betas` are the shares of the former means that stay, `eps` keeps the divisor from 0. Both means
    begin with 0 and are corrected for that. weight_decay adds that share of the parameter to its
    gradient, or with decoupled_weight_decay takes lr times that share away beside it. amsgrad
    divides by the largest mean of squares so far; maximize goes up the gradient.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, settings)

    def _check(self, group: dict[str, Any]) -> None:
        check_at_least_zero(self, group, "lr", "eps", "weight_decay")
        check_shares(self, group, "betas")
        for name in ("amsgrad", "maximize", "decoupled_weight_decay"):
            truth(type(self).__name__, name, group[name])

    def _update(self, parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> None:
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]
        if group["maximize"]:
            gradient = -gradient
        if decay != 0:
            if group["decoupled_weight_decay"]:
                parameter.mul_(1 - lr * decay)
            else:
                gradient = gradient.add(parameter, alpha=decay)
        state = self.state.get(parameter)
        if state is None:
            state = self.state[parameter] = {
                "step": 0,
                "exp_avg": ops.aten.zeros_like(gradient),
                "exp_avg_sq": ops.aten.zeros_like(gradient),
            }
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = ops.aten.zeros_like(gradient)
        state["step"] += 1
        means = [name for name in _MEANS if name in state]
        mean, squares, *largest = (state[name] for name in means)
        if parameter.dtype.is_complex:  # pairs of real numbers, each with a mean of its own
            real = ops.aten.view_as_real
            parameter, gradient, mean, squares = map(real, (parameter, gradient, mean, squares))
            largest = [real(each) for each in largest]
        mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
        squares.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        if group["amsgrad"]:
            squares = largest[0].copy_(ops.aten.maximum(largest[0], squares))
        root = math.sqrt(1 - beta2 ** state["step"])
        divisor = squares.sqrt().div_(root).add_(group["eps"])
        parameter.addcdiv_(mean, divisor, value=-lr / (1 - beta1 ** state["step"]))


class AdamW(Adam):
    """Adam that also takes lr * weight_decay of each parameter away, beside the gradient."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize=maximize,
            decoupled_weight_decay=True,
        )

    def _check(self, group: dict[str, Any]) -> None:
        super()._check(group)
        if not group["decoupled_weight_decay"]:
            raise ValueError("AdamW: decoupled_weight_decay must be True; Adam has it as a choice")
