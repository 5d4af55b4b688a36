// kernels/pointwise/functions.cpp: the functions of functions.def, and sign.
//
// loops/transcendental.cpp says how exact those of the builds are. The others are the C library's,
// but for digamma, which is a reflection, ten steps of its recurrence and eight terms of its
// series: within 1e-14 of the true value, and 2 units in the last place of float32.
#include <cmath>
#include <limits>

#include "common/block_functions.h"
#include "common/builds.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "pointwise/loops.h"

namespace opyard::kernels {
namespace {

constexpr bool is_below_zero(std::int64_t x) { return x < 0; }
// Of a complex number: whether either part is infinite, and whether both are finite.
template <typename T>
bool is_infinite(T x) {
  if constexpr (is_complex_type<T>) {
    return std::isinf(x.real()) || std::isinf(x.imag());
  } else {
    return std::isinf(x);
  }
}
template <typename T>
bool is_finite(T x) {
  if constexpr (is_complex_type<T>) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  } else {
    return std::isfinite(x);
  }
}
template <typename T>
T log_of_gamma(T x) {
  int sign = 0;  // lgamma() writes its sign to a global, which other threads write to, too
  if constexpr (std::is_same_v<T, float>) {
    return lgammaf_r(x, &sign);
  } else {
    return lgamma_r(x, &sign);
  }
}

template <typename T>
T digamma_at(T given) {
  constexpr double kPi = 3.141592653589793;
  double x = double(given);
  if (x == 0) return T(std::copysign(std::numeric_limits<double>::infinity(), -x));
  double sum = 0;
  if (x < 0) {
    if (x == std::trunc(x)) return std::numeric_limits<T>::quiet_NaN();
    sum = -kPi / std::tan(kPi * (x - std::nearbyint(x)));
    x = 1 - x;
  }
  for (; x < 10; x += 1) sum -= 1 / x;
  const double z = 1 / (x * x);
  constexpr double kTerms[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                               1.0 / 132, -691.0 / 32760, 1.0 / 12};
  double series = 0;
  for (int i = 6; i >= 0; --i) series = (series + kTerms[i]) * z;
  return T(sum + std::log(x) - 0.5 / x - series);
}

#define FUNCTION(name, value, formula)    \
  template <typename T>                   \
  struct Of_##name {                      \
    static T apply(T x) { return value; } \
  };
#define OF_BUILD(name, member, formula)
#define ROUNDING(name, member)
#define QUESTION(name, value, of_integer)     \
  template <typename T>                       \
  struct Of_##name {                          \
    static bool apply([[maybe_unused]] T x) { \
      if constexpr (std::is_integral_v<T>) {  \
        return of_integer;                    \
      } else {                                \
        return value;                         \
      }                                       \
    }                                         \
  };
#include "pointwise/functions.def"
#undef FUNCTION
#undef OF_BUILD
#undef ROUNDING
#undef QUESTION

template <template <typename> typename Op>
constexpr Loops kFunctionFloats = unary_loops<Op, float, double>();
template <template <typename> typename Op>
constexpr Loops kAnalytic = unary_loops<Op, float, double, Complex64, Complex128>();
template <template <typename> typename Op>
constexpr Loops kAll = unary_loops<Op, bool, std::int64_t, float, double>();
template <template <typename> typename Op>
constexpr Loops kEvery =
    unary_loops<Op, bool, std::int64_t, float, double, Complex64, Complex128>();

Computation function_in_floats(const Elementwise& call, const Loops& loops) {
  const DType dtype = float_for(call.common());
  return {call.choose(loops, dtype), dtype, dtype};
}
// Roundings, which leave integers as they are.
Computation rounding(const Elementwise& call, const Loops& loops) {
  return {call.choose_for_all(loops, call.common()), call.common(), call.common()};
}
Computation sign_in_own_dtype(const Elementwise& call, const Loops& loops) {
  const DType dtype = call.common();
  const Loops& chosen = dtype == DType::UInt64 ? kSignOfUnsigned : loops;
  return {call.choose_for_all(chosen, dtype), dtype, dtype};
}
// Of uint64 the answers are those of a bool: it has neither a sign nor NaN.
Computation question(const Elementwise& call, const Loops& loops) {
  const DType dtype = call.common() == DType::UInt64 ? DType::Bool : call.common();
  return {call.choose(loops, dtype), dtype, DType::Bool};
}

