"""Functions of gradients and parameters together: clipping, and one vector of all."""

import math
from collections.abc import Iterable
from typing import Any

from .. import _C
from .._autograd.modes import no_grad
from .._core.keywords import names_keywords
from .._core.ops import ops
from .module import Module
from .sizes import number


def _listed(name: str, given: Any) -> "list[_C.Tensor]":
    """Raises TypeError for what is no Tensor, and no list of them."""
    if isinstance(given, _C.Tensor):
        return [given]
    if isinstance(given, Module) or isinstance(given, str) or not isinstance(given, Iterable):
        hint = "; give its parameters()" if isinstance(given, Module) else ""
        raise TypeError(
            f"{name}: a Tensor or a list of tensors is taken, not an object of "
            f"{type(given).__name__}{hint}"
        )
    tensors = list(given)
    for each in tensors:
        if not isinstance(each, _C.Tensor):
            raise TypeError(
                f"{name}: a Tensor or a list of tensors is taken, and one of them is an object of "
                f"{type(each).__name__}"
            )
    return tensors


def _gradients(name: str, parameters: Any) -> "list[_C.Tensor]":
    return [each.grad for each in _listed(name, parameters) if each.grad is not None]


@names_keywords
def get_total_norm(
    tensors: "_C.Tensor | Iterable[_C.Tensor]",
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> _C.Tensor:
    """The p-norm of all tensors as one vector: norm_type is p, and may be math.inf."""
    given = _listed("get_total_norm", tensors)
    return _total_norm("get_total_norm", given, norm_type, error_if_nonfinite)


def _total_norm(name: str, given: "list[_C.Tensor]", p: float, finite: bool) -> _C.Tensor:
    number(name, "norm_type", p)
    if not given:
        return ops.aten.zeros([])
    with no_grad():
        norms = [ops.aten.linalg_vector_norm(each.detach(), p) for each in given]
        total = ops.aten.linalg_vector_norm(ops.aten.stack(norms), p)
    if finite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"{name}: the norm is {total.item()}, so that gradients cannot be scaled; find where "
            "they begin to be so with opyard.autograd.detect_anomaly(), or give "
            "error_if_nonfinite=False"
        )
    return total


@names_keywords
def clip_grad_norm_(
    parameters: "_C.Tensor | Iterable[_C.Tensor]",
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> _C.Tensor:
    """Scales the gradients of all parameters, if their norm as one vector is above max_norm.

    Gives the norm that they had. norm_type is the p of the norm, and may be math.inf. Raises
    RuntimeError for a norm that is no finite number, if error_if_nonfinite is True.
    """
    gradients = _gradients("clip_grad_norm_", parameters)
    number("clip_grad_norm_", "max_norm", max_norm)
    total = _total_norm("clip_grad_norm_", gradients, norm_type, error_if_nonfinite)
    _scale(gradients, max_norm, total)
    return total


@names_keywords
def clip_grads_with_norm_(
    parameters: "_C.Tensor | Iterable[_C.Tensor]", max_norm: float, total_norm: _C.Tensor
) -> None:
    """clip_grad_norm_() with a norm that is known: get_total_norm() of the gradients, say."""
    gradients = _gradients("clip_grads_with_norm_", parameters)
    _scale(gradients, number("clip_grads_with_norm_", "max_norm", max_norm), total_norm)


def _scale(gradients: "list[_C.Tensor]", max_norm: float, total: _C.Tensor) -> None:
    with no_grad():
        share = ops.aten.clamp(max_norm / (total + 1e-6), max=1.0)
        for gradient in gradients:
            gradient.mul_(share.to(gradient.dtype))


@names_keywords
def clip_grad_value_(parameters: "_C.Tensor | Iterable[_C.Tensor]", clip_value: float) -> None:
    """Moves each element of the gradients into the range from -clip_value to clip_value."""
    gradients = _gradients("clip_grad_value_", parameters)
    most = number("clip_grad_value_", "clip_value", clip_value)
    with no_grad():
        for gradient in gradients:
            gradient.clamp_(-most, most)


@names_keywords
def parameters_to_vector(parameters: "Iterable[_C.Tensor]") -> _C.Tensor:
    """The elements of all parameters in a row."""
    given = _listed("parameters_to_vector", parameters)
    return ops.aten.cat([each.reshape(-1) for each in given])


@names_keywords
def vector_to_parameters(vec: _C.Tensor, parameters: "Iterable[_C.Tensor]") -> None:
    """Copies what parameters_to_vector() gives into the parameters.

    Raises ValueError for a vector with another number of elements.
    """
    given = _listed("vector_to_parameters", parameters)
    if not isinstance(vec, _C.Tensor):
        raise TypeError(
            f"vector_to_parameters: vec must be a Tensor, not an object of {type(vec).__name__}"
        )
    total = sum(each.numel() for each in given)
    if vec.shape != (total,):
        raise ValueError(
            f"vector_to_parameters: the parameters have {total} elements, and vec has the shape "
            f"{list(vec.shape)}"
        )
    at = 0
    with no_grad():
        for each in given:
            each.copy_(vec[at : at + each.numel()].reshape(list(each.shape)))
            at += each.numel()
