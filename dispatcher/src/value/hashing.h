// value/hashing.h: equality and hash of values that are no containers.
//
// Depends on: value/value.h.
#pragma once

#include <cstdint>

#include "opyard/value/value.h"

namespace opyard::detail {

constexpr bool is_container(Kind kind) {
  return kind == Kind::List || kind == Kind::Tuple || kind == Kind::Dict;
}

// Spreads a word over 64 bits, so that its low bits may serve as an index.
constexpr std::uint64_t spread(std::uint64_t word) {
  word = (word ^ (word >> 32)) * 0x9e3779b97f4a7c15u;
  word = (word ^ (word >> 29)) * 0xbf58476d1ce4e5b9u;
  return word ^ (word >> 32);
}
constexpr std::uint64_t combine(std::uint64_t hash, std::uint64_t word) {
  return spread(hash ^ (word + 0x9e3779b97f4a7c15u + (hash << 6)));
}

// Whether two values of which neither is a container are equal.
bool equal_leaves(const Value& a, const Value& b) noexcept;

// Equal leaves have equal hashes.
std::uint64_t hash_of_leaf(const Value& leaf) noexcept;

}  // namespace opyard::detail
