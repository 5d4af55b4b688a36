// kernels/reduction/truth.cpp: all, any, equal: truth of elements (not zero; NaN is true).
//
// Of nothing, all is True and any is False.
#include <opyard/library.h>

#include <algorithm>

#include "common/complex_parts.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/kernels_block.h"
#include "common/symbolic_results.h"
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

// Of uint8 the answer is uint8, as PyTorch has it.
template <bool all>
Tensor truth(const char* op, const Tensor& given, std::optional<std::int64_t> dim, bool keepdim) {
  require_cpu(op, "self", given);
  const bool is_plain = carrier_of(given.dtype()) == given.dtype() && !is_complex(given.dtype());
  const Tensor self = is_plain ? given : converted(op, given, DType::Bool);
  const IntSpan dims = dim ? IntSpan(&*dim, 1) : IntSpan();
  if (has_symbolic_sizes(self)) {
    const DType dtype = given.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool;
    return symbolic_reduction(op, self, reduced_dims(op, dims, self), keepdim, dtype);
  }
  const Reduction reduction(op, self, reduced_dims(op, dims, self), keepdim);
  Tensor result = empty_beside(self, reduction.result_sizes(), DType::Bool);
  if (!is_meta(self)) {
    const RowLoop loop = visit_computed(
        self.dtype(), [](auto sample) -> RowLoop { return &find_truth<decltype(sample), all>; });
    reduction.each_row(loop, result.impl()->data());
  }
  return given.dtype() == DType::UInt8 ? converted(op, result, DType::UInt8) : result;
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
void find_unequal(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                  const void* context) {
  bool& differs = **static_cast<bool* const*>(context);
  const std::byte *a = data[0], *b = data[1];
  for (std::int64_t i = 0; i < count && !differs; ++i, a += steps[0], b += steps[1]) {
    differs = *reinterpret_cast<const T*>(a) != *reinterpret_cast<const T*>(b);
  }
}

bool equal(const Tensor& given, const Tensor& given_other) {
  constexpr const char* kOp = "aten::equal";
  require_cpu(kOp, "self", given);
  require_dtype(kOp, "other", given_other, given.dtype());
  if (!std::ranges::equal(given.sizes(), given_other.sizes())) return false;
  const auto comparable = [](const Tensor& x) {
    return is_complex(x.dtype()) ? as_real(x) : converted(kOp, x, carrier_of(x.dtype()));
  };
  const Tensor self = comparable(given), other = comparable(given_other);
  bool differs = false;
  bool* const out = &differs;
  Walk walk(self.sizes());
  walk.add(self);
  walk.add(other);
  walk.run(visit_computed(self.dtype(),
                          [](auto sample) -> Loop { return &find_unequal<decltype(sample)>; }),
           &out);
  return !differs;
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("all(Tensor self) -> Tensor");
  m.def("any(Tensor self) -> Tensor");
  m.def("all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor");
  m.def("any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor");
  define(m, "equal(Tensor self, Tensor other) -> bool", Tagged::DataDependent);
}

OPYARD_KERNELS(m) {
  m.impl("all", &all_of);
  m.impl("any", &any_of);
  m.impl("all.dim", &all_dim);
  m.impl("any.dim", &any_dim);
}

OPYARD_LIBRARY_IMPL(aten, CPU, m) { m.impl("equal", cpu_only(&equal)); }

}  // namespace opyard::kernels
