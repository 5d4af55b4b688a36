// kernels/reduction/extremes.cpp: amax, amin, max, min, argmax, argmin: reductions to the largest
// or smallest element, its place, or both.
//
// The first of equal elements is taken. NaN counts as the most extreme, and the first one wins.
// There is no extreme of nothing: reducing a dimension of size 0 raises BadValue.
#include <opyard/library.h>

#include <cstring>

#include "common/block_functions.h"
#include "common/builds.h"
#include "common/copy.h"
#include "common/dtypes.h"
#include "common/kernels_block.h"
#include "common/symbolic_results.h"
#include "reduction/rows.h"

namespace opyard::kernels {
namespace {

struct Wanted {
  bool values;
  bool places;
};

std::tuple<Tensor, Tensor> extreme(const char* op, bool largest, const Tensor& given,
                                   const SmallVector<bool, 8>& reduced, bool keepdim,
                                   Wanted wanted) {
  if (has_symbolic_sizes(given)) {
    return {symbolic_reduction(op, given, reduced, keepdim, given.dtype()),
            symbolic_reduction(op, given, reduced, keepdim, DType::Int64)};
  }
  const Tensor self = in_order(op, given);
  const Reduction reduction(op, self, reduced, keepdim);
  require_elements(op, largest ? "largest" : "smallest", given, reduction);
  Tensor values, places;
  ExtremeContext target{nullptr, nullptr};
  if (wanted.values) {
    values = empty_beside(self, reduction.result_sizes(), self.dtype());
    target.values = values.impl()->data();
  }
  if (wanted.places) {
    places = empty_beside(self, reduction.result_sizes(), DType::Int64);
    target.places = static_cast<std::int64_t*>(places.impl()->data());
  }
  const RowsOf& all = largest ? loops().extremes.largest : loops().extremes.smallest;
  Rows rows = all.of[std::size_t(computed_index(self.dtype()))];
  if (wanted.places) rows.columns = nullptr;
  if (!is_meta(self)) reduction.each_row(rows, &target);
  if (wanted.values) values = from_order(op, values, given.dtype());
  return {std::move(values), std::move(places)};
}

Tensor extreme_value(const char* op, bool largest, const Tensor& self, std::optional<IntSpan> dims,
                     bool keepdim) {
  require_ordered(op, "self", self);
  return std::get<0>(
      extreme(op, largest, self, reduced_dims(op, dims, self), keepdim, {true, false}));
}

Tensor extreme_place(const char* op, bool largest, const Tensor& self,
                     std::optional<std::int64_t> dim, bool keepdim) {
  require_ordered(op, "self", self);
  const IntSpan dims = dim ? IntSpan(&*dim, 1) : IntSpan();
  return std::get<1>(
      extreme(op, largest, self, reduced_dims(op, dims, self), keepdim, {false, true}));
}

std::tuple<Tensor, Tensor> extreme_both(const char* op, bool largest, const Tensor& self,
                                        std::int64_t dim, bool keepdim) {
  require_ordered(op, "self", self);
  return extreme(op, largest, self, reduced_dims(op, IntSpan(&dim, 1), self), keepdim,
                 {true, true});
}

// For groups of fused operators: see opyard/jit/block_functions.h [Tails].
template <typename T, bool largest>
void extreme_of(const std::byte* row, std::int64_t length, void* extreme) {
  ExtremeContext target{extreme, nullptr};
  const RowsOf& all = largest ? loops().extremes.largest : loops().extremes.smallest;
  all.of[std::size_t(computed_index(dtype_of<T>))].row(row, length, 0, &target);
}
template <typename T>
void give_extreme(const void* extreme, std::int64_t, std::byte* element) {
  std::memcpy(element, extreme, sizeof(T));
}
template <typename T, bool largest>
constexpr jit::BlockRows kExtremeBlock = {&extreme_of<T, largest>, nullptr, nullptr,
                                          &give_extreme<T>};
template <bool largest>
constexpr RowsOfDTypes kExtremeRows = {{{},
                                        kExtremeBlock<std::int64_t, largest>,
                                        kExtremeBlock<float, largest>,
                                        kExtremeBlock<double, largest>}};

Tensor amax(const Tensor& self, IntSpan dim, bool keepdim) {
  return extreme_value("aten::amax", true, self, dim, keepdim);
}
Tensor amin(const Tensor& self, IntSpan dim, bool keepdim) {
  return extreme_value("aten::amin", false, self, dim, keepdim);
}
Tensor max(const Tensor& self) {
  return extreme_value("aten::max", true, self, std::nullopt, false);
}
Tensor min(const Tensor& self) {
  return extreme_value("aten::min", false, self, std::nullopt, false);
}
std::tuple<Tensor, Tensor> max_dim(const Tensor& self, std::int64_t dim, bool keepdim) {
  return extreme_both("aten::max.dim", true, self, dim, keepdim);
}
std::tuple<Tensor, Tensor> min_dim(const Tensor& self, std::int64_t dim, bool keepdim) {
  return extreme_both("aten::min.dim", false, self, dim, keepdim);
}
Tensor argmax(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim) {
  return extreme_place("aten::argmax", true, self, dim, keepdim);
}
Tensor argmin(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim) {
  return extreme_place("aten::argmin", false, self, dim, keepdim);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor");
  m.def("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor");
  m.def("max(Tensor self) -> Tensor");
  m.def("min(Tensor self) -> Tensor");
  m.def("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)");
  m.def("min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)");
  m.def("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor");
  m.def("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor");
}

OPYARD_KERNELS(m) {
  name_build(m);
  m.impl("amax", &amax);
  m.impl("amin", &amin);
  m.impl("max", &max);
  m.impl("min", &min);
  m.impl("max.dim", &max_dim);
  m.impl("min.dim", &min_dim);
  fusible_reduction("aten::amax", "", &amax, kExtremeRows<true>);
  fusible_reduction("aten::amin", "", &amin, kExtremeRows<false>);
  fusible_reduction("aten::max", "", &max, kExtremeRows<true>);
  fusible_reduction("aten::min", "", &min, kExtremeRows<false>);
  m.impl("argmax", &argmax);
  m.impl("argmin", &argmin);
}

}  // namespace opyard::kernels
