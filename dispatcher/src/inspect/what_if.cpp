// inspect/what_if.cpp: trial of a registration on one entry, under the registry's lock.
//
// The entry's kernels are changed and put back, and nothing is published in between, so calls
// notice nothing: they read slots. Others that ask for kernels wait for the lock.
#include "opyard/inspect/inspect.h"

#include <fmt/format.h>

#include "inspect/dump.h"
#include "registry/state.h"

namespace opyard {
namespace {

constexpr const char* kTheNewKernel = "the new kernel";
constexpr std::uint64_t kTrial = 0;  // no registration has this number
constexpr std::uint64_t kOnTop = ~std::uint64_t{1};

// The active kernel of a key, taken away, or one put on top; until the end of the scope.
class Trial {
 public:
  Trial(OperatorEntry& entry, DispatchKey key, WhatIf change) : entry_(entry), key_(key) {
    if (change == WhatIf::Removal) {
      const KernelStacks::Stack stack = entry.kernels.at(key);
      if (stack.empty()) {
        fail(ErrorKind::BadValue,
             fmt::format("{}: there is no kernel at {} that could be unregistered",
                         to_string(entry.name), to_string(key)));
      }
      removed_ = entry.kernels.take(key, stack.back().id);
      return;
    }
    auto record = std::make_unique<Record>();
    record->provenance = kTheNewKernel;
    if (change == WhatIf::Kernel) record->on_meta = OnMeta::Serves;
    if (change == WhatIf::Fallthrough) {
      record->role = RecordRole::Fallthrough;
      record->on_meta = OnMeta::Refuses;
    }
    record->key = key;
    record->order = kOnTop;
    entry.kernels.reserve_one();
    entry.kernels.push({std::move(record), kTrial, nullptr});
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    if (removed_.record != nullptr) {
      entry_.kernels.push(std::move(removed_));  // there was room for it
      return;
    }
    entry_.kernels.take(key_, kTrial);
  }

 private:
  OperatorEntry& entry_;
  const DispatchKey key_;
  RegisteredKernel removed_{};
};

// What is in each slot that can hold a kernel, as text; the rest is empty.
std::vector<std::string> table_of(const OperatorEntry& entry, const Common& common) {
  std::vector<std::string> table(std::size_t(kSlotCount), "");
  for (std::size_t slot = 0; slot < table.size(); ++slot) {
    const DispatchKey key = key_of_slot(unsigned(slot));
    if (key == DispatchKey::ThreadEntry || (slot > 0 && key == DispatchKey::Undefined)) continue;
    table[slot] = describe_slot(entry, key, common, common.here());
  }
  return table;
}

}  // namespace

std::vector<TableChange> inspect::what_if(const OperatorName& name, DispatchKey at, WhatIf change) {
  RegistryAccess::State& state = RegistryAccess::state();
  const DispatchKey key = kernel_key(name, at);
  const std::lock_guard lock(state.mutex);
  const auto found = state.entries.find(name);
  if (found == state.entries.end() || !found->second->exists()) {
    fail(ErrorKind::NotFound, fmt::format("operator {} does not exist", to_string(name)));
  }
  OperatorEntry& entry = *found->second;
  const std::vector<std::string> before = table_of(entry, state.common);
  const Trial trial(entry, key, change);
  const std::vector<std::string> after = table_of(entry, state.common);
  std::vector<TableChange> changes;
  for (std::size_t slot = 0; slot < before.size(); ++slot) {
    if (before[slot] == after[slot]) continue;
    const auto text = [](const std::string& line) { return line.empty() ? "missing" : line; };
    changes.push_back({key_of_slot(unsigned(slot)), text(before[slot]), text(after[slot])});
  }
  return changes;
}

}  // namespace opyard
