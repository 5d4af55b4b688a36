// registry/late_formula_checks.cpp: derivatives of a library that is being loaded.
#include "registry/late_formula_checks.h"

#include "opyard/registry/registry.h"

namespace opyard {
namespace {

constinit thread_local LateFormulaChecks* of_this_thread = nullptr;

void check_now(detail::FormulaCheck check, const OperatorName& name, const Derivative& derivative) {
  if (const Operator* const op = Registry::instance().find(name)) check(*op, derivative);
}

}  // namespace

constinit std::atomic<detail::FormulaCheck> detail::formula_check{nullptr};

LateFormulaChecks::LateFormulaChecks() noexcept : former_(std::exchange(of_this_thread, this)) {}
LateFormulaChecks::~LateFormulaChecks() { of_this_thread = former_; }

void LateFormulaChecks::run() {
  const detail::FormulaCheck check = detail::formula_check.load(std::memory_order_acquire);
  if (check == nullptr) return;
  for (const auto& [name, derivative] : noted_) check_now(check, name, *derivative);
}

void LateFormulaChecks::check(const OperatorName& name,
                              const CountedPtr<const Derivative>& derivative) {
  const detail::FormulaCheck check = detail::formula_check.load(std::memory_order_acquire);
  if (check == nullptr) return;
  if (of_this_thread != nullptr) {
    of_this_thread->noted_.emplace_back(name, derivative);
  } else {
    check_now(check, name, *derivative);
  }
}

}  // namespace opyard
