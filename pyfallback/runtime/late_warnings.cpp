// runtime/late_warnings.cpp: deferred warnings of destructors.
//
// A chain without a lock, as that of the drop list: entries are taken off all at once only. What a
// filter makes an error of goes to sys.unraisablehook.
#include "opyard/detail/python/python.h"

#include "runtime/late_warnings.h"

#include <atomic>
#include <new>
#include <utility>

#include "opyard/detail/python/exit.h"
#include "runtime/runtime.h"

namespace opyard::python {
namespace {

struct LateWarning {
  std::string message;
  LateWarning* next;
};
constinit std::atomic<LateWarning*> newest_warning{nullptr};

// With the GIL held.
void add_late_warning(const std::string& message) noexcept {
  PyObject* const former = take_exception();
  const int answer = in_python([&] {
    const Owned text = Owned::steal(
        PyUnicode_DecodeUTF8(message.data(), Py_ssize_t(message.size()), "backslashreplace"));
    return text ? PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "%U", text.get()) : -1;
  });
  if (answer < 0) in_python([] { PyErr_WriteUnraisable(nullptr); });
  if (former != nullptr) restore_exception(former);
}

int say_pending(void*) {
  LateWarning* entry = newest_warning.exchange(nullptr, std::memory_order_acquire);
  LateWarning* oldest = nullptr;
  while (entry != nullptr) {
    LateWarning* const next = std::exchange(entry->next, oldest);
    oldest = std::exchange(entry, next);
  }
  while (oldest != nullptr) {
    LateWarning* const done = std::exchange(oldest, oldest->next);
    add_late_warning(done->message);
    delete done;
  }
  return 0;
}

}  // namespace

void warn_late_in_python(const std::string& message) noexcept {
  const Runtime* const runtime = find_runtime();
  if (runtime == nullptr || runtime->gate.closed()) return;
  if (holds_gil(*runtime)) {
    add_late_warning(message);
    return;
  }
  try {
    auto* const entry = new LateWarning{message, newest_warning.load(std::memory_order_relaxed)};
    while (!newest_warning.compare_exchange_weak(entry->next, entry, std::memory_order_release,
                                                 std::memory_order_relaxed)) {
    }
  } catch (const std::bad_alloc&) {
    return;  // there is no memory to keep it
  }
  static_cast<void>(Py_AddPendingCall(say_pending, nullptr));
}

}  // namespace opyard::python
