// opyard/keys/key_set_hash.h: std::hash of DispatchKeySet, for sets and maps.
//
// It is apart, since nothing on a call path hashes.
//
// Depends on: keys/dispatch_key_set.h.
#pragma once

#include <cstddef>
#include <functional>

#include "opyard/keys/dispatch_key_set.h"

template <>
struct std::hash<opyard::DispatchKeySet> {
  std::size_t operator()(opyard::DispatchKeySet set) const noexcept {
    // Sets differ in few high bits: an odd factor spreads them over all.
    return std::size_t((set.raw() ^ (set.raw() >> 32)) * 0x9e3779b97f4a7c15u);
  }
};
