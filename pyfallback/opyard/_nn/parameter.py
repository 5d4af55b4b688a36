"""Parameter: a tensor that a Module finds among its attributes, and an optimizer changes."""

from typing import Any

from .. import _C
from .._autograd.modes import no_grad


class Parameter(_C.Tensor):
    """A tensor with the memory of another one, which requires a gradient unless told otherwise.

        self.weight = Parameter(opyard.zeros(3, 4))

    What operators give for a Parameter is a Tensor. Raises TypeError for what is no Tensor, and
    for elements that have no gradients (integers, bool) unless `requires_grad` is False.
    """

    def __new__(cls, data: _C.Tensor, requires_grad: bool = True) -> "Parameter":
        if not isinstance(data, _C.Tensor):
            raise TypeError(f"Parameter: data is a Tensor, not an object of {type(data).__name__}")
        if requires_grad and not (data.dtype.is_floating_point or data.dtype.is_complex):
            raise TypeError(
                f"Parameter: only floating point and complex numbers have gradients, not "
                f"{data.dtype}; give requires_grad=False, or make it a buffer"
            )
        with no_grad():
            made = _C.Tensor.make_subclass(cls, data.detach())
        return made.requires_grad_() if requires_grad else made

    def __deepcopy__(self, memo: dict) -> "Parameter":
        known = memo.get(id(self))
        if known is None:
            with no_grad():
                known = memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return known

    def __reduce__(self) -> tuple[Any, ...]:
        plain = _C.Tensor.make_subclass(_C.Tensor, self.detach())
        return type(self), (plain, self.requires_grad)
