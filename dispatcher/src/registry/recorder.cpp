// registry/recorder.cpp: arming the recorder, and derivatives that come and go.
#include "registry/recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "opyard/registry/registry.h"
#include "opyard/schema/relations.h"
#include "registry/state.h"

namespace opyard {

constinit std::atomic<bool> detail::recorder_armed{false};
constinit std::atomic<const RecorderFunctions*> recorder_functions{nullptr};
constinit std::atomic<std::uint64_t> derivative_changes{0};

namespace {

// With boxes; the ways without them are in registry/typed.h and registry/register_call.cpp.
void run_recorder(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const std::span<const Value> arguments = stack.top(op.schema().arguments.size());
  if (detail::passes(record, detail::may_need_gradient(arguments))) {
    DispatchKeySet below = detail::below_layer(keys);
    const Record& next = op.follow(below);
    return op.run_boxed(next, below, stack);
  }
  recorder_functions.load(std::memory_order_acquire)
      ->record(*static_cast<RecordedOperator*>(record.context), op, keys, stack);
}

// Whether it writes an argument, or a result shares memory with one.
bool writes_or_views(const Schema& schema) {
  const auto has_alias = [](const Argument& argument) { return argument.alias.has_value(); };
  return std::any_of(schema.arguments.begin(), schema.arguments.end(), has_alias);
}

// Raises BadRegistration if a formula is of something that the operator does not have.
void check_names(const Schema& schema, const Derivative& derivative) {
  for (const Formula& formula : derivative.formulas) {
    std::string_view rest = formula.of;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      std::string_view name = rest.substr(0, comma);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
      while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
      const bool known =
          std::any_of(schema.arguments.begin(), schema.arguments.end(),
                      [&](const Argument& argument) { return argument.name == name; });
      if (known) continue;
      fail(ErrorKind::BadRegistration,
           fmt::format("{}: a derivative is given for '{}', which is no argument ({}).\n"
                       "Declaration: {}",
                       to_string(schema.name), name, derivative.provenance, to_string(schema)));
    }
  }
}

}  // namespace

bool detail::may_need_gradient(std::span<const Value> arguments) noexcept {
  for (const Value& value : arguments) {
    if (value.is_tensor()) {
      const Tensor& tensor = value.tensor_unchecked();
      if (tensor.defined() && may_need_gradient(*tensor.impl())) return true;
    } else if (value.is_list() && may_need_gradient(value.items_unchecked())) {
      return true;
    }
  }
  return false;
}

std::unique_ptr<Record> make_recorder(const Schema& schema,
                                      CountedPtr<const Derivative> derivative) {
  auto record = std::make_unique<Record>();
  record->role = RecordRole::Recorder;
  record->boxed = &run_recorder;
  record->sees_all = writes_or_views(schema);
  record->provenance = "built in";
  record->context = make_counted<RecordedOperator>(std::move(derivative)).release();
  record->destroy = [](void* context) {
    CountedAccess::release(static_cast<RecordedOperator*>(context));
  };
  return record;
}

Recording::Records Recording::make(const Schema& schema) const {
  Records records;
  records.push_back(make_recorder(schema, nullptr));
  for (const Given& one : given) records.push_back(make_recorder(schema, one.derivative));
  return records;
}

void Recording::take(Records records) noexcept {
  std::swap(plain, records[0]);
  for (std::size_t i = 0; i < given.size(); ++i) std::swap(given[i].record, records[i + 1]);
  for (auto& former : records) {
    if (former != nullptr) retire(std::move(former));
  }
}

void arm_recorder(const RecorderFunctions& functions) { Registry::instance().arm(functions); }

void Registry::arm(const RecorderFunctions& functions) {
  const std::lock_guard lock(state_->mutex);
  if (state_->common.armed) return;
  // Everything that may fail comes first.
  std::vector<std::pair<OperatorEntry*, Recording::Records>> made;
  for (const auto& [name, entry] : state_->entries) {
    if (entry->op == nullptr) continue;
    if (entry->recording == nullptr) entry->recording = std::make_unique<Recording>();
    made.emplace_back(entry.get(), entry->recording->make(entry->op->schema()));
  }
  recorder_functions.store(new RecorderFunctions(functions), std::memory_order_release);
  for (auto& [entry, records] : made) entry->recording->take(std::move(records));
  state_->common.armed = true;
  state_->publish_all();
  detail::recorder_armed.store(true, std::memory_order_release);
}

Registration Registry::differentiate(const OperatorName& name,
                                     CountedPtr<const Derivative> derivative, Owner owner) {
  RecordChain freed;
  CountedPtr<const Derivative> covered;
  const std::lock_guard lock(state_->mutex);
  OperatorEntry& entry = state_->entry(name);
  if (entry.recording == nullptr) entry.recording = std::make_unique<Recording>();
  Recording& recording = *entry.recording;
  std::unique_ptr<Record> record;
  if (entry.op != nullptr) check_names(entry.op->schema(), *derivative);
  if (entry.op != nullptr && state_->common.armed) {
    record = make_recorder(entry.op->schema(), derivative);
  }
  recording.given.reserve(recording.given.size() + 1);
  const std::uint64_t id = state_->add_target({State::What::Derivative, &entry});
  const auto own =
      std::find_if(recording.given.begin(), recording.given.end(),
                   [&](const auto& one) { return owner != nullptr && one.owner == owner; });
  if (own != recording.given.end()) {
    state_->targets.erase(own->id);
    covered = std::move(own->derivative);
    if (own->record != nullptr) retire(std::move(own->record));
    recording.given.erase(own);
  }
  recording.given.push_back({id, owner, std::move(derivative), std::move(record)});
  derivative_changes.fetch_add(1, std::memory_order_acq_rel);
  entry.publish(state_->common);
  freed = collect_retired();
  return Registration(id);
}

}  // namespace opyard
