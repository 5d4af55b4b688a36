// loops/softmax.cpp: softmax and log_softmax of rows.
//
// The largest element of a row is taken off first, so that exp() cannot overflow; the sum is taken
// as in sums.h. A row of -inf alone has no answer and gives nan.
#include <cmath>

#include "loops/kinds.h"
#include "loops/packet_loops.h"
#include "loops/sums.h"

namespace opyard::kernels {
namespace {

template <typename T>
T find_largest(const T* row, std::int64_t length) {
  constexpr int kLanes = 64 / int(sizeof(T));
  T lanes[kLanes];
  for (int k = 0; k < kLanes; ++k) lanes[k] = row[0];
  std::int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) lanes[k] = row[i + k] > lanes[k] ? row[i + k] : lanes[k];
  }
  for (; i < length; ++i) lanes[0] = row[i] > lanes[0] ? row[i] : lanes[0];
  for (int k = 1; k < kLanes; ++k) lanes[0] = lanes[k] > lanes[0] ? lanes[k] : lanes[0];
  return lanes[0];
}

// out = exp(row - shift); what is left of a packet goes through a whole one.
template <typename T>
void exponentials(const T* row, std::int64_t length, T shift, T* out) {
  using namespace Eigen::internal;
  using Packet = PacketOf<T>;
  constexpr std::int64_t kWidth = unpacket_traits<Packet>::size;
  const Packet off = packets::constant<Packet>(shift);
  std::int64_t i = 0;
  for (; i + kWidth <= length; i += kWidth) {
    pstoreu(out + i, packets::exponential<Packet>(psub(ploadu<Packet>(row + i), off)));
  }
  if (i == length) return;
  T rest[kWidth] = {};
  const auto bytes = std::size_t(length - i) * sizeof(T);
  std::memcpy(rest, row + i, bytes);
  pstoreu(rest, packets::exponential<Packet>(psub(ploadu<Packet>(rest), off)));
  std::memcpy(out + i, rest, bytes);
}

template <typename T, bool logarithm>
void normalise(const std::byte* raw, std::int64_t length, std::int64_t position, void* context) {
  const auto* const row = reinterpret_cast<const T*>(raw);
  T* const out = static_cast<T*>(context) + position * length;
  const T largest = find_largest(row, length);
  exponentials(row, length, largest, out);
  const double total = sum_row(out, length);
  if constexpr (logarithm) {
    const T shift = T(std::log(total));
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < length; ++i) out[i] = row[i] - largest - shift;
  } else {
    const T factor = T(1 / total);
    for (std::int64_t i = 0; i < length; ++i) out[i] *= factor;
  }
}

template <bool logarithm>
constexpr RowsOf kSoftmaxOf = {
    {Rows{}, Rows{}, Rows{&normalise<float, logarithm>}, Rows{&normalise<double, logarithm>}}};

}  // namespace

constexpr SoftmaxLoops kSoftmax = {.softmax = kSoftmaxOf<false>, .log_softmax = kSoftmaxOf<true>};

}  // namespace opyard::kernels
