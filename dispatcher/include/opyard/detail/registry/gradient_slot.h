// opyard/detail/registry/gradient_slot.h: the tape's place in the tables of operators.
//
// Nothing here knows what a gradient is. A derivative is stored with its operator as text; the
// library that reads it, and has the tape, hands its functions over once:
//
//   arm_tape(functions)     from now on, in every table, for every interpreter, and never disarmed
//
// Before, the Autograd slots without a kernel fall through, and calls pay nothing. Afterwards they
// lead to a record with the role Tape. A call that comes to it goes on below, with its
// arguments as they are, if none of its tensors may need a gradient; else tape_call() gets it.
//
// [Order] A user's kernel or fallback at an Autograd key goes before the tape. So does a
// composite kernel, unless its operator has a derivative.
//
// [May need] A tensor may need a gradient if the tape stores something with it, or with its
// storage, or has marked it as a view that gradients must not be lost through. That says no more
// than that tape_call() has to look.
//
// Depends on: registry/record.h, keys/gradient_mode.h, keys/runtime_table.h, tensor/tensor.h.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "opyard/detail/base/set_once.h"
#include "opyard/detail/keys/runtime_table.h"
#include "opyard/detail/registry/record.h"
#include "opyard/keys/gradient_mode.h"

namespace opyard {

// The gradient of one argument, or of several with commas between their names, as an expression in
// the language of graphs: {"self", "grad * other"}.
struct Formula {
  std::string of;
  std::string text;
};

// What is registered beside an operator: texts, or something that only the tape can read.
class OPYARD_API Derivative final : public Counted {
 public:
  Derivative(std::vector<Formula> formulas_of, std::string registered_at,
             CountedPtr<Counted> opaque = nullptr)
      : formulas(std::move(formulas_of)),
        provenance(std::move(registered_at)),
        function(std::move(opaque)) {}

  const std::vector<Formula> formulas;
  const std::string provenance;  // "registered at demo.cpp:12"
  const CountedPtr<Counted> function;
};

// The context of a tape's record: one for each operator and derivative, once it is armed.
class OPYARD_API TapedOperator final : public Counted {
 public:
  explicit TapedOperator(CountedPtr<const Derivative> of) : derivative(std::move(of)) {}

  const CountedPtr<const Derivative> derivative;  // null if none is registered
  SetOnce<Counted> plan;                          // what tape_call() makes of it at first use
};

struct TapeFunctions {
  // A call whose tensors may need a gradient, with its arguments on top of the stack. Takes it to
  // its end, as a boxed kernel does.
  void (*tape_call)(TapedOperator& taped, const Operator& op, DispatchKeySet keys, Stack& stack);
};

// Once in a process: a second time, and from a second library, it changes nothing. Raises
// bad_alloc, and is then not armed.
OPYARD_API void arm_tape(const TapeFunctions& functions);

namespace detail {

extern OPYARD_API constinit std::atomic<bool> tape_armed;  // stored last

// See [May need]. One test for all three, since as a rule none of them holds.
inline bool may_need_gradient(const TensorImpl& impl) noexcept {
  const auto word = [](const Counted* state) { return reinterpret_cast<std::uintptr_t>(state); };
  return (word(impl.gradient_state().get()) | word(impl.storage()->gradient_state().get()) |
          (impl.marks() & TensorImpl::kMadeWithoutGradients)) != 0;
}
OPYARD_API bool may_need_gradient(std::span<const Value> arguments) noexcept;

// Tapes a call that is not passed on, with its arguments on top of the stack.
OPYARD_API void run_taped(const Record& tape, const Operator& op, DispatchKeySet keys,
                          Stack& stack);
// Goes on with a call at this set, inside of a CallDepth.
OPYARD_API void run_below(const Operator& op, DispatchKeySet below, Stack& stack);

// may_need_gradient() for an argument of a typed call.
template <typename T>
bool holds_gradient(const T& argument) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return argument.defined() && may_need_gradient(*argument.impl());
  } else if constexpr (std::is_same_v<T, Value>) {
    return may_need_gradient(std::span<const Value>(&argument, 1));
  } else if constexpr (requires { argument.has_value(), *argument; }) {
    return argument.has_value() && holds_gradient(*argument);
  } else if constexpr (requires {
                         typename T::value_type;
                         argument.begin();
                       }) {
    if constexpr (!std::is_arithmetic_v<std::remove_cvref_t<typename T::value_type>>) {
      for (const auto& item : argument) {
        if (holds_gradient(item)) return true;
      }
    }
    return false;
  } else if constexpr (requires { argument.get(std::size_t{0}), argument.size(); }) {
    for (std::size_t i = 0; i < argument.size(); ++i) {
      if (holds_gradient(argument.get(i))) return true;
    }
    return false;
  } else {
    return false;
  }
}

// Whether the tape passes a call on of which it is known whether a tensor may need a gradient.
inline bool passes(const Record& tape, bool may_need) noexcept {
  return !may_need || !(gradients_enabled() || tape.sees_all);
}
// The set below the layer that a call has come to, which is the highest bit.
inline DispatchKeySet below_layer(DispatchKeySet keys) noexcept {
  return {DispatchKeySet::RAW, keys.raw() & ~(std::uint64_t{1} << highest_bit(keys.raw()))};
}

}  // namespace detail
}  // namespace opyard
