// registry/kernel.cpp: boxed kernels, and the empty kernel.
#include "opyard/registry/kernel.h"

#include <algorithm>

#include "opyard/registry/variant.h"
#include "registry/built_in_records.h"

namespace opyard {

void detail::refuse_member(const Type& expected, const Value& value) {
  fail(ErrorKind::BadArgument,
       "expected " + to_string(expected) + " but got " + name_of(value.kind()));
}

bool detail::has_symbolic_int(std::span<const Value> arguments) noexcept {
  return std::ranges::any_of(arguments, [](const Value& value) {
    return value.is_sym_int() || (value.is_list() && has_symbolic_int(value.items_unchecked()));
  });
}

void detail::resolve_memory_of(std::span<const Value> arguments) {
  for (const Value& value : arguments) {
    if (value.is_tensor()) {
      resolve_memory(value.tensor_unchecked());
    } else if (value.is_list()) {
      resolve_memory_of(value.to_list());
    } else if (value.is_tuple()) {
      resolve_memory_of(value.items_unchecked());
    }
  }
}

void Kernel::refuse_null() {
  fail(ErrorKind::BadRegistration, "the kernel is a null function pointer");
}

namespace {

void run_boxed(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
  reinterpret_cast<BoxedKernel>(record.context)(op, keys, stack);
}
void run_plain_boxed(const Record& record, const Operator& op, DispatchKeySet, Stack& stack) {
  reinterpret_cast<PlainBoxedKernel>(record.context)(op, stack);
}
template <BoxedFunction run>
void run_released(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
  detail::resolve_memory_of(stack.top(op.schema().arguments.size()));
  const GilReleased gil;
  run(record, op, keys, stack);
}

}  // namespace

Kernel Kernel::boxed(BoxedKernel function, Gil gil) {
  if (function == nullptr) refuse_null();
  return boxed_in_cpp(gil == Gil::Released ? &run_released<&run_boxed> : &run_boxed,
                      reinterpret_cast<void*>(function), gil);
}

Kernel Kernel::plain_boxed(PlainBoxedKernel function, Gil gil) {
  if (function == nullptr) refuse_null();
  return boxed_in_cpp(gil == Gil::Released ? &run_released<&run_plain_boxed> : &run_plain_boxed,
                      reinterpret_cast<void*>(function), gil);
}

Kernel Kernel::boxed_in_cpp(BoxedFunction run, void* function, Gil gil) {
  Kernel kernel = with_context(run, function, nullptr, gil);
  kernel.record_->on_meta = OnMeta::Serves;
  return kernel;
}

Kernel Kernel::fallthrough() {
  Kernel kernel;
  kernel.record_->role = RecordRole::Fallthrough;
  kernel.record_->on_meta = OnMeta::Refuses;
  kernel.record_->boxed = &run_fallthrough;
  return kernel;
}

Kernel Kernel::with_context(BoxedFunction function, void* context, void (*destroy)(void*),
                            Gil gil) {
  if (function == nullptr) refuse_null();
  Kernel kernel;
  kernel.record_->boxed = function;
  kernel.record_->context = context;
  kernel.record_->destroy = destroy;
  kernel.record_->releases_gil = gil == Gil::Released;
  return kernel;
}

}  // namespace opyard
