// thread/thread_dispatcher.cpp: Python dispatcher of a thread.
#include "opyard/detail/thread/thread_dispatcher.h"

#include <utility>

namespace opyard {
namespace {

struct ThreadDispatcher {
  Interpreter* interpreter = nullptr;
  std::uint64_t added = 0;  // a guard may have put the key there before
};
constinit thread_local ThreadDispatcher dispatcher;

}  // namespace

Interpreter* thread_dispatcher() noexcept { return dispatcher.interpreter; }

Interpreter* exchange_thread_dispatcher(Interpreter* interpreter) noexcept {
  ThreadDispatcher& ours = dispatcher;
  if ((interpreter != nullptr) != (ours.interpreter != nullptr)) {
    if (interpreter != nullptr) {
      ours.added =
          DispatchKeySet(DispatchKey::PythonDispatcher).raw() & ~detail::local_block.include;
      detail::local_block.include |= ours.added;
    } else {
      detail::local_block.include &= ~std::exchange(ours.added, 0);
    }
  }
  return std::exchange(ours.interpreter, interpreter);
}

std::uint64_t detail::key_added_by_dispatcher() noexcept { return dispatcher.added; }

}  // namespace opyard
