// loops/packet_functions.h: functions of a packet, each element by itself.
//
// In units in the last place of float32, the most in any build is said beside each; where an
// element is in the packet does not matter. Coefficients are minimax fits, their error that of the
// exact polynomial.
//
// Depends on: Eigen.
#pragma once

#include <cmath>
#include <Eigen/Core>
#include <limits>
#include <type_traits>

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

// exp(x) up to 87 on either side of 0, by the shortest way.
template <typename Packet>
Packet bounded_exponential(const Packet& x) {
  if constexpr (WithExponents<Packet>) {
    return exponential_within(x);
  } else {
    return pexp(x);
  }
}

template <typename Packet>
Packet sign_of(const Packet& x) {
  return pand(x, constant<Packet>(ElementOf<Packet>(-0.0)));
}
// Of a magnitude, and of what has the sign of x already unless it is 0.
template <typename Packet>
Packet with_sign_of(const Packet& x, const Packet& magnitude) {
  return por(magnitude, sign_of(x));
}

// exp(x): 3 units, of float64 2. Near either end it is the square of exp(x / 2), which overflows
// and ends in subnormal numbers where it should.
template <typename Packet>
Packet exponential(const Packet& x) {
  using T = ElementOf<Packet>;
  const Packet limit = constant<Packet>(sizeof(T) == 4 ? T(87) : T(700));
  const Packet outside = pcmp_lt_or_nan(limit, pabs(x));
  Packet result = bounded_exponential(x);
  if (predux_any(outside)) {
    const Packet half = pmul(x, constant<Packet>(T(0.5)));
    const Packet within = pcmp_lt(pabs(half), limit);
    const Packet root = bounded_exponential(pselect(within, half, with_sign_of(x, limit)));
    const Packet square = pselect(pcmp_eq(x, x), pmul(root, root), x);
    result = pselect(outside, square, result);
  }
  return result;
}

// The coefficients of a polynomial from the highest power down.
template <typename Packet, typename... Coefficients>
Packet polynomial(const Packet& x, ElementOf<Packet> highest, Coefficients... others) {
  Packet sum = constant<Packet>(highest);
  ((sum = pmadd(sum, x, constant<Packet>(others))), ...);
  return sum;
}

// x = 2^exponent (1 + fraction) of a positive x, the fraction between -0.293 and 0.415.
template <typename Packet>
struct Parts {
  Packet exponent, fraction;

  explicit Parts(const Packet& x) {
    using Integers = typename unpacket_traits<Packet>::integer_packet;
    const Packet subnormal = pcmp_lt(x, constant<Packet>(std::numeric_limits<float>::min()));
    const Packet normal = pselect(subnormal, pmul(x, constant<Packet>(0x1p24F)), x);
    const Integers bits = preinterpret<Integers>(normal);
    const Integers root = preinterpret<Integers>(constant<Packet>(0.707106769F));
    const Integers whole = parithmetic_shift_right<23>(psub(bits, root));
    fraction =
        psub(preinterpret<Packet>(psub(bits, plogical_shift_left<23>(whole))), constant<Packet>(1));
    const Packet magic = constant<Packet>(0x1.8p23F);  // holds an integer in its lowest bits
    exponent = psub(preinterpret<Packet>(padd(whole, preinterpret<Integers>(magic))), magic);
    exponent = psub(exponent, pand(subnormal, constant<Packet>(24)));
  }

  // log(1 + fraction) but for the fraction itself, to 6e-9 of it.
  Packet rest_of_logarithm() const {
    const Packet rest =
        polynomial(fraction, -0x1.41ee0ap-4F, 0x1.07d0fp-3F, -0x1.0ce07cp-3F, 0x1.226e4ap-3F,
                   -0x1.54788ap-3F, 0x1.99a596p-3F, -0x1.00022p-2F, 0x1.55554ap-2F);
    const Packet square = pmul(fraction, fraction);
    return pmul(square, pmadd(fraction, rest, constant<Packet>(-0.5F)));
  }
  Packet logarithm() const { return padd(fraction, rest_of_logarithm()); }
};

// A logarithm, and what it is of 0, of negative numbers, of infinity and NaN.
template <typename Packet>
Packet with_ends_of_logarithm(const Packet& x, const Packet& result) {
  using Limits = std::numeric_limits<ElementOf<Packet>>;
  const Packet zero = pzero(x), infinity = constant<Packet>(Limits::infinity());
  const Packet inside = pand(pcmp_lt(zero, x), pcmp_lt(x, infinity));
  const Packet outside = pandnot(pcmp_eq(zero, zero), inside);
  if (!predux_any(outside)) return result;
  const Packet end =
      pselect(pcmp_eq(x, zero), pnegate(infinity),
              pselect(pcmp_eq(x, infinity), x, constant<Packet>(Limits::quiet_NaN())));
  return pselect(inside, result, end);
}

