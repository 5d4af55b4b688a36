"""Casts, and quantised numbers."""

from .convert import Converting, converts
from .convert_neural import conv
from .convert_shapes import same
from .nodes import Node, Unconverted
from .small_types import FLOATS, INTS, POWERS
from .tensors import ELEMENTS, held_as
from .writer import Known


def rounded_to_small(c: Converting, x: Known, elem: int, saturate: bool) -> Known:
    """The values of a type of few bits that are next to these, in the type that holds them."""
    if elem in INTS:
        kind = INTS[elem]
        y = c.emit("x.to(4)", x=x)
        # As bits are cut, what is out of range wraps around.
        body = "((y - least).remainder(count) + least).to(held)"
        held = 1 if kind.is_signed else 0
        y = c.emit(body, y=y, least=kind.least, count=1 << kind.bits, held=held)
    elif elem == POWERS:
        body = """
          let a = abs(x.to(7));
          let e = log2(a).clamp(-127.0, 127.0);
          let near = (if up { ceil(e - 1e-12) } else { floor(e + 1e-12) }).clamp(-127.0, 127.0);
          where(isnan(x), x.to(7), exp2(near)).to(6)
        """
        y = c.emit(body, x=x, up=True)
    else:
        small = FLOATS[elem]
        body = """
          let wide = x.to(7);
          let a = abs(wide);
          let e = floor(log2(where(a == 0, ones_like(a), a))).clamp(least, 1000.0);
          let step = exp2(e - fraction);
          let near = round(a / step) * step;
          let limit = if saturate { full_like(near, largest) } else { full_like(near, beyond) };
          let inner = where(near > largest, limit, near);
          let bounded = where(isinf(a), full_like(near, at_infinity), inner);
          let signed = bounded * where(wide < 0, ones_like(a).neg(), ones_like(a));
          where(isnan(wide), full_like(near, of_nan), signed).to(6)
        """
        beyond = float("inf") if small.has_infinity else float("nan")
        if not small.has_nan:
            beyond = small.largest
        y = c.emit(
            body,
            x=x,
            least=float(small.least_exponent),
            fraction=float(small.fraction_bits),
            largest=small.largest,
            beyond=beyond,
            at_infinity=small.largest if saturate or not small.has_nan else beyond,
            saturate=saturate or not small.has_nan,
            of_nan=float("nan") if small.has_nan else 0.0,
        )
    y.elem, y.rank = elem, x.rank
    return y


def cast(c: Converting, x: Known, elem: int, saturate: bool = True) -> Known:
    """A tensor in another element type."""
    if elem in INTS or elem in FLOATS or elem == POWERS:
        if elem == x.elem:
            return same(c.emit("x", x=x), x, x.rank)
        return rounded_to_small(c, x, elem, saturate)
    if elem not in ELEMENTS:
        raise Unconverted(f"a cast to type {elem} is not read: texts, or a type that is newer")
    made = c.emit("x.to(kind)", x=x, kind=ELEMENTS[elem].number)
    made.elem, made.rank = elem, x.rank
    return made


@converts("Cast")
def cast_(c: Converting, node: Node) -> Known:
    x = node.need(0)
    return cast(c, x, node["to"], node.get("saturate", 1) == 1)


@converts("CastLike")
def cast_like(c: Converting, node: Node) -> Known:
    x, like = node.needed(2)
    if like.elem is None:
        return same(c.emit("x.to(y_dtype)", x=x, y=like), like, x.rank)
    return cast(c, x, like.elem, node.get("saturate", 1) == 1)


# ---- quantised numbers


def spread(c: Converting, x: Known, scale: Known, axis: int, block: int) -> Known:
    """A scale or zero point in the shape of what it is of."""
    rank = scale.rank
    if rank is None:
        rank = 0
    if rank == 0:
        return scale
    if block:
        body = "s.repeat_interleave(block, axis).slice(axis, 0, size(x, axis))"
        return same(c.emit(body, s=scale, block=block, axis=axis, x=x), scale, x.rank)
    if rank == 1:
        body = """
          let shape = [1] * a + [-1] + [1] * (x_rank - a - 1);
          if numel(s) == 1 { s.reshape([]) } else { s.reshape(shape) }
        """
        at = axis if axis >= 0 else axis + (x.rank if x.rank is not None else 0)
        return same(c.emit(body, s=scale, a=at, x=x), scale)
    return scale


