"""Convolutions and pooling: paddings of every kind, dilation, sizes rounded up."""

from collections.abc import Sequence
from dataclasses import dataclass

from .convert import Converting, converts
from .convert_shapes import require_rank, same
from .nodes import Node, Unconverted
from .writer import Known

Size = Known | int


@dataclass
class Window:
    """How a window goes over an input: a number a spatial dimension."""

    kernel: list[Size]
    stride: list[int]
    dilation: list[int]
    low: list[Size]
    high: list[Size]

    @property
    def is_padded(self) -> bool:
        return any(not isinstance(each, int) or each != 0 for each in (*self.low, *self.high))

    @property
    def is_symmetric(self) -> bool:
        """Whether both ends have the same padding, known and at most half the window."""
        return all(
            isinstance(a, int) and a == b and 0 <= a <= k // 2
            for a, b, k in zip(self.low, self.high, self.kernel, strict=True)
        )


def window_of(c: Converting, node: Node, x: Known, kernel: "list[Size]") -> Window:
    """The window that the attributes say; paddings that depend on sizes are computed."""
    n = len(kernel)
    stride = node.get("strides") or [1] * n
    dilation = node.get("dilations") or [1] * n
    auto = node.get("auto_pad", "NOTSET")
    if not len(stride) == len(dilation) == n:
        raise Unconverted(f"strides {stride} and dilations {dilation} do not fit a window {kernel}")
    if auto in ("NOTSET", ""):
        pads = node.get("pads") or [0] * (2 * n)
        if len(pads) != 2 * n:
            raise Unconverted(f"pads {pads} do not fit a window {kernel}")
        return Window(kernel, stride, dilation, pads[:n], pads[n:])
    if auto == "VALID":
        return Window(kernel, stride, dilation, [0] * n, [0] * n)
    low: list[Size] = []
    high: list[Size] = []
    for i in range(n):
        total = c.emit(
            "let n = size(x, axis); prim.max(((n + s - 1) // s - 1) * s + (k - 1) * d + 1 - n, 0)",
            x=x,
            axis=2 + i,
            s=stride[i],
            k=kernel[i],
            d=dilation[i],
        )
        half, rest = c.emit("t // 2", t=total), c.emit("t - t // 2", t=total)
        low.append(half if auto == "SAME_UPPER" else rest)
        high.append(rest if auto == "SAME_UPPER" else half)
    return Window(kernel, stride, dilation, low, high)


def padded(
    c: Converting, x: Known, low: Sequence[Size], high: Sequence[Size], value: float
) -> Known:
    """The last dimensions with more elements at both ends."""
    flat = [each for pair in zip(reversed(low), reversed(high), strict=True) for each in pair]
    pads = flat if all(isinstance(each, int) for each in flat) else c.list_of(flat)
    return same(c.emit("constant_pad_nd(x, pads, value)", x=x, pads=pads, value=value), x, x.rank)


def _kernel_of(c: Converting, node: Node, weight: Known) -> "list[Size]":
    kernel = node.get("kernel_shape")
    if kernel is None and weight.stored is not None:
        kernel = list(weight.stored.shape[2:])
    if kernel is None:
        rank = require_rank(weight, node)
        kernel = [c.emit("size(w, i)", w=weight, i=i) for i in range(2, rank)]
    return kernel


@converts("Conv")
def conv(c: Converting, node: Node) -> Known:
    x, w, b = node.need(0), node.need(1), node.input(2)
    window = window_of(c, node, x, _kernel_of(c, node, w))
    symmetric = all(isinstance(each, int) for each in window.low) and window.low == window.high
    n = len(window.kernel)
    if not 1 <= n <= 3:
        raise Unconverted(f"it has {n} spatial dimensions, and 1 to 3 are known")
    if not symmetric:
        x = padded(c, x, window.low, window.high, 0)
        window.low = [0] * n
    bias = "b" if b is not None else "None"
    made = c.emit(
        f"conv{n}d(x, w, {bias}, stride, low, dilation, groups)",
        x=x,
        w=w,
        **({"b": b} if b is not None else {}),
        stride=window.stride,
        low=window.low,
        dilation=window.dilation,
        groups=node.get("group", 1),
    )
    return same(made, x, n + 2)


