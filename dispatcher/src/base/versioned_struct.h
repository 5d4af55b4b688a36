// base/versioned_struct.h: versioned structs of C programs with other headers.
//
// Such a struct begins with its size. What an older program does not know counts as zero; what a
// later one has beyond must be zero, since no one here would do what it asks for.
//
// Depends on: base/error.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "opyard/base/error.h"

namespace opyard {

// Raises BadArgument for a size that no version of the struct has, Unsupported for a later one.
void check_sized(const void* given, std::size_t bytes, std::size_t known, const char* name);

// The struct as this version knows it. Raises BadArgument for a null pointer, and see above.
template <typename T>
T read_sized(const T* given, const char* name) {
  static_assert(std::is_trivially_copyable_v<T> && offsetof(T, bytes) == 0);
  T known{};
  check_sized(given, given == nullptr ? 0 : given->bytes, sizeof(T), name);
  std::memcpy(&known, given, std::min(given->bytes, sizeof(T)));
  known.bytes = sizeof(T);
  return known;
}

// Writes what the caller knows of the struct, and zeros for what only the caller knows.
template <typename T>
void write_sized(T* given, const T& known, const char* name) {
  static_assert(std::is_trivially_copyable_v<T> && offsetof(T, bytes) == 0);
  const std::size_t bytes = given == nullptr ? 0 : given->bytes;
  if (bytes < sizeof(std::size_t)) check_sized(given, bytes, sizeof(T), name);
  const std::size_t both = std::min(bytes, sizeof(T));
  auto* const to = reinterpret_cast<std::byte*>(given);
  const auto* const from = reinterpret_cast<const std::byte*>(&known);
  std::memcpy(to + sizeof(std::size_t), from + sizeof(std::size_t), both - sizeof(std::size_t));
  std::memset(to + both, 0, bytes - both);
}

}  // namespace opyard
