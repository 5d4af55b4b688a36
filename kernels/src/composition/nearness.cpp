// kernels/composition/nearness.cpp: comparison within a tolerance, angles in other units, and powers
// in float64: isclose, allclose, isreal, deg2rad, rad2deg, float_power.
#include <cmath>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/ops.h"
#include "common/options.h"

namespace opyard::kernels {
namespace {

using namespace ops;
using Unary = Tensor(const Tensor&);
using Binary = Tensor(const Tensor&, const Tensor&);

Tensor scaled_by(const char* op, const Tensor& self, double factor) {
  require_defined(op, "self", self);
  if (is_complex(self.dtype())) {
    refuse(ErrorKind::Unsupported, {op, ": self is ", self,
                                    ", and complex numbers are no angles; accepted are all other "
                                    "dtypes"});
  }
  return self * factor;
}
Tensor deg2rad(const Tensor& self) { return scaled_by("aten::deg2rad", self, M_PI / 180); }
Tensor rad2deg(const Tensor& self) { return scaled_by("aten::rad2deg", self, 180 / M_PI); }

Tensor isreal(const Tensor& self) {
  using Ones = Tensor(const Tensor&, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool, MaybeFormat);
  static constinit FoundOperator<Ones> ones_like("aten::ones_like");
  require_defined("aten::isreal", "self", self);
  if (is_complex(self.dtype())) return equals(imag(self), 0);
  return ones_like.call(self, DType::Bool, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
}

Tensor either(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Binary> op("aten::logical_or");
  return op.call(a, b);
}
Tensor isclose(const char* op, const Tensor& self, const Tensor& other, double rtol, double atol,
               bool equal_nan) {
  static constinit FoundOperator<Unary> is_nan("aten::isnan");
  static constinit FoundOperator<Unary> is_finite("aten::isfinite");
  static constinit FoundOperator<Binary> is_at_most("aten::le.Tensor");
  require_defined(op, "self", self);
  require_defined(op, "other", other);
  if (self.dtype() != other.dtype()) {
    refuse(ErrorKind::BadArgument,
           {op, ": self is ", self, " and other is ", other, "; both need one dtype"});
  }
  require_broadcast(op, {{"self", self}, {"other", other}});
  if (!(rtol >= 0) || !(atol >= 0)) {
    refuse(ErrorKind::BadValue,
           {op, ": rtol is ", rtol, " and atol is ", atol, "; accepted are 0 and more"});
  }
  const Tensor a = to(self, float_for(self.dtype())), b = to(other, float_for(self.dtype()));
  Tensor close = equals(self, other);
  if (equal_nan && category_of(self.dtype()) >= 2) {
    close = either(close, both(is_nan.call(self), is_nan.call(other)));
  }
  if (rtol == 0 && atol == 0) return close;
  const Tensor apart = abs(a - b);
  const Tensor near = is_at_most.call(apart, abs(b * rtol) + atol);
  return either(close, both(is_finite.call(apart), near));
}
Tensor isclose_of(const Tensor& self, const Tensor& other, double rtol, double atol,
                  bool equal_nan) {
  return isclose("aten::isclose", self, other, rtol, atol, equal_nan);
}
bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  static constinit FoundOperator<Unary> all("aten::all");
  static constinit FoundOperator<bool(const Tensor&)> is_true("aten::is_nonzero");
  return is_true.call(all.call(isclose("aten::allclose", self, other, rtol, atol, equal_nan)));
}

// float64, or complex numbers of it.
DType wide_for(bool is_of_complex) { return is_of_complex ? DType::ComplexDouble : DType::Float64; }
Tensor float_power(const Tensor& self, const Tensor& exponent) {
  constexpr const char* kOp = "aten::float_power.Tensor_Tensor";
  static constinit FoundOperator<Binary> power("aten::pow.Tensor_Tensor");
  require_defined(kOp, "self", self);
  require_defined(kOp, "exponent", exponent);
  require_broadcast(kOp, {{"self", self}, {"exponent", exponent}});
  const DType wide = wide_for(is_complex(self.dtype()) || is_complex(exponent.dtype()));
  return power.call(to(self, wide), to(exponent, wide));
}
Tensor float_power_by_number(const Tensor& self, const Scalar& exponent) {
  require_defined("aten::float_power.Tensor_Scalar", "self", self);
  const DType wide = wide_for(is_complex(self.dtype()) || exponent.is_complex());
  return pow(to(self, wide), exponent.is_complex() ? exponent : Scalar(exponent.to_double()));
}
Tensor float_power_of_number(const Scalar& self, const Tensor& exponent) {
  static constinit FoundOperator<Tensor(const Scalar&, const Tensor&)> power("aten::pow.Scalar");
  require_defined("aten::float_power.Scalar", "exponent", exponent);
  const DType wide = wide_for(self.is_complex() || is_complex(exponent.dtype()));
  return power.call(self.is_complex() ? self : Scalar(self.to_double()), to(exponent, wide));
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("deg2rad(Tensor self) -> Tensor", &deg2rad);
  m.def("rad2deg(Tensor self) -> Tensor", &rad2deg);
  m.def("isreal(Tensor self) -> Tensor", &isreal);
  m.def(
      "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
      "equal_nan=False) -> Tensor",
      &isclose_of);
  define(m,
         "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
         "equal_nan=False) -> bool",
         Tagged::DataDependent);
  m.impl("allclose", &allclose);
  m.def("float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", &float_power);
  m.def("float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", &float_power_of_number);
  m.def("float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
        &float_power_by_number);
}

}  // namespace opyard::kernels
