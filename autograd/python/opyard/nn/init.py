"""Functions that fill the weights of layers with numbers to begin with.

    layer = opyard.nn.Linear(64, 32)
    opyard.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")

They write into the tensor, without a history, and return it. opyard.manual_seed() repeats them.
"""

from .._core import late as _late
from .._nn.filling import (
    calculate_gain,
    constant_,
    dirac_,
    eye_,
    kaiming_normal_,
    kaiming_uniform_,
    normal_,
    ones_,
    orthogonal_,
    sparse_,
    trunc_normal_,
    uniform_,
    xavier_normal_,
    xavier_uniform_,
    zeros_,
)

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())