// log(x): 1 unit, of float64 2. Eigen's, which float64 has, takes subnormal numbers for the
// smallest normal one.
template <typename Packet>
Packet logarithm(const Packet& x) {
  if constexpr (WithExponents<Packet>) {
    const Parts<Packet> parts(x);
    const Packet& n = parts.exponent;  // of 2, whose logarithm is in two parts
    const Packet rest = pmadd(n, constant<Packet>(0x1.7f7d1cp-20F), parts.rest_of_logarithm());
    const Packet sum = pmadd(n, constant<Packet>(0x1.62e4p-1F), padd(parts.fraction, rest));
    return with_ends_of_logarithm(x, sum);
  } else {
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
}

// log2(x): 2 units, exact of powers of 2.
template <typename Packet>
Packet binary_logarithm(const Packet& x) {
  const Parts<Packet> parts(x);
  const Packet log2_of_e = constant<Packet>(0x1.715476p+0F);
  return with_ends_of_logarithm(x, pmadd(parts.logarithm(), log2_of_e, parts.exponent));
}

// log10(x): 3 units, exact of powers of 10. That of 2 is in two parts.
template <typename Packet>
Packet decimal_logarithm(const Packet& x) {
  const Parts<Packet> parts(x);
  const Packet log10_of_e = constant<Packet>(0x1.bcb7b2p-2F);
  const Packet rest = pmul(parts.exponent, constant<Packet>(0x1.3509f8p-18F));
  const Packet low = pmadd(parts.logarithm(), log10_of_e, rest);
  return with_ends_of_logarithm(x, pmadd(parts.exponent, constant<Packet>(0x1.344p-2F), low));
}

// The nearest integer to x, and 2 to its power, for integers that are exponents of float32.
template <typename Packet>
struct Power {
  Packet integer, power;

  explicit Power(const Packet& x) {
    using Integers = typename unpacket_traits<Packet>::integer_packet;
    const Packet magic = constant<Packet>(0x1.8p23F);  // leaves the integer in the lowest bits
    const Packet shifted = padd(x, magic);
    integer = psub(shifted, magic);
    const Packet one = constant<Packet>(1);
    power = preinterpret<Packet>(padd(preinterpret<Integers>(one),
                                      plogical_shift_left<23>(preinterpret<Integers>(shifted))));
  }
};

// 2^x: 3 units, exact of integers. 2^r - 1 is r times the polynomial, to 2e-9.
template <typename Packet>
Packet power_of_two(const Packet& x) {
  const auto within = [](const Packet& exponent) {
    const Power<Packet> whole(exponent);
    const Packet r = psub(exponent, whole.integer);
    const Packet rest = polynomial(r, 0x1.448fc2p-13F, 0x1.5f47bp-10F, 0x1.3b29aap-7F,
                                   0x1.c6aedp-5F, 0x1.ebfbep-3F, 0x1.62e43p-1F);
    return pmul(whole.power, pmadd(r, rest, constant<Packet>(1)));
  };
  const Packet limit = constant<Packet>(126);
  // From -126 to 127 it is one number's exponent.
  const Packet from_middle = psub(x, constant<Packet>(0.5F));
  const Packet outside = pcmp_lt_or_nan(constant<Packet>(126.5F), pabs(from_middle));
  Packet result = within(pselect(outside, pzero(x), x));
  if (predux_any(outside)) {  // as a square, which overflows, or ends in subnormal numbers
    const Packet half = pmul(x, constant<Packet>(0.5F));
    const Packet most = with_sign_of(x, limit);
    const Packet root = within(pselect(pcmp_lt(pabs(half), limit), half, most));
    const Packet square = pselect(pcmp_eq(x, x), pmul(root, root), x);
    result = pselect(outside, square, result);
  }
  return result;
}

// e^x - 1: 3 units. It is 2^n (e^r - 1) + (2^n - 1), and (e^r - 1 - r) / r^2 is the polynomial.
template <typename Packet>
Packet exponential_less_one(const Packet& x) {
  const Packet one = constant<Packet>(1);
  const Packet outside = pcmp_lt_or_nan(constant<Packet>(87), pabs(x));
  const Packet inner = pselect(outside, pzero(x), x);
  const Power<Packet> whole(pmul(inner, constant<Packet>(1.44269504F)));
  Packet r = pmadd(whole.integer, constant<Packet>(-0x1.62e4p-1F), inner);
  r = pmadd(whole.integer, constant<Packet>(-0x1.7f7d1cp-20F), r);
  const Packet rest = polynomial(r, 0x1.a1a368p-13F, 0x1.6d7654p-10F, 0x1.11108ep-7F,
                                 0x1.5554acp-5F, 0x1.555556p-3F, 0x1p-1F);
  const Packet less_one = pmadd(pmul(r, r), rest, r);
  Packet result = pmadd(whole.power, less_one, psub(whole.power, one));
  if (predux_any(outside)) {
    result = pselect(outside, psub(exponential(x), one), result);
  }
  return with_sign_of(x, result);
}

// log(1 + x): 3 units. What rounding 1 + x took is given back by the quotient.
template <typename Packet>
Packet logarithm_of_one_more(const Packet& x) {
  const Packet one = constant<Packet>(1);
  const Packet more = padd(x, one);
  const Packet kept = psub(more, one);
  const Packet infinity = constant<Packet>(std::numeric_limits<ElementOf<Packet>>::infinity());
  const Packet as_it_is = por(pcmp_eq(more, one), pcmp_eq(x, infinity));
  return pselect(as_it_is, x, pmul(x, pdiv(logarithm(more), kept)));
}

// erf(x): 2 units. Near 0 it is x times a polynomial of x^2, elsewhere 1 - exp(x times another
// one), to 1e-9; from 4 on it is 1.
template <typename Packet>
Packet error_function(const Packet& x) {
  const Packet one = constant<Packet>(1);
  const Packet size = pabs(x);
  const Packet square = pmul(x, x);
  const Packet near =
      pmadd(x,
            polynomial(square, 0x1.5489acp-14F, -0x1.a7ad02p-11F, 0x1.547be4p-8F, -0x1.b80684p-6F,
                       0x1.ce2da8p-4F, -0x1.812742p-2F, 0x1.06eba8p-3F),
            x);
  const Packet four = constant<Packet>(4);
  const Packet far = pselect(pcmp_lt(size, four), size, four);
  const Packet power =
      pmul(far, polynomial(far, -0x1.9e0a1ap-17F, 0x1.5e2e7cp-12F, -0x1.e3683cp-9F, 0x1.86e902p-6F,
                           -0x1.b39ca4p-4F, -0x1.45297ap-1F, -0x1.20f03cp+0F));
  const Packet outer = with_sign_of(x, psub(one, bounded_exponential(power)));
  return pselect(pcmp_lt_or_nan(size, constant<Packet>(0.96F)), near, outer);
}

// erfc(x): 6 units. It is exp(-x^2) R(t) / (1 + 2 x) of a positive x, where t = (x - 3) / (x + 3),
// and 2 less that of -x for others. R is to 2e-9. The square of x is in two parts: rounded to one,
// it would be a hundred units off.
template <typename Packet>
Packet complementary_error_function(const Packet& x) {
  const Packet one = constant<Packet>(1), three = constant<Packet>(3), most = constant<Packet>(11);
  const Packet given = pabs(x);
  const Packet size = pselect(pcmp_lt(given, most), given, most);
  const Packet t = pdiv(psub(size, three), padd(size, three));
  const Packet ratio = polynomial(t, -0x1.182832p-12F, -0x1.96624ap-11F, 0x1.069560p-9F,
                                  0x1.506772p-9F, -0x1.85ea4ep-6F, 0x1.17bd48p-4F, -0x1.e8887ep-4F,
                                  0x1.098412p-3F, -0x1.85a19ap-5F, -0x1.15c08ap-3F, 0x1.40c522p+0F);
  const Packet scaled = pmul(size, constant<Packet>(4097));
  const Packet upper = psub(scaled, psub(scaled, size));  // 12 bits, whose square is exact
  const Packet rest = pmul(psub(upper, size), padd(upper, size));
  const Packet of_rest = polynomial(rest, 0x1.555556p-5F, 0x1.555556p-3F, 0.5F, 1.0F, 1.0F);
  const Packet power = pmul(exponential(pnegate(pmul(upper, upper))), of_rest);
  const Packet above = pmul(power, pdiv(ratio, padd(one, padd(size, size))));
  const Packet result = pselect(pcmp_lt(x, pzero(x)), psub(constant<Packet>(2), above), above);
  return pselect(pcmp_eq(x, x), result, x);
}

// |x| as quarters of a turn, and an angle of at most pi / 4 on either side of 0.
template <typename Packet>
struct Turn {
  using Integers = typename unpacket_traits<Packet>::integer_packet;

  static constexpr float kMost = 12800;  // beyond it the angle is not exact enough

  Integers quarters;
  Packet angle;

  explicit Turn(const Packet& x) {
    const Packet size = pabs(x);
    const Packet magic = constant<Packet>(0x1.8p23F);  // leaves the integer in the lowest bits
    const Packet shifted = pmadd(size, constant<Packet>(0.636619772F), magic);
    quarters = preinterpret<Integers>(shifted);
    const Packet count = psub(magic, shifted);
    // pi / 2 in parts, whose products with the count are exact: in one instruction with the sum, or
    // since they have eleven bits.
#ifdef EIGEN_HAS_SINGLE_INSTRUCTION_MADD
    constexpr float kParts[] = {0x1.921fb6p+0F, -0x1.777a5cp-25F, -0x1.ee59dap-50F};
#else
    constexpr float kParts[] = {0x1.92p+0F, 0x1.fb4p-12F, 0x1.444p-24F, 0x1.68cp-39F,
                                0x1.1a6264p-54F};
#endif
    angle = size;
    for (const float part : kParts) angle = pmadd(count, constant<Packet>(part), angle);
  }

  Packet is_odd() const {
    return preinterpret<Packet>(parithmetic_shift_right<31>(plogical_shift_left<31>(quarters)));
  }
  // A sign that changes every second quarter, from this many quarters before 0 on.
  Packet sign_after(int before) const {
    const Integers moved = padd(quarters, pset1<Integers>(before));
    return sign_of(preinterpret<Packet>(plogical_shift_left<30>(moved)));
  }
  Packet sine() const {
    const Packet square = pmul(angle, angle);
    const Packet rest = polynomial(square, -0x1.992c06p-13F, 0x1.1106fcp-7F, -0x1.555544p-3F);
    return pmadd(pmul(square, rest), angle, angle);
  }
  Packet cosine() const {
    const Packet square = pmul(angle, angle);
    const Packet rest = polynomial(square, 0x1.99e33ap-16F, -0x1.6c0c22p-10F, 0x1.55554ap-5F);
    const Packet first = pmadd(square, constant<Packet>(-0.5F), constant<Packet>(1));
    return pmadd(pmul(square, square), rest, first);
  }
};

// What is too far from 0 for a Turn, by the C library.
template <typename Packet>
Packet with_library(const Packet& x, Packet result, float (*function)(float)) {
  const Packet most = constant<Packet>(Turn<Packet>::kMost);
  if (!predux_any(pcmp_lt_or_nan(most, pabs(x)))) return result;
  constexpr int kWidth = unpacket_traits<Packet>::size;
  alignas(64) float from[kWidth], to[kWidth];
  pstore(from, x);
  pstore(to, result);
  for (int i = 0; i < kWidth; ++i) {
    if (!(std::abs(from[i]) <= Turn<Packet>::kMost)) to[i] = function(from[i]);
  }
  return pload<Packet>(to);
}

// sin(x), cos(x) and tan(x): 3, 3 and 5 units.
template <typename Packet>
Packet sine(const Packet& x) {
  const Turn<Packet> turn(x);
  const Packet size = pselect(turn.is_odd(), turn.cosine(), turn.sine());
  return with_library(x, pxor(size, pxor(turn.sign_after(0), sign_of(x))), &std::sin);
}
template <typename Packet>
Packet cosine(const Packet& x) {
  const Turn<Packet> turn(x);
  const Packet size = pselect(turn.is_odd(), turn.sine(), turn.cosine());
  return with_library(x, pxor(size, turn.sign_after(1)), &std::cos);
}
template <typename Packet>
Packet tangent(const Packet& x) {
  const Turn<Packet> turn(x);
  const Packet is_odd = turn.is_odd(), sine = turn.sine(), cosine = turn.cosine();
  const Packet over = pselect(is_odd, pnegate(cosine), sine);
  const Packet under = pselect(is_odd, sine, cosine);
  return with_library(x, pxor(pdiv(over, under), sign_of(x)), &std::tan);
}

// atan(x): 3 units. Up to tan(pi / 8) it is a polynomial; beyond, it is pi / 4 more than that of
// (x - 1) / (x + 1), and beyond tan(3 pi / 8) pi / 2 more than that of -1 / x.
template <typename Packet>
Packet arc_tangent(const Packet& x) {
  const Packet one = constant<Packet>(1), size = pabs(x);
  const Packet large = pcmp_lt(constant<Packet>(2.41421356F), size);
  const Packet middle = pandnot(pcmp_lt(constant<Packet>(0.414213562F), size), large);
  const Packet over = pselect(large, constant<Packet>(-1), pselect(middle, psub(size, one), size));
  const Packet under = pselect(large, size, pselect(middle, padd(size, one), one));
  const Packet y = pdiv(over, under);
  const Packet square = pmul(y, y);
  const Packet rest = polynomial(square, -0x1.f07a9p-5F, 0x1.b1a892p-4F, -0x1.23b0fcp-3F,
                                 0x1.999164p-3F, -0x1.555548p-2F);
  const Packet angle = pmadd(pmul(square, rest), y, y);
  constexpr float kHalf = 1.57079637F, kHalfRest = -4.37113883e-8F;  // pi / 2 in two parts
  const Packet base = pselect(large, constant<Packet>(kHalf),
                              pselect(middle, constant<Packet>(kHalf / 2), pzero(x)));
  const Packet base_rest = pselect(large, constant<Packet>(kHalfRest),
                                   pselect(middle, constant<Packet>(kHalfRest / 2), pzero(x)));
  return with_sign_of(x, padd(base, padd(base_rest, angle)));
}

// atan2(y, x): 4 units. That of |y / x| or what is missing to half a turn.
template <typename Packet>
Packet angle(const Packet& y, const Packet& x) {
  const Packet one = constant<Packet>(1), high = pabs(y), wide = pabs(x);
  Packet slope = pdiv(high, wide);
  slope = pselect(pcmp_eq(high, wide), one, slope);  // of two infinities, too
  slope = pselect(pcmp_eq(high, pzero(high)), pzero(high), slope);
  const Packet acute = arc_tangent(slope);
  constexpr float kPi = 3.14159274F, kPiRest = -8.74227766e-8F;  // in two parts
  const Packet obtuse = psub(constant<Packet>(kPi), psub(acute, constant<Packet>(kPiRest)));
  const Packet is_left = pcmp_lt(with_sign_of(x, one), pzero(x));  // of -0, too
  const Packet result = with_sign_of(y, pselect(is_left, obtuse, acute));
  const Packet sum = padd(high, wide);
  return pselect(pcmp_eq(sum, sum), result, sum);
}

// sinh(x) and cosh(x): 3 units. From e^|x|; where that overflows before they do, from its root.
template <typename Packet>
Packet half_of_exponential(const Packet& size) {
  const Packet half = constant<Packet>(0.5F);
  const Packet root = exponential(pmul(size, half));
  return pmul(pmul(root, half), root);
}
template <typename Packet>
Packet hyperbolic_sine(const Packet& x) {
  const Packet one = constant<Packet>(1), half = constant<Packet>(0.5F);
  const Packet size = pabs(x);
  const Packet large = pcmp_lt_or_nan(constant<Packet>(80), size);
  const Packet less_one = exponential_less_one(pselect(large, pzero(x), size));
  Packet result = pmul(half, padd(less_one, pdiv(less_one, padd(less_one, one))));
  if (predux_any(large)) result = pselect(large, half_of_exponential(size), result);
  return with_sign_of(x, result);
}
template <typename Packet>
Packet hyperbolic_cosine(const Packet& x) {
  const Packet half = constant<Packet>(0.5F);
  const Packet size = pabs(x);
  const Packet large = pcmp_lt_or_nan(constant<Packet>(80), size);
  const Packet power = exponential(pselect(large, pzero(x), size));
  Packet result = padd(pmul(half, power), pdiv(half, power));
  if (predux_any(large)) result = pselect(large, half_of_exponential(size), result);
  return result;
}
// atanh(x): 3 units. It is half of log(1 + 2 |x| / (1 - |x|)).
template <typename Packet>
Packet hyperbolic_arc_tangent(const Packet& x) {
  const Packet size = pabs(x);
  const Packet quotient = pdiv(padd(size, size), psub(constant<Packet>(1), size));
  return with_sign_of(x, pmul(constant<Packet>(0.5F), logarithm_of_one_more(quotient)));
}

// 1 / (1 + exp(-x)): 3 units, of float64 3.
template <typename Packet>
Packet logistic(const Packet& x) {
  // By exp(-|x|), which does not overflow.
  const Packet zero = constant<Packet>(0), one = constant<Packet>(1);
  const Packet small = exponential(pnegate(pabs(x)));
  const Packet above = pselect(pcmp_lt(x, zero), small, one);
  return pdiv(above, padd(one, small));
}

}  // namespace packets

}  // namespace opyard::kernels
