// observe/observer.cpp: the observers of a thread.
#include "opyard/observe/observer.h"

#include "opyard/observe/function_listener.h"
#include "opyard/observe/instruction_listener.h"

namespace opyard {
namespace {

constinit thread_local const ObserverGuard* innermost_guard = nullptr;

}  // namespace

constinit std::atomic<FunctionListener> function_listener{nullptr};
constinit std::atomic<InstructionListener> instruction_listener{nullptr};

Observer::~Observer() = default;

ObserverGuard::ObserverGuard(Observer& observer) noexcept
    : observer_(observer), outer_(innermost_guard), include_(DispatchKey::Observe) {
  innermost_guard = this;
}

ObserverGuard::~ObserverGuard() { innermost_guard = outer_; }

const ObserverGuard* ObserverGuard::innermost() noexcept { return innermost_guard; }

}  // namespace opyard
