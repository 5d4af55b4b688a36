"""Places in pictures: grids, regions, columns of windows, deformed convolutions, boxes."""

import itertools

from .convert import Converting, converts
from .convert_shapes import require_rank, same
from .nodes import Node, Unconverted
from .writer import Known

_MODES = {
    "bilinear": "linear",
    "linear": "linear",
    "nearest": "nearest",
    "bicubic": "cubic",
    "cubic": "cubic",
}


def _coordinate(aligned: bool) -> str:
    return "(u + 1.0) * ((n - 1) / 2.0)" if aligned else "((u + 1.0) * n - 1.0) / 2.0"


def _tap(mode: str, offset: int) -> str:
    """A text for the weight of the tap at floor(at) + offset."""
    if mode == "nearest":
        return "ones_like(at)"
    if mode == "linear":
        return "rsub(f, 1)" if offset == 0 else "f"
    d = f"abs(f - {offset}.0)"
    if offset in (0, 1):
        return f"let d = {d}; (d * 1.25 - 2.25) * d * d + 1.0"
    return f"let d = {d}; ((d * -0.75 + 3.75) * d - 6.0) * d + 3.0"


_EDGES = {
    "zeros": "p.clamp(0.0, n - 1.0)",
    "border": "p.clamp(0.0, n - 1.0)",
    "reflection": """
      let span = prim.max(high - low, 1e-9);
      let q = abs(p - low).remainder(2.0 * span);
      (where(q > span, rsub(q, 2.0 * span), q) + low).clamp(0.0, n - 1.0)
    """,
}


@converts("GridSample")
def grid_sample(c: Converting, node: Node) -> Known:
    x, grid = node.needed(2)
    n = require_rank(x, node) - 2
    mode, edge = _MODES.get(node.get("mode", "linear")), node.get("padding_mode", "zeros")
    aligned = node.get("align_corners", 0) == 1
    if mode is None or edge not in _EDGES or n < 1:
        raise Unconverted(f"mode {node.get('mode')!r} with {edge!r} is not known")
    taps = {"nearest": [0], "linear": [0, 1], "cubic": [-1, 0, 1, 2]}[mode]
    axes: list[list[tuple[Known, Known]]] = []
    for axis in range(n):
        body = f"let n = size(x, 2 + axis); let u = g.select(-1, last); {_coordinate(aligned)}"
        at = c.emit(body, x=x, g=grid, axis=axis, last=n - 1 - axis)
        found = []
        for offset in taps:
            first = "round(at)" if mode == "nearest" else "floor(at)"
            bounds = (
                "let low = 0.0; let high = n - 1.0;"
                if aligned
                else "let low = -0.5; let high = n - 0.5;"
            )
            body = f"let n = size(x, 2 + axis); {bounds} let p = {first} + offset; {_EDGES[edge]}"
            place = c.emit(body, x=x, axis=axis, at=at, offset=float(offset))
            body = f"let f = at - floor(at); {_tap(mode, offset)}"
            weight = c.emit(body, at=at)
            if edge == "zeros":
                body = f"""
                  let p = {first} + offset;
                  where((p < 0).logical_or(p > size(x, 2 + axis) - 1), zeros_like(w), w)
                """
                weight = c.emit(body, at=at, w=weight, x=x, axis=axis, offset=float(offset))
            found.append((place, weight))
        axes.append(found)
    total: Known | None = None
    for chosen in itertools.product(*axes):
        index, weight = chosen[0]
        for axis, (place, factor) in enumerate(chosen[1:], 1):
            index = c.emit("i * size(x, 2 + axis) + p", i=index, p=place, x=x, axis=axis)
            weight = c.emit("a * b", a=weight, b=factor)
        body = """
          let flat = i.to(4).flatten(1, -1).unsqueeze(1).expand([-1, size(x, 1), -1]);
          x.flatten(2, -1).gather(2, flat) * w.flatten(1, -1).unsqueeze(1)
        """
        part = c.emit(body, x=x, i=index, w=weight)
        total = part if total is None else c.emit("a + b", a=total, b=part)
    body = "y.reshape([size(x, 0), size(x, 1)] + slice(size(g), 1, n + 1, 1)).to(x_dtype)"
    return same(c.emit(body, y=total, x=x, g=grid, n=n), x, n + 2)


