// test/cpp/call_path/call_path_subject.cpp: the calls that test_call_path.cpp disassembles. It is compiled, optimised,
// as a plugin would be, and never run.
#include <pthread.h>

#include <atomic>
#include <new>

#include "opyard/detail/registry/typed.h"

namespace opyard {

using ByReference = const Tensor&(const Tensor&, const Tensor&);
using Number = std::int64_t(const Tensor&, std::int64_t);

// Exported, so that each keeps its name and is compiled on its own.
#define OPYARD_SUBJECT extern "C" __attribute__((visibility("default"), noinline))

inline const Tensor& keyed_kernel(DispatchKeySet, const Tensor& x, const Tensor&) { return x; }

// The path itself.
OPYARD_SUBJECT const Tensor& subject_call(const TypedOperator<ByReference>& op, const Tensor& x,
                                          const Tensor& y) {
  return op.call(x, y);
}
OPYARD_SUBJECT std::int64_t subject_call_with_a_number(const TypedOperator<Number>& op,
                                                       const Tensor& x, std::int64_t n) {
  return op.call(x, n);
}
OPYARD_SUBJECT const Tensor& subject_redispatch(const TypedOperator<ByReference>& op,
                                                DispatchKeySet keys, const Tensor& x,
                                                const Tensor& y) {
  return op.redispatch(keys, x, y);
}
// What policies may hand to a class, of a tensor that has none.
OPYARD_SUBJECT std::int64_t subject_geometry(const Tensor& x) {
  return x.dim() + x.numel() + x.sizes()[0] + x.strides()[0] + x.storage_offset() +
         std::int64_t(x.layout()) + x.device().index + std::int64_t(x.is_contiguous());
}
extern "C" void subject_sink();
OPYARD_SUBJECT void subject_guards(DispatchKeySet keys) {
  const IncludeDispatchKeyGuard include(keys);
  const ExcludeDispatchKeyGuard exclude(keys);
  subject_sink();
}
// Where the indirect call of the path goes, if not to the kernel itself: the thunk of one that
// takes a key set and is known, and of one behind a pointer.
OPYARD_SUBJECT TypedFunction subject_thunk_of_a_constant() {
  return Kernel::from<&keyed_kernel>().record().typed;
}
OPYARD_SUBJECT TypedFunction subject_thunk_of_a_pointer(decltype(&keyed_kernel) function) {
  return Kernel::from(function).record().typed;
}

// The same with a fault each, which the checker must find.
std::atomic<int> planted_count;
OPYARD_SUBJECT const Tensor& planted_lock(const TypedOperator<ByReference>& op, const Tensor& x,
                                          const Tensor& y) {
  planted_count.fetch_add(1, std::memory_order_relaxed);
  return op.call(x, y);
}
OPYARD_SUBJECT const Tensor& planted_exchange(const TypedOperator<ByReference>& op, const Tensor& x,
                                              const Tensor& y) {
  planted_count.exchange(1, std::memory_order_relaxed);
  return op.call(x, y);
}
OPYARD_SUBJECT const Tensor& planted_allocation(const TypedOperator<ByReference>& op,
                                                const Tensor& x, const Tensor& y) {
  void* const memory = ::operator new(16);
  const Tensor& result = op.call(x, y);
  ::operator delete(memory);
  return result;
}
OPYARD_SUBJECT const Tensor& planted_mutex(const TypedOperator<ByReference>& op, const Tensor& x,
                                           const Tensor& y) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  const Tensor& result = op.call(x, y);
  pthread_mutex_unlock(&mutex);
  return result;
}
extern constinit thread_local int planted_variable __attribute__((tls_model("global-dynamic")));
OPYARD_SUBJECT const Tensor& planted_thread_local(const TypedOperator<ByReference>& op,
                                                  const Tensor& x, const Tensor& y) {
  planted_variable += 1;
  return op.call(x, y);
}
struct Asked {
  virtual std::int64_t dim() const = 0;
};
OPYARD_SUBJECT std::int64_t planted_virtual_call(const Asked& x) { return x.dim() + 1; }
__attribute__((noinline)) static void count_further_down() {
  planted_count.fetch_add(1, std::memory_order_relaxed);
}
OPYARD_SUBJECT const Tensor& planted_further_down(const TypedOperator<ByReference>& op,
                                                  const Tensor& x, const Tensor& y) {
  count_further_down();
  return op.call(x, y);
}

}  // namespace opyard
