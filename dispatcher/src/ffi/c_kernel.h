// ffi/c_kernel.h: the context of a kernel that is a C function.
//
// Depends on: ffi/c_signature.h.
#pragma once

#include <memory>
#include <string>

#include "ffi/c_signature.h"
#include "opyard/detail/registry/record.h"

namespace opyard::ffi {

// Written while it is made, then only read.
struct CKernel {
  const Operator& op;
  const std::unique_ptr<const CSignature> signature;
  const void* const function;
  const std::string shown;  // "scale of libdemo.so"
  const BoxedFunction run;  // that calls it
};

}  // namespace opyard::ffi