// The forms of one operator, for a way to find its computation.
#define VALUE(name, plan, loops)                  \
  Tensor name##_of(const Tensor& self) {          \
    const Elementwise call("aten::" #name, self); \
    return call.run(plan(call, loops));           \
  }
#define FORMS(name, plan, loops)                         \
  VALUE(name, plan, loops)                               \
  Tensor& name##_out(const Tensor& self, Tensor& out) {  \
    const Elementwise call("aten::" #name ".out", self); \
    return call.run_into("out", out, plan(call, loops)); \
  }
#define IN_PLACE(name, plan, loops)                        \
  Tensor& name##_in_place(Tensor& self) {                  \
    const Elementwise call("aten::" #name "_", self);      \
    return call.run_into("self", self, plan(call, loops)); \
  }
#define FUNCTION(name, value, formula)                        \
  FORMS(name, function_in_floats, kFunctionFloats<Of_##name>) \
  IN_PLACE(name, function_in_floats, kFunctionFloats<Of_##name>)
#define OF_BUILD(name, member, formula)           \
  FORMS(name, function_in_floats, loops().member) \
  IN_PLACE(name, function_in_floats, loops().member)
#define ROUNDING(name, member)          \
  FORMS(name, rounding, loops().member) \
  IN_PLACE(name, rounding, loops().member)
#define QUESTION(name, value, of_integer) FORMS(name, question, kAll<Of_##name>)
#define ANALYTIC(name, value, formula)                  \
  FORMS(name, function_in_floats, kAnalytic<Of_##name>) \
  IN_PLACE(name, function_in_floats, kAnalytic<Of_##name>)
#define PARTWISE(name, value, of_integer) FORMS(name, question, kEvery<Of_##name>)
#define PARTWISE_VALUE(name, value, of_integer) VALUE(name, question, kEvery<Of_##name>)
#include "pointwise/functions.def"
#undef FUNCTION
#undef OF_BUILD
#undef ROUNDING
#undef QUESTION
FORMS(sign, sign_in_own_dtype, loops().unary.sign)
IN_PLACE(sign, sign_in_own_dtype, loops().unary.sign)
#undef VALUE
#undef FORMS
#undef IN_PLACE

}  // namespace

#define VALUE(name) define(m, #name "(Tensor self) -> Tensor", Tagged::Pointwise);
#define FORMS(name) \
  VALUE(name)       \
  define(m, #name ".out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", Tagged::Pointwise);
#define IN_PLACE(name) define(m, #name "_(Tensor(a!) self) -> Tensor(a!)", Tagged::Pointwise);

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  const auto add_formula = [](Library& library, const char* name, const char* formula) {
    if (formula != nullptr) library.derivative(name, {{"self", formula}});
  };
#define FUNCTION(name, value, formula) FORMS(name) IN_PLACE(name) add_formula(m, #name, formula);
#define OF_BUILD FUNCTION
#define ROUNDING(name, member) FORMS(name) IN_PLACE(name)
#define QUESTION(name, value, of_integer) FORMS(name)
#define PARTWISE_VALUE(name, value, of_integer) VALUE(name)
#include "pointwise/functions.def"
#undef FUNCTION
#undef OF_BUILD
#undef ROUNDING
#undef QUESTION
  FORMS(sign)
  IN_PLACE(sign)
  // Steps: zero in between.
  for (const char* name : {"ceil", "floor", "round", "trunc", "sign"}) {
    m.derivative(name, {{"self", "zeros_like(grad)"}});
  }
  m.derivative("frac", {{"self", "grad"}});
}
#undef VALUE
#undef FORMS
#undef IN_PLACE

OPYARD_KERNELS(m) {
#define FORMS(name) m.impl(#name, &name##_of), m.impl(#name ".out", &name##_out);
#define FUNCTION(name, value, formula) FORMS(name) m.impl(#name "_", &name##_in_place);
#define ROUNDING(name, member)                     \
  FORMS(name) m.impl(#name "_", &name##_in_place); \
  fusible("aten::" #name, "", &name##_of, loops().member);
#define OF_BUILD(name, member, formula) ROUNDING(name, member)
#define QUESTION(name, value, of_integer) FORMS(name)
#define PARTWISE_VALUE(name, value, of_integer) m.impl(#name, &name##_of);
#include "pointwise/functions.def"
#undef FUNCTION
#undef OF_BUILD
#undef ROUNDING
#undef QUESTION
  FORMS(sign)
  m.impl("sign_", &sign_in_place);
  fusible("aten::sign", "", &sign_of, loops().unary.sign);
#undef FORMS
}

}  // namespace opyard::kernels
