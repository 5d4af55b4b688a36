// kernels/neural/multi_head.cpp: _native_multi_head_attention: the attention of several heads between
// two linear layers, as traced TorchScript has it; a composition.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/define.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/options.h"

namespace opyard::kernels {
namespace {

using namespace ops;

struct Heads {
  static constexpr const char* kOp = "aten::_native_multi_head_attention";
  std::int64_t batch, length, width, count;

  Heads(const Tensor& query, std::int64_t embed_dim, std::int64_t num_head) {
    require_float_dtype(kOp, "query", query);
    require_dims(kOp, "query", query, 3, 3);
    if (num_head < 1 || query.size(2) != embed_dim || embed_dim % num_head != 0) {
      refuse(ErrorKind::BadShape,
             {kOp, ": query is ", query, ", embed_dim is ", embed_dim, " and num_head is ",
              num_head, "; the last size of query must be embed_dim, which num_head must divide"});
    }
    batch = query.size(0);
    length = query.size(1);
    width = embed_dim;
    count = num_head;
  }
  // [batch, length, width] as [batch, count, length, width / count], and back.
  Tensor apart(const Tensor& x) const {
    return ops::transpose(reshape(x, std::array{batch, length, count, width / count}), 1, 2);
  }
  Tensor joined(const Tensor& x) const {
    return reshape(ops::transpose(x, 1, 2), std::array{batch, length, width});
  }
  // Which scores are left out: of a pair of places (0), of a place in a batch (1), or of each (2).
  Tensor left_out(const Tensor& mask, MaybeInt mask_type) const {
    if (!mask_type || *mask_type < 0 || *mask_type > 2) {
      refuse(ErrorKind::BadValue, {kOp, ": mask is given and mask_type is ",
                                   mask_type ? *mask_type : -1, "; accepted are 0, 1 and 2"});
    }
    const Tensor chosen = mask.dtype() == DType::Bool ? mask : differs(mask, 0);
    if (*mask_type != 1) return chosen;
    return reshape(chosen, std::array{batch, std::int64_t{1}, std::int64_t{1}, length});
  }
};

void require_same_sizes(const char* argument, const Tensor& x, const Tensor& query) {
  require_one_dtype(Heads::kOp, "query", query, argument, x);
  if (!std::ranges::equal(x.sizes(), query.sizes())) {
    refuse(ErrorKind::BadShape, {Heads::kOp, ": query is ", query, " and ", argument, " is ", x,
                                 "; query, key and value need one shape"});
  }
}

Tensor call_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, const MaybeTensor&)> op(
      "aten::linear");
  return op.call(x, weight, bias);
}

TwoTensors multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                std::int64_t embed_dim, std::int64_t num_head,
                                const Tensor& qkv_weight, const Tensor& qkv_bias,
                                const Tensor& proj_weight, const Tensor& proj_bias,
                                const MaybeTensor& mask, bool need_weights,
                                bool average_attn_weights, MaybeInt mask_type) {
  const Heads heads(query, embed_dim, num_head);
  require_same_sizes("key", key, query);
  require_same_sizes("value", value, query);
  require_dims(Heads::kOp, "qkv_weight", qkv_weight, 2, 2);
  require_dims(Heads::kOp, "qkv_bias", qkv_bias, 1, 1);
  const auto through = [&](const Tensor& x, std::int64_t part) {
    return heads.apart(call_linear(x, ops::narrow(qkv_weight, 0, part * embed_dim, embed_dim),
                                   ops::narrow(qkv_bias, 0, part * embed_dim, embed_dim)));
  };
  const double factor = 1 / std::sqrt(double(embed_dim / num_head));
  Tensor scores = matmul(through(query, 0) * factor, ops::transpose(through(key, 1), -2, -1));
  if (mask) {
    scores =
        masked(scores, heads.left_out(*mask, mask_type), -std::numeric_limits<double>::infinity());
  }
  const Tensor weights = softmax(scores, -1);
  const Tensor context = heads.joined(matmul(weights, through(value, 2)));
  const Tensor result = call_linear(context, proj_weight, proj_bias);
  if (!need_weights) return {result, Tensor()};
  return {result, average_attn_weights ? mean(weights, std::array<std::int64_t, 1>{1}) : weights};
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         "_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int "
         "num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, "
         "Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? "
         "mask_type=None) -> (Tensor, Tensor)");
  m.impl("_native_multi_head_attention", &multi_head_attention);
}

}  // namespace opyard::kernels
