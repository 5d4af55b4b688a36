// registry/look_up.cpp: operator look-up by name, with lazy loading.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "opyard/detail/registry/finder.h"
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

// What has the operators that everyone knows, for programs that load their libraries themselves.
const char* where_it_is(const OperatorName& name) {
  if (name.name_space() != "aten" && name.name_space() != "opyard") return "";
  return " The operators of aten and opyard are in opyard_kernels.so, which load_library() loads; "
         "in Python "
         "opyard.ops.aten does.";
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
  fail(
      ErrorKind::NotFound,
      fmt::format("Could not find schema for {}.{}{}", to_string(name),
                  has_kernels ? " Kernels are registered for it, but no definition; is a def() "
                                "missing, or the library that has it?"
                              : " Is the library that defines it loaded? load_library() loads one.",
                  has_kernels ? "" : where_it_is(name)));
}

const Operator& Registry::require(std::string_view name) const {
  return require(parse_operator_name(name));
}

}  // namespace opyard
