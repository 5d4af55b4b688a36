// registry/call_kernel.cpp: the checks of a kernel that is called by itself.
#include "opyard/registry/call_kernel.h"

#include <fmt/format.h>

#include "base/demangled.h"
#include "registry/signature.h"

namespace opyard {

void detail::require_signature(const Record& record, const std::type_info& wanted) {
  if (record.typed != nullptr && *record.signature == wanted) return;
  if (record.typed == nullptr) {
    fail(ErrorKind::BadSignature,
         fmt::format("call_kernel(): the kernel has no C++ signature, since it takes its arguments "
                     "on a stack, and was called as {}; use call_kernel_boxed()",
                     demangled(wanted)));
  }
  fail(ErrorKind::BadSignature,
       fmt::format("call_kernel(): the kernel's C++ signature is {}, and it was called as {}",
                   demangled(*record.signature), demangled(wanted)));
}

void call_kernel_boxed(const Kernel& kernel, const Operator& op, DispatchKeySet keys,
                       Stack& stack) {
  const Record& record = kernel.record();
  const std::size_t count = op.schema().arguments.size();
  const auto refuse = [&](ErrorKind kind, const std::string& text) {
    stack.drop(std::min(count, stack.size()));
    fail(kind, fmt::format("call_kernel_boxed() of {}: {}", to_string(op.name()), text));
  };
  if (record.role == RecordRole::Fallthrough) {
    refuse(ErrorKind::BadValue, "the kernel falls through, so there is nothing to run");
  }
  if (record.infer != nullptr) {
    const auto difference = find_difference(op.schema(), schema_of(record.infer()));
    if (difference)
      refuse(ErrorKind::BadSignature, "the kernel is for another schema. " + *difference);
  }
  try {
    op.check_arguments(stack.top(std::min(count, stack.size())));
  } catch (...) {
    stack.drop(std::min(count, stack.size()));
    throw;
  }
  const detail::CallDepth depth;
  op.run_boxed(record, keys, stack);
}

}  // namespace opyard
