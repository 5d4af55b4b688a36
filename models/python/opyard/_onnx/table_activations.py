"""Activations, softmax and its relatives."""

ACTIVATIONS = """
pointwise Relu(Tensor x) { relu(x) }
pointwise LeakyRelu(Tensor x; float alpha=0.01) { leaky_relu(x, alpha) }
pointwise PRelu(Tensor x, Tensor slope) since 7 { where(x < 0, x * slope, x) }
pointwise PRelu(Tensor x, Tensor slope) {
  let s = if numel(slope) == 1 { slope } else { slope.reshape([-1] + [1] * (x_rank - 2)) };
  where(x < 0, x * s, x)
}
pointwise ThresholdedRelu(Tensor x; float alpha=1.0) { where(x > alpha, x, zeros_like(x)) }
pointwise Elu(Tensor x; float alpha=1.0) { elu(x, alpha) }
pointwise Celu(Tensor x; float alpha=1.0) { celu(x, alpha) }
pointwise Selu(Tensor x; float alpha=1.67326319217681884765625,
  float gamma=1.05070102214813232421875) {
  where(x > 0, x, (exp(x) - 1) * alpha) * gamma
}
pointwise Sigmoid(Tensor x) { sigmoid(x) }
pointwise HardSigmoid(Tensor x; float alpha=0.2, float beta=0.5) { clamp(x * alpha + beta, 0, 1) }
pointwise HardSwish(Tensor x) { hardswish(x) }
pointwise Swish(Tensor x; float alpha=1.0) { if alpha == 1.0 { silu(x)
  } else { x * sigmoid(x * alpha) } }
pointwise SwiGLU(Tensor a, Tensor b; float alpha=1.0) { a * sigmoid(a * alpha) * b }
pointwise Tanh(Tensor x) { tanh(x) }
pointwise Softplus(Tensor x) { softplus(x) }
pointwise Softsign(Tensor x) { x / (abs(x) + 1) }
pointwise Mish(Tensor x) { mish(x) }
pointwise Gelu(Tensor x; str approximate="none") { gelu(x, approximate=approximate) }
pointwise Shrink(Tensor x; float bias=0.0, float lambd=0.5) {
  where(x < -lambd, (x + bias).to(x_dtype), where(x > lambd, (x - bias).to(x_dtype), zeros_like(x)))
}

Softmax(Tensor x; int axis=-1) since 13 { softmax(x, axis) }
LogSoftmax(Tensor x; int axis=-1) since 13 { log_softmax(x, axis) }
Hardmax(Tensor x; int axis=-1) since 13 { zeros_like(x).scatter(axis, argmax(x, axis, True), 1) }
# Before, all dimensions from the axis on were one.
Softmax(Tensor x; int axis=1) { softmax(x.flatten(axis, -1), -1).reshape(size(x)) }
LogSoftmax(Tensor x; int axis=1) { log_softmax(x.flatten(axis, -1), -1).reshape(size(x)) }
Hardmax(Tensor x; int axis=1) {
  let rows = x.flatten(axis, -1);
  zeros_like(rows).scatter(-1, argmax(rows, -1, True), 1).reshape(size(x))
}
"""
