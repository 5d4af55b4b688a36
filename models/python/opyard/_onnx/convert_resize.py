"""Pictures of another size: places and weights along each axis."""

from .convert import Converting, converts
from .convert_shapes import require_rank, same
from .nodes import Node, Unconverted
from .writer import Known

_COORDINATES = {
    "half_pixel": "(t + 0.5) / scale - 0.5",
    "half_pixel_symmetric": "n / 2.0 * (1.0 - out / (n * scale)) + (t + 0.5) / scale - 0.5",
    "pytorch_half_pixel": "if out > 1 { (t + 0.5) / scale - 0.5 } else { t * 0.0 }",
    "asymmetric": "t / scale",
    "align_corners": "if out > 1 { t * ((n - 1) / (n * scale - 1.0)) } else { t * 0.0 }",
    "tf_crop_and_resize": """
      if out > 1 { t * ((end - start) * (n - 1) / (n * scale - 1.0)) + start * (n - 1) }
      else { t * 0.0 + (start + end) * 0.5 * (n - 1) }
    """,
}
_NEAREST = {
    "round_prefer_floor": "ceil(at - 0.5)",
    "round_prefer_ceil": "floor(at + 0.5)",
    "floor": "floor(at)",
    "ceil": "ceil(at)",
}
_KERNELS = {
    "linear": "(1.0 - d).clamp(0.0, None)",
    "cubic": """where(d <= 1, ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0,
                where(d < 2, ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a, zeros_like(d)))""",
}


def _weights(mode: str, antialias: bool, exclude: bool) -> str:
    """A text for the matrix that takes a row of n elements to one of `out`, from places `at`."""
    kernel, reach = _KERNELS[mode], 1 if mode == "linear" else 2
    shrink = "prim.min(scale, 1.0)" if antialias else "1.0"
    text = f"""
      let shrink = {shrink};
      let reach = Int(ceil({reach}.0 / shrink));
      let places = floor(at).unsqueeze(1) + arange(1 - reach, reach + 1).unsqueeze(0);
      let d = abs(at.unsqueeze(1) - places) * shrink;
      let k = {kernel};
      let v = k / k.sum([1], True);
    """
    if exclude:
        text += """
          let inside = where((places < 0).logical_or(places > n - 1), zeros_like(v), v);
          let u = inside / inside.sum([1], True);
        """
    else:
        text += "let u = v;"
    return (
        text
        + """
      zeros([out, n], dtype=7).scatter_add(1, places.clamp(0.0, n - 1.0).to(4), u)
    """
    )


@converts("Resize", "Upsample")
def resize(c: Converting, node: Node) -> Known:
    x = node.need(0)
    rank = require_rank(x, node)
    old = node.kind == "Upsample" or node.version < 11
    roi, scales, sizes = (
        (None, node.input(1), None) if old else (node.input(1), node.input(2), node.input(3))
    )
    mode = node.get("mode", "nearest")
    coordinate = "asymmetric" if old else node.get("coordinate_transformation_mode", "half_pixel")
    nearest = "floor" if old else node.get("nearest_mode", "round_prefer_floor")
    if coordinate not in _COORDINATES or mode not in ("nearest", "linear", "cubic", "bilinear"):
        raise Unconverted(f"mode {mode!r} with {coordinate!r} is not known")
    axes = node.get("axes") or list(range(rank))
    given_scales: object = c.float_list(scales) if scales is not None else node.get("scales")
    if isinstance(given_scales, list) and not given_scales:
        given_scales = None
    given_sizes: object = c.ints(node, 3, "") if sizes is not None else None
    if given_sizes is None and given_scales is None:
        raise Unconverted("it has neither scales nor sizes")
    regions: object = (
        c.float_list(roi) if roi is not None and coordinate == "tf_crop_and_resize" else None
    )
    policy = node.get("keep_aspect_ratio_policy", "stretch")
    common = (
        _common_scale(c, x, axes, given_sizes, policy)
        if given_sizes is not None and policy != "stretch"
        else None
    )
    y = x
    body_of = "bilinear" if mode == "bilinear" else mode
    kind = "linear" if body_of in ("linear", "bilinear") else mode
    for k, axis in enumerate(axes):
        if isinstance(given_scales, list) and given_scales[k] == 1.0 and regions is None:
            continue
        given: dict[str, object] = {"axis": axis, "x": y}
        if given_sizes is not None:
            head = "let n = size(x, axis); "
            if common is not None:
                head += "let scale = common; let out = Int(floor(n * common + 0.5)); "
                given["common"] = common
            else:
                given["out"] = _item(c, given_sizes, k)
                head += "let scale = out / n; "
        else:
            given["scale"] = _item(c, given_scales, k)
            head = "let n = size(x, axis); let out = Int(floor(n * scale)); "
        head += "let t = arange(out).to(7); "
        if regions is not None:
            given["start"], given["end"] = _item(c, regions, k), _item(c, regions, len(axes) + k)
        at = f"let at = {_COORDINATES[coordinate]}; "
        antialias = node.get("antialias", 0) == 1
        if kind == "nearest":
            text = f"x.index_select(axis, ({_NEAREST[nearest]}).clamp(0.0, n - 1.0).to(4))"
        else:
            exclude = node.get("exclude_outside", 0) == 1
            weights = " ".join(_weights(kind, antialias, exclude).split())
            *lets, last = weights.split("; ")
            text = "; ".join([*lets, f"let matrix = {last}"])
            text += "; matmul(x.movedim(axis, -1).to(7), matrix.t()).movedim(-1, axis)"
            given["a"] = node.get("cubic_coeff_a", -0.75)
        if coordinate == "tf_crop_and_resize":
            *lets, last = text.split("; ")
            text = "; ".join([*lets, f"let inner = {last}"])
            text += """;
              let outside = (at < 0).logical_or(at > n - 1);
              inner.movedim(axis, -1).masked_fill(outside, beyond).movedim(-1, axis)
            """
            given["beyond"] = node.get("extrapolation_value", 0.0)
        y = c.emit(head + at + text, **given)
    return same(c.emit("y.to(x_dtype)", y=y, x=x), x, rank)


def _item(c: Converting, values: object, index: int) -> object:
    if isinstance(values, list):
        return values[index]
    return c.emit("__getitem__(x, i)", x=values, i=index)


def _common_scale(c: Converting, x: Known, axes: list[int], sizes: object, policy: str) -> Known:
    """The scale that all axes have, so that nothing is stretched."""
    least = policy == "not_larger"
    made: Known | None = None
    for k, axis in enumerate(axes):
        each = c.emit("out / size(x, axis)", x=x, axis=axis, out=_item(c, sizes, k))
        body = "prim.min(a, b)" if least else "prim.max(a, b)"
        made = each if made is None else c.emit(body, a=made, b=each)
    return made
