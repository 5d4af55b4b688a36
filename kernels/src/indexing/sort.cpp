// kernels/indexing/sort.cpp: sort, argsort, topk and msort along a dimension.
//
// Equal elements keep their order, in `topk`, too. NaN counts as the largest. A line is sorted in a
// copy of its own: what is compared must not change, which another thread may do to the argument
// while the GIL is released.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "common/broadcast.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/kernels_block.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/releasing.h"
#include "geometry/symbolic_calls.h"
#include "indexing/radix_sort.h"

namespace opyard::kernels {
namespace {

// A line of 512 elements is sorted in 20 us.
constexpr std::int64_t kComparisons = 64;

template <typename T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a < b || (std::isnan(b) && !std::isnan(a));
  } else {
    return a < b;
  }
}

// The places of a line in the order of their elements, of which the first `taken` are wanted.
template <typename T>
void compare_line(const T* line, bool descending, std::int64_t taken,
                  std::vector<std::int64_t>& order) {
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto before = [&](std::int64_t a, std::int64_t b) {
    const T x = line[a], y = line[b];
    if (descending ? is_less(y, x) : is_less(x, y)) return true;
    return a < b && !(descending ? is_less(x, y) : is_less(y, x));
  };
  if (std::size_t(taken) < order.size()) {
    std::partial_sort(order.begin(), order.begin() + taken, order.end(), before);
  } else {
    std::sort(order.begin(), order.end(), before);
  }
}

// The first `count` of each line, in order.
TwoTensors ordered(const char* op, const Tensor& self, std::int64_t dim, bool descending,
                   std::optional<std::int64_t> count) {
  require_ordered(op, "self", self);
  const auto at = std::size_t(wrap_dim(op, dim, self.dim()));
  const std::int64_t length = self.dim() == 0 ? 1 : self.sizes()[at];
  std::int64_t taken = count.value_or(length);
  if (taken < 0 || taken > length) {
    refuse(ErrorKind::BadValue,
           {op, ": k is ", taken, " and self is ", self, "; accepted are 0 to ", length,
            ", the size of dimension ", std::int64_t(at)});
  }
  DimVector sizes(self.sizes());
  if (self.dim() > 0) {
    sizes[at] = taken;
  } else {
    taken = 1;  // the result has one element, whatever k says
  }
  Tensor places = empty_beside(self, sizes, DType::Int64);
  if (is_meta(self) || places.numel() == 0) {
    return {empty_beside(self, sizes, self.dtype()), places};
  }
  std::int64_t inner = 1;
  for (std::size_t i = at + 1; i < sizes.size(); ++i) inner *= sizes[i];
  const std::int64_t lines = places.numel() / taken;
  const Tensor from = row_major(op, in_order(op, self));
  const Tensor values = Tensor::empty(sizes, from.dtype());
  visit_computed(from.dtype(), [&](auto sample) {
    using T = decltype(sample);
    const T* const in = elements_of<const T>(from);
    T* const out = elements_of<T>(values);
    auto* const indices = elements_of<std::int64_t>(places);
    std::vector<std::int64_t> order(std::size_t(length), 0);
    const auto line = std::make_unique_for_overwrite<T[]>(std::size_t(length));
    // Of bools there are two, and for few of a line it is not put in order as a whole.
    const bool by_radix = sizeof(T) >= 4 && length >= kLeastOfRadix && taken >= length / 8 &&
                          length < std::int64_t{1} << 32;
    const auto radix = by_radix ? std::make_unique<RadixSort<T>>() : nullptr;
    without_gil_for(kComparisons * lines * length, [&] {
      for (std::int64_t i = 0; i < lines; ++i) {
        const T* const first = in + i / inner * length * inner + i % inner;
        for (std::int64_t k = 0; k < length; ++k) line[std::size_t(k)] = first[k * inner];
        if (by_radix) {
          radix->run(line.get(), std::size_t(length), descending, order.data());
        } else {
          compare_line(line.get(), descending, taken, order);
        }
        std::int64_t to = i / inner * taken * inner + i % inner;
        for (std::int64_t k = 0; k < taken; ++k, to += inner) {
          out[to] = line[std::size_t(order[std::size_t(k)])];
          indices[to] = order[std::size_t(k)];
        }
      }
    });
  });
  return {from_order(op, values, self.dtype()), places};
}

TwoTensors sort(const Tensor& self, std::int64_t dim, bool descending) {
  return ordered("aten::sort", self, dim, descending, std::nullopt);
}
TwoTensors sort_stable(const Tensor& self, std::optional<bool> /*stable*/, std::int64_t dim,
                       bool descending) {
  return ordered("aten::sort.stable", self, dim, descending, std::nullopt);
}
TwoTensors topk(const Tensor& self, std::int64_t k, std::int64_t dim, bool largest,
                bool /*sorted*/) {
  return ordered("aten::topk", self, dim, largest, k);
}

using Sort = TwoTensors(const Tensor&, std::int64_t, bool);
TwoTensors sorted(const char* op, const Tensor& self, std::int64_t dim, bool descending) {
  static constinit FoundOperator<Sort> sort("aten::sort");
  return named(op, "aten::sort", [&] { return sort.call(self, dim, descending); });
}
Tensor argsort(const Tensor& self, std::int64_t dim, bool descending) {
  return std::get<1>(sorted("aten::argsort", self, dim, descending));
}
Tensor argsort_stable(const Tensor& self, bool /*stable*/, std::int64_t dim, bool descending) {
  return std::get<1>(sorted("aten::argsort.stable", self, dim, descending));
}
Tensor msort(const Tensor& self) { return std::get<0>(sorted("aten::msort", self, 0, false)); }
TwoTensors kthvalue(const Tensor& self, std::int64_t k, std::int64_t dim, bool keepdim) {
  constexpr const char* kOp = "aten::kthvalue";
  require_defined(kOp, "self", self);
  const std::int64_t at = wrap_dim(kOp, dim, self.dim());
  const std::int64_t length = self.dim() == 0 ? 1 : self.size(at);
  if (k < 1 || k > length) {
    refuse(ErrorKind::BadValue,
           {kOp, ": k is ", k, " and self is ", self, "; accepted are 1 to ", length});
  }
  const TwoTensors all = sorted(kOp, self, at, false);
  const auto pick = [&](const Tensor& x) {
    if (self.dim() == 0) return x;
    return ops::contiguous(keepdim ? ops::narrow(x, at, k - 1, 1) : ops::select(x, at, k - 1));
  };
  return {pick(std::get<0>(all)), pick(std::get<1>(all))};
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
          "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor "
          "values, Tensor indices)",
          "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
          "msort(Tensor self) -> Tensor",
          "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, "
          "Tensor indices)"});
  define(
      m,
      {"sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor "
       "values, Tensor indices)",
       "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor"},
      Tagged::Overlapping);
  m.impl("argsort", &argsort);
  m.impl("argsort.stable", &argsort_stable);
  m.impl("msort", &msort);
  m.impl("kthvalue", Kernel::with_symbolic<&kthvalue, &decide_symbolic>());
  for (const char* name : {"sort", "sort.stable", "topk"}) {
    m.derivative(name, {{"self", "chosen_backward(grad0, sizes(self), dim, result1, True)"}});
  }
}

OPYARD_KERNELS(m) {
  m.impl("sort", &sort);
  m.impl("sort.stable", &sort_stable);
  m.impl("topk", &topk);
}

}  // namespace opyard::kernels
