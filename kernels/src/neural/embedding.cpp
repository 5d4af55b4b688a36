// kernels/neural/embedding.cpp: rows of a table by number, and their gradient.
#include <algorithm>

#include "common/define.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "geometry/symbolic_calls.h"

namespace opyard::kernels {
namespace {

using namespace ops;

void require_indices(const char* op, const Tensor& indices) {
  require_defined(op, "indices", indices);
  if (indices.dtype() != DType::Int64 && indices.dtype() != DType::Int32) {
    refuse(ErrorKind::BadArgument,
           {op, ": indices is ", indices, "; accepted are int64 and int32"});
  }
}
Tensor in_a_row(const Tensor& indices) {
  const std::array<std::int64_t, 1> all = {-1};
  const std::array<std::int64_t, 1> none = {0};
  return to(reshape(indices, indices.numel() == 0 ? none : all), DType::Int64);
}

Tensor embedding(const Tensor& weight, const Tensor& indices, std::int64_t /*padding_idx*/,
                 bool /*scale_grad_by_freq*/, bool sparse) {
  constexpr const char* kOp = "aten::embedding";
  require_indices(kOp, indices);
  require_defined(kOp, "weight", weight);
  require_dims(kOp, "weight", weight, 2, 2);
  if (sparse) {
    refuse(ErrorKind::Unsupported,
           {kOp, ": sparse is True, and gradients here are dense; pass False"});
  }
  DimVector sizes(indices.sizes());
  sizes.push_back(weight.sizes()[1]);
  return reshape(index_select(weight, 0, in_a_row(indices)), sizes);
}

Tensor embedding_dense_backward(const Tensor& grad_output, const Tensor& indices,
                                std::int64_t num_weights, std::int64_t padding_idx,
                                bool scale_grad_by_freq) {
  constexpr const char* kOp = "aten::embedding_dense_backward";
  using Backward = Tensor(const Tensor&, IntSpan, std::int64_t, const Tensor&);
  static constinit FoundOperator<Backward> add("aten::index_select_backward");
  require_indices(kOp, indices);
  require_defined(kOp, "grad_output", grad_output);
  if (grad_output.dim() != indices.dim() + 1 ||
      !std::ranges::equal(indices.sizes(), grad_output.sizes().first(std::size_t(indices.dim())))) {
    refuse(ErrorKind::BadShape, {kOp, ": grad_output is ", grad_output, " and indices is ", indices,
                                 "; the sizes of indices and one more are needed"});
  }
  const std::int64_t width = grad_output.sizes().back();
  const Tensor rows = in_a_row(indices);
  const std::array lines = {indices.numel(), width}, sizes = {num_weights, width};
  Tensor grad = reshape(grad_output, lines);
  if (padding_idx >= 0) grad = masked(grad, ops::unsqueeze(equals(rows, padding_idx), 1), 0);
  if (scale_grad_by_freq) {
    const std::array table = {num_weights}, row = {rows.numel()};
    const Tensor counts =
        scatter_add(zeros(grad_output, table), 0, rows, full(grad_output, row, 1));
    grad = grad / ops::unsqueeze(index_select(counts, 0, rows), 1);
  }
  return add.call(grad, sizes, 0, rows);
}
Tensor embedding_backward(const Tensor& grad, const Tensor& indices, std::int64_t num_weights,
                          std::int64_t padding_idx, bool scale_grad_by_freq, bool /*sparse*/) {
  return embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, {"embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
             "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
             "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, "
             "SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
             "embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt "
             "padding_idx, bool scale_grad_by_freq, bool sparse) -> Tensor"});
  m.impl("embedding_dense_backward",
         Kernel::with_symbolic<&embedding_dense_backward, &decide_symbolic>());
  m.impl("embedding_backward", Kernel::with_symbolic<&embedding_backward, &decide_symbolic>());
  m.derivative("embedding", {{"weight",
                              "embedding_backward(grad, indices, size(weight, 0), padding_idx, "
                              "scale_grad_by_freq, sparse)"},
                             {"indices", "None"}});
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) { m.impl("embedding", &embedding); }

}  // namespace opyard::kernels
