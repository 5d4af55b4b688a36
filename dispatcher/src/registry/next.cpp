// registry/next.cpp: call_next: finding the kernel below, cached.
//
// [Remembered] Each thread remembers the last answers, so that the registry is not asked, nor its
// lock taken, while tables stay as they are. An answer holds as long as table_changes is the number
// it was found with. A record that leaves a table is retired after that number has changed; so who
// finds the number unchanged, inside a CallDepth, may use the record, for the same reason as one
// that it reads from a slot.
#include "opyard/registry/next.h"

#include <fmt/format.h>

#include <memory>

#include "opyard/registry/registry.h"
#include "registry/built_in_records.h"
#include "registry/operator_entry.h"
#include "registry/state.h"

namespace opyard {
namespace {

struct Answer {
  const Operator* op = nullptr;
  const Record* record = nullptr;
  std::uint64_t order = 0;
  std::uint64_t changes = 0;
  DispatchKey at = DispatchKey::Undefined;
  DispatchKey key = DispatchKey::Undefined;
  const Interpreter* interpreter = nullptr;  // that the thread was in, if there are several
};

constexpr std::size_t kRemembered = 8;

// Behind a pointer: a library that a program loads late has little memory of threads.
constinit thread_local Answer* answers = nullptr;
constinit thread_local bool has_forgotten = false;  // the thread is ending

// Null if this thread remembers nothing any more. Throws std::bad_alloc.
OPYARD_COLD Answer* make_answers() {
  struct Owner {
    std::unique_ptr<Answer[]> memory = std::make_unique<Answer[]>(kRemembered);
    ~Owner() {
      answers = nullptr;
      has_forgotten = true;
    }
  };
  if (has_forgotten) return nullptr;
  thread_local Owner owner;
  return answers = owner.memory.get();
}

// The record that would serve this runtime key if a kernel at `at`, and those on top of it, were
// not registered. Inside a CallDepth.
const Record& resolve_below(const Operator& op, DispatchKey key, DispatchKey at,
                            std::uint64_t order) {
  const RegistryAccess::State& state = RegistryAccess::state();
  const std::lock_guard lock(state.mutex);
  const OperatorEntry* entry = state.find(op);
  if (entry == nullptr) return gone_record();
  return *entry->resolve_below(key, at, order, state.common).record;
}

// See [Remembered].
const Record& find_below(const Operator& op, KernelPlace place, DispatchKey key) {
  const std::uint64_t changes = table_changes.load(std::memory_order_acquire);
  Answer* const remembered = answers != nullptr ? answers : make_answers();
  if (remembered == nullptr) [[unlikely]]
    return resolve_below(op, key, place.key, place.order);
  Answer& answer = remembered[place.order % kRemembered];
  const Interpreter* const interpreter =
      several_interpreters.load(std::memory_order_relaxed) ? Interpreter::here() : nullptr;
  if (answer.changes != changes || answer.interpreter != interpreter || answer.op != &op ||
      answer.order != place.order || answer.at != place.key || answer.key != key) {
    const Record& record = resolve_below(op, key, place.key, place.order);
    answer = {&op, &record, place.order, changes, place.key, key, interpreter};
  }
  return *answer.record;
}

const Record* find_at(const KernelStacks& kernels, KernelPlace place) {
  for (const RegisteredKernel& kernel : kernels.at(place.key)) {
    if (kernel.record->order == place.order) return kernel.record.get();
  }
  return nullptr;
}

// The kernel of this place, or null once it is unregistered. If it serves the key of the call
// anyway, what the slot has, which may watch calls. Inside a CallDepth.
const Record* find_registered(const Operator& op, KernelPlace place, DispatchKeySet keys) {
  const RegistryAccess::State& state = RegistryAccess::state();
  const std::lock_guard lock(state.mutex);
  const OperatorEntry* entry = state.find(op);
  if (entry == nullptr) return &gone_record();
  const Record* own = find_at(entry->kernels, place);
  if (own == nullptr) own = find_at(state.common.fallbacks, place);
  const DispatchKey key = key_of_slot(runtime_index(keys));
  const bool serves = own == entry->resolve(key, state.common, state.common.here()).record;
  return own != nullptr && serves ? &op.record(keys) : own;
}

}  // namespace

std::optional<KernelPlace> serving_place(const Operator& op, DispatchKey key) {
  const RegistryAccess::State& state = RegistryAccess::state();
  const std::lock_guard lock(state.mutex);
  const OperatorEntry* entry = state.find(op);
  if (entry == nullptr) return std::nullopt;
  const Record& record = *entry->resolve(key, state.common, state.common.here()).record;
  if (record.order == 0) return std::nullopt;
  return place_of(record);
}

void call_pinned(const Operator& op, KernelPlace place, DispatchKeySet keys, Stack& stack) {
  detail::enter_thread();
  const detail::CallDepth depth;
  const Record* const record = find_registered(op, place, keys);
  if (record == nullptr) {
    stack.drop(op.schema().arguments.size());
    fail(ErrorKind::OperatorGone,
         fmt::format("{}: the kernel at {} that was asked for is unregistered by now; ask for the "
                     "one that serves the key now",
                     to_string(op.name()), to_string(place.key)));
  }
  run_covered(op, *record, keys, stack, false);
}

const Record& next_record(const Operator& op, KernelPlace place, DispatchKeySet& keys) {
  const DispatchKey key = key_of_slot(runtime_index(keys));
  const Record& record = find_below(op, place, key);
  if (record.role != RecordRole::Fallthrough) return record;
  keys = keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, keys.highest_layer());
  return op.follow(keys);
}

void call_next(const Operator& op, KernelPlace place, DispatchKeySet keys, Stack& stack) {
  detail::enter_thread();
  const detail::CallDepth depth;
  const Record& record = next_record(op, place, keys);
  run_covered(op, record, keys, stack, true);
}

}  // namespace opyard
