// registry/views.cpp: making views, finding the one of a call, and who takes part.
#include "registry/views.h"

#include "registry/built_in_records.h"
#include "registry/state.h"

namespace opyard {
namespace {

void run_view(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Record& record = op.record_here(keys);
  op.run_boxed(record, keys, stack);
}

const Record& slot_of_view(const OperatorView& view, DispatchKeySet keys) noexcept {
  return *view.slots[runtime_index(keys)].load(std::memory_order_acquire);
}

}  // namespace

const Record& view_record() {
  static const Record& record =
      make_built_in_record(RecordRole::View, &run_view, "as the interpreter sees it");
  return record;
}

const OperatorView* OperatorView::find(const Operator& op, Who who,
                                       const Interpreter* interpreter) noexcept {
  for (const OperatorView* view = first(op); view != nullptr; view = view->next) {
    if (view->who == who && view->interpreter.load(std::memory_order_acquire) == interpreter) {
      return view;
    }
  }
  return nullptr;
}

// Whoever finds a new view finds the records of the others in it.
void OperatorView::add(Operator& op, Who who, const Interpreter* interpreter) {
  const OperatorView* const others = find(op, Who::Others, nullptr);
  const WatchedView* const behind = WatchedView::find(op);
  const auto fill = [&](OperatorView& view) {
    for (std::size_t slot = 0; slot < std::size_t(kSlotCount); ++slot) {
      const auto& from = others == nullptr ? op.table_.slots[slot] : others->slots[slot];
      const Record* record = from.load(std::memory_order_acquire);
      if (record == &watch_record()) record = behind->slots[slot].load(std::memory_order_acquire);
      view.slots[slot].store(record, std::memory_order_relaxed);
    }
  };
  for (OperatorView* view = first(op); view != nullptr; view = view->next) {
    if (who != Who::Interpreter || !view->waits()) continue;
    fill(*view);
    view->interpreter.store(interpreter, std::memory_order_release);
    return;
  }
  auto* const view = new OperatorView{who, interpreter, nullptr, {}};
  fill(*view);
  link(op, view);
}

void OperatorView::link(Operator& op, OperatorView* view) noexcept {
  view->next = first(op);
  op.views_.store(view, std::memory_order_release);
}

// Its slots are written before the first one leads to the watchers.
void WatchedView::require(Operator& op) {
  if (find(op) == nullptr) link(op, new WatchedView);
}

void OperatorView::require(Operator& op, const Interpreter& interpreter) {
  for (const Who who : {Who::Others, Who::Outside}) {
    if (find(op, who, nullptr) == nullptr) add(op, who, nullptr);
  }
  if (find(op, Who::Interpreter, &interpreter) == nullptr) add(op, Who::Interpreter, &interpreter);
}

void OperatorView::release(const Operator& op, const Interpreter& interpreter) noexcept {
  for (OperatorView* view = first(op); view != nullptr; view = view->next) {
    if (view->interpreter.load() == &interpreter) view->interpreter.store(nullptr);
  }
}

void OperatorView::destroy_all(const Operator& op) noexcept {
  for (OperatorView* view = first(op); view != nullptr;) {
    OperatorView* const gone = std::exchange(view, view->next);
    if (gone->who == Who::Watched) {
      delete static_cast<WatchedView*>(gone);
    } else {
      delete gone;
    }
  }
}

Operator::~Operator() { OperatorView::destroy_all(*this); }

const Record& Operator::record_for(const Interpreter* interpreter,
                                   DispatchKeySet keys) const noexcept {
  using Who = OperatorView::Who;
  const OperatorView* view = nullptr;
  if (interpreter == nullptr) {
    view = OperatorView::find(*this, Who::Outside, nullptr);
  } else {
    view = OperatorView::find(*this, Who::Interpreter, interpreter);
    if (view == nullptr) view = OperatorView::find(*this, Who::Others, nullptr);
  }
  return view == nullptr ? record(keys) : slot_of_view(*view, keys);
}

// Asks those that have a view first: they are few, and most often one of them it is.
const Record& Operator::record_here(DispatchKeySet keys) const noexcept {
  using Who = OperatorView::Who;
  for (const OperatorView* view = OperatorView::first(*this); view != nullptr; view = view->next) {
    const Interpreter* const interpreter = view->interpreter.load(std::memory_order_acquire);
    if (interpreter != nullptr && const_cast<Interpreter*>(interpreter)->is_current()) {
      return slot_of_view(*view, keys);
    }
  }
  const bool inside = Interpreter::here() != nullptr;
  const OperatorView* const view =
      OperatorView::find(*this, inside ? Who::Others : Who::Outside, nullptr);
  return view == nullptr ? record(keys) : slot_of_view(*view, keys);
}

void Registry::join(const Interpreter* interpreter) {
  const std::lock_guard lock(state_->mutex);
  Common& common = state_->common;
  common.interpreters.push_back(interpreter);
  try {
    for (const auto& [name, entry] : state_->entries) {
      if (entry->op != nullptr) entry->prepare_views(*entry->op, common);
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
    for (const auto& op : entry->former) OperatorView::release(*op, *interpreter);
  }
  state_->publish_all();
}

}  // namespace opyard
