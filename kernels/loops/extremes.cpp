// loops/extremes.cpp: largest and smallest elements of rows, and their positions.
//
// NaN counts as the most extreme, and stays. The place is that of the first element that equals the
// extreme.
#include <cstring>

#include "loops/element.h"
#include "loops/kinds.h"

// A vector in registers of another build's width: it is not handed from function to function.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace opyard::kernels {
namespace {

template <typename T, bool largest>
T further(T a, T b) {
  return bool(is_nan(a) | (largest ? a > b : a < b)) ? a : b;
}

#if defined(__AVX512F__)
constexpr int kVector = 64;
#elif defined(__AVX__)
constexpr int kVector = 32;
#else
constexpr int kVector = 16;
#endif

// 256 bytes of running extremes take the elements in turn, in every build.
template <typename T, bool largest>
T find_extreme(const T* row, std::int64_t length) {
  constexpr int kWidth = kVector / int(sizeof(T)), kLines = 256 / kVector;
  constexpr int kLanes = kWidth * kLines;
  std::int64_t i = 0;
  T extreme = row[0];
  if constexpr (!std::is_same_v<T, bool>) {
    using Line [[gnu::vector_size(kVector)]] = T;
    if (length >= kLanes) {
      Line lines[kLines];
      std::memcpy(lines, row, sizeof(lines));
      for (i = kLanes; i + kLanes <= length; i += kLanes) {
        for (int k = 0; k < kLines; ++k) {
          Line x;
          std::memcpy(&x, row + i + k * kWidth, sizeof(x));
          const Line& was = lines[k];
          lines[k] = ((largest ? x > was : x < was) | (x != x)) ? x : was;  // NOLINT: NaN
        }
      }
      T lanes[kLanes];
      std::memcpy(lanes, lines, sizeof(lanes));
      for (int k = 0; k < kLanes; ++k) extreme = further<T, largest>(lanes[k], extreme);
    }
  }
  for (; i < length; ++i) extreme = further<T, largest>(row[i], extreme);
  return extreme;
}

template <typename T, bool largest>
void extreme_of_row(const std::byte* raw, std::int64_t length, std::int64_t position,
                    void* context) {
  const auto* const row = reinterpret_cast<const T*>(raw);
  const auto* const target = static_cast<const ExtremeContext*>(context);
  const T extreme = find_extreme<T, largest>(row, length);
  if (target->values != nullptr) static_cast<T*>(target->values)[position] = extreme;
  if (target->places != nullptr) {
    std::int64_t place = 0;
    while (row[place] != extreme && !(is_nan(extreme) && is_nan(row[place]))) ++place;
    target->places[position] = place;
  }
}

template <typename T, bool largest>
void side_by_side(const std::byte* first, std::int64_t length, std::int64_t step, T* extremes) {
  constexpr int kWidth = kVector / int(sizeof(T)), kLines = int(kMostColumns) / kWidth;
  using Line [[gnu::vector_size(kVector)]] = T;
  Line lines[kLines];
  std::memcpy(lines, first, sizeof(lines));
  for (std::int64_t i = 1; i < length; ++i) {
    for (int k = 0; k < kLines; ++k) {
      Line x;
      std::memcpy(&x, first + i * step + k * kVector, sizeof(x));
      const Line& was = lines[k];
      lines[k] = ((largest ? x > was : x < was) | (x != x)) ? x : was;  // NOLINT: NaN
    }
  }
  std::memcpy(extremes, lines, sizeof(lines));
}

template <typename T, bool largest>
void extreme_of_columns(const std::byte* first, std::int64_t length, std::int64_t step,
                        std::int64_t rows, std::int64_t position, void* context) {
  T extremes[kMostColumns];
  std::memcpy(extremes, first, std::size_t(rows) * sizeof(T));
  if constexpr (!std::is_same_v<T, bool>) {
    if (rows == kMostColumns) {
      side_by_side<T, largest>(first, length, step, extremes);
      length = 1;
    }
  }
  for (std::int64_t i = 1; i < length; ++i) {
    const auto* const row = reinterpret_cast<const T*>(first + i * step);
    for (std::int64_t k = 0; k < rows; ++k) {
      extremes[k] = further<T, largest>(row[k], extremes[k]);
    }
  }
  const auto* const target = static_cast<const ExtremeContext*>(context);
  std::memcpy(static_cast<T*>(target->values) + position, extremes, std::size_t(rows) * sizeof(T));
}

template <typename T, bool largest>
constexpr Rows kExtremeRows = {&extreme_of_row<T, largest>, &extreme_of_columns<T, largest>};
template <bool largest>
constexpr RowsOf kExtremeOf = {{kExtremeRows<bool, largest>, kExtremeRows<std::int64_t, largest>,
                                kExtremeRows<float, largest>, kExtremeRows<double, largest>}};

}  // namespace

constexpr ExtremeLoops kExtremes = {.largest = kExtremeOf<true>, .smallest = kExtremeOf<false>};

}  // namespace opyard::kernels
