"""Forward mode: tensors with tangents, which calls take from arguments to results.

with opyard.autograd.forward_ad.dual_level():
    y = f(forward_ad.make_dual(x, direction))
    value, slope = forward_ad.unpack_dual(y)

See the guide on gradients.
"""

from .._autograd.forward_ad import (
    UnpackedDualTensor,
    dual_level,
    enter_dual_level,
    exit_dual_level,
    jvp,
    make_dual,
    unpack_dual,
)
from .._core import late as _late

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "jvp",
    "make_dual",
    "unpack_dual",
]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())
