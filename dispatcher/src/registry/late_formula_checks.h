// registry/late_formula_checks.h: derivatives of a library that is being loaded.
//
// A formula may call operators of any of the library's blocks. So they are looked at when all have
// run, by run(); or never, if that is not called.
//
// Threads: of the thread that makes it. Depends on: detail/registry/formula_check.h.
#pragma once

#include <utility>
#include <vector>

#include "opyard/detail/registry/formula_check.h"
#include "opyard/schema/schema.h"

namespace opyard {

class LateFormulaChecks {
 public:
  LateFormulaChecks() noexcept;
  LateFormulaChecks(const LateFormulaChecks&) = delete;
  LateFormulaChecks& operator=(const LateFormulaChecks&) = delete;
  ~LateFormulaChecks();

  // Raises what is wrong with the first one that is wrong.
  void run();

  // Raises what is wrong with the derivative, if that is asked and this thread loads nothing.
  static void check(const OperatorName& name, const CountedPtr<const Derivative>& derivative);

 private:
  LateFormulaChecks* const former_;
  std::vector<std::pair<OperatorName, CountedPtr<const Derivative>>> noted_;
};

}  // namespace opyard
