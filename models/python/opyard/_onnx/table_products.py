"""Products of matrices, and of numbers of few bits."""

PRODUCTS = """
MatMul(Tensor a, Tensor b) { matmul(a, b) }
Gemm(Tensor a, Tensor b, Tensor? c; float alpha=1.0, float beta=1.0, int transA=0, int transB=0) {
  let left = if transA == 1 { a.t() } else { a };
  let right = if transB == 1 { b.t() } else { b };
  let product = left @ right;
  let scaled = if alpha == 1.0 { product } else { (product * alpha).to(a_dtype) };
  if has_c { if beta == 1.0 { scaled + c } else { scaled + (c * beta).to(a_dtype) }
    } else { scaled }
}
Einsum(Tensor[] xs; str equation) { einsum(equation, xs) }
Det(Tensor x) { linalg_det(x) }
"""
