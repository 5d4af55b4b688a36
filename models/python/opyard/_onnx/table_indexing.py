"""Elements by their places: gathered, scattered, chosen."""

# Places in the dimensions behind `b` as places in all of them together.
_FLAT = """
  let k = size(i, -1);
  let dims = aten.tensor(slice(size(x), b, b + k, 1), dtype=4);
  let steps = cat([dims.slice(0, 1), ones([1], dtype=4)], 0).flip([0]).cumprod(0).flip([0]);
  let at = (where(i < 0, i + dims, i) * steps).sum([-1]);
"""

INDEXING = (
    """
Gather(Tensor x, Tensor i; int axis=0) {
  let n = size(x, axis);
  let at = where(i < 0, i + n, i);
  if i_rank == 0 { x.index_select(axis, at.reshape([1])).squeeze(axis) } else {
    if i_rank == 1 { x.index_select(axis, at) }
    else { x.index_select(axis, at.reshape([-1])).unflatten(axis, size(at)) }
  }
}
GatherElements(Tensor x, Tensor i;
  int axis=0) { x.gather(axis, where(i < 0, i + size(x, axis), i).to(4)) }
GatherND(Tensor x, Tensor i; int batch_dims=0) {
  let b = batch_dims;"""
    + _FLAT
    + """
  let rows = x.flatten(0, b + k - 1);
  let all = if b == 0 { at.reshape([-1]) } else {
    let n = size(x.flatten(0, b - 1), 0);
    (at.reshape([n, -1]) + (arange(n) * dims.prod()).unsqueeze(1)).reshape([-1])
  };
  rows.index_select(0, all).reshape(size(at) + slice(size(x), b + k, None, 1))
}
ScatterElements, Scatter(Tensor x, Tensor i, Tensor updates; int axis=0, str reduction="none") {
  let at = where(i < 0, i + size(x, axis), i).to(4);
  if reduction == "none" { x.scatter(axis, at, updates) } else {
    if reduction == "add" { x.scatter_reduce(axis, at, updates, "sum") } else {
      if reduction == "mul" { x.scatter_reduce(axis, at, updates, "prod") } else {
        if reduction == "max" { x.scatter_reduce(axis, at, updates, "amax") }
        else { x.scatter_reduce(axis, at, updates, "amin") }
      }
    }
  }
}
ScatterND(Tensor x, Tensor i, Tensor updates; str reduction="none") {
  let b = 0;"""
    + _FLAT
    + """
  let rows = x.flatten(0, k - 1);
  let places = at.reshape([-1]);
  let new = updates.reshape([numel(at)] + slice(size(x), k, None, 1));
  let done = if reduction == "none" { rows.index_put([places], new) } else {
    if reduction == "add" { rows.index_add(0, places, new) } else {
      if reduction == "mul" { rows.index_reduce(0, places, new, "prod") } else {
        if reduction == "max" { rows.index_reduce(0, places, new, "amax") }
        else { rows.index_reduce(0, places, new, "amin") }
      }
    }
  };
  done.reshape(size(x))
}
Compress(Tensor x, Tensor condition; int? axis) {
  let at = nonzero(condition).reshape([-1]);
  if has_axis { x.index_select(axis, at) } else { x.reshape([-1]).index_select(0, at) }
}
ReverseSequence(Tensor x, Tensor lengths; int batch_axis=1, int time_axis=0) {
  let y = x.movedim([time_axis, batch_axis], [0, 1]);
  let t = arange(size(y, 0)).unsqueeze(1);
  let n = lengths.unsqueeze(0);
  let at = where(t < n, n - t - 1, t);
  let whole = at.reshape(size(at) + [1] * (x_rank - 2)).expand(size(y));
  y.gather(0, whole).movedim([0, 1], [time_axis, batch_axis])
}
TensorScatter(Tensor past, Tensor update, Tensor? places; int axis=-2, str mode="linear") {
  let y = past.movedim(axis, 1);
  let u = update.movedim(axis, 1);
  let n = size(u, 1);
  let first = if has_places { places.reshape([-1, 1]) } else { zeros([size(past, 0), 1], dtype=4) };
  let at = first + arange(n).unsqueeze(0);
  let wrapped = if mode == "circular" { at.remainder(size(y, 1)) } else { at };
  y.scatter(1, wrapped.reshape(size(wrapped) + [1] * (y.dim() - 2)).expand(size(u)),
    u).movedim(1, axis)
}
"""
)
