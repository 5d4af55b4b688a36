// ir/edge_list.h: edge lists: insertion and erasure, with inline storage.
//
// Depends on: base/small_vector.h.
#pragma once

#include <algorithm>

#include "opyard/detail/base/small_vector.h"

namespace opyard::jit::detail {

template <typename T, std::size_t N>
void insert_at(SmallVector<T, N>& list, std::size_t index, const T& item) {
  list.push_back(item);
  std::rotate(list.begin() + index, list.end() - 1, list.end());
}

template <typename T, std::size_t N>
void erase_at(SmallVector<T, N>& list, std::size_t index) noexcept {
  std::move(list.begin() + index + 1, list.end(), list.begin() + index);
  list.resize(list.size() - 1);
}

}  // namespace opyard::jit::detail
