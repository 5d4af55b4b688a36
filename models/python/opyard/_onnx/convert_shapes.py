"""Shapes whose text depends on how many axes there are: reshape, slice, pad, split and others."""

from .convert import Converting, converts
from .filling import FOLDED
from .nodes import Node, Unconverted
from .tensors import ELEMENTS, Stored
from .values import to_tensor
from .writer import Known

LARGE = 1 << 62


def same(made: Known, like: Known | None, rank: int | None = None) -> Known:
    """A result with the element type of an input."""
    made.elem = like.elem if like is not None else None
    made.rank = rank
    return made


def require_rank(x: Known, node: Node) -> int:
    """Raises Unconverted if the file does not say how many dimensions a value has."""
    if x.rank is None:
        raise Unconverted(
            "the file does not say how many dimensions its input has; run onnx.shape_inference"
        )
    return x.rank


def _all_known(items: object) -> bool:
    return isinstance(items, list) and all(isinstance(each, int) for each in items)


@converts("Reshape")
def reshape(c: Converting, node: Node) -> Known:
    x, shape = node.need(0), node.input(1)
    keeps_zero = node.get("allowzero", 0) == 1
    given = node.get("shape") if shape is None else shape.items
    if shape is not None and given is None:
        given = c.numbers(shape)
    if x.stored is not None and x.stored.count <= FOLDED and _all_known(given):
        sizes = [
            x.stored.shape[at] if n == 0 and not keeps_zero else n for at, n in enumerate(given)
        ]
        made = to_tensor(x.stored).reshape(sizes)
        return c.constant(Stored(x.stored.elem, tuple(made.shape), x.stored.data))
    if given is not None:
        items = [
            c.emit("size(x, i)", x=x, i=at)
            if isinstance(each, int) and each == 0 and not keeps_zero
            else each
            for at, each in enumerate(given)
        ]
        return same(c.emit("x.reshape(shape)", x=x, shape=c.list_of(items)), x, len(items))
    if not keeps_zero:
        shape = c.emit(
            """
              let own = constant_pad_nd(aten.tensor(size(x), dtype=4), [0, numel(s) - x.dim()], 0);
              where(s == 0, own, s)
            """,
            s=shape,
            x=x,
        )
    return same(c.emit("x.reshape(shape)", x=x, shape=c.int_list(shape or node.need(1))), x)


@converts("Transpose")
def transpose(c: Converting, node: Node) -> Known:
    x = node.need(0)
    order = node.get("perm")
    if order is None:
        order = list(reversed(range(require_rank(x, node))))
    return same(c.emit("x.permute(order)", x=x, order=order), x, len(order))


@converts("Unsqueeze")
def unsqueeze(c: Converting, node: Node) -> Known:
    x, axes = node.need(0), c.ints(node, 1, "axes")
    if isinstance(axes, list) and (x.rank is not None or all(each >= 0 for each in axes)):
        rank = None if x.rank is None else x.rank + len(axes)
        axes = sorted(each % rank if rank else each for each in axes)
        return same(c.fold_list(axes, x, "y.unsqueeze(i)"), x, rank)
    if isinstance(axes, list):
        axes = c.list_of(axes)
    rank_ = c.emit("x.dim() + len(axes)", x=x, axes=axes)
    ordered = c.emit("aten.tensor(axes, dtype=4).remainder(n).sort()[0]", axes=axes, n=rank_)
    return same(c.fold_list(c.int_list(ordered), x, "y.unsqueeze(i)"), x)


@converts("Split")
def split(c: Converting, node: Node) -> list[Known]:
    x, parts = node.need(0), c.ints(node, 1, "split")
    axis, count = node.get("axis", 0), len(node.outputs)
    if parts is None:
        each = c.emit("(size(x, axis) + n - 1) // n", x=x, axis=axis, n=count)
        chunks = c.emit("aten.split(x, each, axis)", x=x, each=each, axis=axis)
    else:
        chunks = c.emit("split_with_sizes(x, parts, axis)", x=x, parts=parts, axis=axis)
    return [
        same(c.emit("__getitem__(parts, i)", parts=chunks, i=i), x, x.rank) for i in range(count)
    ]


