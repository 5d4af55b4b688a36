// registry/derivatives.cpp: arming the tape, and registering derivatives.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "opyard/detail/registry/exchange_tape.h"
#include "opyard/detail/registry/formula_check.h"
#include "opyard/registry/registry.h"
#include "registry/gradient_slot.h"
#include "registry/state.h"

namespace opyard {
namespace {

// A line of the kind "tangent self" is of one argument; a formula says no kind.
std::string_view without_kind(std::string_view of) {
  constexpr std::string_view kKind = "tangent ";
  if (of.starts_with(kKind)) of.remove_prefix(kKind.size());
  return of;
}

// Raises BadRegistration if a formula is of something that the operator does not have.
void check_names(const Schema& schema, const Derivative& derivative) {
  for (const Formula& formula : derivative.formulas) {
    std::string_view rest = without_kind(formula.of);
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

constinit thread_local detail::LateFormulaChecks* late_checks = nullptr;

void check_now(detail::FormulaCheck check, const OperatorName& name, const Derivative& derivative) {
  if (const Operator* const op = Registry::instance().find(name)) check(*op, derivative);
}

}  // namespace

namespace detail {

constinit std::atomic<FormulaCheck> formula_check{nullptr};

LateFormulaChecks::LateFormulaChecks() noexcept : former_(std::exchange(late_checks, this)) {}
LateFormulaChecks::~LateFormulaChecks() { late_checks = former_; }

bool LateFormulaChecks::is_on() noexcept { return late_checks != nullptr; }

void LateFormulaChecks::note(const OperatorName& name, CountedPtr<const Counted> body,
                             BodyCheck check) {
  late_checks->bodies_.push_back({name, std::move(body), check});
}

void LateFormulaChecks::run() {
  for (const NotedBody& noted : bodies_) noted.check(noted.name, *noted.body);
  const FormulaCheck check = formula_check.load(std::memory_order_acquire);
  if (check == nullptr) return;
  for (const auto& [name, derivative] : noted_) check_now(check, name, *derivative);
}

void check_derivative(const OperatorName& name, const CountedPtr<const Derivative>& derivative) {
  const FormulaCheck check = formula_check.load(std::memory_order_acquire);
  if (check == nullptr) return;
  if (late_checks != nullptr) {
    late_checks->noted_.emplace_back(name, derivative);
  } else {
    check_now(check, name, *derivative);
  }
}

}  // namespace detail

void arm_tape(const TapeFunctions& functions) { Registry::instance().arm(functions); }

void exchange_tape(const TapeFunctions& functions) {
  OPYARD_CHECK(detail::tape_armed.load(std::memory_order_acquire), BadValue,
               "exchange_tape: no tape is armed that could be replaced; call arm_tape() first");
  tape_functions.store(&functions, std::memory_order_release);
}

void Registry::arm(const TapeFunctions& functions) {
  const std::lock_guard lock(state_->mutex);
  if (state_->common.armed) return;
  // Everything that may fail comes first.
  std::vector<std::pair<OperatorEntry*, GradientSlot::Records>> made;
  for (const auto& [name, entry] : state_->entries) {
    if (entry->op == nullptr) continue;
    if (entry->gradient_slot == nullptr) entry->gradient_slot = std::make_unique<GradientSlot>();
    made.emplace_back(entry.get(), entry->gradient_slot->make(entry->op->schema()));
  }
  // For as long as the process lives: calls may be in it when exchange_tape() has put others there.
  static const TapeFunctions* const first = new TapeFunctions(functions);
  tape_functions.store(first, std::memory_order_release);
  for (auto& [entry, records] : made) entry->gradient_slot->take(std::move(records));
  state_->common.armed = true;
  state_->publish_all();
  detail::tape_armed.store(true, std::memory_order_release);
}

Registration Registry::differentiate(const OperatorName& name,
                                     CountedPtr<const Derivative> derivative, Owner owner) {
  if (const Operator* const op = find(name)) check_names(op->schema(), *derivative);
  detail::check_derivative(name, derivative);
  RecordChain freed;
  CountedPtr<const Derivative> covered;
  const std::lock_guard lock(state_->mutex);
  OperatorEntry& entry = state_->entry(name);
  if (entry.gradient_slot == nullptr) entry.gradient_slot = std::make_unique<GradientSlot>();
  GradientSlot& gradient_slot = *entry.gradient_slot;
  std::unique_ptr<Record> record;
  if (entry.op != nullptr) check_names(entry.op->schema(), *derivative);
  if (entry.op != nullptr && state_->common.armed) {
    record = make_tape_record(entry.op->schema(), derivative);
  }
  gradient_slot.given.reserve(gradient_slot.given.size() + 1);
  const std::uint64_t id = state_->add_target({State::What::Derivative, &entry});
  const auto own =
      std::find_if(gradient_slot.given.begin(), gradient_slot.given.end(),
                   [&](const auto& one) { return owner != nullptr && one.owner == owner; });
  if (own != gradient_slot.given.end()) {
    state_->targets.erase(own->id);
    covered = std::move(own->derivative);
    if (own->record != nullptr) retire(std::move(own->record));
    gradient_slot.given.erase(own);
  }
  gradient_slot.given.push_back({id, owner, std::move(derivative), std::move(record)});
  derivative_changes.fetch_add(1, std::memory_order_acq_rel);
  entry.publish(state_->common);
  freed = collect_retired();
  return Registration(id);
}

}  // namespace opyard