@converts("AffineGrid")
def affine_grid(c: Converting, node: Node) -> Known:
    theta, size = node.need(0), c.ints(node, 1, "")
    rank = require_rank(theta, node)
    spatial = _spatial_of(c, node, size)
    aligned = node.get("align_corners", 0) == 1
    rows = []
    for axis in range(spatial):
        item = (
            size[2 + axis]
            if isinstance(size, list)
            else c.emit("__getitem__(s, i)", s=size, i=2 + axis)
        )
        text = (
            "t * (2.0 / prim.max(n - 1, 1)) - 1.0"
            if aligned
            else "(t * 2.0 + 1.0) * (1.0 / n) - 1.0"
        )
        rows.append((item, c.emit(f"let t = arange(n).to(7); {text}", n=item)))
    parts = []
    sizes = c.list_of([item for item, _ in rows])
    for axis in reversed(range(spatial)):
        shape = [1] * spatial
        shape[axis] = -1
        parts.append(c.emit("r.reshape(shape).expand(s)", r=rows[axis][1], shape=shape, s=sizes))
    names = {f"p{k}": each for k, each in enumerate(parts)}
    body = f"""
      let base = stack([{", ".join([*names, "ones_like(p0)"])}], -1).reshape([1, -1, n + 1]);
      matmul(base, t.to(7).transpose(1, 2)).reshape([size(t, 0)] + s + [n]).to(t_dtype)
    """
    return same(
        c.emit(body, t=theta, s=sizes, n=spatial, **names), theta, spatial + 2 if rank else None
    )


def _spatial_of(c: Converting, node: Node, size: object) -> int:
    if isinstance(size, list):
        return len(size) - 2
    declared = c.ranks.get(node.outputs[0])
    if declared is None:
        raise Unconverted(
            "the file does not say how many dimensions it gives; run onnx.shape_inference"
        )
    return declared - 2


@converts("Col2Im")
def col2im(c: Converting, node: Node) -> Known:
    x, image, block = node.need(0), c.ints(node, 1, ""), c.ints(node, 2, "")
    n = len(node["strides"]) if node.has("strides") else None
    n = n or (len(image) if isinstance(image, list) else None)
    rank = c.ranks.get(node.outputs[0])
    n = n or (rank - 2 if rank is not None else None)
    if n is None:
        raise Unconverted(
            "the file does not say how many dimensions it gives; run onnx.shape_inference"
        )
    stride, dilation = node.get("strides") or [1] * n, node.get("dilations") or [1] * n
    pads = node.get("pads") or [0] * (2 * n)
    index: Known | None = None
    total: object = 1
    for i in range(n):
        given = {
            "size": image[i]
            if isinstance(image, list)
            else c.emit("__getitem__(x, i)", x=image, i=i),
            "k": block[i] if isinstance(block, list) else c.emit("__getitem__(x, i)", x=block, i=i),
        }
        # The place in the padded picture of each window (across) and each of its elements (down).
        body = """
          let wide = size + pads;
          let count = (wide - d * (k - 1) - 1) // s + 1;
          (arange(k) * d).unsqueeze(1) + (arange(count) * s).unsqueeze(0)
        """
        places = c.emit(body, pads=pads[i] + pads[n + i], d=dilation[i], s=stride[i], **given)
        wide = c.emit("size + pads", size=given["size"], pads=pads[i] + pads[n + i])
        total = c.emit("a * b", a=total, b=wide)
        if index is None:
            index = places
        else:
            body = """
              (index.unsqueeze(1).unsqueeze(3) * wide + p.unsqueeze(0).unsqueeze(2)).flatten(0,
                1).flatten(1, 2)
            """
            index = c.emit(body, index=index, p=places, wide=wide)
    sizes = [
        c.emit(
            "size + pads",
            size=image[i] if isinstance(image, list) else c.emit("__getitem__(x, i)", x=image, i=i),
            pads=pads[i] + pads[n + i],
        )
        for i in range(n)
    ]
    body = """
      let k = size(at, 0); let m = size(at, 1);
      let c = size(x, 1) // k;
      let parts = x.reshape([size(x, 0), c, k * m]);
      let all = at.reshape([1, 1, -1]).expand(size(parts));
      zeros([size(x, 0), c, total], dtype=x_dtype).scatter_add(2, all, parts).reshape([size(x,
        0), c] + wide)
    """
    y = c.emit(body, x=x, at=index, total=total, wide=c.list_of(sizes))
    for i in range(n):
        if pads[i] or pads[n + i]:
            y = c.emit(
                "y.slice(a, low, size(y, a) - high)", y=y, a=2 + i, low=pads[i], high=pads[n + i]
            )
    return same(y, x, n + 2)


