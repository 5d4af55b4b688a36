"""The errors of runs backwards and of taped calls, which are RuntimeError as well.

Elsewhere a wrong value is a ValueError and a wrong type a TypeError; programs that were written for
PyTorch catch RuntimeError around backward().
"""

from .. import _C


class GradientError(RuntimeError, ValueError):
    """A backward that cannot be run: a graph that was freed, a saved tensor that was written."""


class GradientTypeError(RuntimeError, TypeError):
    """Something in a backward that is no gradient."""


for _each in (GradientError, GradientTypeError):
    _each.__module__ = "opyard.autograd"
    _C.register_error(f"opyard.autograd.{_each.__name__}", _each)
