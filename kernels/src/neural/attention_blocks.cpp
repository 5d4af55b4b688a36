// kernels/neural/attention_blocks.cpp: the operator opyard::attention and its gradients.
//
// Overview. kQueries queries of a head are one part. Their scores are kept transposed for all keys
// that one of them sees (loops/attention.h): of a causal head, none of the other half is computed.
// A mask is read for these scores alone. Each part is a task of its own, whatever the number of
// threads. The gradients make the weights again, as a composition.
#include <opyard/parallel.h>

#include <cmath>
#include <limits>
#include <memory>

#include "common/broadcast.h"
#include "common/builds.h"
#include "common/copy.h"
#include "common/kernels_block.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/releasing.h"
#include "common/symbolic.h"
#include "neural/attention_blocks.h"
#include "neural/wide_floats.h"

namespace opyard::kernels {
namespace {

using namespace ops;
using OfAttention = std::tuple<Tensor, Tensor, Tensor>;

constexpr const char* kAttend = "opyard::attention";

// Where the matrix of a head begins, of a tensor [..., rows, columns].
struct HeadMatrices {
  IntSpan sizes, strides;

  explicit HeadMatrices(const Tensor& x) : sizes(x.sizes()), strides(x.strides()) {}
  std::int64_t offset(std::int64_t head) const {
    std::int64_t at = 0;
    for (std::size_t i = sizes.size() - 2; i-- > 0;) {
      at += head % sizes[i] * strides[i];
      head /= sizes[i];
    }
    return at;
  }
  std::int64_t row() const { return strides[strides.size() - 2]; }
  std::int64_t column() const { return strides.back(); }
};

// What is added to scores, or which of them count.
struct ScoreMask {
  Tensor mask;  // undefined for none; of the scores' sizes, its strides may be 0

  template <typename T>
  void apply(T* scores, std::int64_t head, std::int64_t first, std::int64_t queries,
             std::int64_t keys) const {
    if (!mask.defined()) return;
    const HeadMatrices at(mask);
    const std::int64_t begin = at.offset(head) + first * at.row();
    const auto each = [&](const auto* from, const auto& with) {
      for (std::int64_t i = 0; i < queries; ++i) {
        const auto* const row = from + begin + i * at.row();
        for (std::int64_t k = 0; k < keys; ++k) {
          T& score = scores[k * kQueries + i];
          score = with(score, row[k * at.column()]);
        }
      }
    };
    if (mask.dtype() == DType::Bool) {
      constexpr T kNothing = -std::numeric_limits<T>::infinity();
      each(elements_of<const bool>(mask),
           [](T score, bool counts) { return counts ? score : kNothing; });
    } else {
      each(elements_of<const T>(mask), [](T score, T more) { return score + more; });
    }
  }
};

template <typename T>
struct AttentionBlocks {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  ScoreMask mask;
  bool is_causal;
  T scale;
  T* result;

  std::int64_t rows() const { return query.size(-2); }
  std::int64_t depth() const { return query.size(-1); }
  std::int64_t width() const { return value.size(-1); }
  std::int64_t keys() const { return key.size(-2); }

