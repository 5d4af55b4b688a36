"""Functions of the parameters of modules: their gradients are clipped, or all are one vector.

loss.backward()
opyard.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
optimizer.step()
"""

from .._core import late as _late
from .._nn.clipping import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
    parameters_to_vector,
    vector_to_parameters,
)

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "vector_to_parameters",
]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())
