// interpreter/main_interpreter.cpp: main interpreter of the process.
#include "opyard/detail/interpreter/main_interpreter.h"

#include <atomic>

namespace opyard {
namespace {

constinit std::atomic<Interpreter*> main{nullptr};

}  // namespace

void offer_main_interpreter(Interpreter* interpreter) noexcept {
  Interpreter* former = main.load(std::memory_order_acquire);
  while (former == nullptr || !former->armed()) {
    if (main.compare_exchange_weak(former, interpreter, std::memory_order_acq_rel)) return;
  }
}

Interpreter* main_interpreter() noexcept {
  Interpreter* const found = main.load(std::memory_order_acquire);
  return found != nullptr && found->armed() ? found : nullptr;
}

}  // namespace opyard