_FORWARD = "y.slice(axis, start, end, step)"
_BACKWARD = """
  let n = size(y, axis);
  let s = if start < 0 { prim.max(start + n, -1) } else { prim.min(start, n - 1) };
  let e = if end < 0 { prim.max(end + n, -1) } else { prim.min(end, n - 1) };
  y.flip([axis]).slice(axis, n - 1 - s, n - 1 - e, -step)
"""


@converts("Slice")
def slice_(c: Converting, node: Node) -> Known:
    x = node.need(0)
    if node.version < 10:
        starts, ends, axes, steps = node["starts"], node["ends"], node.get("axes"), None
    else:
        starts, ends, axes, steps = (c.ints(node, i, "") for i in range(1, 5))
    known = [each for each in (starts, ends, axes, steps) if isinstance(each, list)]
    if known and all(
        each is None or isinstance(each, list) for each in (starts, ends, axes, steps)
    ):
        axes = axes if axes is not None else list(range(len(starts)))
        steps = steps or [1] * len(starts)
        y = x
        for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
            body = _FORWARD if step > 0 else _BACKWARD
            y = c.emit(body, y=y, start=start, end=end, axis=axis, step=step)
        return same(c.emit("y", y=y) if y is x else y, x, x.rank)
    lists = [
        each if each is None or isinstance(each, Known) else c.list_of(each)
        for each in (starts, ends, axes, steps)
    ]

    def step_of(index: Known, y: Known) -> list[Known]:
        items = [
            c.emit("__getitem__(x, i)", x=each, i=index) if each is not None else None
            for each in lists
        ]
        start, end, axis, step = items
        given = {"start": start, "end": end, "axis": axis or index, "step": step or 1}
        body = _FORWARD if step is None else f"if step > 0 {{ {_FORWARD} }} else {{ {_BACKWARD} }}"
        return [c.emit(body, y=y, **given)]

    (made,) = c.repeat(c.emit("len(x)", x=lists[0]), [x], step_of)
    return same(made, x, x.rank)


_PADS = {
    "constant": "constant_pad_nd(y.movedim(axis, -1), [low, high], value).movedim(-1, axis)",
    "edge": "y.index_select(axis, arange(-low, size(y, axis) + high).clamp(0, size(y, axis) - 1))",
    "wrap": "y.index_select(axis, arange(-low, size(y, axis) + high).remainder(size(y, axis)))",
    "reflect": """
      let n = prim.max(size(y, axis) - 1, 1);
      let at = arange(-low, size(y, axis) + high).remainder(2 * n);
      y.index_select(axis, where(at > n, rsub(at, 2 * n), at))
    """,
}


