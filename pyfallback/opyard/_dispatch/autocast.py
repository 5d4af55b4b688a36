"""Autocast: operators that are called with tensors of a smaller or larger dtype than was given.

    opyard.library.register_autocast("demo::matmul", "cpu", opyard.bfloat16)
    with opyard.autocast("cpu"):
        opyard.ops.demo.matmul(x, y)      # the kernel sees bfloat16

It is a layer, AutocastCPU or AutocastCUDA, which every thread excludes until autocast() switches it
on. Operators without a rule pass it by. Those that write to an argument can have none, since they
would write to what was cast, a copy.
"""

from collections.abc import Callable
from typing import Any

from .. import _C
from .._core.keys import DispatchKey
from .guards import ExcludeDispatchKeyGuard, _Guard, _joined, _without

_KEYS = {"cpu": DispatchKey.AutocastCPU, "cuda": DispatchKey.AutocastCUDA}
# float64 is left alone: who wants so many digits means it.
_FLOATS = (_C.float16, _C.bfloat16, _C.float32)


def autocast_key(device_type: str) -> DispatchKey:
    """The layer of a device type. Raises ValueError where there is none."""
    key = _KEYS.get(device_type)
    if key is None:
        raise ValueError(f"autocast knows the device types 'cpu' and 'cuda', not {device_type!r}")
    return key


class autocast(_Guard):
    """Switches the autocast layer of a device type on for a with block of this thread, or off.

    It may be entered again, also inside. Raises ValueError for a device type without such a layer.
    """

    def __init__(self, device_type: str, enabled: bool = True) -> None:
        super().__init__()
        self._key = _C.DispatchKeySet(autocast_key(device_type))
        self._enabled = enabled

    def _begin(self) -> tuple["_C.DispatchKeySet", "_C.DispatchKeySet"]:
        include, exclude = _C.local_keys()
        former = include & self._key, exclude & self._key
        if self._enabled:
            _C.set_local_keys(_joined(include, self._key), _without(exclude, self._key))
        else:
            _C.set_local_keys(_without(include, self._key), _joined(exclude, self._key))
        return former

    def _end(self, former: tuple["_C.DispatchKeySet", "_C.DispatchKeySet"]) -> None:
        # Of whatever the block has changed, only this key goes back.
        include, exclude = _C.local_keys()
        _C.set_local_keys(
            _joined(_without(include, self._key), former[0]),
            _joined(_without(exclude, self._key), former[1]),
        )


def casting_kernel(op: "_C.OpOverload", device_type: str, dtype: "_C.dtype") -> Callable:
    """The kernel of one rule: casts, then calls the operator below the autocast layers."""
    if not isinstance(dtype, _C.dtype):
        raise TypeError(
            f"register_autocast: what {op.name()} casts to is a dtype, such as opyard.bfloat16, "
            f"not {type(dtype).__name__}"
        )
    for argument in op._schema.arguments:
        if argument.is_write:
            raise NotImplementedError(
                f"register_autocast: {op.name()} writes to its argument '{argument.name}', and a "
                "tensor that is cast is a copy, in which the write would be lost. Register it for "
                "an operator that makes new tensors; this one can cast in its own kernel. Got "
                f"{op._schema}"
            )
    layers = _C.DispatchKeySet(list(_KEYS.values()))

    def cast(value: Any) -> Any:
        if isinstance(value, _C.Tensor):
            eligible = (
                value.dtype in _FLOATS and value.dtype != dtype and value.device.type == device_type
            )
            return value.to(dtype) if eligible else value
        if isinstance(value, (list, tuple)):
            return type(value)(map(cast, value))
        if isinstance(value, dict):
            return {key: cast(each) for key, each in value.items()}
        return value

    def autocast_kernel(*args: Any, **kwargs: Any) -> Any:
        with ExcludeDispatchKeyGuard(layers):
            return op(*map(cast, args), **{name: cast(each) for name, each in kwargs.items()})

    return autocast_kernel
