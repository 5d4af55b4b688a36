// autograd/hooks.cpp: adding, removing and running hooks.
#include "opyard/autograd/hooks.h"

#include <algorithm>
#include <mutex>

#include "locks.h"

namespace opyard::autograd {
namespace {

std::atomic<std::uint64_t> last_number{0};

}  // namespace

HeldObject::~HeldObject() = default;

std::uint64_t Hooks::add(Hook hook) {
  hook.number = last_number.fetch_add(1) + 1;
  const std::uint64_t number = hook.number;
  const std::lock_guard lock(gradients_lock());
  // What keeps a gradient sees it last.
  const auto place = hook.retains ? hooks_.end()
                                  : std::find_if(hooks_.begin(), hooks_.end(),
                                                 [](const Hook& one) { return one.retains; });
  hooks_.insert(place, std::move(hook));
  return number;
}

std::uint64_t Hooks::add(std::uint32_t input, OfTensor hook, Held held) {
  return add(Hook{
      0, input, false, std::make_shared<const OfTensor>(std::move(hook)), {}, {}, std::move(held)});
}
std::uint64_t Hooks::add(Before hook, Held held) {
  return add(
      Hook{0, 0, false, {}, std::make_shared<const Before>(std::move(hook)), {}, std::move(held)});
}
std::uint64_t Hooks::add(After hook, Held held) {
  return add(
      Hook{0, 0, false, {}, {}, std::make_shared<const After>(std::move(hook)), std::move(held)});
}

std::vector<Hooks::Held> Hooks::held() const {
  const std::lock_guard lock(gradients_lock());
  std::vector<Held> all;
  for (const Hook& hook : hooks_) {
    if (hook.held != nullptr) all.push_back(hook.held);
  }
  return all;
}

bool Hooks::retains(std::uint32_t input) const {
  const std::lock_guard lock(gradients_lock());
  return std::any_of(hooks_.begin(), hooks_.end(),
                     [&](const Hook& one) { return one.retains && one.input == input; });
}

void Hooks::retain(std::uint32_t input, OfTensor keep) {
  if (retains(input)) return;
  add(Hook{0, input, true, std::make_shared<const OfTensor>(std::move(keep)), {}, {}, {}});
}

bool Hooks::remove(std::uint64_t number) noexcept {
  std::vector<Hook> removed;  // dies without the lock: it may hold objects of a user
  const std::lock_guard lock(gradients_lock());
  const auto found = std::find_if(hooks_.begin(), hooks_.end(),
                                  [&](const Hook& one) { return one.number == number; });
  if (found == hooks_.end()) return false;
  removed.push_back(std::move(*found));
  hooks_.erase(found);
  return true;
}

void Hooks::move_retaining(std::uint32_t input, Hooks& to, std::uint32_t to_input) {
  const std::lock_guard lock(gradients_lock());
  for (auto hook = hooks_.begin(); hook != hooks_.end();) {
    if (!hook->retains || hook->input != input) {
      ++hook;
      continue;
    }
    hook->input = to_input;
    to.hooks_.push_back(std::move(*hook));
    hook = hooks_.erase(hook);
  }
}

std::vector<Hooks::Hook> Hooks::all() const {
  const std::lock_guard lock(gradients_lock());
  return hooks_;
}

bool Hooks::run_before(Function& function, Gradients& gradients) const {
  for (const Hook& hook : all()) {
    if (hook.before != nullptr && !(*hook.before)(function, gradients)) return false;
    if (hook.of_tensor == nullptr || hook.input >= gradients.size()) continue;
    Tensor& gradient = gradients[hook.input];
    if (!gradient.defined()) continue;
    if (Tensor other = (*hook.of_tensor)(gradient); other.defined()) gradient = std::move(other);
  }
  return true;
}

void Hooks::run_after(Function& function, Gradients& gradients, const Gradients& given) const {
  for (const Hook& hook : all()) {
    if (hook.after != nullptr) (*hook.after)(function, gradients, given);
  }
}

}  // namespace opyard::autograd
