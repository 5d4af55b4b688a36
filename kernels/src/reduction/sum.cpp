// kernels/reduction/sum.cpp: sum and mean, over everything or some dimensions.
//
// The result of sum has self's dtype, int64 for bool; mean needs a float. `dtype` converts self
// first. The sum of nothing is 0, its mean nan. See sum.h [Order of summation].
#include "reduction/sum.h"

#include <opyard/library.h>

#include "common/copy.h"
#include "common/dtypes.h"
#include "reduction/rows.h"

namespace opyard::kernels {
namespace {

struct Target {
  void* out;
  double divisor;  // of a mean; 0 for a sum
};

template <typename T>
void write_sum(const std::byte* row, std::int64_t length, std::int64_t position, void* context) {
  const auto* const target = static_cast<const Target*>(context);
  const auto total = sum_row(reinterpret_cast<const T*>(row), length);
  T* const out = static_cast<T*>(target->out) + position;
  if constexpr (std::is_floating_point_v<T>) {
    *out = T(target->divisor == 0 ? total : total / target->divisor);
  } else {
    *out = T(total);
  }
}

Tensor sum_as(const char* op, const Tensor& self, std::optional<IntSpan> dims, bool keepdim,
              DType dtype, bool is_mean) {
  const SmallVector<bool, 8> reduced = reduced_dims(op, dims, self);
  if (computed_index(dtype) < 0 || dtype == DType::Bool) {
    refuse(ErrorKind::Unsupported,
           {op, ": dtype is ", dtype, "; accepted are int64, float32 and float64"});
  }
  const Tensor input = converted(op, self, dtype);
  const Reduction reduction(op, input, reduced, keepdim);
  Tensor result = Tensor::empty(reduction.result_sizes(), dtype);
  Target target{result.impl()->data(), 0};
  if (is_mean) {
    target.divisor = double(reduction.length());
    if (reduction.length() == 0) {
      const Scalar nan(__builtin_nan(""));
      fill_elements(result, number_in(op, "mean", nan, dtype));
      return result;
    }
  }
  const RowLoop loop = dtype == DType::Int64     ? &write_sum<std::int64_t>
                       : dtype == DType::Float32 ? &write_sum<float>
                                                 : &write_sum<double>;
  reduction.each_row(loop, &target);
  return result;
}

Tensor sum_dims(const char* op, const Tensor& self, std::optional<IntSpan> dims, bool keepdim,
                std::optional<DType> dtype) {
  require_computed(op, "self", self);
  const DType own = self.dtype() == DType::Bool ? DType::Int64 : self.dtype();
  return sum_as(op, self, dims, keepdim, dtype.value_or(own), false);
}

Tensor mean_dims(const char* op, const Tensor& self, std::optional<IntSpan> dims, bool keepdim,
                 std::optional<DType> dtype) {
  require_computed(op, "self", self);
  if (!is_floating_point(dtype.value_or(self.dtype()))) {
    refuse(ErrorKind::BadArgument,
           {op, ": self is ", self, " and dtype is ", dtype ? name_of(*dtype) : "None",
            "; a mean is a float, so give dtype as float32 or float64"});
  }
  return sum_as(op, self, dims, keepdim, dtype.value_or(self.dtype()), true);
}

Tensor sum(const Tensor& self, std::optional<DType> dtype) {
  return sum_dims("aten::sum", self, std::nullopt, false, dtype);
}
Tensor sum_dim(const Tensor& self, std::optional<IntSpan> dim, bool keepdim,
               std::optional<DType> dtype) {
  return sum_dims("aten::sum.dim_IntList", self, dim, keepdim, dtype);
}
Tensor mean(const Tensor& self, std::optional<DType> dtype) {
  return mean_dims("aten::mean", self, std::nullopt, false, dtype);
}
Tensor mean_dim(const Tensor& self, std::optional<IntSpan> dim, bool keepdim,
                std::optional<DType> dtype) {
  return mean_dims("aten::mean.dim", self, dim, keepdim, dtype);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor");
  m.def(
      "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) "
      "-> Tensor");
  m.def("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor");
  m.def(
      "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) "
      "-> Tensor");
}

OPYARD_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("sum", &sum);
  m.impl("sum.dim_IntList", &sum_dim);
  m.impl("mean", &mean);
  m.impl("mean.dim", &mean_dim);
}

}  // namespace opyard::kernels
