// registry/interpreter_tables.h: per-interpreter tables of an operator, and watchers of its calls.
//
// See [Interpreter tables] in registry/operator.h. An operator has tables from the first kernel on
// that serves one interpreter alone while several take part: one for each such interpreter, one for
// the others, and one for threads that are in none.
//
//   Operator ── table_ ── slot ──> record             if all see the same
//            │                └──> per_interpreter_record()        if they do not
//            └─ interpreter_tables_ ──> InterpreterTable ── slots              a chain
//
// A table is never freed, so that calls may walk the chain without a lock. The table of an
// interpreter that has left waits for the next one that comes.
//
// Threads: slots and interpreter are atomic, the chain only grows; all is written under the
// registry's lock. A call reads the table of the interpreter that its thread is in, which cannot
// leave meanwhile.
//
// [Watchers] The list is written under the registry's lock (registry/watching.cpp), and read by
// calls without it (registry/observed_call.cpp).
//
// Depends on: registry/operator.h, registry/watch.h, registry/kernel_stacks.h.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "opyard/detail/registry/watch.h"
#include "opyard/registry/operator.h"
#include "registry/kernel_stacks.h"

namespace opyard {

struct InterpreterTable {
  // Watch: what slots lead to behind the watchers; see registry/observed_call.cpp, [Behind].
  enum class Who : std::uint8_t { Interpreter, Others, Outside, Watch };

  const Who who;
  std::atomic<const Interpreter*> interpreter;  // null if it waits for one
  InterpreterTable* next;                       // written before the chain leads here
  std::atomic<const Record*> slots[kSlotCount];

  CallingInterpreter caller() const noexcept {
    return who == Who::Outside ? CallingInterpreter::outside()
                               : CallingInterpreter::of(interpreter.load());
  }
  bool waits() const noexcept { return who == Who::Interpreter && interpreter.load() == nullptr; }
  // Whether it is the table of someone's calls.
  bool is_seen() const noexcept { return !waits() && who != Who::Watch; }

  static InterpreterTable* first(const Operator& op) noexcept {
    return op.interpreter_tables_.load(std::memory_order_acquire);
  }
  static const InterpreterTable* find(const Operator& op, Who who,
                                      const Interpreter* interpreter) noexcept;
  // Makes those that are missing for a kernel of this interpreter. Raises bad_alloc.
  static void require(Operator& op, const Interpreter& interpreter);
  // Lets its table wait for the next one.
  static void release(const Operator& op, const Interpreter& interpreter) noexcept;
  static void destroy_all(const Operator& op) noexcept;

 protected:
  static void link(Operator& op, InterpreterTable* table) noexcept;

 private:
  static void add(Operator& op, Who who, const Interpreter* interpreter);
};

// Made when watchers are first put in front of an operator; lives as long as it.
struct WatchTable : InterpreterTable {
  // A word for each slot: KernelRun::note.
  mutable std::atomic<std::uint64_t> notes[kSlotCount] = {};

  WatchTable() noexcept : InterpreterTable{Who::Watch, nullptr, nullptr, {}} {}
  // Null if watchers were never in front of the operator.
  static WatchTable* find(const Operator& op) noexcept {
    for (InterpreterTable* table = first(op); table != nullptr; table = table->next) {
      if (table->who == Who::Watch) return static_cast<WatchTable*>(table);
    }
    return nullptr;
  }
  // Makes it if it is missing. Raises bad_alloc.
  static void require(Operator& op);
};

// See [Watchers].
struct WatcherList {
  static constexpr unsigned kMost = 8;
  std::atomic<std::uint8_t> on{0};  // a bit for each that watches, set after its watcher is stored
  std::atomic<Watcher*> list[kMost]{};

  template <typename Tell>
  void tell(std::uint8_t which, const Tell& what) noexcept {
    for (unsigned rest = which; rest != 0; rest &= rest - 1) {
      what(*list[std::countr_zero(rest)].load(std::memory_order_relaxed));
    }
  }
};
extern constinit WatcherList watchers;

}  // namespace opyard
