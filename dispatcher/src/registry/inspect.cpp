// registry/inspect.cpp: asking the registry, which changes nothing.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "opyard/registry/finder.h"
#include "opyard/schema/parse.h"
#include "registry/built_in_records.h"
#include "registry/dump.h"
#include "registry/state.h"

namespace opyard {

const Operator* Registry::find(const OperatorName& name) const {
  const std::lock_guard lock(state_->mutex);
  const Entry* entry = state_->find(name);
  return entry == nullptr ? nullptr : entry->op;
}

namespace {

std::atomic<OperatorFinder> operator_finder{nullptr};
thread_local bool is_finding = false;

// Asks the finder, if there is one that does not run on this thread already.
bool ask_finder(const OperatorName& name) {
  const OperatorFinder finder = operator_finder.load(std::memory_order_acquire);
  if (finder == nullptr || is_finding) return false;
  struct Finding {
    Finding() noexcept { is_finding = true; }
    ~Finding() { is_finding = false; }
  } finding;
  finder(name.name);
  return true;
}

// What has the operators that everyone knows, for programs that load their libraries themselves.
const char* where_it_is(const OperatorName& name) {
  if (name.name_space() != "aten") return "";
  return " The operators of aten are in opyard_kernels.so, which load_library() loads; in Python "
         "opyard.ops.aten does.";
}

}  // namespace

void set_operator_finder(OperatorFinder finder) noexcept {
  operator_finder.store(finder, std::memory_order_release);
}

const Operator& Registry::require(const OperatorName& name) const {
  if (const Operator* const found = find(name)) return *found;
  if (ask_finder(name)) {
    if (const Operator* const found = find(name)) return *found;
  }
  bool has_kernels = false;
  {
    const std::lock_guard lock(state_->mutex);
    const Entry* entry = state_->find(name);
    if (entry != nullptr && entry->op != nullptr) return *entry->op;
    has_kernels = entry != nullptr && entry->exists();
  }
  fail(ErrorKind::NotFound,
       fmt::format("Could not find schema for {}.{}{}", to_string(name),
                   has_kernels ? " Kernels are registered for it, but no definition; is a def() "
                                 "missing, or the library that has it?"
                               : " Is the library that defines it loaded?",
                   has_kernels ? "" : where_it_is(name)));
}

const Operator& Registry::require(std::string_view name) const {
  return require(parse_operator_name(name));
}

std::vector<OperatorName> Registry::names() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<OperatorName> names;
  for (const auto& [name, entry] : state_->entries) {
    if (entry->definition) names.push_back(name);
  }
  return names;
}

std::vector<std::string> Registry::overloads(std::string_view name) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::pair<std::uint64_t, std::string>> found;
  for (auto at = state_->entries.lower_bound(OperatorName{std::string(name), ""});
       at != state_->entries.end() && at->first.name == name; ++at) {
    if (at->second->definition) found.emplace_back(at->second->definition_id, at->first.overload);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> overloads;
  for (auto& [order, overload] : found) overloads.push_back(std::move(overload));
  return overloads;
}

std::vector<std::string> Registry::tags(const OperatorName& name) const {
  const std::lock_guard lock(state_->mutex);
  const Entry* entry = state_->find(name);
  return entry != nullptr && entry->definition ? entry->definition->tags
                                               : std::vector<std::string>();
}

std::pair<std::string, std::string> Registry::python_module(const OperatorName& name) const {
  const std::lock_guard lock(state_->mutex);
  const Entry* entry = state_->find(name);
  if (entry == nullptr || !entry->definition) return {};
  const KnownDefinition::Texts* const texts = entry->definition->texts.find();
  if (texts == nullptr) return {};
  return {texts->python_module, texts->python_context};
}

bool Registry::has_kernel(const OperatorName& name) const {
  const std::lock_guard lock(state_->mutex);
  const Entry* entry = state_->find(name);
  return entry != nullptr && entry->has_kernel(state_->common.here());
}

bool Registry::has_kernel_at(const OperatorName& name, DispatchKey key) const {
  const std::lock_guard lock(state_->mutex);
  const Entry* entry = state_->find(name);
  return entry != nullptr && entry->active(key, state_->common.here()) != nullptr;
}

bool Registry::has_kernel_at_any(const OperatorName& name, DispatchKeySet keys) const {
  const std::lock_guard lock(state_->mutex);
  const Entry* entry = state_->find(name);
  const Viewer here = state_->common.here();
  return entry != nullptr && std::any_of(keys.begin(), keys.end(), [&](DispatchKey key) {
           return entry->active(key, here) != nullptr;
         });
}

