// interpreter/gil.cpp: releasing an interpreter's lock for a scope.
#include "opyard/interpreter/gil.h"

#include <atomic>

#include "opyard/detail/interpreter/gil_wait.h"

namespace opyard {
namespace {

constinit std::atomic<const GilFunctions*> known_functions{nullptr};

}  // namespace

constinit std::atomic<GilWaitListener> gil_wait_listener{nullptr};

void set_gil_functions(const GilFunctions* functions) noexcept {
  known_functions.store(functions, std::memory_order_release);
}

GilReleased::GilReleased()
    : functions_(known_functions.load(std::memory_order_acquire)),
      released_(functions_ != nullptr ? functions_->release() : nullptr) {}

GilReleased::~GilReleased() noexcept(false) {
  if (released_ != nullptr) functions_->retake(released_);
}

}  // namespace opyard
