// kernels/gradients/derivatives.cpp: the derivative of every operator of this library that has one.
//
// A formula is an expression of arguments, results, and gradients of results, in the language of
// graphs; docs/guides/gradients.md says how they are written. "None" says that no gradient flows to
// an argument.
//
// Composite operators, such as matmul, stack, flatten and softmax.int, need none: what they call
// has some. An in-place form has that of its functional form. Results of integers and bools have no
// gradient. Those that are missing, and why:
//
//   div.*_mode      a step if it rounds, and div if not: call the one that is meant
#include <opyard/library.h>

#include <string>

namespace opyard::kernels {

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  // Arithmetic.
  m.derivative("add.Tensor",
               {{"self", "sum_to(grad, self)"}, {"other", "sum_to(grad * conj(alpha), other)"}});
  m.derivative("add.Scalar", {{"self", "grad"}});
  m.derivative("sub.Tensor",
               {{"self", "sum_to(grad, self)"}, {"other", "sum_to(-grad * conj(alpha), other)"}});
  m.derivative("sub.Scalar", {{"self", "grad"}});
  m.derivative("rsub.Tensor",
               {{"self", "sum_to(-grad * conj(alpha), self)"}, {"other", "sum_to(grad, other)"}});
  m.derivative("rsub.Scalar", {{"self", "-grad * conj(alpha)"}});
  m.derivative("mul.Tensor", {{"self", "sum_to(grad * conj(other), self)"},
                              {"other", "sum_to(grad * conj(self), other)"}});
  m.derivative("mul.Scalar", {{"self", "grad * conj(other)"}});
  m.derivative("div.Tensor", {{"self", "sum_to(grad / conj(other), self)"},
                              {"other", "sum_to(-grad * conj((self / other) / other), other)"}});
  m.derivative("div.Scalar", {{"self", "grad / conj(other)"}});
  m.derivative("div.Tensor_mode",
               {{"self", "sum_to(unless_rounded(grad / other, rounding_mode), self)"},
                {"other",
                 "sum_to(unless_rounded(-grad * ((self / other) / other), rounding_mode), "
                 "other)"}});
  m.derivative("div.Scalar_mode", {{"self", "unless_rounded(grad / other, rounding_mode)"}});
  // Steps: zero in between.
  for (const char* name : {"floor_divide", "floor_divide_.Tensor"}) {
    m.derivative(name, {{"self", "None"}, {"other", "None"}});
  }
  m.derivative("floor_divide.Scalar", {{"self", "None"}});
  m.derivative("remainder.Tensor", {{"self", "sum_to(grad, self)"},
                                    {"other", "sum_to(-grad * floor_divide(self, other), other)"}});
  m.derivative("remainder.Scalar", {{"self", "grad"}});
  for (const char* name : {"pow.Tensor_Scalar", "pow_.Scalar"}) {
    m.derivative(name, {{"self", "pow_backward(grad, self, exponent)"}});
  }
  for (const char* name : {"pow.Tensor_Tensor", "pow_.Tensor"}) {
    m.derivative(name, {{"self", "sum_to(pow_base_backward(grad, self, exponent), self)"},
                        {"exponent",
                         "sum_to(pow_exponent_backward(grad, self, exponent, result), exponent)"}});
  }
  m.derivative("pow.Scalar", {{"exponent", "pow_scalar_backward(grad, self, exponent, result)"}});

  // Written into a tensor of floats, their results are numbers without a gradient.
  for (const char* name : {"eq_", "ne_", "lt_", "le_", "gt_", "ge_"}) {
    m.derivative(std::string(name) + ".Scalar", {{"self", "None"}});
    m.derivative(std::string(name) + ".Tensor", {{"self", "None"}, {"other", "None"}});
  }
  m.derivative("logical_not_", {{"self", "None"}});
  for (const char* name : {"logical_and_", "logical_or_", "logical_xor_"}) {
    m.derivative(name, {{"self", "None"}, {"other", "None"}});
  }

  // Element by element.
  m.derivative("neg", {{"self", "-grad"}});
  m.derivative("abs", {{"self", "grad * sgn(self)"}});
  m.derivative("reciprocal", {{"self", "-grad * conj(result * result)"}});
  m.derivative("sqrt", {{"self", "grad / conj(result * 2)"}});
  m.derivative("exp", {{"self", "grad * conj(result)"}});
  m.derivative("log", {{"self", "grad / conj(self)"}});
  m.derivative("tanh", {{"self", "grad * conj(1 - result * result)"}});
  m.derivative("sigmoid", {{"self", "grad * conj((1 - result) * result)"}});
  m.derivative("relu", {{"self", "masked_fill(grad, result <= 0, 0)"}});
  m.derivative(
      "maximum",
      {{"self", "sum_to(masked_fill(where(self == other, grad / 2, grad), self < other, 0), self)"},
       {"other",
        "sum_to(masked_fill(where(self == other, grad / 2, grad), self > other, 0), other)"}});
  m.derivative(
      "minimum",
      {{"self", "sum_to(masked_fill(where(self == other, grad / 2, grad), self > other, 0), self)"},
       {"other",
        "sum_to(masked_fill(where(self == other, grad / 2, grad), self < other, 0), other)"}});
  m.derivative("clamp", {{"self", "clamp_backward(grad, self, min, max)"}});
  m.derivative("where.self",
               {{"condition", "None"},
                {"self", "sum_to(masked_fill(grad, logical_not(condition), 0), self)"},
                {"other", "sum_to(masked_fill(grad, condition, 0), other)"}});
  m.derivative("masked_fill.Scalar",
               {{"self", "sum_to(masked_fill(grad, mask, 0), self)"}, {"mask", "None"}});

