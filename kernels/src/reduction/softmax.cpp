// kernels/reduction/softmax.cpp: softmax and log_softmax along one dimension.
//
// Integers and bool are computed in what `dtype` says, which must be a float. The loops are in
// loops/softmax.cpp.
#include <opyard/library.h>

#include "common/broadcast.h"
#include "common/builds.h"
#include "common/copy.h"
#include "common/dtypes.h"
#include "common/kernels_block.h"
#include "reduction/rows.h"

namespace opyard::kernels {
namespace {

template <bool logarithm>
Tensor along(const char* op, const Tensor& given, std::int64_t dim, bool half_to_float) {
  require_cpu(op, "self", given);
  if (!is_floating_point(given.dtype())) {
    refuse(ErrorKind::BadArgument, {op, ": self is ", given, "; accepted are float dtypes"});
  }
  if (half_to_float && given.dtype() != DType::Half) {
    refuse(ErrorKind::BadArgument,
           {op, ": half_to_float is True and self is ", given, "; it is for float16 alone"});
  }
  const DType dtype = half_to_float ? DType::Float32 : given.dtype();
  const std::int64_t along = wrap_dim(op, dim, given.dim());
  if (given.numel() == 0 || is_meta(given)) return empty_beside(given, given.sizes(), dtype);
  const Tensor self = converted(op, given, carrier_of(given.dtype()));
  const IntSpan dims(&along, 1);
  const Reduction rows(op, self, reduced_dims(op, dims, self), false);
  // Row after row, so with the dimension innermost.
  DimVector sizes(rows.result_sizes());
  sizes.push_back(rows.length());
  Tensor result = Tensor::empty(sizes, self.dtype());
  const RowsOf& all = logarithm ? loops().softmax.log_softmax : loops().softmax.softmax;
  rows.each_row(all.of[std::size_t(computed_index(self.dtype()))], result.impl()->data());
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
  return converted(op, row_major(op, result.as_strided(self.sizes(), strides, 0)), dtype);
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
  static constinit FoundOperator<ToDType> to("aten::to.dtype");
  return to.call(self, *dtype, false, false, std::nullopt);
}

Tensor softmax_kernel(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
  static constinit FoundOperator<Along> op("aten::_softmax");
  return named("aten::softmax.int", "aten::_softmax",
               [&] { return op.call(in_dtype(self, dtype), dim, false); });
}
Tensor log_softmax_kernel(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
  static constinit FoundOperator<Along> op("aten::_log_softmax");
  return named("aten::log_softmax.int", "aten::_log_softmax",
               [&] { return op.call(in_dtype(self, dtype), dim, false); });
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor");
  m.def("_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor");
  m.def("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", &softmax_kernel);
  m.def("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
        &log_softmax_kernel);
}

OPYARD_KERNELS(m) {
  name_build(m);
  m.impl("_softmax", &softmax_along);
  m.impl("_log_softmax", &log_softmax_along);
}

}  // namespace opyard::kernels
