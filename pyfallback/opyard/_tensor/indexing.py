"""Indexing: t[index] and t[index] = value in terms of aten operators.

An index is one item or a tuple of items, worked off from the first dimension on:

    item                            dimensions used   gives
    int, or what has __index__      1                 that element; the dimension is gone
    slice with a positive step      1                 a part of the dimension
    None                            0                 a new dimension of size 1
    Ellipsis                        the ones left     these dimensions as they are
    bool, bool tensor or list       as many as it has the elements where it is True
    integer tensor, list or array   1                 those elements, in the index's shape

The first four give views; bool and integer tensors and lists give copies, by aten.index. Ints
are taken first, as views, even between indices that are tensors.

If an index has only ints and slices of plain ints, objects/tensor/tensor_views.cpp calls the
same operators without coming here; what is changed here is changed there.
"""

import operator

from .. import _C
from .._core.ops import ops
from .symbolic import SymInt

_SEQUENCES = (list, tuple, range)
_NUMBERS = (bool, int, float)
_ACCEPTED = "ints, slices, None, '...', and tensors, lists and arrays of bool or int are accepted"


def get_item(tensor: "_C.Tensor", index: object) -> "_C.Tensor":
    """tensor[index]. Raises IndexError and TypeError for an index that does not fit."""
    if type(index) is int:
        return _select(_indexable(tensor), 0, index)
    if type(index) is slice and tensor.ndim != 0:
        view = _slice(tensor, 0, index)
        return ops.aten.alias(tensor) if view is tensor else view
    if type(index) is tuple and _only_ints_and_slices(tensor, index):
        view = get_part(tensor, index)
        return ops.aten.alias(tensor) if view is tensor else view
    view, indices = _view(tensor, index)
    if indices:
        return ops.aten.index(view, indices)
    return ops.aten.alias(tensor) if view is tensor else view


def _only_ints_and_slices(tensor: "_C.Tensor", index: tuple) -> bool:
    """Whether get_part() takes the index: neither bools nor more items than dimensions."""
    for item in index:
        kind = type(item)
        if kind is not int and kind is not slice:
            return False
    return len(index) <= tensor.ndim


def get_part(tensor: "_C.Tensor", index: "tuple[int | slice, ...]", dim: int = 0) -> "_C.Tensor":
    """What _view() gives for ints and slices alone, by the same operators in the same order.

    The first item is for the dimension `dim`.
    """
    view = tensor
    for item in index:
        if type(item) is slice:
            view = _slice(view, dim, item)
            dim += 1
            continue
        view = _select(view, dim, item)
    return view


def set_item(tensor: "_C.Tensor", index: object, value: object) -> None:
    """tensor[index] = value: a number, a tensor that broadcasts, or what opyard.tensor() takes.

    A value may have more dimensions than the part that it is for, if the first ones have the size
    1. Values are converted to the tensor's dtype. Of an element that is named twice the last value
    stays. Raises what get_item() raises, and ValueError for a value that does not broadcast and
    for memory that is read-only.
    """
    view, indices = _view(tensor, index)
    if indices:
        source = _without_leading_ones(_as_tensor(value, view.dtype))
        ops.aten.index_put_(view, indices, ops.aten.to(source, view.dtype))
    elif isinstance(value, _NUMBERS):
        ops.aten.fill_(view, value)
    else:
        source = _as_tensor(value, view.dtype)
        ops.aten.copy_(view, _without_leading_ones(source) if source.ndim > view.ndim else source)


def _view(tensor: "_C.Tensor", index: object) -> "tuple[_C.Tensor, list[_C.Tensor | None]]":
    """Takes off ints, slices and new dimensions; gives the view and one index for each dimension.

    The list is empty if there is no index tensor, and else ends with the last of them.
    """
    items = [_item(item) for item in (index if isinstance(index, tuple) else (index,))]
    view, dim, indices = tensor, 0, []
    for item in _without_ellipsis(tensor, items):
        if isinstance(item, int):
            view = _select(view, dim, item)
        elif item is None:
            view = ops.aten.unsqueeze(view, dim)
            dim += 1
        elif isinstance(item, slice):
            view = _slice(view, dim, item)
            dim += 1
        else:
            if item.ndim == 0:  # a bool: a new dimension of which all or nothing is taken
                view, item = ops.aten.unsqueeze(view, dim), ops.aten.unsqueeze(item, 0)
            indices += [None] * (dim - _covered(indices)) + [item]
            dim += _dims_used(item)
    return view, indices


