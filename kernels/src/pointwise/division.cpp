// kernels/pointwise/division.cpp: div in its three roundings, floor_divide, remainder.
//
// [Division] div without a rounding mode divides as real numbers do: bool and integers become
// float32. With "floor" or "trunc", and in floor_divide and remainder, integers stay integers:
// a zero among the divisors then raises BadValue before anything is computed, and -2^63 / -1
// wraps to -2^63. Floats divide by zero as IEEE 754 says. The remainder has the divisor's sign,
// as % in Python.
#include <opyard/library.h>

#include <cmath>

#include "common/block_functions.h"
#include "common/builds.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "pointwise/divisor.h"
#include "pointwise/loops.h"
#include "pointwise/rest.h"

namespace opyard::kernels {
namespace {

// No integer is divided by zero: require_divisor() found none, but another thread may have written
// one since, and that must not end the process.
template <typename T>
struct Remainder {
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == -1 || b == 0) return 0;
      const T rest = a % b;
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
      return floored_rest(a, b);
    }
  }
};

template <typename T>
struct Floor {
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == -1) return subtract(T(0), a);
      if (b == 0) return 0;
      const T quotient = a / b;
      return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
    } else {
      return floored_quotient(a, b);
    }
  }
};

// Of uint64 that int64 carries: loops/loop.h [Unsigned].
template <typename T>
struct RemainderOfUnsigned {
  static T apply(T a, T b) { return b == 0 ? 0 : T(std::uint64_t(a) % std::uint64_t(b)); }
};
template <typename T>
struct QuotientOfUnsigned {
  static T apply(T a, T b) { return b == 0 ? 0 : T(std::uint64_t(a) / std::uint64_t(b)); }
};

constexpr Loops kRemainderOfUnsigned = binary_loops<RemainderOfUnsigned, std::int64_t>();
constexpr Loops kQuotientOfUnsigned = binary_loops<QuotientOfUnsigned, std::int64_t>();
constexpr Loops kFloor = binary_loops<Floor, std::int64_t, float, double>();
constexpr Loops kRemainder = binary_loops<Remainder, std::int64_t, float, double>();

template <typename Divisor>
Computation rounded(const Elementwise& call, const Loops& loops, const Divisor& divisor,
                    bool divides = true) {
  const DType dtype = call.common();
  const Loops& of_unsigned = divides ? kQuotientOfUnsigned : kRemainderOfUnsigned;
  const Loop loop = call.choose_for_all(dtype == DType::UInt64 ? of_unsigned : loops, dtype);
  require_divisor(call, divisor, dtype);
  return {loop, dtype, dtype, {}, divides};
}

Computation true_quotient(const Elementwise& call) {
  const DType dtype = float_for(call.common());
  return {call.choose(loops().arithmetic.divide, dtype), dtype, dtype, {}, true};
}

template <typename Divisor>
Computation quotient(const Elementwise& call, std::optional<std::string_view> mode,
                     const Divisor& divisor) {
  if (!mode) return true_quotient(call);
  if (*mode == "trunc") return rounded(call, loops().arithmetic.truncate, divisor);
  if (*mode == "floor") return rounded(call, kFloor, divisor);
  refuse(ErrorKind::BadValue,
         {call.op(), ": rounding_mode is '", *mode, "'; accepted are 'trunc', 'floor' and None"});
}

Tensor div_tensor(const Tensor& self, const Tensor& other) {
  if (self.defined() && category_of(self.dtype()) >= 2) {
    if (Tensor result = of_alike(loops().arithmetic.divide, self, other); result.defined()) {
      return result;
    }
  }
  const Elementwise call("aten::div.Tensor", self, other);
  return call.run(true_quotient(call));
}
Tensor div_scalar(const Tensor& self, const Scalar& other) {
  if (self.defined() && category_of(self.dtype()) >= 2) {
    if (Tensor result = of_number("aten::div.Scalar", loops().arithmetic.divide, self, other);
        result.defined()) {
      return result;
    }
  }
  const Elementwise call("aten::div.Scalar", self, other);
  return call.run(true_quotient(call));
}
Tensor div_tensor_mode(const Tensor& self, const Tensor& other,
                       std::optional<std::string_view> mode) {
  const Elementwise call("aten::div.Tensor_mode", self, other);
  return call.run(quotient(call, mode, other));
}
Tensor div_scalar_mode(const Tensor& self, const Scalar& other,
                       std::optional<std::string_view> mode) {
  const Elementwise call("aten::div.Scalar_mode", self, other);
  return call.run(quotient(call, mode, other));
}
Tensor& div_tensor_in_place(Tensor& self, const Tensor& other) {
  const Elementwise call("aten::div_.Tensor", self, other);
  return call.run_into("self", self, true_quotient(call));
}
Tensor& div_scalar_in_place(Tensor& self, const Scalar& other) {
  const Elementwise call("aten::div_.Scalar", self, other);
  return call.run_into("self", self, true_quotient(call));
}

Tensor floor_divide(const Tensor& self, const Tensor& other) {
  const Elementwise call("aten::floor_divide", self, other);
  return call.run(rounded(call, kFloor, other));
}
Tensor floor_divide_scalar(const Tensor& self, const Scalar& other) {
  const Elementwise call("aten::floor_divide.Scalar", self, other);
  return call.run(rounded(call, kFloor, other));
}
Tensor remainder_tensor(const Tensor& self, const Tensor& other) {
  const Elementwise call("aten::remainder.Tensor", self, other);
  return call.run(rounded(call, kRemainder, other, false));
}
Tensor remainder_scalar(const Tensor& self, const Scalar& other) {
  const Elementwise call("aten::remainder.Scalar", self, other);
  return call.run(rounded(call, kRemainder, other, false));
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("div.Tensor(Tensor self, Tensor other) -> Tensor");
  m.def("div.Scalar(Tensor self, Scalar other) -> Tensor");
  m.def("div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor");
  m.def("div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor");
  m.def("div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  m.def("div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)");
  m.def("floor_divide(Tensor self, Tensor other) -> Tensor");
  m.def("floor_divide.Scalar(Tensor self, Scalar other) -> Tensor");
  m.def("remainder.Tensor(Tensor self, Tensor other) -> Tensor");
  m.def("remainder.Scalar(Tensor self, Scalar other) -> Tensor");
  define_in_place(m, {"floor_divide.Scalar", "remainder.Tensor", "remainder.Scalar"},
                  Form::WithFormula);
  define_form(m, "floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
              Form::WithFormula);
}

OPYARD_KERNELS(m) {
  name_build(m);
  fusible("aten::div", "Tensor", &div_tensor, loops().arithmetic.divide,
          {.arithmetic = jit::BlockArithmetic::Divide});
  fusible("aten::div", "Scalar", &div_scalar, loops().arithmetic.divide,
          {.arithmetic = jit::BlockArithmetic::Divide});
  m.impl("div.Tensor", &div_tensor);
  m.impl("div.Scalar", &div_scalar);
  m.impl("div.Tensor_mode", &div_tensor_mode);
  m.impl("div.Scalar_mode", &div_scalar_mode);
  m.impl("div_.Tensor", &div_tensor_in_place);
  m.impl("div_.Scalar", &div_scalar_in_place);
  m.impl("floor_divide", &floor_divide);
  m.impl("floor_divide.Scalar", &floor_divide_scalar);
  m.impl("remainder.Tensor", &remainder_tensor);
  m.impl("remainder.Scalar", &remainder_scalar);
}

}  // namespace opyard::kernels
