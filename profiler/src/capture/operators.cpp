// profiler/capture/operators.cpp: event source: operators and their kernels.
//
// [Names] An event holds the key of a name that tells operator, dispatch key and the origin of the
// kernel. A record may be freed before its events are, so the name is a copy. The word that the
// registry keeps for each slot remembers the key: beside it is a number of the record, so that a
// kernel that came later gets a name of its own.
//
// [Several interpreters] A slot in which interpreters see different records has no such word. Its
// keys are in a table of this file, whose entries are never changed or freed, so that a call finds
// one without a lock.
#include <atomic>
#include <new>

#include "json.h"
#include "opyard/detail/profiler/shapes.h"
#include "opyard/detail/registry/watch.h"
#include "opyard/profiler/names.h"
#include "opyard/profiler/session.h"
#include "opyard/registry/operator.h"

namespace opyard::profiler {
namespace {

// Tells apart the records that one slot may lead to: kernels by the number of their registration,
// those that have none by what they do.
std::uint32_t record_number(const Record& record) noexcept {
  return std::uint32_t(record.order << 4 | std::uint64_t(record.role)) | 0x8000'0000u;
}

std::uint32_t make_key(const KernelRun& kernel) noexcept {
  try {
    Name name;
    name.text = to_string(kernel.op.name());
    name.kind = "operator";
    name.group = add_name(name);
    name.extra = "{\"dispatch_key\": ";
    append_quoted(name.extra, to_string(key_of_slot(runtime_index(kernel.keys))));
    name.extra += ", \"kernel\": ";
    append_quoted(name.extra, to_valid_utf8(kernel.record.provenance.str()));
    name.extra += "}";
    return add_name(std::move(name));
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

struct KnownKernel {
  const Operator* op;
  unsigned slot;
  std::uint32_t number;
  std::uint32_t key;
  const KnownKernel* next;
};
constexpr std::size_t kLists = 256;
constinit std::atomic<const KnownKernel*> known_kernels[kLists]{};

// See [Several interpreters]. Two threads may make the same entry: that is harmless.
std::uint32_t find_key(const KernelRun& kernel) noexcept {
  const std::uint32_t number = record_number(kernel.record);
  const auto slot = unsigned(runtime_index(kernel.keys));
  const std::size_t hash = (reinterpret_cast<std::uintptr_t>(&kernel.op) >> 6) + slot * 31 + number;
  std::atomic<const KnownKernel*>& list = known_kernels[hash % kLists];
  const KnownKernel* const first = list.load(std::memory_order_acquire);
  for (const KnownKernel* at = first; at != nullptr; at = at->next) {
    if (at->op == &kernel.op && at->slot == slot && at->number == number) return at->key;
  }
  const std::uint32_t key = make_key(kernel);
  auto* const made = new (std::nothrow) KnownKernel{&kernel.op, slot, number, key, first};
  if (key == 0 || made == nullptr) {
    delete made;
    return key;
  }
  while (!list.compare_exchange_weak(made->next, made, std::memory_order_release)) {
  }
  return key;
}

// See [Names].
std::uint32_t kernel_key_of(const KernelRun& kernel) noexcept {
  if (__builtin_expect(kernel.note == nullptr, 0)) return find_key(kernel);
  const std::uint32_t number = record_number(kernel.record);
  const std::uint64_t note = kernel.note->load(std::memory_order_relaxed);
  if (__builtin_expect(note >> 32 == number, 1)) return std::uint32_t(note);
  const std::uint32_t key = make_key(kernel);
  if (key != 0) {
    kernel.note->store(std::uint64_t{number} << 32 | key, std::memory_order_relaxed);
  }
  return key;
}

SpanKind kind_of(const KernelRun& kernel) noexcept {
  return kernel.redispatch ? SpanKind::Kernel : SpanKind::Operator;
}

std::uint16_t slot_of_call(const KernelRun& kernel) noexcept {
  return std::uint16_t(runtime_index(kernel.keys));
}

class OperatorWatcher final : public Watcher {
 public:
  std::atomic<bool> with_shapes{false};
  std::atomic<bool> with_addresses{false};

  bool wants_values() const noexcept override {
    return with_shapes.load(std::memory_order_relaxed);
  }
  void on_enter(const KernelRun& kernel, std::span<const Value> arguments) noexcept override {
    const EventKind event = enter_of(kind_of(kernel));
    const std::uint32_t key = kernel_key_of(kernel);
    if (__builtin_expect(!kernel.boxed || !wants_values(), 1)) {
      return append_event(event, key, slot_of_call(kernel));
    }
    const ShapeWords shapes(arguments, with_addresses.load(std::memory_order_relaxed));
    if (Stream* const stream = Stream::current()) {
      stream->append(event, key, slot_of_call(kernel), shapes.data(), shapes.count());
    }
  }
  void on_exit(const KernelRun& kernel) noexcept override {
    append_event(exit_of(kind_of(kernel)), kernel_key_of(kernel));
  }
};
constinit OperatorWatcher watcher;

bool wants_operators(const SessionOptions& options) { return options.operators; }

void start_operators(Window&, const SessionOptions& options) {
  watcher.with_shapes.store(options.shapes, std::memory_order_relaxed);
  watcher.with_addresses.store(options.memory, std::memory_order_relaxed);
  start_watching(watcher);
}

void stop_operators(SourceReport&) { stop_watching(watcher); }

constexpr Source kOperatorSource{"operators", wants_operators, start_operators, stop_operators};
[[maybe_unused]] const bool operators_registered = (register_source(&kOperatorSource), true);

}  // namespace
}  // namespace opyard::profiler
