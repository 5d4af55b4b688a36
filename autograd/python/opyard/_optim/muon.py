"""Muon: momentum of a matrix, made orthogonal by iterations of Newton and Schulz."""

import math
from collections.abc import Collection, Iterable
from typing import Any

from .. import _C
from .._core.ops import ops
from .optimizer import Optimizer, check_at_least_zero, check_numbers

_ADJUSTMENTS = (None, "original", "match_rms_adamw")


class Muon(Optimizer):
    """Steps along the momentum of a matrix whose singular values were all brought near 1.

    Parameters have two dimensions; others, and embeddings, are for another optimizer. The momentum
    takes 1 - momentum of each gradient; with nesterov the gradient looks one step ahead.
    `ns_coefficients` are those of the odd polynomial of degree five that is applied `ns_steps`
    times to the singular values, in bfloat16 as in PyTorch; eps keeps the norm that the matrix is
    divided by from 0. lr is multiplied by root(max(1, rows / columns)), or with
    adjust_lr_fn="match_rms_adamw" by 0.2 * root(max(rows, columns)), so that a rate of AdamW fits.
    weight_decay takes lr * weight_decay of the parameter away. Raises ValueError for a parameter
    that is no matrix, NotImplementedError for complex ones.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: "str | None" = None,
    ) -> None:
        settings = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum}
        iterations = {"ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps}
        defaults = {**settings, "nesterov": nesterov, **iterations, "adjust_lr_fn": adjust_lr_fn}
        super().__init__(params, defaults)

    def _check(self, group: dict[str, Any]) -> None:
        check_at_least_zero(self, group, "lr", "weight_decay", "momentum", "eps")
        factors, steps = group["ns_coefficients"], group["ns_steps"]
        if not isinstance(factors, Collection) or len(factors) != 3:
            raise TypeError(f"Muon: ns_coefficients must be three numbers, not {factors!r}")
        named = {f"ns_coefficients[{i}]": value for i, value in enumerate(factors)}
        check_numbers(self, named, *named)
        if not isinstance(steps, int) or not 0 <= steps < 100:
            raise ValueError(f"Muon: ns_steps must be an int from 0 to 99, not {steps!r}")
        if group["adjust_lr_fn"] not in _ADJUSTMENTS:
            known = ", ".join(map(repr, _ADJUSTMENTS))
            raise ValueError(
                f"Muon: adjust_lr_fn must be one of {known}, not {group['adjust_lr_fn']!r}"
            )
        for parameter in group["params"]:
            if parameter.ndim != 2:
                raise ValueError(
                    "Muon: a parameter must have two dimensions, not the shape "
                    f"{list(parameter.shape)}; give the others to another optimizer, as AdamW"
                )

    def _update(self, parameter: _C.Tensor, gradient: _C.Tensor, group: dict[str, Any]) -> None:
        if parameter.dtype.is_complex:
            raise NotImplementedError("Muon: parameters must be real numbers, not complex")
        lr, momentum = group["lr"], group["momentum"]
        state = self.state.setdefault(parameter, {})
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = ops.aten.zeros_like(gradient)
        buffer = state["momentum_buffer"].lerp_(gradient, 1 - momentum)
        update = gradient.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = parameter.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            ratio = 0.2 * math.sqrt(max(rows, columns))
        else:
            ratio = math.sqrt(max(1, rows / columns)) if columns else 1.0
        parameter.mul_(1 - lr * group["weight_decay"])
        parameter.add_(update, alpha=-lr * ratio)


def _orthogonal(matrix: _C.Tensor, factors: Any, steps: int, eps: float) -> _C.Tensor:
    """A matrix of bfloat16 with the singular vectors of this one, and values near 1."""
    addmm, (first, third, fifth) = ops.aten.addmm, factors
    tall = matrix.shape[0] > matrix.shape[1]
    found = matrix.to(_C.bfloat16, copy=True)
    if tall:
        found = found.t()
    found = found / ops.aten.linalg_vector_norm(found).clamp(min=eps)
    for _ in range(steps):
        gram = found @ found.t()
        update = addmm(gram, gram, gram, beta=third, alpha=fifth)
        found = addmm(found, update, found, beta=first)
    return found.t() if tall else found
