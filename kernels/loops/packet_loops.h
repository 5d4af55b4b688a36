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
// Depends on: loop.h, packet_functions.h.
#pragma once

#include <cstring>

#include "loops/loop.h"
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

}  // namespace opyard::kernels