  void run() const {
    const std::int64_t blocks = (rows() + kQueries - 1) / kQueries;
    const std::int64_t heads = count_elements(query.sizes().first(query.sizes().size() - 2));
    const std::int64_t products = kQueries * keys() * (depth() + width());
    const auto grain =
        std::max<std::int64_t>(kProductsOfAThread / std::max<std::int64_t>(products, 1), 1);
    const auto all = [&] {
      parallel_for(0, heads * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t lines = depth() + keys() + width() + 1;
        const std::unique_ptr<T[]> room(new T[std::size_t(lines * kQueries)]);
        for (std::int64_t i = begin; i < end; ++i)
          part(i / blocks, i % blocks * kQueries, room.get());
      });
    };
    if (heads * blocks * products < kReleasingProducts) return all();
    without_gil(all);
  }
  void part(std::int64_t head, std::int64_t first, T* turned) const {
    const HeadMatrices q(query), k(key), v(value);
    const std::int64_t here = std::min(kQueries, rows() - first);
    const std::int64_t seen = is_causal ? std::min(keys(), first + here) : keys();
    T* const scores = turned + depth() * kQueries;
    T* const sums = scores + keys() * kQueries;
    T* const factors = sums + width() * kQueries;
    const T* const from = elements_of<const T>(query) + q.offset(head) + first * q.row();
    for (std::int64_t d = 0; d < depth(); ++d) {
      T* const line = turned + d * kQueries;
      for (std::int64_t i = 0; i < here; ++i) line[i] = from[i * q.row() + d * q.column()] * scale;
      std::fill(line + here, line + kQueries, T(0));
    }
    std::fill_n(scores, seen * kQueries, T(0));
    const T* const keys_at = elements_of<const T>(key) + k.offset(head);
    multiply(scores, {keys_at, seen, depth(), k.row(), k.column()},
             {turned, depth(), kQueries, kQueries, 1});
    mask.apply(scores, head, first, here, seen);
    if (is_causal) hide_later(scores, first, seen);
    weigh()(scores, seen, factors);
    std::fill_n(sums, width() * kQueries, T(0));
    const T* const values_at = elements_of<const T>(value) + v.offset(head);
    multiply(sums, {values_at, width(), seen, v.column(), v.row()},
             {scores, seen, kQueries, kQueries, 1});
    T* const to = result + (head * rows() + first) * width();
    for (std::int64_t i = 0; i < here; ++i) {
      for (std::int64_t d = 0; d < width(); ++d)
        to[i * width() + d] = sums[d * kQueries + i] * factors[i];
    }
  }
  // Of the keys behind the first query, those behind each.
  static void hide_later(T* scores, std::int64_t first, std::int64_t seen) {
    for (std::int64_t j = first + 1; j < seen; ++j) {
      std::fill_n(scores + j * kQueries, std::min(j - first, kQueries),
                  -std::numeric_limits<T>::infinity());
    }
  }
  static void multiply(T* out, const Matrix<T>& a, const Matrix<T>& b) {
    if constexpr (std::is_same_v<T, float>) {
      loops().products.float32(out, kQueries, a, b, 1);
    } else {
      loops().products.float64(out, kQueries, a, b, 1);
    }
  }
  static AttentionLoop<T> weigh() {
    if constexpr (std::is_same_v<T, float>) {
      return loops().attention.float32;
    } else {
      return loops().attention.float64;
    }
  }
};

DimVector sizes_of_scores(const Tensor& query, const Tensor& key) {
  DimVector sizes(query.sizes());
  sizes.back() = key.size(-2);
  return sizes;
}

bool spreads_to(IntSpan from, IntSpan to) {
  if (from.size() > to.size()) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && from[i] != to[to.size() - from.size() + i]) return false;
  }
  return true;
}

Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, const MaybeTensor& mask,
              bool is_causal, double scale) {
  require_wide_floats(kAttend, "query", query);
  require_dtype(kAttend, "key", key, query.dtype());
  require_dtype(kAttend, "value", value, query.dtype());
  if (mask && is_causal) {
    refuse(ErrorKind::BadArgument,
           {kAttend, ": mask is given and is_causal is True; give one of them"});
  }
  const std::size_t dims = query.sizes().size();
  const auto lead = [&](const Tensor& x) { return x.sizes().first(dims - 2); };
  if (dims < 2 || key.sizes().size() != dims || value.sizes().size() != dims ||
      !std::ranges::equal(lead(query), lead(key)) ||
      !std::ranges::equal(lead(query), lead(value)) || query.size(-1) != key.size(-1) ||
      key.size(-2) != value.size(-2)) {
    refuse(
        ErrorKind::BadShape,
        {kAttend, ": query is ", query, ", key is ", key, " and value is ", value,
         "; the same sizes in front, the last size of query for key, and as many rows as key for "
         "value are needed"});
  }
  DimVector sizes(query.sizes());
  sizes.back() = value.size(-1);
  const Tensor result = empty_beside(query, sizes, query.dtype());
  if (is_meta(query) || result.numel() == 0) return result;
  ScoreMask by;
  if (mask) {
    require_expandable(kAttend, {"mask", *mask}, "the scores", sizes_of_scores(query, key));
    by.mask = mask->dtype() == DType::Bool ? *mask : converted(kAttend, *mask, query.dtype());
    by.mask = expand(by.mask, sizes_of_scores(query, key));
  }
  if (key.size(-2) == 0) {
    fill_elements(result, Number());
    return result;
  }
  visit_floats(query, [&](auto sample) {
    using T = decltype(sample);
    AttentionBlocks<T>{query, key, value, by, is_causal, T(scale), elements_of<T>(result)}.run();
  });
  return result;
}

constexpr double kRefused = -std::numeric_limits<double>::infinity();

// Which rows a mask of numbers has masked off, all of them; the derivative of the softmax of such a
// row is no number.
MaybeTensor whole_rows_without(const Tensor& scores) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan, bool)> amax("aten::amax");
  if (scores.sizes().back() == 0) return std::nullopt;
  const std::int64_t last = -1;
  return equals(amax.call(detach(scores), IntSpan(&last, 1), true), kRefused);
}

}  // namespace

