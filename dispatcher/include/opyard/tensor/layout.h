// opyard/tensor/layout.h: layouts of tensors: strided, sparse and others.
//
// The numbers are those that schemas print, and are ABI.
//
// Depends on: base/export.h.
#pragma once

#include <cstdint>

#include "opyard/base/export.h"

namespace opyard {

enum class Layout : std::uint8_t { Strided = 0, Sparse = 1 };

enum class MemoryFormat : std::uint8_t {
  Contiguous = 0,    // the last dimension is densest
  Preserve = 1,      // as the source is
  ChannelsLast = 2,  // N, H, W, C in memory for sizes N, C, H, W
  ChannelsLast3d = 3,
};

// The one with this number in schemas. Raises BadValue for a number that is none.
OPYARD_API Layout require_layout(std::int64_t code);
OPYARD_API MemoryFormat require_memory_format(std::int64_t code);

}  // namespace opyard
