// opyard/detail/registry/formula_check.h: checks of formulas and bodies at registration.
//
// The registry stores formulas as text. The library that can read them may ask to see each
// derivative of an operator that is defined, and refuse it. Bodies of composite kernels are read
// with them: detail/registry/body.h.
//
// Depends on: detail/registry/gradient_slot.h, schema/schema.h.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/schema/schema.h"

namespace opyard::detail {

// Raises what is wrong with a derivative. Called on any thread, with no lock held.
using FormulaCheck = void (*)(const Operator& op, const Derivative& derivative);

// Null if none is asked.
extern OPYARD_API constinit std::atomic<FormulaCheck> formula_check;

// Raises what is wrong with a derivative, if that is asked and this thread loads no library.
void check_derivative(const OperatorName& name, const CountedPtr<const Derivative>& derivative);

// Lives while this thread loads a library. A formula or body may call operators of any of the
// library's blocks: so they are looked at when all have run, by run(); or never, if that is not
// called.
class LateFormulaChecks {
 public:
  LateFormulaChecks() noexcept;
  LateFormulaChecks(const LateFormulaChecks&) = delete;
  LateFormulaChecks& operator=(const LateFormulaChecks&) = delete;
  ~LateFormulaChecks();

  // Raises what is wrong with the first one that is wrong.
  void run();
  // Whether one lives on this thread.
  static bool is_on() noexcept;
  // Notes the Body of an operator's kernel for that one, and who raises what is wrong with it.
  using BodyCheck = void (*)(const OperatorName& name, const Counted& body);
  static void note(const OperatorName& name, CountedPtr<const Counted> body, BodyCheck check);

 private:
  friend void check_derivative(const OperatorName& name,
                               const CountedPtr<const Derivative>& derivative);

  LateFormulaChecks* const former_;
  std::vector<std::pair<OperatorName, CountedPtr<const Derivative>>> noted_;
  struct NotedBody {
    OperatorName name;
    CountedPtr<const Counted> body;
    BodyCheck check;
  };
  std::vector<NotedBody> bodies_;
};

}  // namespace opyard::detail