@converts("ConvTranspose")
def conv_transpose(c: Converting, node: Node) -> Known:
    x, w, b = node.need(0), node.need(1), node.input(2)
    kernel = _kernel_of(c, node, w)
    n = len(kernel)
    stride, dilation = node.get("strides") or [1] * n, node.get("dilations") or [1] * n
    more, pads = node.get("output_padding") or [0] * n, node.get("pads") or [0] * (2 * n)
    auto, shape = node.get("auto_pad", "NOTSET"), node.get("output_shape")
    if not 1 <= n <= 3:
        raise Unconverted(f"it has {n} spatial dimensions, and 1 to 3 are known")
    y = c.emit(
        f"conv_transpose{n}d(x, w, None, stride, [0] * n, [0] * n, groups, dilation)",
        x=x,
        w=w,
        stride=stride,
        n=n,
        groups=node.get("group", 1),
        dilation=dilation,
    )
    low: list[Size] = []
    high: list[Size] = []
    for i in range(n):
        if shape is None and not auto.startswith("SAME"):
            low.append(-pads[i])
            high.append(more[i] - pads[n + i])
            continue
        wanted: Size = (
            shape[-n:][i]
            if shape is not None
            else c.emit("size(x, a) * s", x=x, a=2 + i, s=stride[i])
        )
        body = "let t = size(y, a) + more - wanted; if upper { t // 2 } else { t - t // 2 }"
        cut = c.emit(body, y=y, a=2 + i, more=more[i], wanted=wanted, upper=auto == "SAME_UPPER")
        low.append(c.emit("-cut", cut=cut))
        high.append(c.emit("wanted - size(y, a) + cut", wanted=wanted, y=y, a=2 + i, cut=cut))
    if any(not isinstance(each, int) or each for each in (*low, *high)):
        y = padded(c, y, low, high, 0)
    if b is not None:
        y = c.emit("y + b.reshape([1, -1] + [1] * n)", y=y, b=b, n=n)
    return same(y, x, n + 2)


def _rounded_up(c: Converting, x: Known, window: Window) -> "tuple[list[Size], list[Size]]":
    """Paddings with which the last window fits, where sizes are rounded up."""
    high: list[Size] = []
    for i, (low, end) in enumerate(zip(window.low, window.high, strict=True)):
        body = """
          let n = size(x, axis);
          let out = (n + low + end - width + s - 1) // s + 1;
          let kept = if (out - 1) * s >= n + low { out - 1 } else { out };
          end + prim.max((kept - 1) * s + width - (n + low + end), 0)
        """
        width = (window.kernel[i] - 1) * window.dilation[i] + 1
        high.append(
            c.emit(body, x=x, axis=2 + i, low=low, end=end, width=width, s=window.stride[i])
        )
    return window.low, high


def _least(x: Known) -> "float | int":
    return {2: 0, 3: -128, 6: -(1 << 31), 7: -(1 << 63)}.get(x.elem or 1, float("-inf"))


