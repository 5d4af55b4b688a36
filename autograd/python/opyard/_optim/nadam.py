"""NAdam: Adam with Nesterov's momentum, which looks one step ahead."""

from collections.abc import Iterable
from typing import Any

from .. import _C
from .._core.ops import ops
from .optimizer import (
    Optimizer,
    check_at_least_zero,
    check_shares,
    directed,
    one_number,
    pairs,
)


class NAdam(Optimizer):
    """Adam whose momentum grows from half of betas[0], as momentum_decay says, and is used ahead.

    `betas`, `eps`, weight_decay and maximize are those of Adam. With decoupled_weight_decay the
    weights decay beside the gradient, as AdamW's do. The product of the momenta so far is kept in
    float32, as PyTorch keeps it.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        settings |= {"momentum_decay": momentum_decay, "maximize": maximize}
        super().__init__(params, {**settings, "decoupled_weight_decay": decoupled_weight_decay})

    def _check(self, group: dict[str, Any]) -> None:
        check_at_least_zero(self, group, "lr", "eps", "weight_decay", "momentum_decay")
        check_shares(self, group, "betas")

    def _shape_of(self, key: str, parameter: _C.Tensor) -> list[int]:
        return [] if key == "mu_product" else super()._shape_of(key, parameter)

    def _update(self, parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> None:
        gradient = directed(parameter, gradient, group)
        state = self.state.get(parameter)
        if state is None:
            zeros = ops.aten.zeros_like
            state = {"step": 0, "mu_product": one_number(1.0, parameter)}
            state |= {"exp_avg": zeros(gradient), "exp_avg_sq": zeros(gradient)}
            self.state[parameter] = state
        state["step"] += 1
        step, lr, (beta1, beta2) = state["step"], group["lr"], group["betas"]
        decays = group["momentum_decay"]
        now, ahead = (beta1 * (1 - 0.5 * 0.96 ** (each * decays)) for each in (step, step + 1))
        product = state["mu_product"].mul_(now).item()
        mean, squares = state["exp_avg"], state["exp_avg_sq"]
        parameter, gradient, mean, squares = pairs(parameter, gradient, mean, squares)
        mean.lerp_(gradient, 1 - beta1)
        squares.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        divisor = squares.div(1 - beta2**step).sqrt_().add_(group["eps"])
        parameter.addcdiv_(gradient, divisor, value=-lr * (1 - now) / (1 - product))
        parameter.addcdiv_(mean, divisor, value=-lr * ahead / (1 - product * ahead))
