// inspect/inspect.cpp: read-only queries of the registry.
#include "opyard/inspect/inspect.h"

#include <fmt/format.h>

#include <algorithm>

#include "inspect/dump.h"
#include "registry/built_in_records.h"
#include "registry/reclaim.h"
#include "registry/state.h"

namespace opyard::inspect {

namespace {

const RegistryAccess::State& state() noexcept { return RegistryAccess::state(); }

}  // namespace

std::vector<OperatorName> names() {
  const std::lock_guard lock(state().mutex);
  std::vector<OperatorName> names;
  for (const auto& [name, entry] : state().entries) {
    if (entry->definition) names.push_back(name);
  }
  return names;
}

std::vector<std::string> overloads(std::string_view name) {
  const std::lock_guard lock(state().mutex);
  return state().overloads(name);
}

std::vector<std::string> tags(const OperatorName& name) {
  const std::lock_guard lock(state().mutex);
  const OperatorEntry* entry = state().find(name);
  return entry != nullptr && entry->definition ? entry->definition->tags
                                               : std::vector<std::string>();
}

std::pair<std::string, std::string> python_module(const OperatorName& name) {
  const std::lock_guard lock(state().mutex);
  const OperatorEntry* entry = state().find(name);
  if (entry == nullptr || !entry->definition) return {};
  const KnownDefinition::Texts* const texts = entry->definition->texts.find();
  if (texts == nullptr) return {};
  return {texts->python_module, texts->python_context};
}

bool has_kernel(const OperatorName& name) {
  const std::lock_guard lock(state().mutex);
  const OperatorEntry* entry = state().find(name);
  return entry != nullptr && entry->has_kernel(state().common.here());
}

bool has_kernel_at(const OperatorName& name, DispatchKey key) {
  const std::lock_guard lock(state().mutex);
  const OperatorEntry* entry = state().find(name);
  return entry != nullptr && entry->active(key, state().common.here()) != nullptr;
}

bool has_kernel_at_any(const OperatorName& name, DispatchKeySet keys) {
  const std::lock_guard lock(state().mutex);
  const OperatorEntry* entry = state().find(name);
  const CallingInterpreter here = state().common.here();
  return entry != nullptr && std::any_of(keys.begin(), keys.end(), [&](DispatchKey key) {
           return entry->active(key, here) != nullptr;
         });
}

namespace {

// With the lock held.
const Record& computed(const OperatorName& name, DispatchKey key) {
  const OperatorEntry* entry = state().find(name);
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
  return *entry->resolve(key, state().common, state().common.here()).record;
}

}  // namespace

bool has_computed_kernel(const OperatorName& name, DispatchKey key) {
  const std::lock_guard lock(state().mutex);
  const RecordRole role = computed(name, key).role;
  return role == RecordRole::Kernel || role == RecordRole::Observe || passes_calls_by(role);
}

bool is_fallthrough(const OperatorName& name, DispatchKey key) {
  const std::lock_guard lock(state().mutex);
  return passes_calls_by(computed(name, key).role);
}

bool has_fallback(DispatchKey key) {
  const std::lock_guard lock(state().mutex);
  return state().common.fallbacks.newest(key, state().common.here()) != nullptr;
}

std::vector<RegistryEvent> history() {
  const std::lock_guard lock(state().mutex);
  return state().history.events();
}

std::vector<OperatorName> names_at(std::optional<DispatchKey> key) {
  const std::lock_guard lock(state().mutex);
  const CallingInterpreter here = state().common.here();
  std::vector<OperatorName> names;
  for (const auto& [name, entry] : state().entries) {
    const bool is_there = key ? entry->active(*key, here) != nullptr : entry->has_kernel(here);
    if (is_there) names.push_back(name);
  }
  return names;
}

std::vector<OperatorName> dangling_overloads(std::string_view name) {
  const std::lock_guard lock(state().mutex);
  std::vector<OperatorName> names;
  const auto& entries = state().entries;
  for (auto at = entries.lower_bound(OperatorName{std::string(name), ""});
       at != entries.end() && at->first.name == name; ++at) {
    if (!at->second->definition && !at->second->kernels.empty()) names.push_back(at->first);
  }
  return names;
}

std::vector<std::string> dangling() {
  const std::lock_guard lock(state().mutex);
  std::vector<std::string> dumps;
  for (const auto& [name, entry] : state().entries) {
    if (!entry->definition && !entry->kernels.empty()) {
      dumps.push_back(opyard::dump(*entry, state().common.here()));
    }
  }
  return dumps;
}

CountedPtr<const Derivative> derivative(const OperatorName& name) {
  const std::lock_guard lock(state().mutex);
  const OperatorEntry* const entry = state().find(name);
  if (entry == nullptr || entry->gradient_slot == nullptr || entry->gradient_slot->given.empty()) {
    return nullptr;
  }
  return entry->gradient_slot->given.back().derivative;
}

std::uint64_t derivatives_changed() noexcept {
  return derivative_changes.load(std::memory_order_acquire);
}

CountedPtr<MissingKernelReporter> missing_kernel_reporter(const Operator& op) {
  const std::lock_guard lock(state().mutex);
  const OperatorEntry* entry = state().find(op);
  return entry == nullptr ? CountedPtr<MissingKernelReporter>() : entry->reporter;
}

Registered registered(const OperatorName& name) {
  const std::lock_guard lock(state().mutex);
  Registered found;
  const OperatorEntry* entry = state().find(name);
  if (entry == nullptr) return found;
  if (entry->definition) {
    found.definition = entry->definition->provenance.str();
    found.alias_analysis = entry->definition->alias_analysis;
  }
  const CallingInterpreter here = state().common.here();
  for (const auto& [key, stack] : entry->kernels) {
    bool covered = false;
    for (auto kernel = stack.rbegin(); kernel != stack.rend(); ++kernel) {
      const bool active = !covered && here.sees(*kernel->record);
      covered = covered || active;
      found.kernels.push_back({key, kernel->record->provenance.str(), active});
    }
  }
  return found;
}

std::string dump(const OperatorName& name) {
  const std::lock_guard lock(state().mutex);
  const OperatorEntry* entry = state().find(name);
  return entry == nullptr ? "" : opyard::dump(*entry, state().common.here());
}

std::string dump_table(const OperatorName& name) {
  const std::lock_guard lock(state().mutex);
  const OperatorEntry* entry = state().find(name);
  return entry == nullptr ? "" : opyard::dump_table(*entry, state().common, state().common.here());
}

std::string dump_table(const OperatorName& name, const Interpreter* interpreter) {
  const std::lock_guard lock(state().mutex);
  const OperatorEntry* entry = state().find(name);
  const CallingInterpreter caller =
      interpreter == nullptr ? CallingInterpreter::outside() : CallingInterpreter::of(interpreter);
  return entry == nullptr ? "" : opyard::dump_table(*entry, state().common, caller);
}

namespace {

// With the lock held.
void require_agreement(const OperatorEntry& entry) {
  const std::string drift = entry.find_drift(state().common);
  if (drift.empty()) return;
  const CallingInterpreter here = state().common.here();
  fail(ErrorKind::Internal,
       fmt::format("{}\nCanonical state\n{}Computed table:\n{}", drift, opyard::dump(entry, here),
                   opyard::dump_table(entry, state().common, here)));
}

}  // namespace

void check_invariants() {
  const std::lock_guard lock(state().mutex);
  for (const auto& [name, entry] : state().entries) require_agreement(*entry);
}

void check_invariants(const OperatorName& name) {
  const std::lock_guard lock(state().mutex);
  const OperatorEntry* const entry = state().find(name);
  if (entry == nullptr || !entry->exists()) {
    fail(ErrorKind::NotFound, fmt::format("operator {} does not exist", to_string(name)));
  }
  require_agreement(*entry);
}

Resolution resolve(const Operator& op, DispatchKey key) {
  const std::lock_guard lock(state().mutex);
  const OperatorEntry* entry = state().find(op);
  if (entry == nullptr) {
    return {&gone_record(), "definition unregistered", gone_record().provenance.str()};
  }
  const Resolved resolved = entry->resolve(key, state().common, state().common.here());
  return {resolved.record, resolved.rule, resolved.provenance().str()};
}

std::vector<DispatchKey> keys_with_kernel(const Operator& op) {
  const std::lock_guard lock(state().mutex);
  std::vector<DispatchKey> keys;
  const OperatorEntry* entry = state().find(op);
  if (entry == nullptr) return keys;
  const CallingInterpreter here = state().common.here();
  for (const auto& [key, stack] : entry->kernels) {
    if (entry->active(key, here) != nullptr) keys.push_back(key);
  }
  return keys;
}

std::size_t retired_count() { return retired_record_count(); }

}  // namespace opyard::inspect