_RANGES = {
    2: (0, 255),
    3: (-128, 127),
    4: (0, 65535),
    5: (-32768, 32767),
    6: (-(1 << 31), (1 << 31) - 1),
}


def quantized(
    c: Converting, x: Known, scale: Known, zero: Known | None, elem: int, saturate: bool
) -> Known:
    """round(x / scale) + zero in the range of a type; scale and zero fit x already."""
    if elem in FLOATS:
        y = c.emit("x.to(6) / s.to(6)", x=x, s=scale)
        return rounded_to_small(c, y, elem, saturate)
    if elem in INTS:
        low, high = INTS[elem].least, INTS[elem].largest
    elif elem in _RANGES:
        low, high = _RANGES[elem]
    else:
        raise Unconverted(f"it gives elements of type {elem}, which are not quantised numbers")
    zero_text = "+ z.to(6)" if zero is not None else ""
    body = f"(round(x.to(6) / s.to(6)) {zero_text}).clamp(low, high).to(kind)"
    given = {"z": zero} if zero is not None else {}
    kind = ELEMENTS[held_as(elem)].number
    y = c.emit(body, x=x, s=scale, low=low, high=high, kind=kind, **given)
    y.elem, y.rank = elem, x.rank
    return y


@converts("QuantizeLinear")
def quantize_linear(c: Converting, node: Node) -> Known:
    x, scale, zero = node.need(0), node.need(1), node.input(2)
    elem = zero.elem if zero is not None else node.get("output_dtype", 0) or 2
    if elem is None:
        raise Unconverted("the file does not say the type of its zero point")
    axis, block = node.get("axis", 1), node.get("block_size", 0)
    wide = spread(c, x, scale, axis, block)
    if zero is not None:
        zero = spread(c, x, zero, axis, block)
    return quantized(c, x, wide, zero, elem, node.get("saturate", 1) == 1)


@converts("DequantizeLinear")
def dequantize_linear(c: Converting, node: Node) -> Known:
    x, scale, zero = node.need(0), node.need(1), node.input(2)
    axis, block = node.get("axis", 1), node.get("block_size", 0)
    wide = spread(c, x, scale, axis, block)
    elem = node.get("output_dtype", 0) or scale.elem
    kind = ELEMENTS[held_as(elem or 1)].number
    if zero is None:
        made = c.emit("(x.to(6) * s.to(6)).to(kind)", x=x, s=wide, kind=kind)
    else:
        z = spread(c, x, zero, axis, block)
        made = c.emit("((x.to(6) - z.to(6)) * s.to(6)).to(kind)", x=x, s=wide, z=z, kind=kind)
    made.elem, made.rank = elem, x.rank
    return made


@converts("DynamicQuantizeLinear")
def dynamic_quantize_linear(c: Converting, node: Node) -> list[Known]:
    body = """
      let low = amin(x).clamp(None, 0.0);
      let high = amax(x).clamp(0.0, None);
      let span = (high - low) / 255.0;
      let scale = where(span == 0, ones_like(span), span);
      let zero = round((low.neg() / scale).clamp(0.0, 255.0));
      (round(x / scale) + zero).clamp(0.0, 255.0).to(0), scale, zero.to(0)
    """
    y, scale, zero = c.emit_all(body, x=node.need(0))
    y.elem, scale.elem, zero.elem = 2, 1, 2
    scale.rank = zero.rank = 0
    return [y, scale, zero]


