// kernels/neural/attention.cpp: scaled_dot_product_attention, as a composition.
//
//   softmax(query key^T scale + mask) value
//
// A row of which all is masked off gives zeros. What is plain is computed in blocks:
// attention_blocks.cpp.
#include <cmath>

#include "common/broadcast.h"
#include "common/define.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/options.h"
#include "neural/attention_blocks.h"

namespace opyard::kernels {
namespace {

using namespace ops;

struct Attention {
  static constexpr const char* kOp = "aten::scaled_dot_product_attention";
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;

  void check() const {
    require_defined(kOp, "query", query);
    require_defined(kOp, "key", key);
    require_defined(kOp, "value", value);
    if (query.dim() < 2 || key.dim() < 2 || value.dim() < 2 ||
        query.sizes().back() != key.sizes().back() || key.size(-2) != value.size(-2)) {
      refuse(ErrorKind::BadShape,
             {kOp, ": query is ", query, ", key is ", key, " and value is ", value,
              "; key needs the last size of query, and value as many rows as key"});
    }
  }
  void check_batches() const {
    require_leading(kOp, {"query", query}, {"key", key});
    require_leading(kOp, {"query", query}, {"value", value});
    require_leading(kOp, {"key", key}, {"value", value});
  }
};

// As many heads of keys or values as the query has: each serves several.
Tensor repeated_heads(const Tensor& x, const Tensor& query) {
  const std::int64_t heads = x.size(-3), wanted = query.size(-3);
  if (heads == 0 || wanted % heads != 0) {
    refuse(ErrorKind::BadShape, {Attention::kOp, ": query is ", query, ", and there are ", heads,
                                 " heads of keys or values, which must divide its own"});
  }
  DimVector spread(x.sizes()), joined(x.sizes());
  const std::size_t at = x.sizes().size() - 3;
  joined[at] = wanted;
  spread.push_back(0);
  for (std::size_t i = spread.size() - 1; i > at + 1; --i) spread[i] = spread[i - 1];
  spread[at + 1] = wanted / heads;
  return reshape(ops::expand(ops::unsqueeze(x, std::int64_t(at) + 1), spread), joined);
}

Tensor attention(const Tensor& query, const Tensor& given_key, const Tensor& given_value,
                 const MaybeTensor& attn_mask, double dropout_p, bool is_causal,
                 std::optional<double> scale, bool enable_gqa) {
  constexpr const char* kOp = Attention::kOp;
  Attention{query, given_key, given_value}.check();
  const bool repeats = enable_gqa && query.dim() > 2;
  const Tensor key = repeats ? repeated_heads(given_key, query) : given_key;
  const Tensor value = repeats ? repeated_heads(given_value, query) : given_value;
  Attention{query, key, value}.check_batches();
  if (attn_mask && is_causal) {
    refuse(ErrorKind::BadArgument,
           {kOp, ": attn_mask is given and is_causal is True; give one of them"});
  }
  const double factor = scale.value_or(1 / std::sqrt(double(query.sizes().back())));
  if (dropout_p == 0 && are_blocks(query, key, value, attn_mask)) {
    return attention_in_blocks(query, key, value, attn_mask, is_causal, factor);
  }
  Tensor weights = attention_weights(kOp, query, key, attn_mask, is_causal, factor);
  if (dropout_p > 0) {
    static constinit FoundOperator<Tensor(const Tensor&, double, bool)> dropout("aten::dropout");
    weights = dropout.call(weights, dropout_p, true);
  }
  return matmul(weights, value);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
         "attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool "
         "enable_gqa=False) -> Tensor",
         Tagged::Random);
  m.impl("scaled_dot_product_attention", &attention);
}

}  // namespace opyard::kernels
