// loops/selection.cpp: one of two elements: the larger, the smaller, or by a bool.
//
// NaN wins: of two elements of which one is NaN, it is the result.
#include "loops/elementwise_loops.h"
#include "loops/kinds.h"

namespace opyard::kernels {
namespace {

template <typename T>
struct Larger {
  static T apply(T a, T b) { return a > b || is_nan(a) ? a : b; }
};
template <typename T>
struct Smaller {
  static T apply(T a, T b) { return a < b || is_nan(a) ? a : b; }
};
template <typename T>
struct Positive {
  static T apply(T a) { return a < 0 ? T(0) : a; }
};

// Operands: result, self, and the bounds, which are numbers. A bound that is NaN passes nothing.
template <typename T>
void clamp_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                const void*) {
  T low = *reinterpret_cast<const T*>(data[2]);
  T high = *reinterpret_cast<const T*>(data[3]);
  const bool is_open = !is_nan(low) && !is_nan(high);
  if (!is_open) low = high = is_nan(low) ? low : high;
  // Each choice by one comparison, as vector instructions have it; NaN is neither below nor above.
  const auto clamped = [&](T value) {
    const T raised = value < low ? low : value;
    const T lowered = raised > high ? high : raised;
    return is_open ? lowered : low;
  };
  if (steps[0] == sizeof(T) && steps[1] == sizeof(T)) {
    auto* const to = reinterpret_cast<T*>(data[0]);
    const auto* const from = reinterpret_cast<const T*>(data[1]);
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < count; ++i) to[i] = clamped(from[i]);
    return;
  }
  std::byte* to = data[0];
  const std::byte* from = data[1];
  for (std::int64_t i = 0; i < count; ++i, to += steps[0], from += steps[1]) {
    *reinterpret_cast<T*>(to) = clamped(*reinterpret_cast<const T*>(from));
  }
}

// Operands: result, mask, and the two sources, of which one may be a number.
template <typename T>
void where_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                const void*) {
  constexpr auto kItem = std::int64_t(sizeof(T));
  auto* const r = reinterpret_cast<T*>(data[0]);
  // As bytes, of which a whole vector is compared at once.
  const auto* const truth = reinterpret_cast<const unsigned char*>(data[1]);
  const auto* const a = reinterpret_cast<const T*>(data[2]);
  const auto* const b = reinterpret_cast<const T*>(data[3]);
  const bool plain = steps[0] == kItem && steps[1] == 1;
  if (plain && steps[2] == kItem && steps[3] == kItem) {
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < count; ++i) {
      const T yes = a[i], no = b[i];
      r[i] = truth[i] != 0 ? yes : no;
    }
    return;
  }
  if (plain && steps[2] == 0 && steps[3] == kItem) {
    const T yes = *a;
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < count; ++i) {
      const T no = b[i];
      r[i] = truth[i] != 0 ? yes : no;
    }
    return;
  }
  std::byte* to = data[0];
  const std::byte *mask = data[1], *yes = data[2], *no = data[3];
  for (std::int64_t i = 0; i < count; ++i) {
    const T one = *reinterpret_cast<const T*>(yes), other = *reinterpret_cast<const T*>(no);
    *reinterpret_cast<T*>(to) = *reinterpret_cast<const bool*>(mask) ? one : other;
    to += steps[0];
    mask += steps[1];
    yes += steps[2];
    no += steps[3];
  }
}

template <typename T>
constexpr Loop kWhere = nullptr;
#ifndef OPYARD_COMMON_DTYPES_ONLY
template <>
constexpr Loop kWhere<Complex64> = &where_loop<Complex64>;
template <>
constexpr Loop kWhere<Complex128> = &where_loop<Complex128>;
#endif

}  // namespace

constexpr SelectionLoops kSelection = {
    .larger = binary_loops<Larger, bool, std::int64_t, float, double>(),
    .smaller = binary_loops<Smaller, bool, std::int64_t, float, double>(),
    .positive = unary_loops<Positive, std::int64_t, float, double>(),
    .clamp = {{nullptr, &clamp_loop<std::int64_t>, &clamp_loop<float>, &clamp_loop<double>}},
    .where = {{&where_loop<bool>, &where_loop<std::int64_t>, &where_loop<float>,
               &where_loop<double>, kWhere<Complex64>, kWhere<Complex128>}},
};

}  // namespace opyard::kernels
