"""RMSprop: steps divided by the root of a mean of squares of gradients."""

from collections.abc import Iterable
from typing import Any

from .. import _C
from .._core.ops import ops
from .optimizer import Optimizer, check_at_least_zero, directed, pairs


class RMSprop(Optimizer):
    """parameter -= lr * gradient / (root of the mean of its squares + eps).

    `alpha` is the share of the former mean that stays. `centered` takes the square of the mean
    gradient away from it. With `momentum` the steps are summed, as SGD sums gradients. weight_decay
    adds that share of the parameter to its gradient; maximize goes up the gradient.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps}
        settings |= {"centered": centered, "weight_decay": weight_decay, "maximize": maximize}
        super().__init__(params, settings)

    def _check(self, group: dict[str, Any]) -> None:
        check_at_least_zero(self, group, "lr", "alpha", "eps", "weight_decay", "momentum")

    def _update(self, parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> None:
        gradient = directed(parameter, gradient, group)
        state = self.state.get(parameter)
        if state is None:
            state = self.state[parameter] = {"step": 0, "square_avg": ops.aten.zeros_like(gradient)}
            if group["momentum"] > 0:
                state["momentum_buffer"] = ops.aten.zeros_like(gradient)
            if group["centered"]:
                state["grad_avg"] = ops.aten.zeros_like(gradient)
        state["step"] += 1
        alpha, lr = group["alpha"], group["lr"]
        names = ("square_avg", "grad_avg", "momentum_buffer")
        parameter, gradient, squares, mean, steps = pairs(
            parameter, gradient, *(state.get(name) for name in names)
        )
        squares.mul_(alpha).addcmul_(gradient, gradient, value=1 - alpha)
        if group["centered"]:
            mean.lerp_(gradient, 1 - alpha)
            squares = squares.addcmul(mean, mean, value=-1)
        divisor = squares.sqrt().add_(group["eps"])
        if group["momentum"] > 0:
            parameter.add_(steps.mul_(group["momentum"]).addcdiv_(gradient, divisor), alpha=-lr)
        else:
            parameter.addcdiv_(gradient, divisor, value=-lr)