@converts("RoiAlign")
def roi_align(c: Converting, node: Node) -> Known:
    x, rois, batch = node.needed(3)
    ratio, mode = node.get("sampling_ratio", 0), node.get("mode", "avg")
    half = (
        node.get(
            "coordinate_transformation_mode",
            "half_pixel" if node.version >= 16 else "output_half_pixel",
        )
        == "half_pixel"
    )
    if mode not in ("avg", "max"):
        raise Unconverted(f"its mode {mode!r} is not known")
    given = {
        "oh": node.get("output_height", 1),
        "ow": node.get("output_width", 1),
        "s": node.get("spatial_scale", 1.0),
    }
    made = Known(c.writer.node("Tensor[]", "prim::ListConstruct"), type="Tensor[]")

    def step(index: Known) -> list[Known]:
        joined = (
            "tl + tr + bl + br" if mode == "avg" else "maximum(maximum(tl, tr), maximum(bl, br))"
        )
        reach = "ratio" if ratio > 0 else "Int(ceil({} / {}))"
        body = f"""
          let box = rois.select(0, i).to(7) * s;
          let move = {0.5 if half else 0.0};
          let left = Float(box.select(0, 0)) - move; let top = Float(box.select(0, 1)) - move;
          let w0 = Float(box.select(0, 2)) - move - left;
          let h0 = Float(box.select(0, 3)) - move - top;
          let bw = {"w0" if half else "prim.max(w0, 1.0)"};
          let bh = {"h0" if half else "prim.max(h0, 1.0)"};
          let ry = {reach.format("bh", "oh")}; let rx = {reach.format("bw", "ow")};
          let ky = prim.max(ry, 1); let kx = prim.max(rx, 1);
          let ys = (arange(oh * ky).to(7) + 0.5) * (bh / (oh * ky)) + top;
          let xs = (arange(ow * kx).to(7) + 0.5) * (bw / (ow * kx)) + left;
          let picture = x.select(0, Int(batch.select(0, i))).to(7);
          let h = size(x, 2); let w = size(x, 3);
          let oy = (ys < -1.0).logical_or(ys > h); let ox = (xs < -1.0).logical_or(xs > w);
          let y = ys.clamp(0.0, h - 1.0); let x1 = xs.clamp(0.0, w - 1.0);
          let y0 = floor(y); let x0 = floor(x1);
          let fy = (y - y0).unsqueeze(1); let fx = (x1 - x0).unsqueeze(0);
          let a = picture.index_select(1, y0.to(4));
          let b = picture.index_select(1, (y0 + 1).clamp(0.0, h - 1.0).to(4));
          let l = x0.to(4); let r = (x0 + 1).clamp(0.0, w - 1.0).to(4);
          let outside = oy.unsqueeze(1).logical_or(ox.unsqueeze(0));
          let tl = a.index_select(2, l) * (rsub(fy, 1) * rsub(fx, 1));
          let tr = a.index_select(2, r) * (rsub(fy, 1) * fx);
          let bl = b.index_select(2, l) * (fy * rsub(fx, 1));
          let br = b.index_select(2, r) * (fy * fx);
          let all = {joined};
          let kept = all.masked_fill(outside, 0.0).reshape([size(x, 1), oh, ky, ow, kx]);
          {"kept.mean([2, 4])" if mode == "avg" else "kept.amax([2, 4])"}.to(x_dtype)
        """
        part = c.emit(body, x=x, rois=rois, batch=batch, i=index, ratio=ratio, **given)
        c.writer.node("Tensor[]", "aten::append", made.name, part.name)
        return []

    c.repeat(c.emit("size(r, 0)", r=rois), [], step)
    return same(c.emit("stack(xs, 0)", xs=made), x, 4)


