"""Fake kernels: results without memory, by Opyard's kernels for Meta.

[Known sizes] A kernel for Meta that reads sizes as plain numbers refuses symbolic ones. It runs
again with what they are at this call: that fixes them for what is being compiled, which PyTorch
compiles anew for others, and a warning says so once an operator.
"""

import warnings
from collections.abc import Callable
from typing import Any

from .. import _C
from .._core import ops as _ops
from .._tensor.symbolic import SymBool, SymFloat, SymInt
from .library import dtype_of, other_value, torch_dtype


class Meta:
    """Values of PyTorch as those of Opyard on Meta, and back.

    A symbolic number keeps its node: both libraries ask nodes the same questions.
    """

    def __init__(self, torch: Any, *, known: bool = False) -> None:
        self.torch = torch
        self.known = known  # symbolic numbers become what they are at this call
        self._in = ((torch.SymInt, SymInt), (torch.SymFloat, SymFloat), (torch.SymBool, SymBool))
        self._out = ((SymInt, torch.SymInt), (SymFloat, torch.SymFloat), (SymBool, torch.SymBool))
        self._empty = _ops.ops.aten.empty_strided.default

    def number_in(self, number: Any) -> Any:
        """A number of PyTorch as Opyard's."""
        for theirs, ours in self._in:
            if isinstance(number, theirs):
                return self._plain(number) if self.known else ours(number.node)
        return number

    def _plain(self, number: Any) -> Any:
        if isinstance(number, self.torch.SymInt):
            return int(number)
        return float(number) if isinstance(number, self.torch.SymFloat) else bool(number)

    def number_out(self, number: Any) -> Any:
        """A number of Opyard as PyTorch's."""
        for ours, theirs in self._out:
            if isinstance(number, ours):
                return theirs(number.node)
        return number

    def value_in(self, value: Any) -> Any:
        """An argument of PyTorch as Opyard takes it, tensors on Meta."""
        torch = self.torch
        if isinstance(value, torch.Tensor):
            return self._empty(
                [self.number_in(size) for size in value.shape],
                [self.number_in(stride) for stride in value.stride()],
                dtype=dtype_of(value.dtype),
                device="meta",
            )
        if isinstance(value, list | tuple):
            return [self.value_in(one) for one in value]
        if isinstance(value, dict):
            return {key: self.value_in(one) for key, one in value.items()}
        if isinstance(value, torch.device):
            return "meta"
        return other_value(torch, self.number_in(value))

    def value_out(self, value: Any, device: Any) -> Any:
        """A result of Opyard as PyTorch's, tensors on `device`."""
        if isinstance(value, _C.Tensor):
            return self.torch.empty_strided(
                [self.number_out(size) for size in value.shape],
                [self.number_out(stride) for stride in value.stride()],
                dtype=torch_dtype(self.torch, value.dtype),
                device=device,
            )
        if isinstance(value, list | tuple):
            return type(value)(self.value_out(one, device) for one in value)
        if isinstance(value, dict):
            return {key: self.value_out(one, device) for key, one in value.items()}
        return self.number_out(value)


def _device_in(torch: Any, values: Any) -> Any:
    """The device of the first tensor among `values`, else the first device, else None."""
    named = None
    for value in values:
        if isinstance(value, torch.Tensor):
            return value.device
        if isinstance(value, torch.device):
            named = value
        elif isinstance(value, list | tuple) and (found := _device_in(torch, value)) is not None:
            return found
    return named


def fake_kernel(torch: Any, op: "_C.OpOverload", writes: bool) -> Callable[..., Any]:
    """What torch.library.register_fake() takes for `op`."""
    symbolic = Meta(torch)
    known = Meta(torch, known=True)
    warned = False

    def run(meta: Meta, args: tuple, kwargs: dict) -> Any:
        return op(
            *[meta.value_in(value) for value in args],
            **{name: meta.value_in(value) for name, value in kwargs.items()},
        )

    def fake(*args: Any, **kwargs: Any) -> Any:
        nonlocal warned
        values = [*args, *kwargs.values()]
        try:
            result = run(symbolic, args, kwargs)
        except (TypeError, ValueError) as error:
            wants_known = any(word in str(error) for word in _WANTS_KNOWN)
            if not wants_known or not _has_symbols(torch, values):
                raise
            result = run(known, args, kwargs)
            if not warned:
                warned = True
                warnings.warn(
                    f"{op.name()}: its kernel for Meta takes sizes that are known, so what is "
                    "compiled with it is compiled anew for other sizes; give it one that makes "
                    "its results by empty() of the arguments' sizes",
                    stacklevel=2,
                )
        if writes:
            return None
        return symbolic.value_out(result, _device_in(torch, values) or torch.device("cpu"))

    return fake


# In the message of a kernel that read a symbolic size, and of a call that took one for a number.
_WANTS_KNOWN = ("with symbolic shapes/strides", "SymInt", "SymFloat")


def _has_symbols(torch: Any, values: Any) -> bool:
    """Whether a size, or a number, is symbolic."""
    for value in values:
        if isinstance(value, torch.Tensor):
            if any(isinstance(n, torch.SymInt) for n in (*value.shape, *value.stride())):
                return True
        elif isinstance(value, list | tuple):
            if _has_symbols(torch, value):
                return True
        elif isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
            return True
    return False
