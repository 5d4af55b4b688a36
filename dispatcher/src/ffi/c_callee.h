// ffi/c_callee.h: the context of an operator's C function.
//
// Depends on: ffi/c_signature.h.
#pragma once

#include <cstring>

#include "ffi/c_signature.h"

namespace opyard::ffi {

struct Callee {
  const Operator& op;
  const CSignature& signature;
};

// What is at an address, which need not be aligned.
template <typename T>
T read_at(const void* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

}  // namespace opyard::ffi