def _less(c: Converting, x: Known, zero: Known | None, rows: bool) -> Known:
    """Whole numbers without their zero point, which may be one for each row."""
    if zero is None:
        return c.emit("x.to(3)", x=x)
    if zero.rank == 1 and rows:
        body = "x.to(3) - (if numel(z) == 1 { z.reshape([]) } else { z.unsqueeze(-1) }).to(3)"
        return c.emit(body, x=x, z=zero)
    if zero.rank == 0:
        return c.emit("x.to(3) - z.to(3)", x=x, z=zero)
    return c.emit("x.to(3) - (if numel(z) == 1 { z.reshape([]) } else { z }).to(3)", x=x, z=zero)


@converts("MatMulInteger")
def matmul_integer(c: Converting, node: Node) -> Known:
    a, b = node.need(0), node.need(1)
    left, right = _less(c, a, node.input(2), True), _less(c, b, node.input(3), False)
    made = c.emit("matmul(a, b)", a=left, b=right)
    made.elem = 6
    return made


@converts("QLinearMatMul")
def qlinear_matmul(c: Converting, node: Node) -> Known:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = node.needed(8)
    left, right = _less(c, a, a_zero, True), _less(c, b, b_zero, False)
    body = """
      matmul(a.to(7), b.to(7)) * ((if numel(s) == 1 { s.reshape([])
        } else { s.unsqueeze(-1) }).to(7) * t.to(7))
    """
    product = c.emit(body, a=left, b=right, s=a_scale, t=b_scale)
    zero, elem = y_zero, y_zero.elem
    low, high = _RANGES.get(elem or 2, (0, 255))
    body = "(round(x / s.to(7)) + z.to(7)).clamp(low, high).to(kind)"
    kind = ELEMENTS[held_as(elem or 2)].number
    made = c.emit(body, x=product, s=y_scale, z=zero, low=low, high=high, kind=kind)
    made.elem = elem
    return made


def _conv_of(c: Converting, node: Node, x: Known, w: Known, given: "list[Known | None]") -> Known:
    x.rank = w.rank = given[0].rank if given[0] is not None else None
    x.elem = w.elem = 11
    inner = Node.__new__(Node)
    inner.__dict__.update(node.__dict__)
    inner.inputs = [x, w]
    return conv(c, inner)


_LESS = """
  let zero = if numel(z) == 1 { z.reshape([]) } else { z.reshape([-1] + [1] * (w_rank - 1)) };
  w.to(7) - zero.to(7)
"""


@converts("ConvInteger")
def conv_integer(c: Converting, node: Node) -> Known:
    x, w = node.need(0), node.need(1)
    body = "x.to(7) - z.reshape([]).to(7)"
    left = c.emit(body, x=x, z=node.input(2)) if node.input(2) else c.emit("x.to(7)", x=x)
    right = c.emit(_LESS, w=w, z=node.input(3)) if node.input(3) else c.emit("w.to(7)", w=w)
    made = c.emit("round(y).to(3)", y=_conv_of(c, node, left, right, [x, w]))
    made.elem, made.rank = 6, x.rank
    return made


@converts("QLinearConv")
def qlinear_conv(c: Converting, node: Node) -> Known:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = node.needed(8)
    bias = node.input(8)
    left = c.emit("x.to(7) - z.reshape([]).to(7)", x=x, z=x_zero)
    right = c.emit(_LESS, w=w, z=w_zero)
    y = _conv_of(c, node, left, right, [x, w])
    channels = "[1, -1] + [1] * (y_rank - 2)"
    if bias is not None:
        y = c.emit(f"y + b.to(7).reshape({channels})", y=y, b=bias)
    body = f"""
      let scale = if numel(t) == 1 {{ t.reshape([]) }} else {{ t.reshape({channels}) }};
      y * (s.reshape([]) * scale).to(7)
    """
    y = c.emit(body, y=y, s=x_scale, t=w_scale)
    low, high = _RANGES[y_zero.elem or 2]
    body = "(round(x / s.reshape([]).to(7)) + z.reshape([]).to(7)).clamp(low, high).to(kind)"
    kind = ELEMENTS[y_zero.elem or 2].number
    made = c.emit(body, x=y, s=y_scale, z=y_zero, low=low, high=high, kind=kind)
    made.elem, made.rank = y_zero.elem, x.rank
    return made
