"""ASGD: gradient descent that also keeps the mean of the parameters of many steps."""

from collections.abc import Iterable
from typing import Any

from .. import _C
from .._core.ops import ops
from .optimizer import Optimizer, check_at_least_zero, check_numbers, directed, one_number, pairs


class ASGD(Optimizer):
    """parameter -= eta * gradient, with eta = lr / (1 + lambd * lr * steps) ** alpha.

    The parameter is made smaller by lambd * eta of itself first. `state[parameter]["ax"]` is the
    mean of the parameter from step `t0` on, and before it the parameter. weight_decay adds that
    share of the parameter to its gradient; maximize goes up the gradient. eta and the weight of the
    mean are kept in float32, as PyTorch keeps them.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0}
        super().__init__(params, {**settings, "weight_decay": weight_decay, "maximize": maximize})

    def _check(self, group: dict[str, Any]) -> None:
        check_at_least_zero(self, group, "lr", "weight_decay")
        check_numbers(self, group, "lambd", "alpha", "t0")

    def _shape_of(self, key: str, parameter: _C.Tensor) -> list[int]:
        return [] if key in ("eta", "mu") else super()._shape_of(key, parameter)

    def _update(self, parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> None:
        gradient = directed(parameter, gradient, group)
        lr, lambd = group["lr"], group["lambd"]
        state = self.state.get(parameter)
        if state is None:
            state = {"step": 0, "eta": one_number(lr, parameter), "mu": one_number(1.0, parameter)}
            state["ax"] = ops.aten.zeros_like(parameter)
            self.state[parameter] = state
        state["step"] += 1
        step, eta, mu = state["step"], state["eta"].item(), state["mu"].item()
        parameter, gradient, mean = pairs(parameter, gradient, state["ax"])
        parameter.mul_(1 - lambd * eta).add_(gradient, alpha=-eta)
        if mu == 1:
            mean.copy_(parameter)
        else:
            mean.add_(parameter.sub(mean).mul_(mu))
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))
