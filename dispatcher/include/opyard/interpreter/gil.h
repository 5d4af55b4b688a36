// opyard/interpreter/gil.h: running C++ code while other threads of the interpreter may run.
//
//   opyard::without_gil([&] { wait_for_workers(); });         inside of a kernel
//   m.impl("nms", DispatchKey::CPU, releases_gil(&nms));      around a kernel; see registry/kernel.h
//
// A kernel that touches no object of an interpreter may be registered with releases_gil()
// (registry/kernel.h). Its record's own functions then release the interpreter's lock around it, so
// that it is released behind every layer and for every caller. What releasing is, the plugin of the
// interpreters says, once for the process; until then, and on a thread that holds no such lock,
// nothing happens.
//
// Meanwhile the code may call operators: one that reaches a kernel in Python takes the lock again
// for that. It holds no mutex that a thread with the lock may wait for. See docs/guides/gil.md.
//
// Depends on: base/export.h.
#pragma once

#include <utility>

#include "opyard/base/export.h"

namespace opyard {

struct GilFunctions {
  // Releases the lock that this thread holds, and says what retake() needs; null if it holds none.
  void* (*release)();
  // May not return, but unwind the thread, if the interpreter has ended meanwhile.
  void (*retake)(void* released);
};

// Null for none. The functions stay mapped for the life of the process.
OPYARD_API void set_gil_functions(const GilFunctions* functions) noexcept;

// The lock is released while this lives. Left on the thread it was made on.
class OPYARD_API GilReleased {
 public:
  GilReleased();
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;
  ~GilReleased() noexcept(false);

 private:
  const GilFunctions* functions_;
  void* released_;
};

// Runs the body with the lock released, if this thread holds it, and gives what it returns. An
// exception comes out when the lock is held again.
template <typename Body>
decltype(auto) without_gil(Body&& body) {
  const GilReleased released;
  return std::forward<Body>(body)();
}

}  // namespace opyard
