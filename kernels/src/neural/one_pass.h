// kernels/neural/one_pass.h: normalisation of rows and of channels in one pass over memory.
//
//   if (is_one_pass(x, {weight, bias})) return normalised_rows(x, 1, weight, bias, eps);
//
// They are operators of their own, with formulas, for row-major tensors of one float dtype on the
// CPU; others are normalised by compositions, which keep the order of dimensions and run on every
// backend. Both give the same bits.
//
// Depends on: common/options.h.
#pragma once

#include <initializer_list>
#include <tuple>

#include "common/options.h"

namespace opyard::kernels {

bool is_one_pass(const Tensor& x, std::initializer_list<const Tensor*> others);
inline const Tensor* or_null(const MaybeTensor& x) { return x ? &*x : nullptr; }

// The last `dims` dimensions together, whose sizes weight and bias have: the result, the means, and
// 1 / sqrt(variance + eps), with sizes of 1.
std::tuple<Tensor, Tensor, Tensor> normalised_rows(const Tensor& x, std::int64_t dims,
                                                   const MaybeTensor& weight,
                                                   const MaybeTensor& bias, double eps);
// (x - mean) * scale * weight + bias, of which each has an element for each channel.
Tensor normalised_channels(const Tensor& x, const Tensor& mean, const Tensor& scale,
                           const MaybeTensor& weight, const MaybeTensor& bias);

}  // namespace opyard::kernels