@converts("Pad")
def pad(c: Converting, node: Node) -> Known:
    x, pads = node.need(0), c.ints(node, 1, "pads")
    mode = node.get("mode", "constant")
    if mode not in _PADS:
        raise Unconverted(f"its mode {mode!r} is not known")
    value: object = node.get("value", 0.0)
    given = node.input(2)
    if given is not None:
        value = c.number(given, "float" if given.elem in (1, 10, 11, 16) else "int")
    elif x.elem not in (1, 10, 11, 16, None):
        value = 0
    axes = c.ints(node, 3, "")
    if isinstance(pads, list) and (axes is None or isinstance(axes, list)):
        axes = axes if axes is not None else list(range(len(pads) // 2))
        half = len(pads) // 2
        if mode == "constant" and x.rank is not None:
            flat = [0] * (2 * x.rank)
            for k, axis in enumerate(axes):
                place = 2 * (x.rank - 1 - axis % x.rank)
                flat[place : place + 2] = pads[k], pads[half + k]
            return same(
                c.emit("constant_pad_nd(x, flat, value)", x=x, flat=flat, value=value), x, x.rank
            )
        y = x
        for k, axis in enumerate(axes):
            y = c.emit(_PADS[mode], y=y, axis=axis, low=pads[k], high=pads[half + k], value=value)
        return same(c.emit("y", y=y) if y is x else y, x, x.rank)
    pads = c.list_of(pads) if isinstance(pads, list) else pads
    axes = c.list_of(axes) if isinstance(axes, list) else axes

    def step(index: Known, y: Known) -> list[Known]:
        axis = index if axes is None else c.emit("__getitem__(x, i)", x=axes, i=index)
        low = c.emit("__getitem__(x, i)", x=pads, i=index)
        high = c.emit("__getitem__(x, i + len(x) // 2)", x=pads, i=index)
        return [c.emit(_PADS[mode], y=y, axis=axis, low=low, high=high, value=value)]

    (made,) = c.repeat(c.emit("len(x) // 2", x=pads), [x], step)
    return same(made, x, x.rank)


@converts("ConstantOfShape")
def constant_of_shape(c: Converting, node: Node) -> Known:
    shape, value = c.ints(node, 0, ""), node.get("value")
    elem = value.elem if isinstance(value, Stored) else 1
    number = value.numbers()[0] if isinstance(value, Stored) else 0.0
    kind = ELEMENTS[elem]
    if (
        isinstance(shape, list)
        and len(shape) <= 1
        and all(each <= 64 for each in shape)
        and elem == 7
    ):
        data = int(number).to_bytes(8, "little", signed=True) * (shape[0] if shape else 1)
        return c.constant(Stored(7, tuple(shape), data))
    made = c.emit("full(shape, number, dtype=kind)", shape=shape, number=number, kind=kind.number)
    made.elem, made.rank = elem, len(shape) if isinstance(shape, list) else None
    return made


@converts("Constant")
def constant(c: Converting, node: Node) -> Known:
    import struct

    value = node.get("value")
    if isinstance(value, Stored):
        return c.constant(value)
    for name, elem, code in (("value_float", 1, "f"), ("value_int", 7, "q")):
        if node.has(name):
            return c.constant(Stored(elem, (), struct.pack(f"<{code}", node[name])))
    for name, elem, code in (("value_floats", 1, "f"), ("value_ints", 7, "q")):
        if node.has(name):
            numbers = node[name]
            data = struct.pack(f"<{len(numbers)}{code}", *numbers)
            return c.constant(Stored(elem, (len(numbers),), data))
    raise Unconverted("its value is no tensor of numbers")


@converts("Range")
def range_(c: Converting, node: Node) -> Known:
    start, limit, step = node.needed(3)
    numbers = [c.numbers(each) for each in node.inputs]
    kind = "float" if start.elem in (1, 10, 11, 16) else "int"
    if kind == "int" and all(numbers):
        (low,), (high,), (by,) = numbers  # type: ignore[misc]
        if by and len(range(low, high, by)) <= 64 and start.elem == 7:
            items = range(low, high, by)
            data = b"".join(each.to_bytes(8, "little", signed=True) for each in items)
            return c.constant(Stored(7, (len(items),), data))
    given = {
        name: c.number(each, kind) for name, each in zip("abs", (start, limit, step), strict=True)
    }
    made = c.emit("arange(a, b, s).to(kind)", kind=ELEMENTS[start.elem or 7].number, **given)
    return same(made, start, 1)


@converts("EyeLike")
def eye_like(c: Converting, node: Node) -> Known:
    x = node.need(0)
    elem = node.get("dtype", x.elem or 1)
    body = """
      let rows = arange(size(x, 0)).unsqueeze(1);
      (arange(size(x, 1)).unsqueeze(0) - rows == k).to(kind)
    """
    made = c.emit(body, x=x, k=node.get("k", 0), kind=ELEMENTS[elem].number)
    made.elem, made.rank = elem, 2
    return made


@converts("OneHot")
def one_hot(c: Converting, node: Node) -> Known:
    indices, depth, values = node.needed(3)
    body = """
      let at = i.to(4).unsqueeze(-1);
      let hot = where(at < 0, at + n, at) == arange(n);
      where(hot, v.select(0, 1), v.select(0, 0)).movedim(-1, axis)
    """
    given = {"i": indices, "n": c.number(depth, "int"), "v": values}
    rank = None if indices.rank is None else indices.rank + 1
    return same(c.emit(body, axis=node.get("axis", -1), **given), values, rank)


@converts("CenterCropPad")
def center_crop_pad(c: Converting, node: Node) -> Known:
    x, axes = node.need(0), node.get("axes")
    if axes is None:
        axes = list(range(require_rank(x, node)))
    y = x
    body = """
      let n = size(y, axis);
      let cut = prim.max(n - size, 0);
      let middle = y.slice(axis, cut // 2, cut // 2 + prim.min(n, size));
      let more = prim.max(size - n, 0);
      constant_pad_nd(middle.movedim(axis, -1), [more // 2, more - more // 2], 0).movedim(-1, axis)
    """
    sizes = c.ints(node, 1, "")
    for k, axis in enumerate(axes):
        item: object = (
            sizes[k] if isinstance(sizes, list) else c.emit("__getitem__(x, k)", x=sizes, k=k)
        )
        y = c.emit(body, y=y, axis=axis, size=item)
    return same(y, x, x.rank)


@converts("ReduceProd")
def reduce_prod(c: Converting, node: Node) -> Known:
    x, axes = node.need(0), c.ints(node, 1, "axes")
    keep = node.get("keepdims", 1)
    if not axes:
        if node.get("noop_with_empty_axes", 0):
            return same(c.emit("x", x=x), x, x.rank)
        body = "let y = prod(x).to(x_dtype); if keep == 1 { y.reshape([1] * x_rank) } else { y }"
        return same(c.emit(body, x=x, keep=keep), x)
    y = c.fold_list(axes, x, "y.prod(i, True).to(x_dtype)", x=x)
    return same(y if keep else c.emit("y.squeeze(axes)", y=y, axes=axes), x)


@converts("ReduceLogSumExp")
def reduce_log_sum_exp(c: Converting, node: Node) -> Known:
    x, axes = node.need(0), c.ints(node, 1, "axes")
    keep = node.get("keepdims", 1)
    if not axes:
        if node.get("noop_with_empty_axes", 0):
            return same(c.emit("x", x=x), x, x.rank)
        axes = list(range(require_rank(x, node)))
    return same(c.emit("x.logsumexp(axes, keep == 1)", x=x, axes=axes, keep=keep), x)


def _variadic(body: str, c: Converting, node: Node) -> Known:
    first, *rest = (each for each in node.inputs if each is not None)
    y = first
    for each in rest:
        y = c.emit(body, y=y, x=each)
    ranks = [each.rank for each in (first, *rest)]
    rank = None if None in ranks else max(each or 0 for each in ranks)
    return same(c.emit("y", y=y) if y is first else y, first, rank)


@converts("Max")
def maximum(c: Converting, node: Node) -> Known:
    return _variadic("maximum(y, x)", c, node)


@converts("Min")
def minimum(c: Converting, node: Node) -> Known:
    return _variadic("minimum(y, x)", c, node)


@converts("Sum")
def sum_(c: Converting, node: Node) -> Known:
    return _variadic("y + x", c, node)


@converts("Mean")
def mean(c: Converting, node: Node) -> Known:
    total = _variadic("y + x", c, node)
    count = sum(each is not None for each in node.inputs)
    return same(c.emit("y / n", y=total, n=count), total, total.rank)


@converts("Clip")
def clip(c: Converting, node: Node) -> Known:
    x = node.need(0)
    given = [node.input(1), node.input(2)] if node.version >= 11 else [None, None]
    known: list[float | None] = []
    for bound, name in zip(given, ("min", "max"), strict=True):
        numbers = c.numbers(bound)
        known.append(float(numbers[0]) if numbers else node.get(name))
    is_known = all(bound is None or c.numbers(bound) for bound in given)
    if is_known and x.elem in (1, 10, 11, 16):
        low, high = known
        body = "x" if low is None and high is None else "x.clamp(low, high)"
        return same(c.emit(body, x=x, low=low, high=high), x, x.rank)
    y = c.emit("x", x=x)
    for bound, body in zip(given, ("maximum(y, b)", "minimum(y, b)"), strict=True):
        if bound is not None:
            y = c.emit(body, y=y, b=bound)
    return same(y, x, x.rank)