@converts("MaxPool")
def max_pool(c: Converting, node: Node) -> "list[Known] | Known":
    x = node.need(0)
    window = window_of(c, node, x, node["kernel_shape"])
    n, ceil = len(window.kernel), node.get("ceil_mode", 0) == 1
    if not 1 <= n <= 3:
        raise Unconverted(f"it has {n} spatial dimensions, and 1 to 3 are known")
    is_whole = x.elem not in (1, 10, 11, 16)
    y, low = x, window.low
    wants_places = len(node.outputs) > 1 and node.outputs[1]
    if not window.is_symmetric:
        if wants_places:
            raise Unconverted("its paddings differ, and places of the largest are wanted")
        low_, high = _rounded_up(c, x, window) if ceil else (window.low, window.high)
        y = padded(c, x, low_, high, _least(x))
        low, ceil = [0] * n, False
    if is_whole:
        y = c.emit("y.to(7)", y=y)
    given = {
        "y": y,
        "kernel": window.kernel,
        "stride": window.stride,
        "low": low,
        "dilation": window.dilation,
        "ceil": ceil,
    }
    if not wants_places:
        made = c.emit(f"max_pool{n}d(y, kernel, stride, low, dilation, ceil)", **given)
        if is_whole:
            made = c.emit("y.to(x_dtype)", y=made, x=x)
        return same(made, x, n + 2)
    body = f"""
      let values, at = max_pool{n}d_with_indices(y, kernel, stride, low, dilation, ceil);
      let plane = numel(y) // (size(y, 0) * size(y, 1));
      let first = (arange(size(y, 0) * size(y, 1)) * plane).reshape([size(y, 0), size(y,
        1)] + [1] * n);
      let turned = if column {{ at.remainder(size(y, -1)) * size(y, -2) + at.div(size(y, -1),
        rounding_mode="floor") }} else {{ at }};
      values.to(x_dtype), turned + first
    """
    values, places = c.emit_all(
        body, x=x, n=n, column=node.get("storage_order", 0) == 1 and n == 2, **given
    )
    places.elem = 7
    return [same(values, x, n + 2), places]


def _sums(c: Converting, y: Known, window: Window) -> Known:
    """The sum of each window, by a convolution with ones."""
    n = len(window.kernel)
    body = f"""
      let planes = y.reshape([-1, 1] + slice(size(y), 2, None, 1));
      let sums = conv{n}d(planes, ones([1, 1] + kernel, dtype=y_dtype), None, stride, [0] * n,
        dilation, 1);
      sums.reshape([size(y, 0), size(y, 1)] + slice(size(sums), 2, None, 1))
    """
    return same(
        c.emit(
            body, y=y, kernel=window.kernel, stride=window.stride, dilation=window.dilation, n=n
        ),
        y,
        n + 2,
    )


@converts("AveragePool")
def average_pool(c: Converting, node: Node) -> Known:
    x = node.need(0)
    window = window_of(c, node, x, node["kernel_shape"])
    n, ceil = len(window.kernel), node.get("ceil_mode", 0) == 1
    counts_pad = node.get("count_include_pad", 0) == 1
    if not 1 <= n <= 3:
        raise Unconverted(f"it has {n} spatial dimensions, and 1 to 3 are known")
    if window.is_symmetric and set(window.dilation) == {1}:
        made = c.emit(
            f"avg_pool{n}d(x, kernel, stride, low, ceil, counts)",
            x=x,
            kernel=window.kernel,
            stride=window.stride,
            low=window.low,
            ceil=ceil,
            counts=counts_pad,
        )
        return same(made, x, n + 2)
    low, high = _rounded_up(c, x, window) if ceil else (window.low, window.high)
    sums = _sums(c, padded(c, x, low, high, 0), window)
    ones = same(c.emit("ones_like(x)", x=x), x, x.rank)
    if counts_pad:
        ones = padded(c, ones, window.low, window.high, 1)
        low, high = (
            [0] * n,
            [
                c.emit("a - b", a=a, b=b) if isinstance(a, Known) or isinstance(b, Known) else a - b
                for a, b in zip(high, window.high, strict=True)
            ],
        )
    counts = _sums(c, padded(c, ones, low, high, 0), window)
    return same(c.emit("a / b", a=sums, b=counts), x, n + 2)


@converts("LpPool")
def lp_pool(c: Converting, node: Node) -> Known:
    x = node.need(0)
    window = window_of(c, node, x, node["kernel_shape"])
    low, high = window.low, window.high
    if node.get("ceil_mode", 0) == 1:
        low, high = _rounded_up(c, x, window)
    p = node.get("p", 2)
    powers = padded(c, same(c.emit("x.abs().pow(p)", x=x, p=p), x), low, high, 0)
    return same(c.emit("s.pow(1.0 / p)", s=_sums(c, powers, window), p=p), x, x.rank)


