// loops/transcendental.cpp: exp, log, sin, tanh and their like: float32 over packets.
//
// In units in the last place, the most in any build: tanh 7, sigmoid 3; of float64 exp and log 2,
// sigmoid 3. packet_functions.h says it of the others. All else is the C and the C++ library's,
// since Eigen has no packets for it.
#include <cmath>

#include "loops/elementwise_loops.h"
#include "loops/kinds.h"
#include "loops/packet_loops.h"

namespace opyard::kernels {
namespace {

// Of a complex number: by its parts, so that what is small stays exact. Products of infinities and
// zeros are NaN; exp() knows what they are.
template <typename T>
T less_one(T z) {
  if constexpr (is_complex_type<T>) {
    const auto x = z.real(), y = z.imag(), half = std::sin(y / 2), grown = std::expm1(x);
    const T found(grown * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y));
    const bool is_finite = std::isfinite(found.real()) && std::isfinite(found.imag());
    return is_finite ? found : std::exp(z) - T(1);
  } else {
    return std::expm1(z);
  }
}
template <typename T>
T log_of_one_more(T z) {
  if constexpr (is_complex_type<T>) {
    const auto x = z.real(), y = z.imag();
    const auto square = x * (2 + x) + y * y;  // |1 + z|² - 1
    const bool is_small = std::abs(square) < typename T::value_type(0.5);
    return {is_small ? std::log1p(square) / 2 : std::log(std::abs(T(1 + x, y))),
            std::atan2(y, 1 + x)};
  } else {
    return std::log1p(z);
  }
}
template <typename T>
T two_to_the(T x) {
  if constexpr (is_complex_type<T>) {
    return std::exp(x * typename T::value_type(0.693147180559945309417));
  } else {
    return std::exp2(x);
  }
}
template <typename T>
T log_to_base_two(T x) {
  if constexpr (is_complex_type<T>) {
    return std::log(x) / typename T::value_type(0.693147180559945309417);
  } else {
    return std::log2(x);
  }
}

#define FUNCTION OPYARD_PACKET_FUNCTION
FUNCTION(ArcTangent, packets::arc_tangent(x), std::atan(x))
FUNCTION(BinaryLogarithm, packets::binary_logarithm(x), log_to_base_two(x))
FUNCTION(ComplementaryErrorFunction, packets::complementary_error_function(x), std::erfc(x))
FUNCTION(Cosine, packets::cosine(x), std::cos(x))
FUNCTION(DecimalLogarithm, packets::decimal_logarithm(x), std::log10(x))
FUNCTION(ErrorFunction, packets::error_function(x), std::erf(x))
FUNCTION(Exponential, packets::exponential(x), std::exp(x))
FUNCTION(ExponentialLessOne, packets::exponential_less_one(x), less_one(x))
FUNCTION(HyperbolicArcTangent, packets::hyperbolic_arc_tangent(x), std::atanh(x))
FUNCTION(HyperbolicCosine, packets::hyperbolic_cosine(x), std::cosh(x))
FUNCTION(HyperbolicSine, packets::hyperbolic_sine(x), std::sinh(x))
FUNCTION(HyperbolicTangent, Eigen::internal::generic_fast_tanh_float(x), std::tanh(x))
FUNCTION(Logarithm, packets::logarithm(x), std::log(x))
FUNCTION(LogarithmOfOneMore, packets::logarithm_of_one_more(x), log_of_one_more(x))
FUNCTION(Logistic, packets::logistic(x), divide(T(1), T(1) + std::exp(-x)))
FUNCTION(PowerOfTwo, packets::power_of_two(x), two_to_the(x))
FUNCTION(Sine, packets::sine(x), std::sin(x))
FUNCTION(Tangent, packets::tangent(x), std::tan(x))
#undef FUNCTION

// Of the point (x, y): atan2.
struct Angle {
  template <typename Packet>
  static Packet apply(const Packet& y, const Packet& x) {
    return packets::angle(y, x);
  }
};
template <typename T>
struct AngleOfElements {
  static T apply(T y, T x) { return std::atan2(y, x); }
};
constexpr Loops angle_loops() {
  Loops loops = binary_loops<AngleOfElements, double>();
  loops.of[std::size_t(computed_index(DType::Float32))] = &packet_loop_of_two<Angle, float>;
  return loops;
}

}  // namespace

#define ANALYTIC(Name) packets_and<Name, Name##OfElement, double, Complex64, Complex128>()
#define BOTH(Name) both_packets_and<Name, Name##OfElement, Complex64, Complex128>()
constexpr TranscendentalLoops kTranscendental = {
    .angle = angle_loops(),
    .arc_tangent = ANALYTIC(ArcTangent),
    .binary_logarithm = ANALYTIC(BinaryLogarithm),
    .complementary_error_function =
        packets_and<ComplementaryErrorFunction, ComplementaryErrorFunctionOfElement, double>(),
    .cosine = ANALYTIC(Cosine),
    .decimal_logarithm = ANALYTIC(DecimalLogarithm),
    .error_function = packets_and<ErrorFunction, ErrorFunctionOfElement, double>(),
    .exponential = BOTH(Exponential),
    .exponential_less_one = ANALYTIC(ExponentialLessOne),
    .hyperbolic_arc_tangent = ANALYTIC(HyperbolicArcTangent),
    .hyperbolic_cosine = ANALYTIC(HyperbolicCosine),
    .hyperbolic_sine = ANALYTIC(HyperbolicSine),
    .hyperbolic_tangent = ANALYTIC(HyperbolicTangent),
    .logarithm = BOTH(Logarithm),
    .logarithm_of_one_more = ANALYTIC(LogarithmOfOneMore),
    .logistic = BOTH(Logistic),
    .power_of_two = ANALYTIC(PowerOfTwo),
    .sine = ANALYTIC(Sine),
    .tangent = ANALYTIC(Tangent),
};
#undef ANALYTIC
#undef BOTH

}  // namespace opyard::kernels
