// kernels/common/ops.h: calls to other operators, for kernels that are compositions of them.
//
//   using namespace ops;
//   return x * sigmoid(x);
//
// Every call goes through the dispatcher, so that a composition runs on every backend, is taped and
// traced as what it is made of, and has the derivatives of its parts.
//
// Depends on: opyard/tensor.h, opyard/value/scalar.h.
#pragma once

#include <optional>
#include <vector>

#include "opyard/tensor.h"
#include "opyard/tensor/memory_format.h"
#include "opyard/value/scalar.h"

namespace opyard::kernels::ops {

// Element by element.
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, const Scalar& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Scalar& b);
Tensor operator-(const Scalar& a, const Tensor& b);
Tensor operator-(const Tensor& a);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Scalar& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Scalar& b);
Tensor operator<(const Tensor& a, const Scalar& b);
Tensor operator<=(const Tensor& a, const Scalar& b);
Tensor operator>(const Tensor& a, const Scalar& b);
Tensor operator>=(const Tensor& a, const Scalar& b);
Tensor equals(const Tensor& a, const Scalar& b);
Tensor equals(const Tensor& a, const Tensor& b);
Tensor differs(const Tensor& a, const Scalar& b);
Tensor both(const Tensor& a, const Tensor& b);
Tensor negation(const Tensor& a);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor masked(const Tensor& a, const Tensor& mask, const Scalar& value);
// The root of order `order`, with a gradient of 0 wherever it is 0 and has no slope.
Tensor root(const Tensor& a, double order);
Tensor clamp(const Tensor& a, const std::optional<Scalar>& min, const std::optional<Scalar>& max);
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, const Scalar& exponent);
Tensor abs(const Tensor& a);
Tensor cos(const Tensor& a);
Tensor erf(const Tensor& a);
Tensor exp(const Tensor& a);
Tensor expm1(const Tensor& a);
Tensor log(const Tensor& a);
Tensor log1p(const Tensor& a);
Tensor relu(const Tensor& a);
// Of complex numbers.
Tensor real(const Tensor& a);
Tensor imag(const Tensor& a);
Tensor conj(const Tensor& a);
Tensor rsqrt(const Tensor& a);
Tensor sigmoid(const Tensor& a);
Tensor sin(const Tensor& a);
Tensor sqrt(const Tensor& a);
Tensor tanh(const Tensor& a);
Tensor trunc(const Tensor& a);

// Reductions. No dimensions: all.
Tensor sum(const Tensor& a);
Tensor sum(const Tensor& a, IntSpan dims, bool keepdim = false);
Tensor mean(const Tensor& a);
Tensor mean(const Tensor& a, IntSpan dims, bool keepdim = false);
Tensor softmax(const Tensor& a, std::int64_t dim);
Tensor log_softmax(const Tensor& a, std::int64_t dim);

// Geometry.
Tensor reshape(const Tensor& a, IntSpan sizes);
Tensor expand(const Tensor& a, IntSpan sizes);
Tensor permute(const Tensor& a, IntSpan dims);
Tensor transpose(const Tensor& a, std::int64_t dim0, std::int64_t dim1);
Tensor unsqueeze(const Tensor& a, std::int64_t dim);
Tensor squeeze(const Tensor& a, std::int64_t dim);
Tensor select(const Tensor& a, std::int64_t dim, std::int64_t index);
Tensor narrow(const Tensor& a, std::int64_t dim, std::int64_t start, std::int64_t length);
Tensor slice(const Tensor& a, std::int64_t dim, std::optional<std::int64_t> start,
             std::optional<std::int64_t> end, std::int64_t step = 1);
Tensor as_strided(const Tensor& a, IntSpan sizes, IntSpan strides, std::int64_t offset);
Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim);
Tensor stack(const std::vector<Tensor>& tensors, std::int64_t dim);

// Elements by position.
Tensor index_select(const Tensor& a, std::int64_t dim, const Tensor& index);
Tensor gather(const Tensor& a, std::int64_t dim, const Tensor& index);
Tensor scatter_add(const Tensor& a, std::int64_t dim, const Tensor& index, const Tensor& from);
Tensor index(const Tensor& a, const std::vector<std::optional<Tensor>>& indices);

// Matrices.
Tensor mm(const Tensor& a, const Tensor& b);
Tensor bmm(const Tensor& a, const Tensor& b);
Tensor matmul(const Tensor& a, const Tensor& b);

// New tensors, and copies.
Tensor clone(const Tensor& a);
Tensor contiguous(const Tensor& a);
Tensor to(const Tensor& a, DType dtype);
Tensor detach(const Tensor& a);
// Written, which is also given back.
const Tensor& copy_into(const Tensor& written, const Tensor& from);
// On the device of `like`, and of its dtype if none is given.
Tensor full(const Tensor& like, IntSpan sizes, const Scalar& value,
            std::optional<DType> dtype = std::nullopt);
Tensor zeros(const Tensor& like, IntSpan sizes);
// Of the class of `like`, too.
Tensor constant_like(const Tensor& like, const Scalar& value);
// A list that a composition made on the CPU, where `like` is; on meta without its elements.
Tensor to_device_of(const Tensor& like, const Tensor& list);
// 0, 1, … count - 1 as int64.
Tensor arange(const Tensor& like, std::int64_t count);

}  // namespace opyard::kernels::ops