@converts("DeformConv")
def deform_conv(c: Converting, node: Node) -> Known:
    x, w, offset = node.needed(3)
    bias, mask = node.input(3), node.input(4)
    if require_rank(x, node) != 4:
        raise Unconverted("it has other than two spatial dimensions")
    kernel = node.get("kernel_shape") or [c.emit("size(w, i)", w=w, i=i) for i in (2, 3)]
    stride, dilation = node.get("strides") or [1, 1], node.get("dilations") or [1, 1]
    pads, groups = node.get("pads") or [0] * 4, node.get("group", 1)
    given: dict[str, object] = {
        "kh": kernel[0], "kw": kernel[1], "sh": stride[0], "sw": stride[1], "dh": dilation[0],
        "dw": dilation[1], "top": pads[0], "left": pads[1], "og": node.get("offset_group", 1),
        "groups": groups,
    }  # fmt: skip
    lets = "let m = ones([1, 1, 1, 1, 1], dtype=x_dtype);"
    if mask is not None:
        given["mask"] = mask
        lets = "let m = mask.reshape([size(x, 0), og, kh * kw, oh, ow]);"
    body = f"""
      let oh = size(offset, 2); let ow = size(offset, 3); let h = size(x, 2); let wd = size(x, 3);
      {lets}
      let o = offset.reshape([size(x, 0), og, kh * kw, 2, oh, ow]);
      let ky = (arange(kh) * dh).unsqueeze(1).expand([kh, kw]).reshape([1, 1, -1, 1, 1]);
      let kx = (arange(kw) * dw).unsqueeze(0).expand([kh, kw]).reshape([1, 1, -1, 1, 1]);
      let y = o.select(3, 0) + ky + (arange(oh) * sh - top).reshape([1, 1, 1, -1, 1]);
      let z = o.select(3, 1) + kx + (arange(ow) * sw - left).reshape([1, 1, 1, 1, -1]);
      let y0 = floor(y); let z0 = floor(z); let fy = y - y0; let fz = z - z0;
      let planes = x.reshape([size(x, 0), og, -1, h * wd]);
      {
        "".join(
            _corner(name, dy, dz)
            for name, dy, dz in (("a", 0, 0), ("b", 0, 1), ("c", 1, 0), ("d", 1, 1))
        )
    }
      let columns = (a + b + c + d) * m.unsqueeze(2);
      let flat = columns.reshape([size(x, 0), groups, -1, oh * ow]);
      matmul(w.reshape([1, groups, size(w, 0) // groups, -1]), flat).reshape([size(x, 0), size(w,
        0), oh, ow])
    """
    y = c.emit(body, x=x, w=w, offset=offset, **given)
    if bias is not None:
        y = c.emit("y + b.reshape([1, -1, 1, 1])", y=y, b=bias)
    return same(y, x, 4)


def _corner(name: str, dy: int, dz: int) -> str:
    """One of the four elements around each place, with its weight."""
    wy, wz = ("fy" if dy else "rsub(fy, 1)"), ("fz" if dz else "rsub(fz, 1)")
    p = name
    return f"""
      let y{p} = y0 + {dy}; let z{p} = z0 + {dz};
      let in{p} = (y{p} >= 0).logical_and(y{p} < h).logical_and(z{p} >= 0).logical_and(z{p} < wd);
      let at{p} = (y{p}.clamp(0.0, h - 1.0) * wd + z{p}.clamp(0.0, wd - 1.0)).to(4);
      let all{p} = at{p}.flatten(2, -1).unsqueeze(2).expand([-1, -1, size(planes, 2), -1]);
      let {p} = planes.gather(3, all{p}).reshape([size(x, 0), og, -1, kh * kw, oh, ow])
                * ({wy} * {wz} * in{p}.to(x_dtype)).unsqueeze(2);
    """


