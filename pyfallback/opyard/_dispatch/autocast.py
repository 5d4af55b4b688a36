"""Autocast: operators that are called with tensors of a smaller or larger dtype than was given.

    opyard.library.register_autocast("demo::matmul", "cpu", opyard.bfloat16)
    with opyard.autocast("cpu"):
        opyard.ops.demo.matmul(x, y)      # the kernel sees bfloat16

It is a layer, AutocastCPU or AutocastCUDA, which every thread excludes until autocast() switches it
on. Operators without a rule pass it by. Those that write to an argument can have none, since they
would write to what was cast, a copy.
"""

import threading
from collections.abc import Callable
from typing import Any

from .. import _C
from .._core.keys import DispatchKey
from .._core.keywords import names_keywords
from .._tensor import dtypes
from .guards import ExcludeDispatchKeyGuard, _Former, _Guard, _joined, _without

_KEYS = {"cpu": DispatchKey.AutocastCPU, "cuda": DispatchKey.AutocastCUDA}
# float64 is left alone: so many digits are chosen on purpose.
_SMALL_FLOATS = (_C.float16, _C.bfloat16)
_FLOATS = (*_SMALL_FLOATS, _C.float32)
# What autocast(dtype=) says on this thread, by device type.
_chosen = threading.local()


def _require_dtype(what: str, named: Any) -> "_C.dtype":
    """A dtype, also by NumPy's or by a class."""
    found = named if isinstance(named, _C.dtype) else dtypes.find(named)
    if found is None:
        raise TypeError(
            f"{what} must be a dtype, such as opyard.bfloat16, not {type(named).__name__}"
        )
    return found


def autocast_key(device_type: str) -> DispatchKey:
    """The layer of a device type. Raises ValueError if there is none."""
    key = _KEYS.get(device_type)
    if key is None:
        raise ValueError(f"autocast knows the device types 'cpu' and 'cuda', not {device_type!r}")
    return key


def autocast_states() -> "list[tuple[str, bool, _C.dtype | None]]":
    """The arguments of autocast() by which each device type is as it is on this thread."""
    include, exclude = _C.local_keys()
    states = []
    for device_type, key in _KEYS.items():
        is_on = include.has(key) and not exclude.has(key)
        states.append((device_type, is_on, getattr(_chosen, device_type, None)))
    return states


class autocast(_Guard):
    """Switches the autocast layer of a device type on for a with block of this thread, or off.

    With `dtype`, rules that cast to a smaller dtype than float32 cast to this one in the block;
    rules for float32 stay, since they are there for the digits. It may be entered again, also
    inside. Raises ValueError for a device type without such a layer and for a dtype that is not
    bfloat16, float16 or float32, TypeError for what is no dtype.
    """

    @names_keywords
    def __init__(
        self, device_type: str, enabled: bool = True, *, dtype: "_C.dtype | None" = None
    ) -> None:
        super().__init__()
        if not isinstance(enabled, bool):
            raise TypeError(f"autocast: enabled must be True or False, not {enabled!r}")
        self._key = _C.DispatchKeySet(autocast_key(device_type))
        if dtype is not None:
            dtype = _require_dtype("autocast: dtype", dtype)
        if dtype is not None and dtype not in _FLOATS:
            raise ValueError(f"autocast casts to bfloat16, float16 or float32, not to {dtype}")
        self._device_type, self._dtype = device_type, dtype
        self._enabled = enabled

    def _begin(self) -> tuple["_Former", "_C.dtype | None"]:
        include, exclude = _C.local_keys()
        chosen = _chosen.__dict__
        # The item is made here: the end only replaces it, which needs no memory.
        former = (self._key, include, self._key, exclude), chosen.setdefault(self._device_type)
        if self._enabled:
            include, exclude = _joined(include, self._key), _without(exclude, self._key)
        else:
            include, exclude = _without(include, self._key), _joined(exclude, self._key)
        if self._dtype is not None:
            chosen[self._device_type] = self._dtype
        _C.set_local_keys(include, exclude)
        return former

    def _end(self, former: tuple["_Former", "_C.dtype | None"]) -> None:  # type: ignore[override]
        _chosen.__dict__[self._device_type] = former[1]
        # Of whatever the block has changed, only this key goes back.
        _C.put_back_keys(*former[0])


def casting_kernel(op: "_C.OpOverload", device_type: str, dtype: "_C.dtype") -> Callable:
    """The kernel of one rule: casts, then calls the operator below the autocast layers."""
    dtype = _require_dtype(f"register_autocast: what {op.name()} casts to", dtype)
    for argument in op._schema.arguments:
        if argument.is_write:
            raise NotImplementedError(
                f"register_autocast: {op.name()} writes to its argument '{argument.name}', and a "
                "tensor that is cast is a copy, in which the write would be lost. Register it for "
                "an operator that makes new tensors; this one can cast in its own kernel. Got "
                f"{op._schema}"
            )
    layers = _C.DispatchKeySet(list(_KEYS.values()))

    def cast(value: Any, to: "_C.dtype") -> Any:
        if isinstance(value, _C.Tensor):
            eligible = (
                value.dtype in _FLOATS and value.dtype != to and value.device.type == device_type
            )
            return value.to(to) if eligible else value
        if isinstance(value, (list, tuple)):
            return type(value)(cast(each, to) for each in value)
        if isinstance(value, dict):
            return {key: cast(each, to) for key, each in value.items()}
        return value

    def autocast_kernel(*args: Any, **kwargs: Any) -> Any:
        to = dtype
        if dtype in _SMALL_FLOATS:
            to = _chosen.__dict__.get(device_type) or dtype
        with ExcludeDispatchKeyGuard(layers):
            given = [cast(each, to) for each in args]
            return op(*given, **{name: cast(each, to) for name, each in kwargs.items()})

    return autocast_kernel
