// autograd/functions/function.cpp: backward functions: numbers, hooks, and [Death].
#include "opyard/autograd/function.h"

#include <mutex>
#include <unordered_map>

#include "functions/anomaly_on.h"
#include "functions/locks.h"
#include "opyard/autograd/anomaly.h"
#include "opyard/autograd/hooks.h"
#include "opyard/observe/function_listener.h"

namespace opyard::autograd {
namespace {

// All three are read for each function that is made or dies, so they are reached without a call.
constinit __thread std::uint64_t next_sequence __attribute__((tls_model("initial-exec"))) = 0;

// Functions whose last owner let go while another one was being taken apart on this thread.
constinit __thread const Function* dying __attribute__((tls_model("initial-exec"))) = nullptr;
constinit __thread bool is_dismantling __attribute__((tls_model("initial-exec"))) = false;

// Places are of anomaly mode alone, so they take no room in functions.
std::unordered_map<const Function*, std::string>& call_sites() {
  static auto* const all = new std::unordered_map<const Function*, std::string>;
  return *all;
}
constinit std::atomic<bool> has_call_sites{false};

// Of a function that is being made. Out of line, so that the others need no frame.
OPYARD_COLD void tell_of_making(Function& function, FunctionListener listener) {
  if (listener != nullptr) {
    listener({nullptr, &function, function.sequence(), nullptr}, FunctionMoment::Made);
  }
  if (anomaly_on.load(std::memory_order_relaxed)) function.set_call_site(anomaly_call_site());
}

}  // namespace

Function::Function() : sequence_(next_sequence++) {
  const FunctionListener listener = function_listener.load(std::memory_order_acquire);
  const bool noted = listener != nullptr || anomaly_on.load(std::memory_order_relaxed);
  if (__builtin_expect(noted, 0)) tell_of_making(*this, listener);
}
Function::Function(std::uint64_t sequence) : sequence_(sequence) {}

Function::~Function() {
  delete hooks_.load(std::memory_order_relaxed);
  if (has_call_sites.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(gradients_lock());
    call_sites().erase(this);
  }
}

// See [Death].
void Function::end() const noexcept {
  if (is_dismantling) {
    next_ = dying;
    dying = this;
    return;
  }
  is_dismantling = true;
  for (const Function* next = this; next != nullptr;) {
    delete next;
    next = dying;
    if (next != nullptr) dying = next->next_;
  }
  is_dismantling = false;
}

Gradients Function::apply_last(Gradients gradients) {
  Gradients results = apply(std::move(gradients));
  release_saved();
  return results;
}

std::uint32_t Function::add_input() {
  inputs_.emplace_back();
  return std::uint32_t(inputs_.size() - 1);
}

Hooks& Function::hooks() {
  if (Hooks* const known = find_hooks()) return *known;
  auto fresh = std::make_unique<Hooks>();
  Hooks* there = nullptr;
  if (hooks_.compare_exchange_strong(there, fresh.get(), std::memory_order_acq_rel)) {
    return *fresh.release();
  }
  return *there;
}

std::string Function::call_site() const {
  if (!has_call_sites.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(gradients_lock());
  const auto found = call_sites().find(this);
  return found == call_sites().end() ? std::string() : found->second;
}

void Function::set_call_site(std::string call_site) {
  const std::lock_guard lock(gradients_lock());
  has_call_sites.store(true, std::memory_order_relaxed);
  call_sites()[this] = std::move(call_site);
}

}  // namespace opyard::autograd
