"""Products with Jacobians and Hessians of functions, and both of them as tensors.

outputs, product = opyard.autograd.functional.vjp(f, x, v)     # v times the Jacobian of f at x
outputs, product = opyard.autograd.functional.jvp(f, x, v)     # the Jacobian times v
matrix = opyard.autograd.functional.jacobian(f, x)
"""

from .._autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from .._core import late as _late

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


_late.find_names(globals())


def __dir__() -> list[str]:
    return _late.names(globals())
