"""Copying and pickling tensors: methods for the copy and pickle modules.

    copy.copy(t)       another tensor on the same memory
    copy.deepcopy(t)   a tensor with memory of its own, in the same order if nothing overlaps
    pickle             the elements in row-major order; with protocol 5 out of band if asked

An instance of a subclass stays one, made by Tensor.make_subclass(), not by its __new__ or
__init__; its attributes are those of __getstate__() if the class has that, else __dict__ and
__slots__. Tensors on one memory are on one memory afterwards, too: a tensor that is not alone on
its memory takes the whole of it along, strides and all, and clone() leaves the rest behind. Memory
that is read-only stays so if an unpickled tensor uses the bytes of the pickle. A leaf that requires
a gradient does so afterwards, too, and keeps the gradient that it has; what has a history is
refused.
"""

import copyreg
from pickle import PickleBuffer
from typing import Any, NoReturn
from weakref import WeakValueDictionary

from .. import _C
from .._C import Tensor, from_numpy

_MISSING = object()


def _attributes(tensor: Tensor) -> Any:
    """What to hand to __setstate__() or to _set_state(), or None."""
    cls = type(tensor)
    own = getattr(cls, "__getstate__", None)
    if own is not None and own is not getattr(object, "__getstate__", None):
        return tensor.__getstate__()
    attributes = dict(getattr(tensor, "__dict__", None) or {})
    slots = {}
    for name in copyreg._slotnames(cls) or ():
        # Not getattr(tensor, name): an empty slot would be looked for among the operators.
        try:
            slots[name] = getattr(cls, name).__get__(tensor, cls)
        except AttributeError:
            continue
    return (attributes, slots) if slots else attributes or None


def _set_attributes(tensor: Tensor, state: Any) -> None:
    if state is None:
        return
    if hasattr(type(tensor), "__setstate__"):
        tensor.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, {})
    if attributes:
        tensor.__dict__.update(attributes)
    for name, value in slots.items():
        setattr(tensor, name, value)


def _instance(cls: type, tensor: Tensor) -> Tensor:
    return tensor if cls is Tensor else Tensor.make_subclass(cls, tensor)


def _refuse_history(what: str) -> NoReturn:
    raise ValueError(
        f"{what}: the tensor has a history of gradients, which a copy would not have; copy "
        f"tensor.detach(), or call clone(), through which gradients flow"
    )


# The whole memory that tensors share, by its address. As long as such a tensor lives the memory
# does; copy and pickle hold what they have met until they end.
_memories: "WeakValueDictionary[int, Tensor]" = WeakValueDictionary()


def _memory_of(tensor: Tensor) -> Tensor | None:
    """The whole memory if other tensors may be on it, too, the same object for each of them.

    None for a tensor that is alone on its memory, and for the whole memory itself.
    """
    key = tensor._memory_key()
    if key is None:
        return None
    memory = _memories.get(key)
    if memory is None:
        memory = _memories[key] = tensor._memory()
    return None if memory is tensor else memory


def _is_memory(tensor: Tensor) -> bool:
    """Whether it is a whole memory, which has neither a class nor gradients of its own."""
    key = tensor._memory_key()
    return key is not None and _memories.get(key) is tensor


def copy(tensor: Tensor) -> Tensor:
    if not tensor.is_leaf:
        _refuse_history("copy")
    made = _instance(type(tensor), tensor._alias())
    if tensor.requires_grad:
        made.requires_grad_()
    _set_attributes(made, _attributes(tensor))
    return made


def _is_wrapper(tensor: Tensor) -> bool:
    """Whether its class answers operators for it, and it has no memory."""
    if type(tensor) is Tensor or tensor.numel() == 0 or not _C.tensor_keys(tensor).has("Python"):
        return False
    try:
        tensor.data_ptr()
    except ValueError:
        return True
    return False


def _cloned(tensor: Tensor) -> Tensor:
    """A wrapper's copy by the answer of its class to aten.clone."""
    from .._core.ops import ops

    kind = type(tensor)
    made = ops.aten.clone(tensor)
    if type(made) is not kind:
        raise TypeError(
            f"deepcopy: aten.clone of a {kind.__name__} gave a {type(made).__name__}; let its "
            f"__opyard_dispatch__ answer aten.clone with a {kind.__name__}, or define __deepcopy__"
        )
    return made


