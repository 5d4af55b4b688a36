// kernels/common/halves.h: operands of compositions in the dtype that they are computed in.
//
// [Promotion] An operator that a composition calls promotes its own operands alone: a product of
// two uint8 wraps before it is added to a float32. So operands are converted before the first call:
//
//   const auto [x, a, b] = promoted(kOp, {{"self", self}, {"tensor1", a}, {"tensor2", b}});
//
// [Halves] What they call would round each result to a half, and squares of float16 overflow from
// 256 on. So float16 and bfloat16 are computed in float32, and what they give is rounded once.
//
// Depends on: common/dtypes.h, common/ops.h.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/dtypes.h"
#include "common/ops.h"

namespace opyard::kernels {

// Raises BadArgument for an undefined tensor.
template <std::size_t count>
std::array<Tensor, count> promoted(const char* op, const NamedTensor (&operands)[count]) {
  Promotion promotion;
  for (const NamedTensor& each : operands) {
    require_defined(op, each.name, each.tensor);
    promotion.add(each.tensor);
  }
  std::array<Tensor, count> result;
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = ops::to(operands[i].tensor, promotion.result());
  }
  return result;
}

inline bool is_half(const Tensor& x) {
  return x.defined() && (x.dtype() == DType::Half || x.dtype() == DType::BFloat16);
}
inline Tensor widened(const Tensor& x) { return is_half(x) ? ops::to(x, DType::Float32) : x; }
inline std::optional<Tensor> widened(const std::optional<Tensor>& x) {
  return x ? std::optional(widened(*x)) : std::nullopt;
}

// What `of` gives for these, of which all are one half or none is taken as one.
template <typename Of, typename... More>
Tensor rounded_once(const Of& of, const Tensor& self, const More&... more) {
  const bool are_halves =
      is_half(self) && ((more.defined() && more.dtype() == self.dtype()) && ...);
  if (!are_halves) return of(self, more...);
  return ops::to(of(widened(self), widened(more)...), self.dtype());
}

}  // namespace opyard::kernels
