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
// Depends on: elementwise_loops.h, packet_functions.h.
#pragma once

#include <cstring>

#include "loops/elementwise_loops.h"
#include "loops/packet_functions.h"

namespace opyard::kernels {

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

// Of two operands, either of which may be a number.
template <typename Op, typename T>
void packet_loop_of_two(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                        const void*) {
  using Packet = PacketOf<T>;
  constexpr std::int64_t kWidth = Eigen::internal::unpacket_traits<Packet>::size;
  std::int64_t i = 0;
  if (steps[0] == sizeof(T) && steps[1] == sizeof(T) && steps[2] == sizeof(T)) {
    auto* const to = reinterpret_cast<T*>(data[0]);
    const auto* const a = reinterpret_cast<const T*>(data[1]);
    const auto* const b = reinterpret_cast<const T*>(data[2]);
    for (; i + kWidth <= count; i += kWidth) {
      const auto x = Eigen::internal::ploadu<Packet>(a + i);
      const auto y = Eigen::internal::ploadu<Packet>(b + i);
      Eigen::internal::pstoreu(to + i, Op::apply(x, y));
    }
  }
  // See [Whole packets].
  for (; i < count; i += kWidth) {
    const std::int64_t here = count - i < kWidth ? count - i : kWidth;
    T a[kWidth] = {}, b[kWidth] = {};
    for (std::int64_t k = 0; k < here; ++k) {
      std::memcpy(a + k, data[1] + (i + k) * steps[1], sizeof(T));
      std::memcpy(b + k, data[2] + (i + k) * steps[2], sizeof(T));
    }
    const auto x = Eigen::internal::ploadu<Packet>(a), y = Eigen::internal::ploadu<Packet>(b);
    Eigen::internal::pstoreu(a, Op::apply(x, y));
    for (std::int64_t k = 0; k < here; ++k)
      std::memcpy(data[0] + (i + k) * steps[0], a + k, sizeof(T));
  }
}

// The name of a function of a packet x, and with "OfElement" behind it that of an element x.
#define OPYARD_PACKET_FUNCTION(name, of_packet, of_element) \
  struct name {                                             \
    template <typename Packet>                              \
    static Packet apply(const Packet& x) {                  \
      return of_packet;                                     \
    }                                                       \
  };                                                        \
  template <typename T>                                     \
  struct name##OfElement {                                  \
    static T apply(T x) { return T(of_element); }           \
  };

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

}  // namespace opyard::kernels
