// registry/interpreters.cpp: which interpreters take part.
#include <mutex>

#include "registry/interpreter_tables.h"
#include "registry/state.h"

namespace opyard {

void Registry::join(const Interpreter* interpreter) {
  const std::lock_guard lock(state_->mutex);
  Common& common = state_->common;
  common.interpreters.push_back(interpreter);
  try {
    for (const auto& [name, entry] : state_->entries) {
      if (entry->op != nullptr) entry->prepare_tables(*entry->op, common);
    }
  } catch (...) {
    common.interpreters.pop_back();
    throw;
  }
  several_interpreters.store(common.several());
  state_->publish_all();
}

void Registry::leave(const Interpreter* interpreter) noexcept {
  const std::lock_guard lock(state_->mutex);
  if (std::erase(state_->common.interpreters, interpreter) == 0) return;
  several_interpreters.store(state_->common.several());
  for (const auto& [name, entry] : state_->entries) {
    for (const auto& op : entry->former) InterpreterTable::release(*op, *interpreter);
  }
  state_->publish_all();
}

}  // namespace opyard
