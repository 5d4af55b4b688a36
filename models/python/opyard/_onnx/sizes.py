"""Sizes that an exporter computed by tensors, as whole numbers.

A reshape to what the sizes of a tensor say is, in an ONNX file, a chain of Shape, Gather, Concat
and the like on tensors of a few numbers. Here such a value is a list of numbers, known ones and
variables of type int, for as long as nothing but these operators use it; else it becomes a tensor.
"""

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from .tensors import Stored
from .writer import Known

if TYPE_CHECKING:
    from .convert import Converting
    from .nodes import Node

Item = Known | int


def _list(c: "Converting", items: list[Item], rank: int, elem: int | None = 7) -> Known:
    known = [each for each in items if isinstance(each, int)]
    elem = elem or 7
    if len(known) == len(items):
        size = 8 if elem == 7 else 4
        data = b"".join(each.to_bytes(size, "little", signed=True) for each in known)
        return c.constant(Stored(elem, (len(items),) if rank else (), data))
    return Known("", elem, rank, items=items)


def _fits(number: int, elem: int | None) -> bool:
    most = 1 << (31 if elem == 6 else 63)
    return -most <= number < most


def _items(value: Known | None) -> list[Item] | None:
    return value.items if value is not None else None


def _shape(c: "Converting", node: "Node") -> Known | None:
    (x,) = node.inputs
    if x is None or x.rank is None:
        return None
    if x.stored is not None:
        sizes: list[Item] = list(x.stored.shape)
    elif x.items is not None:
        sizes = [len(x.items)] * (x.rank or 0)
    else:
        sizes = [c.emit("size(x, i)", x=x, i=i) for i in range(x.rank)]
    start, end = node.get("start", 0), node.get("end", x.rank)
    return _list(c, sizes[slice(start, end)], 1)


def _gather(c: "Converting", node: "Node") -> Known | None:
    items, indices = _items(node.input(0)), node.input(1)
    places = c.numbers(indices)
    if items is None or indices is None or places is None or indices.rank not in (0, 1):
        return None
    if node.inputs[0].rank != 1 or any(not -len(items) <= at < len(items) for at in places):  # type: ignore[union-attr]
        return None
    return _list(c, [items[at] for at in places], indices.rank, node.inputs[0].elem)  # type: ignore[union-attr]


def _concat(c: "Converting", node: "Node") -> Known | None:
    parts = [_items(each) for each in node.inputs]
    if any(part is None for part in parts) or any(each.rank != 1 for each in node.inputs if each):
        return None
    joined = [item for part in parts for item in part or ()]
    return _list(c, joined, 1, node.inputs[0].elem if node.inputs[0] else 7)


def _slice(c: "Converting", node: "Node") -> Known | None:
    items = _items(node.input(0))
    if items is None or node.inputs[0].rank != 1 or node.version < 10:  # type: ignore[union-attr]
        return None
    bounds = [c.numbers(node.input(i)) for i in (1, 2)]
    steps = c.numbers(node.input(4)) if node.input(4) is not None else [1]
    if None in bounds or not steps or steps[0] == 0:
        return None
    (start,), (end,) = bounds  # type: ignore[misc]
    return _list(c, items[slice(start, end, steps[0])], 1, node.inputs[0].elem)  # type: ignore[union-attr]


def _reranked(rank: int) -> "Callable[[Converting, Node], Known | None]":
    def convert(c: "Converting", node: "Node") -> Known | None:
        items = _items(node.input(0))
        if items is None or node.inputs[0].rank == rank or len(items) != 1:  # type: ignore[union-attr]
            return None
        return _list(c, items, rank, node.inputs[0].elem)  # type: ignore[union-attr]

    return convert


def _same(c: "Converting", node: "Node") -> Known | None:
    value = node.input(0)
    if value is None or value.items is None:
        return None
    elem = node.get("to", value.elem)
    if elem == value.elem:
        return value
    known = [each for each in value.items if isinstance(each, int)]
    if elem not in (6, 7) or not all(_fits(each, elem) for each in known):
        return None
    return _list(c, value.items, value.rank or 0, elem)


def _whole_product(c: "Converting", node: "Node") -> Known | None:
    items = _items(node.input(0))
    axes = c.ints(node, 1, "axes")
    if items is None or axes not in (None, [0]) or node.inputs[0].rank != 1 or not items:  # type: ignore[union-attr]
        return None
    elem = node.inputs[0].elem  # type: ignore[union-attr]
    total: Item = 1
    for each in items:
        if isinstance(total, int) and isinstance(each, int):
            total *= each
        else:
            total = c.emit("a * b", a=total, b=each)
    if isinstance(total, int) and not _fits(total, elem):
        return None
    return _list(c, [total], node.get("keepdims", 1), elem)


def _arithmetic(
    body: str, known: Callable[[int, int], int]
) -> "Callable[[Converting, Node], Known | None]":
    def convert(c: "Converting", node: "Node") -> Known | None:
        left, right = _items(node.input(0)), _items(node.input(1))
        if left is None or right is None:
            return None
        elem = node.inputs[0].elem  # type: ignore[union-attr]
        count = max(len(left), len(right))
        if min(len(left), len(right)) not in (1, count):
            return None
        made: list[Item] = []
        for a, b in zip(left * (count // len(left)), right * (count // len(right)), strict=True):
            if isinstance(a, int) and isinstance(b, int):
                if b == 0 and "//" in body:
                    return None
                number = known(a, b)
                if not _fits(number, elem):
                    return None
                made.append(number)
            else:
                made.append(c.emit(body, a=a, b=b))
        return _list(c, made, max(each.rank or 0 for each in node.inputs if each), elem)

    return convert


def _quotient(a: int, b: int) -> int:
    return a // b if (a < 0) == (b < 0) else -(-a // b)


_CONVERTERS: "dict[str, Callable[[Converting, Node], Known | None]]" = {
    "Shape": _shape,
    "Gather": _gather,
    "Concat": _concat,
    "Slice": _slice,
    "Squeeze": _reranked(0),
    "Unsqueeze": _reranked(1),
    "Identity": _same,
    "Cast": _same,
    "ReduceProd": _whole_product,
    "Add": _arithmetic("a + b", operator.add),
    "Sub": _arithmetic("a - b", operator.sub),
    "Mul": _arithmetic("a * b", operator.mul),
    # Of two sizes, which are not negative, it is the same.
    "Div": _arithmetic("a // b", _quotient),
}


def sizes_of_node(c: "Converting", node: "Node") -> Known | None:
    """The whole numbers that a node gives, or None if it has to be an operator of tensors."""
    convert = _CONVERTERS.get(node.kind)
    return convert(c, node) if convert is not None else None
