// opyard/detail/tensor/meta_call.h: MetaCall: a call with meta tensors, served by a CPU kernel.
//
// Such a kernel makes its results and leaves elements alone; registry/cpu_on_meta.cpp runs it. If
// it touches elements after all, the error names its operator.
//
// Depends on: tensor/tensor.h.
#pragma once

#include <string>

#include "opyard/tensor/tensor.h"

namespace opyard::detail {

// For as long as it lives the call of this thread. They nest.
class OPYARD_API MetaCall {
 public:
  // `describe` gives the operator's name and where the kernel was registered, if it is asked.
  using Describe = std::string (*)(const void* call);
  MetaCall(const void* call, Describe describe) noexcept;
  MetaCall(const MetaCall&) = delete;
  MetaCall& operator=(const MetaCall&) = delete;
  ~MetaCall();

  // Those that the thread is in, the innermost first; empty if there is none.
  static std::string describe_all();

 private:
  const void* const call_;
  const Describe describe_;
  const MetaCall* const outer_;
};

// Raises Unsupported with the two remedies. `what` is the function that was called.
[[noreturn]] OPYARD_API OPYARD_COLD void refuse_meta_elements(const char* what, const Tensor& x);

}  // namespace opyard::detail
