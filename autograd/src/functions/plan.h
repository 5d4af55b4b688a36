// autograd/functions/plan.h: the tape's plan of an operator, made at its first use.
//
// A Plan belongs to an operator and its derivative. What a call saves depends on which of its
// tensors need a gradient: a Needs for each set of them that came, found once and then cached.
//
// [Plain] An operator is plain if it has formulas, writes nothing, and takes and gives no lists of
// tensors. Its calls are taped on a short way: tape_plain().
//
// [Borrowed] An in-place form without a derivative has that of its functional form, which may be
// given anew later: then `renewed` is the plan from then on.
//
// Threads: a plan is immutable but for its list of Needs, which only grows, without a lock.
//
// Depends on: autograd/derivative.h.
#pragma once

#include <atomic>
#include <vector>

#include "opyard/autograd/derivative.h"
#include "opyard/detail/schema/declared_writes.h"

namespace opyard::autograd {

inline constexpr int kNone = kNoArgument;

// What a call saves if these of its tensors need a gradient. Immutable.
struct Needs {
  std::uint64_t tensors;                // bit i: Plan::tensors[i] needs one
  std::uint64_t edges = 0;              // those of them through which one flows
  std::uint64_t codes = 0;              // the formulas that run
  std::uint64_t saved = 0;              // the tensors that are saved
  std::vector<std::uint32_t> before{};  // sources that are saved before the call
  std::vector<std::uint32_t> after{};   // and after it
  bool is_plain = true;  // no formula is missing, and no answer needs the arguments later
  const Needs* next = nullptr;
};

struct Plan final : Counted {
  const Operator* op;
  std::vector<FormulaSet::TensorArgument> tensors;
  std::vector<std::size_t> written;  // arguments
  std::vector<int> view_of;          // by result: the argument it is a view of, or kNone
  bool has_out = false;
  bool is_view = false;
  bool is_detach = false;
  bool is_restriding = false;  // it writes sizes and strides, and no elements
  bool is_plain = false;       // see [Plain]
  CountedPtr<CustomDerivative> custom;
  CountedPtr<const FormulaSet> formulas;
  bool reads_original = false;  // a formula reads what is overwritten

  // See [Borrowed].
  bool borrows = false;
  CountedPtr<const Derivative> borrowed;
  mutable std::atomic<std::uint64_t> derivatives{0};  // inspect::derivatives_changed() when it held
  mutable SetOnce<Plan> renewed;

  Plan() = default;
  ~Plan() override;

  const Needs& needs(std::uint64_t of) const {
    for (const Needs* one = needs_.load(std::memory_order_acquire); one != nullptr;
         one = one->next) {
      if (one->tensors == of) return *one;
    }
    return add(of);
  }

 private:
  const Needs& add(std::uint64_t of) const;

  mutable std::atomic<const Needs*> needs_{nullptr};
};

// `registered` is the operator's own derivative, if it has one.
CountedPtr<Plan> make_plan(const Operator& op, const CountedPtr<const Derivative>& registered);
// The plan that holds by now. See [Borrowed].
const Plan& newest(const Plan& plan);

// With its argument a tensor, or each tensor of a list; undefined ones, too.
template <typename Visit>
void each_tensor(const Plan& plan, std::span<const Value> arguments, const Visit& visit) {
  for (const auto& [argument, list] : plan.tensors) {
    const Value& value = arguments[argument];
    if (value.is_tensor()) {
      visit(argument, value.tensor_unchecked());
    } else if (value.is_list()) {
      for (const Value& item : value.items_unchecked()) {
        visit(argument, item.is_tensor() ? item.tensor_unchecked() : Tensor());
      }
    }
  }
}

inline bool is_differentiable(const Tensor& tensor) {
  return is_floating_point(tensor.dtype()) || is_complex(tensor.dtype());
}

}  // namespace opyard::autograd
