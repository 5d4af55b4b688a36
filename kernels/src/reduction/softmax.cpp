// kernels/reduction/softmax.cpp: softmax and log_softmax along one dimension.
//
// The largest element of a row is taken off first, so that exp() cannot overflow; the sum is
// taken as in sum.h. A row of -inf alone has no answer and gives nan. Integers and bool are
// computed in what `dtype` says, which must be a float.
#include <opyard/library.h>

#include <cmath>

#include "common/copy.h"
#include "common/dtypes.h"
#include "reduction/rows.h"
#include "reduction/sum.h"

namespace opyard::kernels {
namespace {

template <typename T, bool logarithm>
void normalise(const std::byte* raw, std::int64_t length, std::int64_t position, void* context) {
  const auto* const row = reinterpret_cast<const T*>(raw);
  T* const out = static_cast<T*>(context) + position * length;
  T largest = row[0];
  for (std::int64_t i = 1; i < length; ++i) largest = row[i] > largest ? row[i] : largest;
  for (std::int64_t i = 0; i < length; ++i) out[i] = std::exp(row[i] - largest);
  const double total = sum_row(out, length);
  if constexpr (logarithm) {
    const T shift = T(std::log(total));
    for (std::int64_t i = 0; i < length; ++i) out[i] = row[i] - largest - shift;
  } else {
    const T factor = T(1 / total);
    for (std::int64_t i = 0; i < length; ++i) out[i] *= factor;
  }
}

template <bool logarithm>
Tensor along(const char* op, const Tensor& self, std::int64_t dim, bool half_to_float) {
  require_computed(op, "self", self);
  if (!is_floating_point(self.dtype())) {
    refuse(ErrorKind::BadArgument, {op, ": self is ", self, "; accepted are float32 and float64"});
  }
  if (half_to_float) {
    refuse(ErrorKind::Unsupported,
           {op, ": half_to_float is True, and float16 is not computed here; pass False"});
  }
  const std::int64_t along = wrap_dim(op, dim, self.dim());
  if (self.numel() == 0) return Tensor::empty(self.sizes(), self.dtype());
  const IntSpan dims(&along, 1);
  const Reduction rows(op, self, reduced_dims(op, dims, self), false);
  // Row after row, so with the dimension innermost.
  DimVector sizes(rows.result_sizes());
  sizes.push_back(rows.length());
  Tensor result = Tensor::empty(sizes, self.dtype());
  rows.each_row(
      self.dtype() == DType::Float32 ? &normalise<float, logarithm> : &normalise<double, logarithm>,
      result.impl()->data());
  // Back to where the dimension was.
  DimVector strides(result.strides());
  if (self.dim() > 0) {
    for (std::size_t i = strides.size() - 1; i > std::size_t(along); --i) {
      strides[i] = strides[i - 1];
    }
    strides[std::size_t(along)] = 1;
  } else {
    strides.clear();
  }
  return row_major(op, result.as_strided(self.sizes(), strides, 0));
}

Tensor softmax_along(const Tensor& self, std::int64_t dim, bool half_to_float) {
  return along<false>("aten::_softmax", self, dim, half_to_float);
}
Tensor log_softmax_along(const Tensor& self, std::int64_t dim, bool half_to_float) {
  return along<true>("aten::_log_softmax", self, dim, half_to_float);
}

using Along = Tensor(const Tensor&, std::int64_t, bool);
using ToDType = Tensor(const Tensor&, DType, bool, bool, std::optional<MemoryFormat>);

Tensor in_dtype(const Tensor& self, std::optional<DType> dtype) {
  if (!dtype || self.dtype() == *dtype) return self;
  static const auto to = require_operator("aten::to.dtype").typed<ToDType>();
  return to.call(self, *dtype, false, false, std::nullopt);
}

Tensor softmax(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
  static const auto op = require_operator("aten::_softmax").typed<Along>();
  return op.call(in_dtype(self, dtype), dim, false);
}
Tensor log_softmax(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
  static const auto op = require_operator("aten::_log_softmax").typed<Along>();
  return op.call(in_dtype(self, dtype), dim, false);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor");
  m.def("_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor");
  m.def("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", &softmax);
  m.def("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", &log_softmax);
}

OPYARD_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("_softmax", &softmax_along);
  m.impl("_log_softmax", &log_softmax_along);
}

}  // namespace opyard::kernels
