// registry/look_up.cpp: operator look-up by name, with lazy loading.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "opyard/detail/registry/finder.h"
#include "opyard/detail/text/near_names.h"
#include "opyard/schema/parse.h"
#include "registry/state.h"

namespace opyard {

const Operator* Registry::find(const OperatorName& name) const {
  const std::lock_guard lock(state_->mutex);
  const OperatorEntry* entry = state_->find(name);
  return entry == nullptr ? nullptr : entry->op;
}

std::vector<std::string> Registry::State::overloads(std::string_view name) const {
  std::vector<std::pair<std::uint64_t, std::string>> found;
  for (auto at = entries.lower_bound(OperatorName{std::string(name), ""});
       at != entries.end() && at->first.name == name; ++at) {
    if (at->second->definition) found.emplace_back(at->second->definition_id, at->first.overload);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> overloads;
  for (auto& [order, overload] : found) overloads.push_back(std::move(overload));
  return overloads;
}

namespace {

std::atomic<OperatorFinder> operator_finder{nullptr};
thread_local bool is_finding = false;

// The names of the operators that begin so, without overloads, in order.
std::vector<std::string> defined_in(std::string_view space) {
  const RegistryAccess::State& state = RegistryAccess::state();
  const std::lock_guard lock(state.mutex);
  std::vector<std::string> found;
  for (auto at = state.entries.lower_bound(OperatorName{std::string(space), ""});
       at != state.entries.end() && at->first.name.starts_with(space); ++at) {
    const std::string& name = at->first.name;
    if (at->second->definition && (found.empty() || found.back() != name)) found.push_back(name);
  }
  return found;
}

// " There is t::f.over."; empty if no overload is defined.
std::string other_overloads(std::string_view name) {
  const RegistryAccess::State& state = RegistryAccess::state();
  const std::lock_guard lock(state.mutex);
  const std::vector<std::string> overloads = state.overloads(name);
  std::string text;
  for (const std::string& overload : overloads) {
    if (!text.empty()) text += ", ";
    text += to_string(OperatorName{std::string(name), overload});
  }
  if (text.empty()) return text;
  return fmt::format(" There {} {}.", overloads.size() == 1 ? "is" : "are", text);
}

// What to do about an operator that is not defined.
std::string advice_for(const OperatorName& name) {
  if (std::string others = other_overloads(name.name); !others.empty()) return others;
  const std::string meant = near_operator(name.name);
  if (!meant.empty()) return fmt::format(" '{}' may be meant.", meant);
  std::string advice = " Is the library that defines it loaded? load_library() loads one.";
  const std::string_view space = name.name_space();
  // For programs that load their libraries themselves.
  if ((space == "aten" || space == "opyard") && !has_operators_of(space)) {
    advice +=
        " The operators of aten and opyard are in opyard_kernels.so, which load_library() loads; "
        "in Python opyard.ops.aten does.";
  }
  return advice;
}

}  // namespace

void set_operator_finder(OperatorFinder finder) noexcept {
  operator_finder.store(finder, std::memory_order_release);
}

bool has_operator_finder() noexcept {
  return operator_finder.load(std::memory_order_acquire) != nullptr;
}

bool load_operators(std::string_view name) {
  const OperatorFinder finder = operator_finder.load(std::memory_order_acquire);
  if (finder == nullptr || is_finding) return false;
  struct Finding {
    Finding() noexcept { is_finding = true; }
    ~Finding() { is_finding = false; }
  } finding;
  finder(name);
  return true;
}

std::string near_operator(std::string_view name) {
  const std::size_t colons = name.find("::");
  if (colons == std::string_view::npos) return "";
  const std::string_view space = name.substr(0, colons + 2);
  const std::vector<std::string> defined = defined_in(space);
  std::vector<std::string_view> known;
  for (const std::string& each : defined) {
    known.push_back(std::string_view(each).substr(space.size()));
  }
  if (std::ranges::find(defined, name) != defined.end()) return "";  // another overload is wanted
  const std::string_view meant = detail::near_name(name.substr(space.size()), known);
  return meant.empty() ? "" : std::string(space) + std::string(meant);
}

bool has_operators_of(std::string_view name_space) {
  return !defined_in(std::string(name_space) + "::").empty();
}

const Operator& Registry::require(const OperatorName& name) const {
  if (const Operator* const found = find(name)) return *found;
  if (load_operators(name.name)) {
    if (const Operator* const found = find(name)) return *found;
  }
  bool has_kernels = false;
  {
    const std::lock_guard lock(state_->mutex);
    const OperatorEntry* entry = state_->find(name);
    if (entry != nullptr && entry->op != nullptr) return *entry->op;
    has_kernels = entry != nullptr && entry->exists();
  }
  fail(ErrorKind::NotFound,
       fmt::format("Could not find schema for {}.{}", to_string(name),
                   has_kernels ? " Kernels are registered for it, but no definition; is a def() "
                                 "missing, or the library that has it?"
                               : advice_for(name)));
}

const Operator& Registry::require(std::string_view name) const {
  return require(parse_operator_name(name));
}

}  // namespace opyard
