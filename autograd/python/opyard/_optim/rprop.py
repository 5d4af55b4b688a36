"""Rprop: steps whose length the signs of the gradients alone decide."""

from collections.abc import Iterable
from typing import Any

from .. import _C
from .._core.ops import ops
from .optimizer import Optimizer, check_at_least_zero, check_numbers, pairs


class Rprop(Optimizer):
    """Steps against the sign of the gradient, of a length for each element.

    The first length is lr. It is multiplied by etas[1] while the sign stays, and by etas[0] when it
    changes, for which the element waits a step; it stays between the two of step_sizes. maximize
    goes up the gradient. It is for gradients of all data at once.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        *,
        maximize: bool = False,
    ) -> None:
        settings = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize}
        super().__init__(params, settings)

    def _check(self, group: dict[str, Any]) -> None:
        check_at_least_zero(self, group, "lr")
        for name in ("etas", "step_sizes"):
            if not isinstance(group[name], (tuple, list)) or len(group[name]) != 2:
                raise TypeError(f"Rprop: {name} must be two numbers, not {group[name]!r}")
            check_numbers(
                self, dict(zip(("first", "second"), group[name], strict=True)), "first", "second"
            )
        smaller, larger = group["etas"]
        if not 0 < smaller < 1 < larger:
            raise ValueError(
                "Rprop: etas must be a number between 0 and 1 and one above 1, not "
                f"{group['etas']!r}"
            )

    def _update(self, parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> None:
        state = self.state.get(parameter)
        lr = group["lr"]
        if state is None:
            length = complex(lr, lr) if parameter.dtype.is_complex else lr
            state = {"step": 0, "prev": ops.aten.zeros_like(gradient)}
            state["step_size"] = ops.aten.full_like(gradient, length)
            self.state[parameter] = state
        state["step"] += 1
        (smaller, larger), (shortest, longest) = group["etas"], group["step_sizes"]
        former, lengths = state["prev"], state["step_size"]
        if group["maximize"]:
            gradient = -gradient
        parameter, gradient, former, lengths = pairs(parameter, gradient, former, lengths)
        agrees = gradient.mul(former)
        where = ops.aten.where
        turned, stays = agrees < 0, agrees > 0
        factors = ops.aten.ones_like(gradient)
        factors = where(stays, factors * larger, where(turned, factors * smaller, factors))
        lengths.mul_(factors).clamp_(shortest, longest)
        gradient = where(turned, ops.aten.zeros_like(gradient), gradient)
        parameter.addcmul_(gradient.sign(), lengths, value=-1)
        former.copy_(gradient)
