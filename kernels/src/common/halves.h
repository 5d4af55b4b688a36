// kernels/common/halves.h: compositions of float16 and bfloat16.
//
// What they call would round each result to a half, and squares of float16 overflow from 256 on. So
// they are computed in float32, and what they give is rounded once.
//
// Depends on: common/ops.h.
#pragma once

#include <optional>

#include "common/ops.h"

namespace opyard::kernels {

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