def _covered(indices: "list[_C.Tensor | None]") -> int:
    """How many dimensions the indices so far stand for."""
    return sum(1 if index is None else _dims_used(index) for index in indices)


def _dims_used(item: object) -> int:
    if item is None:
        return 0
    return item.ndim if isinstance(item, _C.Tensor) and item.dtype is _C.bool else 1


def _item(item: object) -> object:
    """One item as int, slice, None, Ellipsis or Tensor; an integer without dimensions is an int."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, bool):
        return _C.tensor(item)
    if isinstance(item, _C.Tensor):
        is_int = item.ndim == 0 and item.dtype is not _C.bool
        return operator.index(item) if is_int else item
    if isinstance(item, _SEQUENCES):
        return _C.tensor(item, dtype=None if _holds_something(item) else _C.int64)
    if hasattr(item, "__index__") and not hasattr(item, "ndim"):
        return operator.index(item)
    try:
        # Arrays of any library; scalars of NumPy have a buffer alone.
        return _item(_C.tensor(item if hasattr(item, "__dlpack__") else memoryview(item)))
    except TypeError:
        raise TypeError(
            f"a tensor cannot be indexed with a {type(item).__name__}; {_ACCEPTED}"
        ) from None


def _holds_something(items: object) -> bool:
    return any(not isinstance(item, _SEQUENCES) or _holds_something(item) for item in items)


def _without_ellipsis(tensor: "_C.Tensor", items: list) -> list:
    """The items with `...` written out as slices."""
    gaps = [at for at, item in enumerate(items) if item is Ellipsis]
    if len(gaps) > 1:
        raise IndexError(
            "an index has more than one '...'; one at most says which dimensions to skip"
        )
    used = sum(_dims_used(item) for item in items if item is not Ellipsis)
    if used > tensor.ndim:
        raise IndexError(
            f"an index uses {used} dimensions, and the tensor of shape {list(tensor.shape)} has "
            f"{tensor.ndim}"
        )
    if gaps:
        items[gaps[0] : gaps[0] + 1] = [slice(None)] * (tensor.ndim - used)
    return items


def _indexable(tensor: "_C.Tensor") -> "_C.Tensor":
    if tensor.ndim == 0:
        raise IndexError(
            "an index uses 1 dimension, and the tensor has none; item() gives its number"
        )
    return tensor


def _select(view: "_C.Tensor", dim: int, index: int) -> "_C.Tensor":
    try:
        return ops.aten.select(view, dim, index)
    except TypeError:
        _require_64_bits(view, dim, index)
        raise


def _require_64_bits(view: "_C.Tensor", dim: int, index: int) -> None:
    """An int past 64 bits is out of range here, and no argument at all to the operator."""
    if -(2**63) <= index < 2**63:
        return
    size = view.size(dim)
    accepted = f"accepted are {-size} to {size - 1}" if size else "it has no elements"
    raise IndexError(
        f"index {index} is out of range for dimension {dim}, which has the size {size}; {accepted}"
    ) from None


def _slice(view: "_C.Tensor", dim: int, item: slice) -> "_C.Tensor":
    if item.start is None and item.stop is None and item.step is None:
        return view
    size = view.size(dim)
    if any(isinstance(bound, SymInt) for bound in (size, item.start, item.stop)):
        step = 1 if item.step is None else operator.index(item.step)
        _refuse_backwards(step)
        whole = item.start is None and item.stop is None and step == 1
        return view if whole else ops.aten.slice(view, dim, item.start, item.stop, step)
    start, stop, step = item.indices(size)
    _refuse_backwards(step)
    if start == 0 and stop == size and step == 1:
        return view
    return ops.aten.slice(view, dim, start, stop, min(step, max(size, 1)))


def _refuse_backwards(step: int) -> None:
    if step < 0:
        raise ValueError(
            f"a tensor is sliced with the step {step}; accepted are 1 and more, since views of "
            "tensors run forwards"
        )


def _as_tensor(value: object, dtype: "_C.dtype") -> "_C.Tensor":
    return value if isinstance(value, _C.Tensor) else _C.tensor(value, dtype=dtype)


def _without_leading_ones(value: "_C.Tensor") -> "_C.Tensor":
    """What broadcasts in the same way, and to fewer dimensions."""
    while value.ndim > 0 and isinstance(value.size(0), int) and value.size(0) == 1:
        value = ops.aten.select(value, 0, 0)
    return value