const Record& Registry::computed(const OperatorName& name, DispatchKey key) const {
  const Entry* entry = state_->find(name);
  if (entry == nullptr || !entry->definition) {
    fail(ErrorKind::NotFound, fmt::format("operator {} does not exist", to_string(name)));
  }
  if (is_alias(key)) {
    fail(ErrorKind::BadValue,
         fmt::format("{} is an alias key. Alias keys do not have runtime kernel "
                     "registrations.",
                     to_string(key)));
  }
  if (!is_known(key) || !is_runtime_key(key)) {
    fail(ErrorKind::BadValue,
         fmt::format("{} has no slot of its own; name the key of one backend", to_string(key)));
  }
  return *entry->resolve(key, state_->common, state_->common.here()).record;
}

bool Registry::has_computed_kernel(const OperatorName& name, DispatchKey key) const {
  const std::lock_guard lock(state_->mutex);
  const RecordRole role = computed(name, key).role;
  return role == RecordRole::Kernel || role == RecordRole::Observe || passes_calls_by(role);
}

bool Registry::is_fallthrough(const OperatorName& name, DispatchKey key) const {
  const std::lock_guard lock(state_->mutex);
  return passes_calls_by(computed(name, key).role);
}

bool Registry::has_fallback(DispatchKey key) const {
  const std::lock_guard lock(state_->mutex);
  return state_->common.fallbacks.newest(key, state_->common.here()) != nullptr;
}

std::vector<RegistryEvent> Registry::history() const {
  const std::lock_guard lock(state_->mutex);
  return state_->history.events();
}

std::vector<std::string> Registry::dangling() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> dumps;
  for (const auto& [name, entry] : state_->entries) {
    if (!entry->definition && !entry->kernels.empty()) {
      dumps.push_back(opyard::dump(*entry, state_->common.here()));
    }
  }
  return dumps;
}

CountedPtr<MissingKernelReporter> Registry::missing_kernel_reporter(const Operator& op) const {
  const std::lock_guard lock(state_->mutex);
  const Entry* entry = state_->find(op);
  return entry == nullptr ? CountedPtr<MissingKernelReporter>() : entry->reporter;
}

std::string Registry::dump(const OperatorName& name) const {
  const std::lock_guard lock(state_->mutex);
  const Entry* entry = state_->find(name);
  return entry == nullptr ? "" : opyard::dump(*entry, state_->common.here());
}

std::string Registry::dump_table(const OperatorName& name) const {
  const std::lock_guard lock(state_->mutex);
  const Entry* entry = state_->find(name);
  return entry == nullptr ? "" : opyard::dump_table(*entry, state_->common, state_->common.here());
}

std::string Registry::dump_table(const OperatorName& name, const Interpreter* interpreter) const {
  const std::lock_guard lock(state_->mutex);
  const Entry* entry = state_->find(name);
  const Viewer viewer = interpreter == nullptr ? Viewer::outside() : Viewer::of(interpreter);
  return entry == nullptr ? "" : opyard::dump_table(*entry, state_->common, viewer);
}

void Registry::check_invariants() const {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [name, entry] : state_->entries) {
    const std::string drift = entry->find_drift(state_->common);
    if (drift.empty()) continue;
    const Viewer here = state_->common.here();
    fail(ErrorKind::Internal,
         fmt::format("{}\nCanonical state\n{}Computed table:\n{}", drift,
                     opyard::dump(*entry, here), opyard::dump_table(*entry, state_->common, here)));
  }
}

Registry::Resolution Registry::resolve(const Operator& op, DispatchKey key) const {
  const std::lock_guard lock(state_->mutex);
  const Entry* entry = state_->find(op);
  if (entry == nullptr) {
    return {&gone_record(), "definition taken back", gone_record().provenance.str()};
  }
  const Resolved resolved = entry->resolve(key, state_->common, state_->common.here());
  return {resolved.record, resolved.rule, resolved.record->provenance.str()};
}

const Record& Registry::resolve_below(const Operator& op, DispatchKey key, DispatchKey at,
                                      std::uint64_t order) const {
  const std::lock_guard lock(state_->mutex);
  const Entry* entry = state_->find(op);
  if (entry == nullptr) return gone_record();
  return *entry->resolve_below(key, at, order, state_->common).record;
}

std::vector<DispatchKey> Registry::keys_with_kernel(const Operator& op) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<DispatchKey> keys;
  const Entry* entry = state_->find(op);
  if (entry == nullptr) return keys;
  const Viewer here = state_->common.here();
  for (const auto& [key, stack] : entry->kernels) {
    if (entry->active(key, here) != nullptr) keys.push_back(key);
  }
  return keys;
}

}  // namespace opyard
