// kernels/reduction/truth.cpp: all, any, equal: whether elements are true (not zero; NaN is true).
//
// Of nothing, all is True and any is False.
#include <opyard/library.h>

#include <algorithm>

#include "common/dtypes.h"
#include "common/walk.h"
#include "reduction/rows.h"

namespace opyard::kernels {
namespace {

template <typename T, bool all>
void find_truth(const std::byte* raw, std::int64_t length, std::int64_t position, void* context) {
  const auto* const row = reinterpret_cast<const T*>(raw);
  std::int64_t i = 0;
  while (i < length && (row[i] != T(0)) == all) ++i;
  static_cast<bool*>(context)[position] = (i == length) == all;
}

template <bool all>
Tensor truth(const char* op, const Tensor& self, std::optional<std::int64_t> dim, bool keepdim) {
  require_computed(op, "self", self);
  const IntSpan dims = dim ? IntSpan(&*dim, 1) : IntSpan();
  const Reduction reduction(op, self, reduced_dims(op, dims, self), keepdim);
  Tensor result = Tensor::empty(reduction.result_sizes(), DType::Bool);
  const RowLoop loop = visit_computed(
      self.dtype(), [](auto sample) -> RowLoop { return &find_truth<decltype(sample), all>; });
  reduction.each_row(loop, result.impl()->data());
  return result;
}

Tensor all_of(const Tensor& self) { return truth<true>("aten::all", self, std::nullopt, false); }
Tensor any_of(const Tensor& self) { return truth<false>("aten::any", self, std::nullopt, false); }
Tensor all_dim(const Tensor& self, std::int64_t dim, bool keepdim) {
  return truth<true>("aten::all.dim", self, dim, keepdim);
}
Tensor any_dim(const Tensor& self, std::int64_t dim, bool keepdim) {
  return truth<false>("aten::any.dim", self, dim, keepdim);
}

template <typename T>
void find_difference(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                     const void* context) {
  bool& differs = **static_cast<bool* const*>(context);
  const std::byte *a = data[0], *b = data[1];
  for (std::int64_t i = 0; i < count && !differs; ++i, a += steps[0], b += steps[1]) {
    differs = *reinterpret_cast<const T*>(a) != *reinterpret_cast<const T*>(b);
  }
}

bool equal(const Tensor& self, const Tensor& other) {
  constexpr const char* kOp = "aten::equal";
  require_computed(kOp, "self", self);
  require_dtype(kOp, "other", other, self.dtype());
  if (!std::ranges::equal(self.sizes(), other.sizes())) return false;
  bool differs = false;
  bool* const out = &differs;
  Walk walk(self.sizes());
  walk.add(self);
  walk.add(other);
  walk.run(visit_computed(self.dtype(),
                          [](auto sample) -> Loop { return &find_difference<decltype(sample)>; }),
           &out);
  return !differs;
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("all(Tensor self) -> Tensor");
  m.def("any(Tensor self) -> Tensor");
  m.def("all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor");
  m.def("any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor");
  m.def("equal(Tensor self, Tensor other) -> bool");
}

OPYARD_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("all", &all_of);
  m.impl("any", &any_of);
  m.impl("all.dim", &all_dim);
  m.impl("any.dim", &any_dim);
  m.impl("equal", &equal);
}

}  // namespace opyard::kernels