def _geometry(tensor: Tensor) -> tuple[_C.dtype, tuple[int, ...], tuple[int, ...], int]:
    return tensor.dtype, tensor.shape, tensor.strides, tensor.storage_offset()


def deepcopy(tensor: Tensor, memo: dict) -> Tensor:
    from copy import deepcopy

    known = memo.get(id(tensor), _MISSING)
    if known is not _MISSING:
        return known
    if _is_memory(tensor):
        made = memo[id(tensor)] = tensor._duplicate()
        return made
    if not tensor.is_leaf:
        _refuse_history("deepcopy")
    if _is_wrapper(tensor):
        made = memo[id(tensor)] = _cloned(tensor)
    else:
        memory = _memory_of(tensor)
        plain = (
            tensor._duplicate()
            if memory is None
            else deepcopy(memory, memo)._elements(*_geometry(tensor))
        )
        made = memo[id(tensor)] = _instance(type(tensor), plain)
        if tensor.requires_grad:
            made.requires_grad_()
            if tensor.grad is not None:
                made.grad = deepcopy(tensor.grad, memo)
    _set_attributes(made, deepcopy(_attributes(tensor), memo))
    return made


def rebuild(
    cls: type, dtype: _C.dtype, shape: tuple[int, ...], data: Any, requires_grad: bool = False
) -> Tensor:
    """A tensor on the bytes of a pickle; without any if there is no data."""
    if requires_grad:
        return rebuild(cls, dtype, shape, data).requires_grad_()
    if data is None:
        return _instance(cls, _C.empty_meta(dtype, shape))
    if not isinstance(dtype, _C.dtype):
        raise TypeError(f"a pickled tensor has a dtype of type {type(dtype).__name__}")
    flat = from_numpy(memoryview(data).cast("B"))
    if flat.data_ptr() % min(dtype.itemsize, 8):
        flat = flat._duplicate()
    return _instance(cls, flat._typed(dtype, shape))


def rebuild_on_memory(
    cls: type,
    memory: Tensor,
    dtype: _C.dtype,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
) -> Tensor:
    """A tensor on a memory that others are on, too."""
    return _instance(cls, memory._elements(dtype, shape, strides, offset))


def rebuild_leaf(function: Any, made_of: tuple, grad: "Tensor | None") -> Tensor:
    """What one of these functions makes, with a gradient."""
    tensor: Tensor = function(*made_of).requires_grad_()
    tensor.grad = grad
    return tensor


def reduce(tensor: Tensor, protocol: int) -> "str | tuple[Any, ...]":
    if type(tensor).__reduce__ is not object.__reduce__:
        return tensor.__reduce__()
    if _is_wrapper(tensor):
        kind = type(tensor).__name__
        raise TypeError(
            f"a {kind} cannot be pickled: it has no memory of its own. Define __reduce__(self) in "
            f"{kind}, which returns ({kind}, (what it wraps, …))"
        )
    if _is_memory(tensor):
        return *_parts(tensor, protocol), None
    if not tensor.is_leaf:
        _refuse_history("pickle")
    function, made_of = _parts(tensor, protocol)
    if tensor.requires_grad:
        function, made_of = rebuild_leaf, (function, made_of, tensor.grad)
    return function, made_of, _attributes(tensor)


def _parts(tensor: Tensor, protocol: int) -> tuple[Any, tuple]:
    """What makes it, and what of."""
    if tensor.device.type == "meta":
        return rebuild, (type(tensor), tensor.dtype, tensor.shape, None)
    memory = _memory_of(tensor)
    if memory is not None:
        return rebuild_on_memory, (type(tensor), memory, *_geometry(tensor))
    data: Any = PickleBuffer(tensor._bytes())
    if protocol < 5:
        view = memoryview(data)
        data = bytes(view) if view.readonly else bytearray(view)
    return rebuild, (type(tensor), tensor.dtype, tensor.shape, data)
