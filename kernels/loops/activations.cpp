// loops/activations.cpp: activations of neural networks, each in one loop.
//
// Those with an exponential are over packets in float32; logarithm of the logistic function 4 units
// in the last place. The others have the same bits in all builds.
#include <cmath>

#include "loops/elementwise_loops.h"
#include "loops/kinds.h"
#include "loops/packet_loops.h"

namespace opyard::kernels {
namespace {

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

// log(1 / (1 + exp(-x))), without an exponential of what is large.
template <typename Packet>
Packet log_logistic(const Packet& x) {
  using namespace Eigen::internal;
  const Packet small = packets::exponential(pnegate(pabs(x)));
  const Packet below = pselect(pcmp_lt(pzero(x), x), pzero(x), x);
  return psub(below, packets::logarithm_of_one_more(small));
}
template <typename T>
T log_logistic_of(T x) {
  return (x > 0 ? T(0) : x) - std::log1p(std::exp(-std::abs(x)));
}

OPYARD_PACKET_FUNCTION(Gelu, gelu(x), gelu_of(x))
OPYARD_PACKET_FUNCTION(GeluByTanh, gelu_by_tanh(x), gelu_by_tanh_of(x))
OPYARD_PACKET_FUNCTION(LogLogistic, log_logistic(x), log_logistic_of(x))
OPYARD_PACKET_FUNCTION(Silu, Eigen::internal::pmul(x, packets::logistic(x)), x / (1 + std::exp(-x)))

// x + 3 between 0 and 6.
template <typename T>
T raised(T x) {
  const T sum = x + 3;
  const T above = sum < 0 ? T(0) : sum;
  return above > 6 ? T(6) : above;
}
template <typename T>
struct HardLogistic {
  static T apply(T x) { return raised(x) / 6; }
};
template <typename T>
struct HardSwish {
  static T apply(T x) { return x * raised(x) / 6; }
};
template <typename T>
struct Leaky {
  static T apply(T x, T slope) {
    const T below = x * slope;
    return x > 0 ? x : below;
  }
};

}  // namespace

constexpr ActivationLoops kActivations = {
    .gelu = packets_and<Gelu, GeluOfElement, double>(),
    .gelu_by_tanh = packets_and<GeluByTanh, GeluByTanhOfElement, double>(),
    .hard_logistic = unary_loops<HardLogistic, float, double>(),
    .hard_swish = unary_loops<HardSwish, float, double>(),
    .leaky = binary_loops<Leaky, float, double>(),
    .log_logistic = packets_and<LogLogistic, LogLogisticOfElement, double>(),
    .silu = both_packets_and<Silu, SiluOfElement>(),
};

}  // namespace opyard::kernels