@converts("NonMaxSuppression")
def non_max_suppression(c: Converting, node: Node) -> Known:
    boxes, scores = node.needed(2)
    limits = [
        c.number(each, kind) if (each := node.input(i)) is not None else None
        for i, kind in ((2, "int"), (3, "float"), (4, "float"))
    ]
    most, overlap, least = limits
    made = Known(c.writer.node("Tensor[]", "prim::ListConstruct"), type="Tensor[]")
    if node.get("center_point_box", 0) == 1:
        body = """
          let w = b.select(-1, 2) * 0.5; let h = b.select(-1, 3) * 0.5; let x = b.select(-1, 0);
          let y = b.select(-1, 1);
          stack([y - h, x - w, y + h, x + w], -1)
        """
    else:
        body = """
          let y = b.select(-1, 0); let x = b.select(-1, 1); let v = b.select(-1, 2);
          let u = b.select(-1, 3);
          stack([minimum(y, v), minimum(x, u), maximum(y, v), maximum(x, u)], -1)
        """
    sides = c.emit(body, b=boxes)

    def of_class(index: Known) -> list[Known]:
        body = "let n = size(s, 1); i // n, i.remainder(n)"
        batch, kind = c.emit_all(body, s=scores, i=index)
        body = """
          let s = scores.select(0, batch).select(0, kind);
          let order = s.argsort(stable=True, dim=0, descending=True);
          let b = sides.select(0, batch).index_select(0, order);
          let y = b.select(1, 0); let x = b.select(1, 1); let v = b.select(1, 2);
          let u = b.select(1, 3);
          let area = (v - y) * (u - x);
          let h = (minimum(v.unsqueeze(1), v.unsqueeze(0)) - maximum(y.unsqueeze(1),
            y.unsqueeze(0))).clamp(0.0, None);
          let w = (minimum(u.unsqueeze(1), u.unsqueeze(0)) - maximum(x.unsqueeze(1),
            x.unsqueeze(0))).clamp(0.0, None);
          let common = h * w;
          let sum = area.unsqueeze(1) + area.unsqueeze(0) - common;
          order, (common / where(sum > 0, sum, ones_like(sum))) > overlap, s.index_select(0, order)
        """
        given = {"scores": scores, "sides": sides, "batch": batch, "kind": kind}
        order, covered, ranked = c.emit_all(
            body, overlap=overlap if overlap is not None else 0.0, **given
        )
        body = "s > least" if least is not None else "ones_like(s, dtype=11)"
        alive = c.emit(body, s=ranked, **({"least": least} if least is not None else {}))

        def drop(i: Known, alive: Known) -> list[Known]:
            body = """
              let behind = arange(size(alive, 0)) > i;
              alive.logical_and(covered.select(0,
                i).logical_and(behind).logical_and(alive.select(0, i)).logical_not())
            """
            return [c.emit(body, alive=alive, covered=covered, i=i)]

        (left,) = c.repeat(c.emit("size(o, 0)", o=order), [alive], drop)
        body = """
          let kept = order.index_select(0, nonzero(alive).reshape([-1])).slice(0, 0, most);
          stack([full_like(kept, batch), full_like(kept, kind), kept], 1)
        """
        rows = c.emit(
            body,
            order=order,
            alive=left,
            batch=batch,
            kind=kind,
            most=most if most is not None else 0,
        )
        c.writer.node("Tensor[]", "aten::append", made.name, rows.name)
        return []

    c.repeat(c.emit("size(s, 0) * size(s, 1)", s=scores), [], of_class)
    y = c.emit("cat(xs, 0)", xs=made)
    y.elem, y.rank = 7, 2
    return y
