// registry/interpreter_tables.cpp: per-interpreter tables: computing them, and look-up for a call.
#include "registry/interpreter_tables.h"

#include <utility>

namespace opyard {
namespace {

const Record& slot_of_table(const InterpreterTable& table, DispatchKeySet keys) noexcept {
  return *table.slots[runtime_index(keys)].load(std::memory_order_acquire);
}

}  // namespace

const InterpreterTable* InterpreterTable::find(const Operator& op, Who who,
                                               const Interpreter* interpreter) noexcept {
  for (const InterpreterTable* table = first(op); table != nullptr; table = table->next) {
    if (table->who == who && table->interpreter.load(std::memory_order_acquire) == interpreter) {
      return table;
    }
  }
  return nullptr;
}

// A reader of a new table finds the records of the others in it. If no calls went by tables until
// now, that of the others is as it was when the last ones did: its records may be gone, and are not
// looked at. All tables are written before the first slot leads to them.
void InterpreterTable::add(Operator& op, Who who, const Interpreter* interpreter) {
  const InterpreterTable* const others = find(op, Who::Others, nullptr);
  const WatchTable* const behind = WatchTable::find(op);
  const auto fill = [&](InterpreterTable& table) {
    for (std::size_t slot = 0; slot < std::size_t(kSlotCount); ++slot) {
      const auto& from = others == nullptr ? op.table_.slots[slot] : others->slots[slot];
      const Record* record = from.load(std::memory_order_acquire);
      if (others == nullptr && record->role == RecordRole::Watch) {
        record = behind->slots[slot].load(std::memory_order_acquire);
      }
      table.slots[slot].store(record, std::memory_order_relaxed);
    }
  };
  for (InterpreterTable* table = first(op); table != nullptr; table = table->next) {
    if (who != Who::Interpreter || !table->waits()) continue;
    fill(*table);
    table->interpreter.store(interpreter, std::memory_order_release);
    return;
  }
  auto* const table = new InterpreterTable{who, interpreter, nullptr, {}};
  fill(*table);
  link(op, table);
}

void InterpreterTable::link(Operator& op, InterpreterTable* table) noexcept {
  table->next = first(op);
  op.interpreter_tables_.store(table, std::memory_order_release);
}

// Its slots are written before the first one leads to the watchers.
void WatchTable::require(Operator& op) {
  if (find(op) == nullptr) link(op, new WatchTable);
}

void InterpreterTable::require(Operator& op, const Interpreter& interpreter) {
  for (const Who who : {Who::Others, Who::Outside}) {
    if (find(op, who, nullptr) == nullptr) add(op, who, nullptr);
  }
  if (find(op, Who::Interpreter, &interpreter) == nullptr) add(op, Who::Interpreter, &interpreter);
}

void InterpreterTable::release(const Operator& op, const Interpreter& interpreter) noexcept {
  for (InterpreterTable* table = first(op); table != nullptr; table = table->next) {
    if (table->interpreter.load() == &interpreter) table->interpreter.store(nullptr);
  }
}

void InterpreterTable::destroy_all(const Operator& op) noexcept {
  for (InterpreterTable* table = first(op); table != nullptr;) {
    InterpreterTable* const gone = std::exchange(table, table->next);
    if (gone->who == Who::Watch) {
      delete static_cast<WatchTable*>(gone);
    } else {
      delete gone;
    }
  }
}

Operator::~Operator() { InterpreterTable::destroy_all(*this); }

const Record& Operator::record_for(const Interpreter* interpreter,
                                   DispatchKeySet keys) const noexcept {
  using Who = InterpreterTable::Who;
  const InterpreterTable* table = nullptr;
  if (interpreter == nullptr) {
    table = InterpreterTable::find(*this, Who::Outside, nullptr);
  } else {
    table = InterpreterTable::find(*this, Who::Interpreter, interpreter);
    if (table == nullptr) table = InterpreterTable::find(*this, Who::Others, nullptr);
  }
  return table == nullptr ? record(keys) : slot_of_table(*table, keys);
}

// Asks those that have a table of their own first: they are few, and most often one of them it is.
const Record& Operator::record_here(DispatchKeySet keys) const noexcept {
  using Who = InterpreterTable::Who;
  for (const InterpreterTable* table = InterpreterTable::first(*this); table != nullptr;
       table = table->next) {
    const Interpreter* const interpreter = table->interpreter.load(std::memory_order_acquire);
    if (interpreter != nullptr && const_cast<Interpreter*>(interpreter)->is_current()) {
      return slot_of_table(*table, keys);
    }
  }
  const bool inside = Interpreter::here() != nullptr;
  const InterpreterTable* const table =
      InterpreterTable::find(*this, inside ? Who::Others : Who::Outside, nullptr);
  return table == nullptr ? record(keys) : slot_of_table(*table, keys);
}

}  // namespace opyard