  // Reductions.
  m.derivative("sum", {{"self", "expand(grad, sizes(self))"}});
  m.derivative("sum.dim_IntList", {{"self", "expand_dims(grad, sizes(self), dim, keepdim)"}});
  m.derivative("mean", {{"self", "expand(grad / numel(self), sizes(self))"}});
  m.derivative("mean.dim",
               {{"self", "expand_dims(grad / numel_of(self, dim), sizes(self), dim, keepdim)"}});
  m.derivative("amax", {{"self", "extremum_backward(grad, self, result, dim, keepdim)"}});
  m.derivative("amin", {{"self", "extremum_backward(grad, self, result, dim, keepdim)"}});
  m.derivative("max", {{"self", "extremum_backward(grad, self, result, None, False)"}});
  m.derivative("min", {{"self", "extremum_backward(grad, self, result, None, False)"}});
  m.derivative("max.dim", {{"self", "chosen_backward(grad0, sizes(self), dim, result1, keepdim)"}});
  m.derivative("min.dim", {{"self", "chosen_backward(grad0, sizes(self), dim, result1, keepdim)"}});
  m.derivative("_softmax", {{"self", "(grad - sum(grad * result, [dim], True)) * result"}});
  m.derivative("_log_softmax", {{"self", "grad - exp(result) * sum(grad, [dim], True)"}});

  // Matrices.
  m.derivative("mm", {{"self", "mm(grad, t(conj(mat2)))"},
                      {"mat2", "mm_in_order(t(conj(self)), grad, is_column_major(mat2))"}});
  m.derivative("addmm",
               {{"self", "sum_to(grad * conj(beta), self)"},
                {"mat1", "mm(grad, t(conj(mat2))) * conj(alpha)"},
                {"mat2", "mm_in_order(t(conj(mat1)), grad, is_column_major(mat2)) * conj(alpha)"}});
  m.derivative("mv", {{"self", "mm(unsqueeze(grad, 1), unsqueeze(conj(vec), 0))"},
                      {"vec", "mv(t(conj(self)), grad)"}});
  m.derivative("dot", {{"self", "grad * conj(tensor)"}, {"tensor", "grad * conj(self)"}});

  // Geometry.
  m.derivative("view", {{"self", "reshape(grad, sizes(self))"}});
  m.derivative("t", {{"self", "t(grad)"}});
  m.derivative("transpose.int", {{"self", "transpose(grad, dim0, dim1)"}});
  m.derivative("permute", {{"self", "permute_back(grad, dims)"}});
  m.derivative("expand", {{"self", "sum_to(grad, self)"}});
  // What formulas are made of, for backwards that are differentiated in turn.
  m.derivative("squeeze", {{"self", "reshape(grad, sizes(self))"}});
  m.derivative("squeeze.dim", {{"self", "reshape(grad, sizes(self))"}});
  m.derivative("unsqueeze", {{"self", "reshape(grad, sizes(self))"}});
  m.derivative("alias", {{"self", "grad"}});
  m.derivative("as_strided",
               {{"self",
                 "as_strided_backward(grad, sizes(self), stride(self), storage_offset(self), "
                 "storage_size(self), size, stride, storage_offset)"}});
  m.derivative("select.int", {{"self", "select_backward(grad, sizes(self), dim, index)"}});
  m.derivative("slice.Tensor",
               {{"self", "slice_backward(grad, sizes(self), dim, start, end, step)"}});
  m.derivative("narrow", {{"self", "narrow_backward(grad, sizes(self), dim, start, length)"}});

  // Positions and lists.
  m.derivative("index.Tensor",
               {{"self", "index_backward(grad, sizes(self), indices)"}, {"indices", "None"}});
  m.derivative("index_select", {{"self", "index_select_backward(grad, sizes(self), dim, index)"},
                                {"index", "None"}});
  m.derivative("index_put_", {{"self", "index_put_backward(grad, indices, accumulate)"},
                              {"indices", "None"},
                              {"values", "sum_to(index(grad, indices), values)"}});
  m.derivative("gather",
               {{"self", "gather_backward(grad, sizes(self), dim, index)"}, {"index", "None"}});
  m.derivative("cat", {{"tensors", "split_extents(grad, extents(tensors, dim), dim)"}});

  // Several views by one call: taped as that call, so that writes to them are refused.
  m.derivative("unbind.int", {{"self", "stack(grad, dim)"}});
  for (const char* name : {"split.Tensor", "split.sizes", "split_with_sizes", "chunk"}) {
    m.derivative(name, {{"self", "cat(grad, dim)"}});
  }

  // Copies, and what writes.
  m.derivative("clone", {{"self", "grad"}});
  m.derivative("_to_copy", {{"self", "grad"}});
  m.derivative("copy_", {{"self", "None"}, {"src", "sum_to(grad, src)"}});
  m.derivative("fill_.Scalar", {{"self", "None"}});
  m.derivative("zero_", {{"self", "None"}});

  // What is made like another tensor does not depend on its elements.
  m.derivative("empty_like", {{"self", "None"}});
  m.derivative("zeros_like", {{"self", "None"}});
  m.derivative("ones_like", {{"self", "None"}});
  m.derivative("full_like", {{"self", "None"}});
  for (const char* made : {"new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros"}) {
    m.derivative(made, {{"self", "None"}});
  }
}

}  // namespace opyard::kernels
