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

// Of a complex number: by its parts, so that what is small stays exact.
template <typename T>
T less_one(T z) {
  if constexpr (is_complex_type<T>) {
    const auto x = z.real(), y = z.imag(), half = std::sin(y / 2), grown = std::expm1(x);
    return {grown * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y)};
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
    return {is_small ? std::log1p(square) / 2 : std::log(std::hypot(1 + x, y)),
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

template <typename Packet>
Packet logistic(const Packet& x) {
  using namespace Eigen::internal;
  // By exp(-|x|), which does not overflow.
  const Packet zero = packets::constant<Packet>(0), one = packets::constant<Packet>(1);
  const Packet small = packets::exponential(pnegate(pabs(x)));
  const Packet above = pselect(pcmp_lt(x, zero), small, one);
  return pdiv(above, padd(one, small));
}

// x (erf(x / sqrt(2)) + 1) / 2, and nearly so by tanh.
template <typename Packet>
Packet gelu_by(const Packet& x, const Packet& of_x) {
  using namespace Eigen::internal;
  const Packet half = packets::constant<Packet>(0.5F), one = packets::constant<Packet>(1);
  return pmul(pmul(x, half), padd(of_x, one));
}
template <typename Packet>
Packet gelu(const Packet& x) {
  using namespace Eigen::internal;
  const Packet scaled = pmul(x, packets::constant<Packet>(0.707106781F));
  return gelu_by(x, packets::error_function(scaled));
}
constexpr double kTanhCubic = 0.044715, kTanhFactor = 0.7978845608028654;
template <typename Packet>
Packet gelu_by_tanh(const Packet& x) {
  using namespace Eigen::internal;
  const Packet cube = pmul(pmul(x, x), x);
  const Packet inner = padd(x, pmul(cube, packets::constant<Packet>(float(kTanhCubic))));
  const Packet scaled = pmul(inner, packets::constant<Packet>(float(kTanhFactor)));
  return gelu_by(x, generic_fast_tanh_float(scaled));
}
template <typename T>
T gelu_of(T x) {
  return x * T(0.5) * (std::erf(x * T(0.7071067811865476)) + 1);
}
template <typename T>
T gelu_by_tanh_of(T x) {
  return x * T(0.5) * (std::tanh((x + x * x * x * T(kTanhCubic)) * T(kTanhFactor)) + 1);
}

// FUNCTION(name, of a packet x, of an element x)
#define FUNCTION(name, of_packet, of_element)     \
  struct name {                                   \
    template <typename Packet>                    \
    static Packet apply(const Packet& x) {        \
      return of_packet;                           \
    }                                             \
  };                                              \
  template <typename T>                           \
  struct name##OfElement {                        \
    static T apply(T x) { return T(of_element); } \
  };
FUNCTION(ArcTangent, packets::arc_tangent(x), std::atan(x))
FUNCTION(BinaryLogarithm, packets::binary_logarithm(x), log_to_base_two(x))
FUNCTION(Cosine, packets::cosine(x), std::cos(x))
FUNCTION(DecimalLogarithm, packets::decimal_logarithm(x), std::log10(x))
FUNCTION(ErrorFunction, packets::error_function(x), std::erf(x))
FUNCTION(Exponential, packets::exponential(x), std::exp(x))
FUNCTION(ExponentialLessOne, packets::exponential_less_one(x), less_one(x))
FUNCTION(Gelu, gelu(x), gelu_of(x))
FUNCTION(GeluByTanh, gelu_by_tanh(x), gelu_by_tanh_of(x))
FUNCTION(HyperbolicArcTangent, packets::hyperbolic_arc_tangent(x), std::atanh(x))
FUNCTION(HyperbolicCosine, packets::hyperbolic_cosine(x), std::cosh(x))
FUNCTION(HyperbolicSine, packets::hyperbolic_sine(x), std::sinh(x))
FUNCTION(HyperbolicTangent, Eigen::internal::generic_fast_tanh_float(x), std::tanh(x))
FUNCTION(Logarithm, packets::logarithm(x), std::log(x))
FUNCTION(LogarithmOfOneMore, packets::logarithm_of_one_more(x), log_of_one_more(x))
FUNCTION(Logistic, logistic(x), divide(T(1), T(1) + std::exp(-x)))
FUNCTION(PowerOfTwo, packets::power_of_two(x), two_to_the(x))
FUNCTION(Silu, Eigen::internal::pmul(x, logistic(x)), x / (1 + std::exp(-x)))
FUNCTION(Sine, packets::sine(x), std::sin(x))
FUNCTION(Tangent, packets::tangent(x), std::tan(x))
#undef FUNCTION

// float32 over packets, the other types element by element.
template <typename Packets, template <typename> typename Elements, typename... T>
constexpr Loops packets_and() {
  Loops loops = unary_loops<Elements, T...>();
  loops.of[std::size_t(computed_index(DType::Float32))] = &packet_loop<Packets, float>;
  return loops;
}
// float64 over packets, too.
template <typename Packets, template <typename> typename Elements, typename... T>
constexpr Loops both_packets_and() {
  Loops loops = packets_and<Packets, Elements, T...>();
  loops.of[std::size_t(computed_index(DType::Float64))] = &packet_loop<Packets, double>;
  return loops;
}

}  // namespace

#define ANALYTIC(Name) packets_and<Name, Name##OfElement, double, Complex64, Complex128>()
#define BOTH(Name) both_packets_and<Name, Name##OfElement, Complex64, Complex128>()
constexpr TranscendentalLoops kTranscendental = {
    .arc_tangent = ANALYTIC(ArcTangent),
    .binary_logarithm = ANALYTIC(BinaryLogarithm),
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
    .gelu = packets_and<Gelu, GeluOfElement, double>(),
    .gelu_by_tanh = packets_and<GeluByTanh, GeluByTanhOfElement, double>(),
    .silu = both_packets_and<Silu, SiluOfElement>(),
};
#undef ANALYTIC
#undef BOTH

}  // namespace opyard::kernels
