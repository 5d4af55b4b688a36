"""Adagrad: steps that shrink by the sum of the squares of all gradients so far."""

from collections.abc import Iterable
from typing import Any

from .. import _C
from .._core.keywords import names_keywords
from .._core.ops import ops
from .optimizer import Optimizer, check_at_least_zero, directed, pairs


class Adagrad(Optimizer):
    """parameter -= lr * gradient / (root of the sum of squares of the gradients + eps).

    The sum begins with `initial_accumulator_value`. The rate is lr / (1 + steps * lr_decay), with
    the steps before this one. weight_decay adds that share of the parameter to its gradient;
    maximize goes up the gradient.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        settings |= {"initial_accumulator_value": initial_accumulator_value, "maximize": maximize}
        super().__init__(params, settings)

    @names_keywords
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """As of every Optimizer; the sums of the new parameters begin here."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        first = group["initial_accumulator_value"]
        for parameter in group["params"]:
            of_pair = complex(first, first) if parameter.dtype.is_complex else first
            total = ops.aten.full_like(parameter.detach(), of_pair)
            self.state[parameter] = {"step": 0, "sum": total}

    def _check(self, group: dict[str, Any]) -> None:
        names = ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")
        check_at_least_zero(self, group, *names)

    def _update(self, parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        state["step"] += 1
        gradient = directed(parameter, gradient, group)
        lr = group["lr"] / (1 + (state["step"] - 1) * group["lr_decay"])
        parameter, gradient, total = pairs(parameter, gradient, state["sum"])
        total.addcmul_(gradient, gradient)
        parameter.addcdiv_(gradient, total.sqrt().add_(group["eps"]), value=-lr)
