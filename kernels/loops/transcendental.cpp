// loops/transcendental.cpp: exp, log, tanh and sigmoid, over packets.
//
// In units in the last place, the most in any build: exp 5, log 2, tanh 7, sigmoid 6; of float64
// exp, log and tanh 2, sigmoid 3. The tanh of float64 is the C library's, since Eigen has none.
#include <cmath>

#include "loops/elementwise_loops.h"
#include "loops/kinds.h"
#include "loops/packet_loops.h"

namespace opyard::kernels {
namespace {

struct Exponential {
  template <typename Packet>
  static Packet apply(const Packet& x) {
    return packets::exponential(x);
  }
};
struct Logarithm {
  template <typename Packet>
  static Packet apply(const Packet& x) {
    return packets::logarithm(x);
  }
};
struct HyperbolicTangent {
  template <typename Packet>
  static Packet apply(const Packet& x) {
    return Eigen::internal::generic_fast_tanh_float(x);
  }
};
struct Logistic {
  template <typename Packet>
  static Packet apply(const Packet& x) {
    using namespace Eigen::internal;
    // By exp(-|x|), which does not overflow.
    const Packet zero = packets::constant<Packet>(0), one = packets::constant<Packet>(1);
    const Packet small = packets::exponential(pnegate(pabs(x)));
    const Packet above = pselect(pcmp_lt(x, zero), small, one);
    return pdiv(above, padd(one, small));
  }
};
template <typename T>
struct LibraryTangent {
  static T apply(T a) { return std::tanh(a); }
};

// Of complex numbers, the C++ library's.
template <typename T>
struct ComplexExponential {
  static T apply(T a) { return std::exp(a); }
};
template <typename T>
struct ComplexLogarithm {
  static T apply(T a) { return std::log(a); }
};
template <typename T>
struct ComplexTangent {
  static T apply(T a) { return std::tanh(a); }
};
template <typename T>
struct ComplexLogistic {
  static T apply(T a) { return divide(T(1), T(1) + std::exp(-a)); }
};

template <typename Op, template <typename> typename OfComplex>
constexpr Loops with_complex(Loop of_double) {
  Loops loops = unary_loops<OfComplex, Complex64, Complex128>();
  loops.of[std::size_t(computed_index(DType::Float32))] = &packet_loop<Op, float>;
  loops.of[std::size_t(computed_index(DType::Float64))] = of_double;
  return loops;
}
template <typename Op, template <typename> typename OfComplex>
constexpr Loops kPackets = with_complex<Op, OfComplex>(&packet_loop<Op, double>);

}  // namespace

constexpr TranscendentalLoops kTranscendental = {
    .exponential = kPackets<Exponential, ComplexExponential>,
    .logarithm = kPackets<Logarithm, ComplexLogarithm>,
    .hyperbolic_tangent = with_complex<HyperbolicTangent, ComplexTangent>(
        &detail::unary_loop<LibraryTangent<double>, double>),
    .logistic = kPackets<Logistic, ComplexLogistic>,
};

}  // namespace opyard::kernels
