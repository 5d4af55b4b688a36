"""Shapes: sizes, order of dimensions, joining, repeating, and tensors of a shape."""

SHAPES = """
Size(Tensor x) -> int64 { aten.tensor(numel(x), dtype=4) }
Shape(Tensor x; int start=0, int end=9223372036854775807)
  -> int64 since 15 { aten.tensor(slice(size(x), start, end, 1), dtype=4) }
Shape(Tensor x) -> int64 { aten.tensor(size(x), dtype=4) }
Flatten(Tensor x; int axis=1) {
  if axis == 0 { x.reshape([1, -1]) } else {
    let at = if axis < 0 { axis + x_rank } else { axis };
    if at == 0 { x.reshape([1, -1]) } else {
      let rows = x.flatten(0, at - 1);
      if at == x_rank { rows.unsqueeze(1) } else { rows.flatten(1, -1) }
    }
  }
}
Squeeze(Tensor x, int[]? axes) { if has_axes { x.squeeze(axes) } else { x.squeeze() } }
Tile(Tensor x, int[] repeats) { x.repeat(repeats) }
Expand(Tensor x, int[] shape) { where(ones(shape, dtype=11), x, x) }
Concat(Tensor[] xs; int axis) { cat(xs, axis) }
Trilu(Tensor x, int? k; int upper=1) { if upper == 1 { triu(x, k) } else { tril(x, k) } }
DepthToSpace(Tensor x; int blocksize, str mode="DCR") {
  let n = size(x, 0); let c = size(x, 1) // (blocksize * blocksize); let h = size(x, 2);
  let w = size(x, 3);
  let parts = if mode == "DCR" { x.reshape([n, blocksize, blocksize, c, h, w]).permute([0, 3, 4,
    1, 5, 2]) }
              else { x.reshape([n, c, blocksize, blocksize, h, w]).permute([0, 1, 4, 2, 5, 3]) };
  parts.reshape([n, c, h * blocksize, w * blocksize])
}
SpaceToDepth(Tensor x; int blocksize, str mode="DCR") {
  let n = size(x, 0); let c = size(x, 1); let h = size(x, 2) // blocksize;
  let w = size(x, 3) // blocksize;
  let parts = x.reshape([n, c, h, blocksize, w, blocksize]);
  let ordered = if mode == "DCR" { parts.permute([0, 3, 5, 1, 2, 4])
    } else { parts.permute([0, 1, 3, 5, 2, 4]) };
  ordered.reshape([n, c * blocksize * blocksize, h, w])
}
"""
