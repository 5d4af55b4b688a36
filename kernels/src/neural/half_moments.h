// kernels/neural/half_moments.h: normalisation of float16 and bfloat16, which is computed in
// float32 and rounded once.
//
// Depends on: common/halves.h.
#pragma once

#include <optional>
#include <tuple>

#include "common/halves.h"
#include "common/options.h"

namespace opyard::kernels {

using Three = std::tuple<Tensor, Tensor, Tensor>;

// What `of` gives for these, which are a result and its moments. The moments are float32 if the
// weight or the bias is.
template <typename Of>
Three in_float32(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
                 const Of& of) {
  if (!is_half(input)) return of(input, weight, bias);
  const auto [normal, middle, rstd] = of(widened(input), widened(weight), widened(bias));
  const MaybeTensor& other = weight ? weight : bias;
  const DType dtype = other ? other->dtype() : input.dtype();
  return {ops::to(normal, input.dtype()), ops::to(middle, dtype), ops::to(rstd, dtype)};
}

// Gradients of the input, the weight and the bias in their dtypes.
inline Three gradients_as(const Three& gradients, const Tensor& input, const MaybeTensor& weight) {
  const auto as = [](const Tensor& x, DType dtype) { return x.defined() ? ops::to(x, dtype) : x; };
  const DType other = weight ? weight->dtype() : input.dtype();
  return {as(std::get<0>(gradients), input.dtype()), as(std::get<1>(gradients), other),
          as(std::get<2>(gradients), other)};
}

}  // namespace opyard::kernels