Tensor attention_weights(const char* op, const Tensor& query, const Tensor& key,
                         const MaybeTensor& mask, bool is_causal, double scale) {
  Tensor scores = matmul(query * scale, ops::transpose(key, -2, -1));
  if (mask) require_broadcast(op, {{"attn_mask", *mask}, {"the scores", scores}});
  MaybeTensor refused;
  if (is_causal) {
    const Tensor rows = ops::unsqueeze(arange(query, query.size(-2)), 1);
    refused = ops::unsqueeze(arange(query, key.size(-2)), 0) - rows > 0;
  } else if (mask && mask->dtype() == DType::Bool) {
    refused = negation(*mask);
  }
  if (refused) scores = masked(scores, *refused, kRefused);
  if (mask && !refused) {
    scores = scores + *mask;
    refused = whole_rows_without(scores);
    if (refused) scores = masked(scores, *refused, 0);
  }
  const Tensor weights = softmax(scores, -1);
  return refused ? masked(weights, *refused, 0) : weights;
}

namespace {

OfAttention attention_backward(const Tensor& grad, const Tensor& query, const Tensor& key,
                               const Tensor& value, const MaybeTensor& mask, bool is_causal,
                               double scale) {
  const auto turned = [](const Tensor& x) { return ops::transpose(x, -2, -1); };
  constexpr std::int64_t kLastDim[] = {-1};
  const Tensor weights = attention_weights(kAttend, query, key, mask, is_causal, scale);
  const Tensor of_weights = matmul(grad, turned(value));
  const Tensor product = of_weights * weights;
  const Tensor of_scores = product - weights * sum(product, kLastDim, true);
  return {matmul(of_scores, key) * scale, matmul(turned(of_scores), query) * scale,
          matmul(turned(weights), grad)};
}
Tensor attention_mask_grad(const Tensor& grad, const Tensor& query, const Tensor& key,
                           const Tensor& value, const MaybeTensor& mask, bool is_causal,
                           double scale) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> fit("opyard::sum_to");
  constexpr std::int64_t kLastDim[] = {-1};
  if (!mask) refuse(ErrorKind::BadArgument, {"opyard::attention_mask_grad: mask is None"});
  const Tensor weights = attention_weights(kAttend, query, key, mask, is_causal, scale);
  const Tensor product = matmul(grad, ops::transpose(value, -2, -1)) * weights;
  return fit.call(product - weights * sum(product, kLastDim, true), *mask);
}

}  // namespace

bool are_blocks(const Tensor& query, const Tensor& key, const Tensor& value,
                const MaybeTensor& mask) {
  constexpr std::int64_t kFew = 8;  // queries fill no block
  const std::size_t dims = query.sizes().size();
  for (const Tensor* const x : {&query, &key, &value}) {
    if (x->device().backend != Backend::CPU || has_symbolic_sizes(*x) || x->numel() == 0 ||
        x->dtype() != query.dtype() || x->sizes().size() != dims ||
        !std::ranges::equal(x->sizes().first(dims - 2), query.sizes().first(dims - 2))) {
      return false;
    }
  }
  if (mask && (mask->device().backend != Backend::CPU || has_symbolic_sizes(*mask) ||
               (mask->dtype() != DType::Bool && mask->dtype() != query.dtype()) ||
               !spreads_to(mask->sizes(), sizes_of_scores(query, key)))) {
    return false;
  }
  return (query.dtype() == DType::Float32 || query.dtype() == DType::Float64) &&
         query.size(-2) >= kFew;
}

Tensor attention_in_blocks(const Tensor& query, const Tensor& key, const Tensor& value,
                           const MaybeTensor& mask, bool is_causal, double scale) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, const Tensor&,
                                        const MaybeTensor&, bool, double)>
      op(kAttend);
  return op.call(query, key, value, mask, is_causal, scale);
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def(
      "attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool is_causal, float "
      "scale) -> Tensor");
  m.def(
      "attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? mask, bool "
      "is_causal, float scale) -> (Tensor, Tensor, Tensor)",
      &attention_backward);
  m.def(
      "attention_mask_grad(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? mask, bool "
      "is_causal, float scale) -> Tensor",
      &attention_mask_grad);
  m.derivative(
      "attention",
      {{"query, key, value", "attention_backward(grad, query, key, value, mask, is_causal, scale)"},
       {"mask", "attention_mask_grad(grad, query, key, value, mask, is_causal, scale)"}});
}

OPYARD_KERNELS_OF(opyard, m) {
  name_build(m);
  m.impl("attention", &attend);
}

}  // namespace opyard::kernels
