// loops/pairs.cpp: the loops of pairs, made by templates.
#include "loops/pairs.h"

#include "loops/elementwise_loops.h"

namespace opyard::kernels {
namespace {

template <PairOf which, typename T>
T combine(T a, T b) {
  if constexpr (which == PairOf::Add) return add(a, b);
  if constexpr (which == PairOf::Subtract) return subtract(a, b);
  if constexpr (which == PairOf::Multiply) return multiply(a, b);
  if constexpr (which == PairOf::Divide) return divide(a, b);
}

// `inner` is the left operand of the second operation, or its right one.
template <PairOf first, PairOf second, bool is_right, typename T>
struct Pair {
  static T apply(T a, T b, T c) {
    const T inner = combine<first>(a, b);
    return is_right ? combine<second>(c, inner) : combine<second>(inner, c);
  }
};

// A bit of `numbers` says that an operand is one number.
template <typename Op, typename T, unsigned numbers>
void plain_line(std::byte* const* data, std::int64_t count) {
  auto* const r = reinterpret_cast<T*>(data[0]);
  const auto* const a = reinterpret_cast<const T*>(data[1]);
  const auto* const b = reinterpret_cast<const T*>(data[2]);
  const auto* const c = reinterpret_cast<const T*>(data[3]);
  const T x = *a, y = *b, z = *c;
  OPYARD_IVDEP
  for (std::int64_t i = 0; i < count; ++i) {
    r[i] = Op::apply((numbers & 1) != 0 ? x : a[i], (numbers & 2) != 0 ? y : b[i],
                     (numbers & 4) != 0 ? z : c[i]);
  }
}

template <typename Op, typename T>
void pair_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count, const void*) {
  constexpr auto kItem = std::int64_t(sizeof(T));
  if (count == 0) return;
  unsigned numbers = 0;
  bool plain = steps[0] == kItem;
  for (unsigned i = 0; i < 3; ++i) {
    plain = plain && (steps[i + 1] == kItem || steps[i + 1] == 0);
    if (steps[i + 1] == 0) numbers |= 1U << i;
  }
  if (plain) {
    switch (numbers) {
      case 0:
        return plain_line<Op, T, 0>(data, count);
      case 1:
        return plain_line<Op, T, 1>(data, count);
      case 2:
        return plain_line<Op, T, 2>(data, count);
      case 4:
        return plain_line<Op, T, 4>(data, count);
      case 5:
        return plain_line<Op, T, 5>(data, count);
      case 6:
        return plain_line<Op, T, 6>(data, count);
      default:
        break;
    }
  }
  std::byte* to = data[0];
  const std::byte *a = data[1], *b = data[2], *c = data[3];
  for (std::int64_t i = 0; i < count; ++i) {
    *reinterpret_cast<T*>(to) =
        Op::apply(*reinterpret_cast<const T*>(a), *reinterpret_cast<const T*>(b),
                  *reinterpret_cast<const T*>(c));
    to += steps[0];
    a += steps[1];
    b += steps[2];
    c += steps[3];
  }
}

template <typename T, std::size_t number>
constexpr Loop loop_of() {
  constexpr auto kCount = std::size_t(PairOf::count_);
  return &pair_loop<
      Pair<PairOf(number / 2 / kCount), PairOf(number / 2 % kCount), number % 2 == 1, T>, T>;
}

template <typename T, std::size_t... number>
constexpr std::array<Loop, kPairCount> loops_of(std::index_sequence<number...>) {
  return {loop_of<T, number>()...};
}

constexpr PairLoops kPairs = {
    .float32 = loops_of<float>(std::make_index_sequence<kPairCount>()),
    .float64 = loops_of<double>(std::make_index_sequence<kPairCount>()),
};

}  // namespace
}  // namespace opyard::kernels

const opyard::kernels::PairLoops* opyard_loop_pairs_v1() { return &opyard::kernels::kPairs; }
