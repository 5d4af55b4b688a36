// runtime/stack_end.cpp: the end of a thread's C stack, cached per thread.
#include "opyard/detail/python/stack_end.h"

#include <pthread.h>

#include <algorithm>

namespace opyard::python {
namespace {

// What a level needs that makes no further one: the evaluation of Python code, an import, a
// message. Of a stack that is smaller than four times as much, a quarter.
constexpr std::uintptr_t kReserve = 96 * 1024;

struct StackBounds {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;  // 0 if they are not known
};

thread_local StackBounds bounds;

StackBounds find_bounds() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  std::size_t size = 0;
  std::size_t guard = 0;
  const bool found = pthread_attr_getstack(&attributes, &low, &size) == 0;
  pthread_attr_getguardsize(&attributes, &guard);
  pthread_attr_destroy(&attributes);
  if (!found) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(low);
  return {begin + guard, begin + size};
}

}  // namespace

bool refuse_at_stack_end(std::uintptr_t address) noexcept {
  if (least_stack_address == UINTPTR_MAX) {
    bounds = find_bounds();
    const std::uintptr_t size = bounds.high - bounds.low;
    least_stack_address = bounds.high == 0 ? 0 : bounds.low + std::min(kReserve, size / 4);
    if (address >= least_stack_address) return false;
  }
  if (address < bounds.low || address >= bounds.high) return false;  // not the thread's own
  PyErr_Format(
      PyExc_RecursionError,
      "Python functions and C++ call each other, too deep for the C stack of this thread, of which "
      "%zu of %zu KiB are in use; give the thread a larger stack, as threading.stack_size() does, "
      "or let fewer levels call each other",
      std::size_t(bounds.high - address) / 1024, std::size_t(bounds.high - bounds.low) / 1024);
  return true;
}

}  // namespace opyard::python