@converts("MaxUnpool")
def max_unpool(c: Converting, node: Node) -> Known:
    x, places = node.need(0), node.need(1)
    window = window_of(c, node, x, node["kernel_shape"])
    n = len(window.kernel)
    sizes: list[Size] = [c.emit("size(x, i)", x=x, i=i) for i in range(2)]
    for i in range(n):
        body = "(size(x, 2 + i) - 1) * s - low - high + k"
        given = {"s": window.stride[i], "low": window.low[i], "high": window.high[i]}
        sizes.append(c.emit(body, x=x, i=i, k=window.kernel[i], **given))
    own = c.list_of(sizes)
    body = """
      let all = zeros(own, dtype=x_dtype).reshape([-1]);
      all.scatter(0, at.reshape([-1]), x.reshape([-1])).reshape(own)
    """
    y = c.emit(body, own=own, x=x, at=places)
    shape = c.ints(node, 2, "")
    if shape is not None:  # places are those of a tensor of the sizes that the windows give
        more: list[Size] = [
            c.emit("__getitem__(s, i) - size(y, i)", s=shape, y=y, i=2 + i) for i in range(n)
        ]
        y = padded(c, y, [0] * n, more, 0)
    return same(y, x, n + 2)


@converts("BatchNormalization")
def batch_normalization(c: Converting, node: Node) -> "list[Known] | Known":
    x, scale, bias, mean, variance = node.needed(5)
    given = {
        "x": x,
        "s": scale,
        "b": bias,
        "m": mean,
        "v": variance,
        "eps": node.get("epsilon", 1e-5),
    }
    trains = node.get("training_mode", 0) == 1
    if node.version < 14:  # a model that trained had the statistics among its outputs
        trains = len([name for name in node.outputs if name]) > 1
    if trains and node.version < 14:
        raise Unconverted(
            "it trains, in the form of before version 14; export the model for inference"
        )
    if not trains:
        if node.version < 9 and node.get("spatial", 1) != 1:
            raise Unconverted(
                "its statistics are for each element (spatial=0), and not for channels"
            )
        made = c.emit("batch_norm(x, s, b, m, v, False, 0.0, eps, False)", **given)
        return same(made, x, x.rank if x is not None else None)
    body = """
      let rows = x.movedim(1, 0).flatten(1, -1);
      let mean = rows.mean([1]);
      let centered = rows - mean.unsqueeze(1);
      let variance = (centered * centered).mean([1]);
      let y = batch_norm(x, s, b, mean, variance, False, 0.0, eps, False);
      y, m * keep + mean * (1.0 - keep), v * keep + variance * (1.0 - keep)
    """
    made_all = c.emit_all(body, keep=node.get("momentum", 0.9), **given)
    return [same(each, like) for each, like in zip(made_all, (x, mean, variance), strict=True)]


@converts("Dropout")
def dropout(c: Converting, node: Node) -> list[Known]:
    x, training = node.need(0), node.input(2)
    mask = c.emit("ones_like(x, dtype=11)", x=x)
    mask.elem, mask.rank = 9, x.rank
    known = c.numbers(training)
    if training is None or (known is not None and not known[0]):
        return [same(c.emit("x", x=x), x, x.rank), mask]
    ratio = node.input(1)
    rate: object = c.number(ratio, "float") if ratio is not None else 0.5
    first = c.emit("rand_like(x.to(6)) >= p", x=x, p=rate)
    on = c.emit("t.reshape([]).logical_or(zeros([], dtype=11))", t=training)
    body = """
      let left = on.logical_not().logical_or(kept);
      where(left, where(on, x / prim.max(1.0 - p, 1e-9), x), zeros_like(x)), left
    """
    values, kept = c.emit_all(body, x=x, on=on, kept=first, p=rate)
    kept.elem = 9
    return [same(values, x, x.rank), kept]
