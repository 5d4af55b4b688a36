// objects/arrays/shared_memory.h: overlap of two storages.
//
// Depends on: tensor/storage.h.
#pragma once

#include <cstdint>

#include "opyard/tensor/storage.h"

namespace opyard::python {

// Two storages of the same bytes: one of them was made of an array on the memory of the other.
inline bool shares_memory(const Storage& one, const Storage& other) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(one.data());
  const auto second = reinterpret_cast<std::uintptr_t>(other.data());
  const bool meet =
      first != 0 && second != 0 && first < second + other.bytes() && second < first + one.bytes();
  return &one == &other || (meet && one.device() == other.device());
}

}  // namespace opyard::python
