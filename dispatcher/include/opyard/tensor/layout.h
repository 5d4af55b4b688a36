// opyard/tensor/layout.h: how elements lie in a storage.
//
// The numbers are those that schemas print, and are ABI.
//
// Depends on: nothing of ours.
#pragma once

#include <cstdint>

namespace opyard {

enum class Layout : std::uint8_t { Strided = 0, Sparse = 1 };

enum class MemoryFormat : std::uint8_t {
  Contiguous = 0,    // the last dimension is densest
  Preserve = 1,      // as the source lies
  ChannelsLast = 2,  // N, H, W, C in memory for sizes N, C, H, W
  ChannelsLast3d = 3,
};

}  // namespace opyard
