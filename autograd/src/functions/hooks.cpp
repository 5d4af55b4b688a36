// autograd/functions/hooks.cpp: adding, removing and running hooks.
#include "opyard/autograd/hooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "functions/locks.h"

namespace opyard::autograd {
namespace {

std::atomic<std::uint64_t> last_number{0};

}  // namespace

HeldObject::~HeldObject() = default;

std::uint64_t Hooks::add(Hook hook) {
  hook.number = last_number.fetch_add(1) + 1;
  const std::uint64_t number = hook.number;
  const std::lock_guard lock(gradients_lock());
  const auto place = std::ranges::upper_bound(hooks_, hook.order, {}, &Hook::order);
  hooks_.insert(place, std::move(hook));
  return number;
}

std::uint64_t Hooks::add(std::uint32_t input, OfTensor hook, Held held) {
  return add(Hook{Order::OfTensor,
                  0,
                  input,
                  std::make_shared<const OfTensor>(std::move(hook)),
                  {},
                  {},
                  std::move(held)});
}
std::uint64_t Hooks::add(Before hook, Held held) {
  return add(Hook{Order::Before,
                  0,
                  0,
                  {},
                  std::make_shared<const Before>(std::move(hook)),
                  {},
                  std::move(held)});
}
std::uint64_t Hooks::add(After hook, Held held) {
  return add(Hook{
      Order::After, 0, 0, {}, {}, std::make_shared<const After>(std::move(hook)), std::move(held)});
}
std::uint64_t Hooks::add_first(After hook, Held held) {
  return add(Hook{Order::FirstAfter,
                  0,
                  0,
                  {},
                  {},
                  std::make_shared<const After>(std::move(hook)),
                  std::move(held)});
}

Hooks::Held Hooks::keep(Held held) {
  const std::lock_guard lock(gradients_lock());
  for (const Hook& hook : hooks_) {
    const bool is_known =
        hook.order == Order::Kept && hook.held->interpreter() == held->interpreter();
    if (is_known && hook.held->object() != nullptr) return hook.held;
  }
  hooks_.push_back(Hook{Order::Kept, 0, 0, {}, {}, {}, held});
  return held;
}

Hooks::Held Hooks::find_kept(const void* interpreter) const {
  const std::lock_guard lock(gradients_lock());
  for (const Hook& hook : hooks_) {
    const bool is_kept = hook.order == Order::Kept && hook.held->interpreter() == interpreter;
    if (is_kept && hook.held->object() != nullptr) return hook.held;
  }
  return {};
}

std::vector<Hooks::Held> Hooks::held() const {
  const std::lock_guard lock(gradients_lock());
  std::vector<Held> all;
  for (const Hook& hook : hooks_) {
    if (hook.held != nullptr) all.push_back(hook.held);
  }
  return all;
}

int Hooks::visit_held(int (*visit)(const HeldObject& held, void* argument), void* argument) const {
  const std::lock_guard lock(gradients_lock());
  for (const Hook& hook : hooks_) {
    if (hook.held == nullptr) continue;
    if (const int stop = visit(*hook.held, argument)) return stop;
  }
  return 0;
}

bool Hooks::retains(std::uint32_t input) const {
  const std::lock_guard lock(gradients_lock());
  return std::any_of(hooks_.begin(), hooks_.end(), [&](const Hook& one) {
    return one.order == Order::Retains && one.input == input;
  });
}

void Hooks::retain(std::uint32_t input, OfTensor keep) {
  if (retains(input)) return;
  add(Hook{
      Order::Retains, 0, input, std::make_shared<const OfTensor>(std::move(keep)), {}, {}, {}});
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

void Hooks::reset(std::uint32_t input) {
  std::vector<std::shared_ptr<const OfTensor>> functions;  // die without the lock
  std::vector<Held> objects;
  const std::lock_guard lock(gradients_lock());
  const auto first = std::stable_partition(hooks_.begin(), hooks_.end(), [&](const Hook& one) {
    return one.of_tensor == nullptr || one.order == Order::Retains || one.input != input;
  });
  for (auto hook = first; hook != hooks_.end(); ++hook) {
    functions.push_back(std::move(hook->of_tensor));
    objects.push_back(std::move(hook->held));
  }
  hooks_.erase(first, hooks_.end());
}

void Hooks::move_retaining(std::uint32_t input, Hooks& to, std::uint32_t to_input) {
  const std::lock_guard lock(gradients_lock());
  for (auto hook = hooks_.begin(); hook != hooks_.end();) {
    if (hook->order != Order::Retains || hook->input != input) {
      ++hook;
      continue;
    }
    hook->input = to_input;
    const auto place = std::ranges::upper_bound(to.hooks_, Order::Retains, {}, &Hook::order);
    to.hooks_.insert(place, std::move(*hook));
    hook = hooks_.erase(hook);
  }
}

std::vector<Hooks::Hook> Hooks::all() const {
  const std::lock_guard lock(gradients_lock());
  return hooks_;
}

namespace {

std::string describe_gradient(const Tensor& gradient) {
  if (!gradient.defined()) return "none";
  return describe(gradient) + " on " + to_string(gradient.device());
}

[[noreturn]] OPYARD_COLD void refuse_replacement(const Function& function, std::size_t index,
                                                 const Tensor& before, const Tensor& after) {
  fail(
      ErrorKind::BadReturn,
      fmt::format("a hook of {} has changed gradient {}: it got {} and gave {}. What a hook gives "
                  "has the sizes, dtype and device of what it got; convert it in the hook, or give "
                  "None to leave the gradient as it is",
                  function.name(), index, describe_gradient(before), describe_gradient(after)));
}

bool may_replace(const Tensor& before, const Tensor& after) {
  if (!after.defined() || after.same(before)) return true;
  if (!before.defined()) return false;
  if (after.dtype() != before.dtype() || after.device() != before.device()) return false;
  return after.impl()->has_policy(TensorImpl::kSymbolic) ||
         before.impl()->has_policy(TensorImpl::kSymbolic) ||
         std::ranges::equal(after.sizes(), before.sizes());
}

void check_replacements(const Function& function, const Gradients& before, const Gradients& after) {
  if (before.size() != after.size()) {
    fail(ErrorKind::BadReturn, fmt::format("a hook of {} gave {} gradients in place of {}",
                                           function.name(), after.size(), before.size()));
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (!may_replace(before[i], after[i])) refuse_replacement(function, i, before[i], after[i]);
  }
}

}  // namespace

void Hooks::run_of_tensors(Function& function, Gradients& gradients) const {
  for (const Hook& hook : all()) {
    if (hook.of_tensor == nullptr || hook.input >= gradients.size()) continue;
    Tensor& gradient = gradients[hook.input];
    if (!gradient.defined()) continue;
    Tensor other = (*hook.of_tensor)(gradient);
    if (!other.defined()) continue;
    if (!may_replace(gradient, other)) refuse_replacement(function, hook.input, gradient, other);
    gradient = std::move(other);
  }
}

bool Hooks::run_before(Function& function, Gradients& gradients) const {
  for (const Hook& hook : all()) {
    if (hook.before == nullptr) continue;
    const Gradients before = gradients;
    if (!(*hook.before)(function, gradients)) return false;
    check_replacements(function, before, gradients);
  }
  return true;
}

void Hooks::run_after(Function& function, Gradients& gradients, const Gradients& given) const {
  for (const Hook& hook : all()) {
    if (hook.after == nullptr) continue;
    const Gradients before = gradients;
    (*hook.after)(function, gradients, given);
    check_replacements(function, before, gradients);
  }
}

}  // namespace opyard::autograd
