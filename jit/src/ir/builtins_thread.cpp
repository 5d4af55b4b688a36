// ir/builtins_thread.cpp: built-in functions that look at the thread on which the graph runs.
#include "ir/builtins.h"
#include "opyard/keys/local.h"

namespace opyard::jit::detail {
namespace {

bool has_layer(DispatchKey key) noexcept {
  const LocalKeys keys = local_keys();
  return keys.include.has(key) && !keys.exclude.has(key);
}

}  // namespace

void is_cuda_autocast(const opyard::Value* const*, opyard::Value* result) {
  *result = opyard::Value(has_layer(DispatchKey::AutocastCUDA));
}
void is_cpu_autocast(const opyard::Value* const*, opyard::Value* result) {
  *result = opyard::Value(has_layer(DispatchKey::AutocastCPU));
}

}  // namespace opyard::jit::detail
