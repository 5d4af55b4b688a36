// loops/row_loop.h: loops of reductions, over rows.
//
// A row holds the elements that become one element of the result. RowLoop takes one whose elements
// are next to each other; ColumnLoop several rows whose first elements do, `step` bytes in front of
// their second ones.
//
// Depends on: loop.h.
#pragma once

#include "loops/loop.h"

namespace opyard::kernels {

// `position` counts the rows in row-major order of the result.
using RowLoop = void (*)(const std::byte* row, std::int64_t length, std::int64_t position,
                         void* context);
using ColumnLoop = void (*)(const std::byte* first, std::int64_t length, std::int64_t step,
                            std::int64_t rows, std::int64_t position, void* context);
// A sum that is not rounded yet, of a piece that cut_sum() names; eight bytes.
using PieceLoop = void (*)(const std::byte* row, std::int64_t length, void* total);

// Most rows that a ColumnLoop takes at once.
inline constexpr std::int64_t kMostColumns = 16;

// Either may be null.
struct Rows {
  RowLoop row = nullptr;
  ColumnLoop columns = nullptr;
};
struct RowsOf {
  std::array<Rows, kComputedCount> of{};
};

struct SumContext {
  void* out;
  double divisor;  // of a mean; 0 for a sum
};
// Either may be null, and a ColumnLoop has no places.
struct ExtremeContext {
  void* values;
  std::int64_t* places;
};

}  // namespace opyard::kernels
