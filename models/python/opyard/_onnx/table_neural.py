"""Norms, pooling over everything, losses, dropout."""

NEURAL = """
GlobalAveragePool(Tensor x) { x.flatten(2, -1).mean([-1], True).reshape([size(x, 0), size(x,
  1)] + [1] * (x_rank - 2)) }
GlobalMaxPool(Tensor x) { x.flatten(2, -1).amax([-1], True).reshape([size(x, 0), size(x,
  1)] + [1] * (x_rank - 2)) }
GlobalLpPool(Tensor x; int p=2) {
  x.flatten(2, -1).abs().pow(p).sum([-1], True).pow(1.0 / p).reshape([size(x, 0), size(x,
    1)] + [1] * (x_rank - 2))
}
InstanceNormalization(Tensor x, Tensor scale, Tensor b; float epsilon=0.00001) {
  instance_norm(x, scale, b, None, None, True, 0.0, epsilon, False)
}
LpNormalization(Tensor x; int axis=-1, int p=2) {
  let norm = if p == 1 { abs(x).sum([axis], True) } else { sqrt((x * x).sum([axis], True)) };
  where(norm == 0, zeros_like(x), x / norm)
}
MeanVarianceNormalization(Tensor x; int[]? axes=[0, 2, 3]) {
  let y = x - x.mean(axes, True);
  y / (sqrt((y * y).mean(axes, True)) + 1e-9)
}
LRN(Tensor x; int size, float alpha=0.0001, float beta=0.75, float bias=1.0) {
  let squares = (x * x).movedim(1, -1);
  let padded = constant_pad_nd(squares, [(size - 1) // 2, size - 1 - (size - 1) // 2], 0);
  let sums = padded.unfold(-1, size, 1).sum([-1]).movedim(-1, 1);
  x / (sums * (alpha / size) + bias).pow(beta)
}
RMSNormalization(Tensor x, Tensor scale; int axis=-1, float epsilon=0.00001, int stash_type=1) {
  let y = if stash_type == 1 { x.to(6) } else { x };
  let at = if axis < 0 { axis + x_rank } else { axis };
  let ms = (y * y).flatten(at, -1).mean([-1]);
  let root = rsqrt(ms.reshape(size(ms) + [1] * (x_rank - at)) + epsilon);
  (y * root).to(x_dtype) * scale
}
LayerNormalization(Tensor x, Tensor scale, Tensor? b;
  int axis=-1, float epsilon=0.00001, int stash_type=1) -> x, stash_type, stash_type {
  let y = if stash_type == 1 { x.to(6) } else { x };
  let at = if axis < 0 { axis + x_rank } else { axis };
  let rows = y.flatten(at, -1);
  let shape = slice(size(x), 0, at, 1) + [1] * (x_rank - at);
  let mean = rows.mean([-1], True);
  let centered = rows - mean;
  let root = rsqrt((centered * centered).mean([-1], True) + epsilon);
  let normed = (centered * root).reshape(size(x)).to(x_dtype) * scale;
  (if has_b { normed + b } else { normed }), mean.reshape(shape), root.reshape(shape)
}
GroupNormalization(Tensor x, Tensor scale, Tensor b;
  int num_groups, float epsilon=0.00001, int stash_type=1) since 21 {
  group_norm(x, num_groups, scale, b, epsilon)
}
GroupNormalization(Tensor x, Tensor scale, Tensor b;
  int num_groups, float epsilon=0.00001) since 18 {
  let times = size(x, 1) // num_groups;
  group_norm(x, num_groups, scale.unsqueeze(1).repeat([1, times]).reshape([-1]),
             b.unsqueeze(1).repeat([1, times]).reshape([-1]), epsilon)
}
NegativeLogLikelihoodLoss(Tensor x, Tensor target, Tensor? weight;
  int? ignore_index=None, str reduction="mean") {
  let t = target.to(4).unsqueeze(1);
  let kept = if has_ignore_index { t != ignore_index } else { ones_like(t, dtype=11) };
  let at = where(kept, t, zeros_like(t));
  let w = if has_weight { weight.index_select(0, at.reshape([-1])).reshape(size(at))
    } else { ones_like(at, dtype=x_dtype) };
  let used = where(kept, w, zeros_like(w));
  let loss = x.gather(1, at).neg() * used;
  if reduction == "none" { loss.squeeze(1) } else {
    if reduction == "sum" { loss.sum() } else { loss.sum() / used.sum() }
  }
}
SoftmaxCrossEntropyLoss(Tensor x, Tensor target, Tensor? weight;
  int? ignore_index=None, str reduction="mean") -> x, x {
  let logs = log_softmax(x, 1);
  let t = target.to(4).unsqueeze(1);
  let kept = if has_ignore_index { t != ignore_index } else { ones_like(t, dtype=11) };
  let at = where(kept, t, zeros_like(t));
  let w = if has_weight { weight.index_select(0, at.reshape([-1])).reshape(size(at))
    } else { ones_like(at, dtype=x_dtype) };
  let used = where(kept, w, zeros_like(w));
  let loss = logs.gather(1, at).neg() * used;
  (if reduction == "none" { loss.squeeze(1) } else {
    if reduction == "sum" { loss.sum() } else { loss.sum() / used.sum() }
  }), logs
}
BlackmanWindow(int size; int periodic=1, int output_datatype=1) -> output_datatype {
  let n = if periodic == 1 { size } else { size - 1 };
  let t = arange(size).to(7) * (6.283185307179586 / n);
  (t.cos() * -0.5 + (t * 2).cos() * 0.08 + 0.42).to(6)
}
HannWindow(int size; int periodic=1, int output_datatype=1) -> output_datatype {
  let n = if periodic == 1 { size } else { size - 1 };
  (rsub((arange(size).to(7) * (6.283185307179586 / n)).cos(), 1) * 0.5).to(6)
}
HammingWindow(int size; int periodic=1, int output_datatype=1) -> output_datatype {
  let n = if periodic == 1 { size } else { size - 1 };
  ((arange(size).to(7) * (6.283185307179586 / n))
    .cos() * -0.45652173913043476 + 0.5434782608695652).to(6)
}
"""
