"""Spectra, random numbers, and elements that differ."""

from .convert import Converting, converts
from .convert_shapes import same
from .nodes import Node, Unconverted
from .tensors import ELEMENTS
from .writer import Known


@converts("DFT")
def dft(c: Converting, node: Node) -> Known:
    x, length = node.need(0), node.input(1)
    axis_input = node.input(2)
    axis: object = node.get("axis", 1)
    if axis_input is not None:
        axis = c.number(axis_input, "int")
    elif node.version >= 20:
        axis = -2
    inverse, onesided = node.get("inverse", 0) == 1, node.get("onesided", 0) == 1
    whole = "2 * (size(x, at) - 1)" if inverse and onesided else "size(x, at)"
    n = "n" if length is not None else whole
    given: dict[str, object] = {"x": x, "axis": axis}
    if length is not None:
        given["n"] = c.number(length, "int")
    call = "fft_ifft" if inverse else "fft_fft"
    lets = f"let at = if axis < 0 {{ axis + x_rank }} else {{ axis }}; let count = {n};"
    if inverse and onesided:
        # What comes is one side of a spectrum, and what goes is real.
        body = lets + "fft_irfft(view_as_complex(x.contiguous()), count, at).unsqueeze(-1)"
        return same(c.emit(body, **given), x, x.rank)
    body = (
        lets
        + f"""
      let pair = if size(x, -1) == 1 {{ cat([x, zeros_like(x)], -1) }} else {{ x }};
      let all = view_as_real({call}(view_as_complex(pair.contiguous()), count, at));
      {"all.slice(at, 0, count // 2 + 1)" if onesided else "all"}
    """
    )
    return same(c.emit(body, **given), x, x.rank)


@converts("STFT")
def stft(c: Converting, node: Node) -> Known:
    x, hop, window, length = (node.input(i) for i in range(4))
    given: dict[str, object] = {"x": x, "hop": c.number(hop, "int")}
    lets = "let signal = if x_rank == 3 { x.select(-1, 0) } else { x };"
    if length is not None:
        given["n"] = c.number(length, "int")
        lets += "let count = n;"
    elif window is not None:
        lets += "let count = size(win, 0);"
    else:
        raise Unconverted("it has neither a window nor a length of frames")
    weighted = "frames"
    if window is not None:
        given["win"] = window
        weighted = "frames * win"
    one = node.get("onesided", 1) == 1
    call = "fft_rfft" if one else "fft_fft"
    body = (
        lets
        + "let frames = signal.unfold(1, count, hop);"
        + f"view_as_real({call}({weighted}, count, -1)).to(x_dtype)"
    )
    return same(c.emit(body, **given), x, 4)


@converts("Unique")
def unique(c: Converting, node: Node) -> list[Known]:
    x = node.need(0)
    ordered = node.get("sorted", 1) == 1
    if node.has("axis"):
        call, axis = f"unique_dim(x, {node['axis']}, True, True, True)", node["axis"]
    else:
        call, axis = "_unique2(x, True, True, True)", 0
    body = f"""
      let values, inverse, counts = {call};
      let flat = inverse.reshape([-1]);
      let n = numel(counts);
      let first = full([n], numel(flat), dtype=4).scatter_reduce(0, flat, arange(numel(flat)),
        "amin");
    """
    if ordered:
        body += "values, first, flat, counts"
    else:
        body += f"""
          let order = argsort(first);
          let place = argsort(order);
          values.index_select({axis}, order), first.index_select(0, order), place.index_select(0,
            flat), counts.index_select(0, order)
        """
    values, first, inverse, counts = c.emit_all(body, x=x)
    for each in (first, inverse, counts):
        each.elem, each.rank = 7, 1
    return [same(values, x, x.rank if node.has("axis") else 1), first, inverse, counts]


@converts("Bernoulli")
def bernoulli(c: Converting, node: Node) -> Known:
    x = node.need(0)
    elem = node.get("dtype", x.elem or 1)
    y = c.emit("(rand_like(x) < x).to(kind)", x=x, kind=ELEMENTS[elem].number)
    y.elem, y.rank = elem, x.rank
    return y


_RANDOM = {
    "RandomUniform": "rand(shape, dtype=kind) * (high - low) + low",
    "RandomNormal": "randn(shape, dtype=kind) * scale + mean",
}


@converts("RandomUniform", "RandomNormal", "RandomUniformLike", "RandomNormalLike")
def random(c: Converting, node: Node) -> Known:
    like = node.input(0)
    elem = node.get("dtype", (like.elem if like is not None else 1) or 1)
    shape: object = node["shape"] if like is None else c.emit("size(x)", x=like)
    given = {
        "low": node.get("low", 0.0),
        "high": node.get("high", 1.0),
        "mean": node.get("mean", 0.0),
        "scale": node.get("scale", 1.0),
    }
    y = c.emit(
        _RANDOM[node.kind.removesuffix("Like")], shape=shape, kind=ELEMENTS[elem].number, **given
    )
    y.elem = elem
    y.rank = like.rank if like is not None else len(node["shape"])
    return y


@converts("MelWeightMatrix")
def mel_weight_matrix(c: Converting, node: Node) -> Known:
    names = ("bins", "count", "rate", "low", "high")
    kinds = ("int", "int", "int", "float", "float")
    given = {
        name: c.number(value, kind)
        for name, value, kind in zip(names, node.inputs, kinds, strict=True)
        if value is not None
    }
    elem = node.get("output_datatype", 1)
    body = """
      let spectrum = count // 2 + 1;
      let first = log10(low / 700.0 + 1.0) * 2595.0;
      let last = log10(high / 700.0 + 1.0) * 2595.0;
      let step = (last - first) / (bins + 2);
      let mel = arange(bins + 2).to(7) * step + first;
      let places = floor((pow(full_like(mel, 10.0),
        mel / 2595.0) - 1) * (700.0 * (count + 1) / rate));
      let a = places.slice(0, 0, bins).unsqueeze(0);
      let b = places.slice(0, 1, bins + 1).unsqueeze(0);
      let e = places.slice(0, 2, bins + 2).unsqueeze(0);
      let t = arange(spectrum).to(7).unsqueeze(1);
      let up = where((t >= a).logical_and(t <= b), (t - a) / (b - a).clamp(1e-9, None),
        zeros_like(t - a));
      let down = where((t >= b).logical_and(t < e), (e - t) / (e - b).clamp(1e-9, None),
        zeros_like(t - a));
      where(b == a, where(t == b, ones_like(up), zeros_like(up)), maximum(up, down)).to(kind)
    """
    y = c.emit(body, kind=ELEMENTS[elem].number, **given)
    y.elem, y.rank = elem, 2
    return y
