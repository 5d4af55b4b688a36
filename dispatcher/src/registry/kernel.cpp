// registry/kernel.cpp: kernels that take boxes, and the kernel that is not there.
#include "opyard/registry/kernel.h"

#include "registry/stubs.h"

namespace opyard {

void Kernel::refuse_null() {
  fail(ErrorKind::BadRegistration, "the kernel is a null function pointer");
}

Kernel Kernel::boxed(BoxedKernel function) {
  if (function == nullptr) refuse_null();
  Kernel kernel;
  kernel.record_->context = reinterpret_cast<void*>(function);
  kernel.record_->boxed = [](const Record& record, const Operator& op, DispatchKeySet keys,
                             Stack& stack) {
    reinterpret_cast<BoxedKernel>(record.context)(op, keys, stack);
  };
  return kernel;
}

Kernel Kernel::fallthrough() {
  Kernel kernel;
  kernel.record_->role = RecordRole::Fallthrough;
  kernel.record_->boxed = &run_fallthrough;
  return kernel;
}

Kernel Kernel::with_context(BoxedFunction function, void* context, void (*destroy)(void*)) {
  if (function == nullptr) refuse_null();
  Kernel kernel;
  kernel.record_->boxed = function;
  kernel.record_->context = context;
  kernel.record_->destroy = destroy;
  return kernel;
}

}  // namespace opyard
