// kernels/indexing/join.cpp: cat and stack.
//
// Tensors of several dtypes are promoted (dtypes.h [Promotion]); tensors of one dtype are
// joined whatever it is. cat leaves out tensors of sizes [0], whatever the others' sizes.
#include <opyard/library.h>

#include <algorithm>

#include "common/block_functions.h"
#include "common/broadcast.h"
#include "common/copy.h"
#include "common/dtypes.h"
#include "common/kernels_block.h"
#include "common/order.h"

namespace opyard::kernels {
namespace {

// Raises BadArgument for an empty list.
void require_joined(const char* op, const std::vector<Tensor>& tensors) {
  if (tensors.empty()) {
    refuse(ErrorKind::BadArgument, {op, ": tensors is an empty list; at least one is needed"});
  }
}

DType joint_dtype(const std::vector<Tensor>& tensors) {
  bool alike = true;
  for (const Tensor& tensor : tensors) alike = alike && tensor.dtype() == tensors[0].dtype();
  if (alike) return tensors[0].dtype();
  Promotion promotion;
  for (const Tensor& tensor : tensors) promotion.add(tensor);
  return promotion.result();
}

bool is_left_out(const Tensor& tensor) { return tensor.dim() == 1 && tensor.sizes()[0] == 0; }

// The sizes of the result, by the first tensor that is not left out. Raises BadShape.
DimVector joined_sizes(const char* op, const std::vector<Tensor>& tensors, std::size_t first,
                       std::size_t dim) {
  DimVector sizes(tensors[first].sizes());
  for (std::size_t i = first + 1; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    if (is_left_out(tensor)) continue;
    bool fits = tensor.dim() == tensors[first].dim();
    for (std::size_t d = 0; fits && d < sizes.size(); ++d) {
      fits = d == dim || tensor.sizes()[d] == sizes[d];
    }
    if (!fits) {
      refuse(ErrorKind::BadShape, {op, ": tensors[", first, "] is ", tensors[first],
                                   " and tensors[", i, "] is ", tensor, "; along dimension ", dim,
                                   " only tensors can be joined whose other sizes are equal"});
    }
    sizes[dim] += tensor.sizes()[dim];
  }
  return sizes;
}

Tensor cat_kernel(const std::vector<Tensor>& tensors, std::int64_t dim) {
  constexpr const char* kOp = "aten::cat";
  require_joined(kOp, tensors);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = text_of({"tensors[", i, "]"});
    require_cpu(kOp, name.c_str(), tensors[i]);
    if (tensors[i].dim() == 0) {
      refuse(ErrorKind::BadShape,
             {kOp, ": ", name, " is ", tensors[i],
              ", which has no dimension to join along; aten::stack makes one"});
    }
  }
  const DType dtype = joint_dtype(tensors);
  std::size_t first = 0;
  while (first < tensors.size() && is_left_out(tensors[first])) ++first;
  const auto on_meta = std::ranges::find_if(tensors, is_meta);
  const Tensor& like = on_meta == tensors.end() ? tensors[0] : *on_meta;
  if (first == tensors.size()) return empty_beside(like, std::array{std::int64_t{0}}, dtype);
  const auto at = std::size_t(wrap_dim(kOp, dim, tensors[first].dim()));
  const DimVector sizes = joined_sizes(kOp, tensors, first, at);
  Tensor result =
      std::ranges::all_of(tensors, is_channels_last)
          ? empty_with_strides(sizes, channels_last_strides(sizes), dtype, like.device())
          : empty_beside(like, sizes, dtype);
  std::int64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    copy_elements(kOp, result.as_strided(tensor.sizes(), result.strides(), offset), tensor);
    offset += tensor.sizes()[at] * result.strides()[at];
  }
  return result;
}

Tensor stack_kernel(const std::vector<Tensor>& tensors, std::int64_t dim) {
  constexpr const char* kOp = "aten::stack";
  using Unsqueeze = Tensor(const Tensor&, std::int64_t);
  using Cat = Tensor(const std::vector<Tensor>&, std::int64_t);
  static constinit FoundOperator<Unsqueeze> unsqueeze("aten::unsqueeze");
  static constinit FoundOperator<Cat> cat("aten::cat");
  require_joined(kOp, tensors);
  std::vector<Tensor> raised;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    require_defined(kOp, text_of({"tensors[", i, "]"}).c_str(), tensors[i]);
    if (!std::ranges::equal(tensors[i].sizes(), tensors[0].sizes())) {
      refuse(ErrorKind::BadShape, {kOp, ": tensors[0] is ", tensors[0], " and tensors[", i, "] is ",
                                   tensors[i], "; all must have the same sizes"});
    }
    raised.push_back(
        named(kOp, "aten::unsqueeze", [&] { return unsqueeze.call(tensors[i], dim); }));
  }
  return cat.call(raised, dim);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("cat(Tensor[] tensors, int dim=0) -> Tensor");
  m.def("stack(Tensor[] tensors, int dim=0) -> Tensor", &stack_kernel);
}

OPYARD_KERNELS(m) {
  m.impl("cat", &cat_kernel);
  offer_tail(
      {"aten::cat", "", reinterpret_cast<void (*)()>(&cat_kernel), jit::TailKind::Joined, {}});
}

}  // namespace opyard::kernels
