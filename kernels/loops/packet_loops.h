// loops/packet_loops.h: loops over Eigen's packets, for functions that have no instruction.
//
//   struct Exponential {
//     template <typename Packet>
//     static Packet apply(const Packet& x) { return exponential(x); }
//   };
//   constexpr Loop kExp = &packet_loop<Exponential, float>;
//
// [Whole packets] What is left at the end of a line, and elements with gaps between them, are put
// into a packet and go through the same function. So an element's bits do not depend on its place.
//
// Depends on: loop.h, Eigen.
#pragma once

#include <cstring>
#include <Eigen/Core>
#include <type_traits>

#include "loops/loop.h"

// A packet is a vector type of the compiler, whose attributes a template argument drops.
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wignored-attributes"
#endif

namespace opyard::kernels {

template <typename T>
using PacketOf = typename Eigen::internal::packet_traits<T>::type;
template <typename Packet>
using ElementOf = typename Eigen::internal::unpacket_traits<Packet>::type;

namespace packets {

using namespace Eigen::internal;

template <typename Packet>
Packet constant(ElementOf<Packet> value) {
  return pset1<Packet>(value);
}

// exp(x) of float32 up to 87 on either side of 0: 2^n e^r, where r is at most log(2) / 2 from 0.
// Eigen's takes twice as long, since it allows for an n that is not one number's exponent. The
// polynomial is (e^r - 1 - r) / r^2, to 3e-9.
template <typename Packet>
Packet exponential_within(const Packet& x) {
  using Integers = typename unpacket_traits<Packet>::integer_packet;
  // Added to a number, it leaves that number's integer in the lowest bits.
  const Packet magic = constant<Packet>(0x1.8p23F);
  const Packet shifted = pmadd(x, constant<Packet>(1.44269504F), magic);
  const Packet n = psub(shifted, magic);
  Packet r = pmadd(n, constant<Packet>(-0x1.62e4p-1F), x);  // log(2) in two parts
  r = pmadd(n, constant<Packet>(-0x1.7f7d1cp-20F), r);
  Packet rest = constant<Packet>(0x1.6a23dp-10F);
  rest = pmadd(rest, r, constant<Packet>(0x1.123a2p-7F));
  rest = pmadd(rest, r, constant<Packet>(0x1.5558f2p-5F));
  rest = pmadd(rest, r, constant<Packet>(0x1.555492p-3F));
  rest = pmadd(rest, r, constant<Packet>(0x1.fffffcp-2F));
  const Packet power = padd(pmadd(pmul(r, r), rest, r), constant<Packet>(1));
  const Integers exponent = plogical_shift_left<23>(preinterpret<Integers>(shifted));
  return preinterpret<Packet>(padd(preinterpret<Integers>(power), exponent));
}

template <typename Packet>
concept WithExponents = std::is_same_v<ElementOf<Packet>, float> &&
                        requires { typename unpacket_traits<Packet>::integer_packet; };

// exp(x). Eigen's ends before the result is subnormal, and with AVX-512 before it overflows; so
// near either end it is the square of exp(x / 2).
template <typename Packet>
Packet exponential(const Packet& x) {
  using T = ElementOf<Packet>;
  const Packet limit = constant<Packet>(sizeof(T) == 4 ? T(87) : T(700));
  const Packet outside = pcmp_lt_or_nan(limit, pabs(x));
  Packet result;
  if constexpr (WithExponents<Packet>) {
    result = exponential_within(x);
  } else {
    result = pexp(x);
  }
  if (predux_any(outside)) {
    const Packet half = pexp(pmul(x, constant<Packet>(T(0.5))));
    result = pselect(outside, pmul(half, half), result);
  }
  return result;
}

// log(x). Eigen's takes subnormal numbers for the smallest normal one.
template <typename Packet>
Packet logarithm(const Packet& x) {
  using T = ElementOf<Packet>;
  constexpr T kUp = sizeof(T) == 4 ? T(0x1p24) : T(0x1p53);
  constexpr T kShift = T(0.693147180559945309417) * (sizeof(T) == 4 ? T(24) : T(53));
  const Packet zero = constant<Packet>(T(0));
  const Packet least = constant<Packet>(std::numeric_limits<T>::min());
  const Packet subnormal = pand(pcmp_lt(zero, x), pcmp_lt(x, least));
  Packet result = plog(x);
  if (predux_any(subnormal)) {
    const Packet scaled = plog(pmul(x, constant<Packet>(kUp)));
    result = pselect(subnormal, psub(scaled, constant<Packet>(kShift)), result);
  }
  return result;
}

}  // namespace packets

template <typename Op, typename T>
void packet_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                 const void*) {
  using Packet = PacketOf<T>;
  constexpr std::int64_t kWidth = Eigen::internal::unpacket_traits<Packet>::size;
  std::int64_t i = 0;
  if (steps[0] == sizeof(T) && steps[1] == sizeof(T)) {
    auto* const to = reinterpret_cast<T*>(data[0]);
    const auto* const from = reinterpret_cast<const T*>(data[1]);
    for (; i + kWidth <= count; i += kWidth) {
      const auto x = Eigen::internal::ploadu<Packet>(from + i);
      Eigen::internal::pstoreu(to + i, Op::apply(x));
    }
  }
  // See [Whole packets].
  for (; i < count; i += kWidth) {
    const std::int64_t here = count - i < kWidth ? count - i : kWidth;
    T buffer[kWidth] = {};
    const std::byte* from = data[1] + i * steps[1];
    for (std::int64_t k = 0; k < here; ++k, from += steps[1])
      std::memcpy(buffer + k, from, sizeof(T));
    const auto x = Eigen::internal::ploadu<Packet>(buffer);
    Eigen::internal::pstoreu(buffer, Op::apply(x));
    std::byte* to = data[0] + i * steps[0];
    for (std::int64_t k = 0; k < here; ++k, to += steps[0]) std::memcpy(to, buffer + k, sizeof(T));
  }
}

}  // namespace opyard::kernels
