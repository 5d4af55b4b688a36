// operators/cpp_calls.h: calls of C++ kernels with objects that are ready, without the stack.
//
// Depends on: runtime/runtime.h, registry/operator.h.
#pragma once

#include "runtime/runtime.h"

#include <cstdint>
#include <typeinfo>
#include <vector>

#include "opyard/registry/operator.h"

namespace opyard::python {

// What objects are ready for an argument or as a result.
enum class Ready : std::uint8_t {
  Tensor,          // a Tensor
  OptionalTensor,  // a Tensor, or None
  Int,             // exactly an int, of 64 bits
  OptionalInt,     // Int, or None
  Float,           // exactly a float
  Bool,            // True or False
  Str,             // exactly a str
  Number,          // Bool, Int or Float
  Never,           // what always goes through the stack
};

// What is known of an operator and of the kernel that it met last.
struct CppCallSite {
  const Schema& schema;
  std::vector<Ready> ready = {};              // of each argument
  RegisterFunction from_registers = nullptr;  // of the kernel's signature
};

// Calls the kernel with `count` arguments by position; those that are left out have defaults. Gives
// the result, a new reference; or null, without an exception, if an object is not ready. Throws
// what the kernel throws.
using CppCall = PyObject* (*)(Runtime & runtime, const CppCallSite& site, PyObject* const* args,
                              std::size_t count, TypedFunction function, void* context,
                              DispatchKeySet keys);

// For kernels of this signature, which is that of site.from_registers; null if there is none.
CppCall find_cpp_call(const CppCallSite& site, const std::type_info& signature);

}  // namespace opyard::python
