"""Adafactor: the squares of the gradients of a matrix kept as a row and a column."""

import math
from collections.abc import Iterable
from typing import Any

from .. import _C
from .._core.ops import ops
from .optimizer import Optimizer, check_at_least_zero, check_numbers


class Adafactor(Optimizer):
    """Steps divided by the root of a mean of squares, which is kept by rows and by columns.

    The mean of step n keeps 1 - n ** beta2_decay of the former one. A step is as long, relative to
    the parameter, as the smaller of lr and 1 / root(n); eps[1] is the least size that a parameter
    counts as, eps[0] keeps the divisor from 0, by default the dtype's. An update whose mean size is
    over `d` is made as short as that. weight_decay takes lr * weight_decay of the parameter away;
    maximize goes up the gradient. Raises NotImplementedError for complex parameters.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: "tuple[float | None, float]" = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d}
        super().__init__(params, {**settings, "weight_decay": weight_decay, "maximize": maximize})

    def _check(self, group: dict[str, Any]) -> None:
        check_at_least_zero(self, group, "lr", "weight_decay")
        check_numbers(self, group, "beta2_decay", "d")
        if group["beta2_decay"] > 0:
            raise ValueError(
                f"Adafactor: beta2_decay must be at most 0, not {group['beta2_decay']!r}"
            )
        if group["d"] < 1:
            raise ValueError(f"Adafactor: d must be at least 1, not {group['d']!r}")
        eps = group["eps"]
        if not isinstance(eps, (tuple, list)) or len(eps) != 2:
            raise TypeError(f"Adafactor: eps must be a number or None and a number, not {eps!r}")
        first, second = eps
        check_at_least_zero(self, {"eps[0]": 0 if first is None else first}, "eps[0]")
        check_at_least_zero(self, {"eps[1]": second}, "eps[1]")

    def _shape_of(self, key: str, parameter: _C.Tensor) -> list[int]:
        shape = super()._shape_of(key, parameter)
        if key == "row_var":
            return [*shape[:-1], 1]
        return [*shape[:-2], 1, shape[-1]] if key == "col_var" else shape

    def _update(self, parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> None:
        if parameter.dtype.is_complex:
            raise NotImplementedError("Adafactor: parameters must be real numbers, not complex")
        if group["maximize"]:
            gradient = -gradient
        state = self.state.get(parameter)
        if state is None:
            names = ("row_var", "col_var") if gradient.ndim > 1 else ("variance",)
            shapes = {name: self._shape_of(name, parameter) for name in names}
            state = {name: gradient.new_zeros(shape) for name, shape in shapes.items()}
            state = self.state[parameter] = {"step": 0, **state}
        state["step"] += 1
        step, lr, (least, least_size) = state["step"], group["lr"], group["eps"]
        if least is None:
            least = _EPS[parameter.dtype]
        size = ops.aten.linalg_vector_norm(parameter).item() / math.sqrt(parameter.numel())
        rate = max(least_size, size) * min(lr, 1 / math.sqrt(step))
        if group["weight_decay"] != 0:
            parameter.mul_(1 - lr * group["weight_decay"])
        new = step ** group["beta2_decay"]
        update = _squares(state, gradient, new, least).clamp_(min=least * least).rsqrt_()
        update.mul_(gradient)
        length = ops.aten.linalg_vector_norm(update).item() / math.sqrt(update.numel())
        parameter.add_(update, alpha=-rate / max(1.0, length / group["d"]))


_EPS = {
    _C.float64: 2.0**-52,
    _C.float32: 2.0**-23,
    _C.float16: 2.0**-10,
    _C.bfloat16: 2.0**-7,
}


def _squares(state: dict[str, Any], gradient: _C.Tensor, new: float, least: float) -> _C.Tensor:
    """The mean of squares by now, of which `new` is that of this gradient."""
    if gradient.ndim < 2:
        return state["variance"].lerp_(gradient * gradient, new).clone()
    rows, columns = state["row_var"], state["col_var"]
    norm = ops.aten.linalg_vector_norm
    rows.lerp_(norm(gradient, 2, [-1], True).square_().div_(gradient.shape[-1]), new)
    columns.lerp_(norm(gradient, 2, [-2], True).square_().div_(gradient.shape[-2]), new)
    return (rows @ columns).div_(rows.mean([-2], True).clamp_(min=least))
