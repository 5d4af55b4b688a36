"""Methods of Tensor beside those of its type: the operators of aten, and a few made of them.

`_C` asks by the hooks `method`, `dir_tensor`, `list_tensor` and `array_tensor`. A method that is
made here is found after aten's operators, so one that is registered under its name goes before it;
`where` is found before, since the operator's first argument is not the tensor.
"""

from collections.abc import Callable
from typing import Any

from .. import _C
from .._core.ops import ops
from . import factories

_DTYPES = {
    "float": _C.float32,
    "double": _C.float64,
    "half": _C.float16,
    "bfloat16": _C.bfloat16,
    "long": _C.int64,
    "int": _C.int32,
    "short": _C.int16,
    "char": _C.int8,
    "byte": _C.uint8,
    "bool": _C.bool,
}


def _converting(name: str) -> Callable[[_C.Tensor], _C.Tensor]:
    dtype = _DTYPES[name]

    def method(self: _C.Tensor) -> _C.Tensor:
        return ops.aten.to(self, dtype)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The elements as {dtype}; the tensor itself if that is its dtype."
    return method


def nelement(self: _C.Tensor) -> int:
    """numel(): the number of elements."""
    return self.numel()


def cpu(self: _C.Tensor) -> _C.Tensor:
    """The tensor on the CPU; itself if it is there."""
    return ops.aten.to(self, "cpu")


def to_device(self: _C.Tensor, device: "_C.device | str", /, *, stream: object = None) -> _C.Tensor:
    """The tensor on a device; itself if it is there. A stream is not taken."""
    if stream is not None:
        raise ValueError(f"to_device: stream is {stream!r}; the devices here have no streams")
    return ops.aten.to(self, device)


def is_floating_point(self: _C.Tensor) -> bool:
    """Whether the elements are floats; complex numbers are none."""
    return self.dtype.is_floating_point


def is_complex(self: _C.Tensor) -> bool:
    """Whether the elements are complex numbers."""
    return self.dtype.is_complex


def where(self: _C.Tensor, condition: Any, other: Any) -> _C.Tensor:
    """The elements where the condition holds, else those of `other`, which may be a number.

    The operator takes the condition first: opyard.where(condition, self, other).
    """
    return factories.where(condition, self, other)


_METHODS: dict[str, Callable[..., Any]] = {
    **{name: _converting(name) for name in _DTYPES},
    "cpu": cpu,
    "is_complex": is_complex,
    "is_floating_point": is_floating_point,
    "nelement": nelement,
    "to_device": to_device,
    "where": where,
}


def find(name: str) -> "Callable[..., Any] | None":
    """The method of this name that is made here, or None."""
    return _METHODS.get(name)


def missing(tensor: _C.Tensor, name: str) -> AttributeError:
    """What is raised for an attribute that a tensor has not."""
    from .._core.near_names import MissingName

    cls = "opyard.Tensor" if type(tensor) is _C.Tensor else type(tensor).__name__
    text = f"{cls!r} object has no attribute {name!r}"
    return MissingName(text, name, lambda name: _meant(tensor, name))


# What NumPy and PyTorch have as attributes of arrays, and how it is written here.
_CALLED_HERE = {
    "astype": "x.to(dtype)",
    "cuda": "x.to('cuda')",
    "data": "x.detach() to read it, x.copy_(other) to change it",
    "H": "x.mH",
    "is_cuda": "x.device.type == 'cuda'",
    "itemsize": "x.element_size()",
    "nbytes": "x.numel() * x.element_size()",
    "type": "x.to(dtype) to convert it, x.dtype to ask",
}


def _meant(tensor: _C.Tensor, name: str) -> str:
    """What may be meant by an attribute that a tensor has not, as a part of a sentence."""
    from .._core.near_names import hint, public

    if name in _CALLED_HERE:
        return f"; write {_CALLED_HERE[name]}"
    return hint(name, public(dir(tensor)))


def names(tensor: _C.Tensor) -> list[str]:
    """What dir() of a tensor shows: its attributes, and the operators that are methods of it.

    Completion reads each of them, and ends at an error that is no AttributeError. So it does not
    show attributes that this tensor has not: mT and mH of a vector, imag of real numbers.
    """
    operators = (name for name in dir(ops.aten) if not name.startswith("_"))
    shown = {*object.__dir__(tensor), *_METHODS, *operators}
    if tensor.dim() < 2:
        shown -= {"mT", "mH"}
    if not tensor.dtype.is_complex:
        shown.discard("imag")
    return sorted(shown)


def listed(tensor: _C.Tensor) -> Any:
    """tolist() by calls that the tensor's class answers: select, and item for each element."""
    if tensor.dim() == 0:
        return tensor.item()
    return [listed(ops.aten.select(tensor, 0, index)) for index in range(tensor.size(0))]


def as_array(tensor: _C.Tensor) -> Any:
    """numpy() in the same way: a new array, since there is no memory to share."""
    import numpy as np

    try:
        dtype = np.dtype(tensor.dtype.name)
    except TypeError:
        raise TypeError(
            f"numpy: NumPy has no {tensor.dtype.name}; convert the tensor first, as x.float()"
        ) from None
    return np.array(listed(tensor), dtype).reshape(tuple(tensor.shape))
