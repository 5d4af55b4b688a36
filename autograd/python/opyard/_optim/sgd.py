"""SGD: gradient descent, with momentum."""

from collections.abc import Iterable
from typing import Any

from .. import _C
from .optimizer import Optimizer, check_at_least_zero, check_numbers


class SGD(Optimizer):
    """parameter -= lr * gradient, or lr times a sum of the gradients so far, with momentum.

    The sum is `momentum` times its former value plus (1 - dampening) times the gradient; with
    `nesterov` the gradient is added to momentum times the sum. weight_decay adds that share of
    the parameter to its gradient; maximize goes up the gradient.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {"lr": lr, "momentum": momentum, "dampening": dampening}
        settings |= {"weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize}
        super().__init__(params, settings)

    def _check(self, group: dict[str, Any]) -> None:
        check_at_least_zero(self, group, "lr", "momentum", "weight_decay")
        check_numbers(self, group, "dampening")
        if group["nesterov"] and (group["momentum"] == 0 or group["dampening"] != 0):
            raise ValueError("SGD: nesterov needs a momentum, and no dampening")

    def _update(self, parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> None:
        if group["maximize"]:
            gradient = -gradient
        if group["weight_decay"] != 0:
            gradient = gradient.add(parameter, alpha=group["weight_decay"])
        momentum = group["momentum"]
        if momentum != 0:
            state = self.state.setdefault(parameter, {})
            velocity = state.get("momentum_buffer")
            if velocity is None:
                velocity = state["momentum_buffer"] = gradient.detach().clone()
            else:
                velocity.mul_(momentum).add_(gradient, alpha=1 - group["dampening"])
            nesterov = group["nesterov"]
            gradient = gradient.add(velocity, alpha=momentum) if nesterov else velocity
        parameter.add_(gradient, alpha=-group["lr"])
