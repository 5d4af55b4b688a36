// kernels/creation/number.cpp: between tensors and single numbers: item, is_nonzero, fill_,
// zero_.
#include <opyard/library.h>

#include <limits>
#include <string>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "common/write.h"

namespace opyard::kernels {
namespace {

constexpr std::uint64_t kMostInt = std::numeric_limits<std::int64_t>::max();

Scalar local_scalar_dense(const Tensor& self) {
  constexpr const char* kOp = "aten::_local_scalar_dense";
  require_cpu(kOp, "self", self);
  if (self.numel() != 1) {
    refuse(ErrorKind::BadValue, {kOp, ": self is ", self, ", which has ", self.numel(),
                                 " elements; a number can be taken from a tensor of exactly one"});
  }
  switch (self.dtype()) {
    case DType::Bool:
      return *self.data<bool>();
    case DType::ComplexFloat:
      return Scalar(std::complex<double>(*self.data<std::complex<float>>()));
    case DType::ComplexDouble:
      return Scalar(*self.data<std::complex<double>>());
    case DType::Half:
    case DType::BFloat16:
    case DType::Float32:
    case DType::Float64:
      return *converted(kOp, self, DType::Float64).data<double>();
    case DType::UInt8:
    case DType::Int8:
    case DType::Int16:
    case DType::Int32:
    case DType::Int64:
    case DType::UInt16:
    case DType::UInt32:
      break;
    case DType::UInt64:
      if (const std::uint64_t value = *self.data<std::uint64_t>(); value > kMostInt) {
        refuse(ErrorKind::BadValue,
               {kOp, ": self is ", self, " and its element ", std::to_string(value),
                ", which no int of a schema holds; convert it to float64"});
      }
      break;
  }
  return *converted(kOp, self, DType::Int64).data<std::int64_t>();
}

Scalar item(const Tensor& self) {
  static constinit FoundOperator<Scalar(const Tensor&)> op("aten::_local_scalar_dense");
  return named("aten::item", "aten::_local_scalar_dense", [&] { return op.call(self); });
}

bool is_nonzero(const Tensor& self) {
  require_defined("aten::is_nonzero", "self", self);
  if (self.numel() != 1) {
    refuse(ErrorKind::BadValue, {"aten::is_nonzero: self is ", self,
                                 ", whose truth is ambiguous; accepted is a tensor "
                                 "of one element, and aten::any and aten::all make one of many"});
  }
  return item(self).to_bool();
}

Tensor& fill_scalar(Tensor& self, const Scalar& value) {
  constexpr const char* kOp = "aten::fill_.Scalar";
  require_writable(kOp, "self", self);
  const Number number = number_in(kOp, "value", value, self.dtype());
  self.count_write();
  fill_elements(self, number);
  return self;
}

// A write of copy_, which has the formula.
Tensor& fill_tensor(Tensor& self, const Tensor& value) {
  constexpr const char* kOp = "aten::fill_.Tensor";
  static constinit FoundOperator<Tensor&(Tensor&, const Tensor&, bool)> copy("aten::copy_");
  require_defined(kOp, "self", self);
  require_defined(kOp, "value", value);
  if (value.dim() != 0) {
    refuse(ErrorKind::BadShape, {kOp, ": value is ", value,
                                 "; accepted is a tensor without dimensions, and copy_() takes one "
                                 "that is expanded to self"});
  }
  return copy.call(self, value, false);
}

Tensor& zero(Tensor& self) {
  constexpr const char* kOp = "aten::zero_";
  require_writable(kOp, "self", self);
  const Number number = number_in(kOp, "self", false, self.dtype());
  self.count_write();
  fill_elements(self, number);
  return self;
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"_local_scalar_dense(Tensor self) -> Scalar", "item(Tensor self) -> Scalar",
          "is_nonzero(Tensor self) -> bool"},
         Tagged::DataDependent);
  m.impl("item", &item);
  m.impl("is_nonzero", &is_nonzero);
  m.def("fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)");
  m.def("fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)", &fill_tensor);
  m.def("zero_(Tensor(a!) self) -> Tensor(a!)");
}

OPYARD_LIBRARY_IMPL(aten, CPU, m) { m.impl("_local_scalar_dense", &local_scalar_dense); }

OPYARD_KERNELS(m) {
  m.impl("fill_.Scalar", &fill_scalar);
  m.impl("zero_", &zero);
}

}  // namespace opyard::kernels
