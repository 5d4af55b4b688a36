// loops/attention.cpp: softmax down the lines of transposed scores.
//
// Sixteen lines are added in the dtype of the scores, and those sums in float64.
#include "loops/attention.h"

#include <algorithm>
#include <limits>

#include "loops/kinds.h"
#include "loops/packet_loops.h"

namespace opyard::kernels {
namespace {

template <typename T>
void weigh(T* scores, std::int64_t keys, T* factors) {
  using namespace Eigen::internal;
  using Packet = PacketOf<T>;
  constexpr std::int64_t kWidth = unpacket_traits<Packet>::size, kLines = 16;
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  T largest[kQueries], part[kQueries];
  double sums[kQueries] = {};
  std::fill_n(largest, kQueries, kNothing);
  for (std::int64_t key = 0; key < keys; ++key) {
    const T* const line = scores + key * kQueries;
    for (int i = 0; i < kQueries; ++i) largest[i] = line[i] > largest[i] ? line[i] : largest[i];
  }
  for (int i = 0; i < kQueries; ++i) largest[i] = largest[i] == kNothing ? T(0) : largest[i];
  for (std::int64_t key = 0; key < keys; key += kLines) {
    const std::int64_t end = std::min(keys, key + kLines);
    for (std::int64_t i = 0; i < kQueries; i += kWidth) {
      const Packet shift = ploadu<Packet>(largest + i);
      Packet sum = packets::constant<Packet>(0);
      for (std::int64_t k = key; k < end; ++k) {
        T* const at = scores + k * kQueries + i;
        const Packet power = packets::exponential<Packet>(psub(ploadu<Packet>(at), shift));
        pstoreu(at, power);
        sum = padd(sum, power);
      }
      pstoreu(part + i, sum);
    }
    for (int i = 0; i < kQueries; ++i) sums[i] += double(part[i]);
  }
  for (int i = 0; i < kQueries; ++i) factors[i] = sums[i] == 0 ? T(0) : T(1 / sums[i]);
}

}  // namespace

constexpr AttentionLoops kAttention = {.float32 = &weigh<float>, .float64 = &weigh<double>};

}  // namespace opyard::kernels
