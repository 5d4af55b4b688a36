"""RAdam: Adam that divides by the size of gradients only once it is known well enough."""

import math
from collections.abc import Iterable
from typing import Any

from .. import _C
from .._core.ops import ops
from .optimizer import Optimizer, check_at_least_zero, check_shares, directed, pairs


class RAdam(Optimizer):
    """Adam whose steps are divided, and made shorter, by how sure the mean of squares is by now.

    The first steps are not divided at all. `betas`, `eps`, weight_decay and maximize are those of
    Adam. With decoupled_weight_decay the weights decay beside the gradient, as AdamW's do.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        settings |= {"decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize}
        super().__init__(params, settings)

    def _check(self, group: dict[str, Any]) -> None:
        check_at_least_zero(self, group, "lr", "eps", "weight_decay")
        check_shares(self, group, "betas")

    def _update(self, parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> None:
        gradient = directed(parameter, gradient, group)
        state = self.state.get(parameter)
        if state is None:
            zeros = ops.aten.zeros_like
            state = {"step": 0, "exp_avg": zeros(gradient), "exp_avg_sq": zeros(gradient)}
            self.state[parameter] = state
        state["step"] += 1
        step, (beta1, beta2) = state["step"], group["betas"]
        mean, squares = state["exp_avg"], state["exp_avg_sq"]
        parameter, gradient, mean, squares = pairs(parameter, gradient, mean, squares)
        mean.lerp_(gradient, 1 - beta1)
        squares.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        change = (mean / (1 - beta1**step)).mul_(group["lr"])
        # How many gradients the mean of squares is worth: in the end, and by now.
        in_the_end = 2 / (1 - beta2) - 1
        known = 1 - beta2**step
        by_now = in_the_end - 2 * step * beta2**step / known
        if by_now > 5:
            sure = (by_now - 4) * (by_now - 2) * in_the_end
            sure /= (in_the_end - 4) * (in_the_end - 2) * by_now
            divisor = squares.sqrt().add_(group["eps"])
            change.mul_(math.sqrt(known) / divisor).mul_(math.sqrt(sure))
        parameter.sub_(change)
