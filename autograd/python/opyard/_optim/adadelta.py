"""Adadelta: steps as long as the former ones were, for the gradients that there were."""

from collections.abc import Iterable
from typing import Any

from .. import _C
from .._core.ops import ops
from .optimizer import Optimizer, check_at_least_zero, directed, pairs


class Adadelta(Optimizer):
    """parameter -= lr * gradient * (mean size of former steps) / (mean size of gradients).

    Both are roots of means of squares, to which `rho` of the former mean stays, and `eps` is added.
    weight_decay adds that share of the parameter to its gradient; maximize goes up the gradient.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**settings, "maximize": maximize})

    def _check(self, group: dict[str, Any]) -> None:
        check_at_least_zero(self, group, "lr", "rho", "eps", "weight_decay")
        if group["rho"] > 1:
            raise ValueError(f"Adadelta: rho must be from 0 to 1, not {group['rho']!r}")

    def _update(self, parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> None:
        gradient = directed(parameter, gradient, group)
        state = self.state.get(parameter)
        if state is None:
            zeros = ops.aten.zeros_like
            state = {"step": 0, "square_avg": zeros(gradient), "acc_delta": zeros(gradient)}
            self.state[parameter] = state
        state["step"] += 1
        rho, eps = group["rho"], group["eps"]
        squares, steps = state["square_avg"], state["acc_delta"]
        parameter, gradient, squares, steps = pairs(parameter, gradient, squares, steps)
        squares.mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
        step = steps.add(eps).sqrt_().div_(squares.add(eps).sqrt_()).mul_(gradient)
        steps.mul_(rho).addcmul_(step, step, value=1 - rho)
        parameter.add_(step, alpha=-group["lr"])
