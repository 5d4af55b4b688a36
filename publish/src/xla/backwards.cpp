// xla/backwards.cpp: the derivative of an operator as the kernel of another one.
//
// opyard.jax defines `<name>_backward` by the declaration of _publish/gradients.py: the gradients,
// the arguments and the results that the derivative uses, and which gradients are wanted. Here is
// its kernel, so that programs of XLA run formulas without Python.
#include <memory>
#include <string>

#include "opyard/autograd/derivative_call.h"
#include "opyard/registry/library.h"
#include "opyard/registry/registry.h"

namespace opyard::xla {
namespace {

using autograd::DerivativeCall;
using autograd::DerivativeUse;
using autograd::Gradients;

class Backward {
 public:
  explicit Backward(const Operator& op) : call_(op), use_(call_.use()) {
    OPYARD_CHECK(bool(call_), Unsupported, "an operator without a derivative has no backward");
    // What is taken: the union of what is used and what gradients are of, as a sorted list.
    const std::size_t count = op.schema().arguments.size();
    std::vector<bool> is_taken(count);
    for (const std::size_t n : use_.arguments) is_taken[n] = true;
    for (const std::size_t n : use_.gives) is_taken[n] = true;
    for (std::size_t n = 0; n < count; ++n) {
      if (is_taken[n]) taken_.push_back(n);
    }
  }

  void run(Stack& stack) const {
    const Schema& schema = call_.op().schema();
    const std::size_t count = use_.gradients.size() + taken_.size() + use_.results.size() + 1;
    std::vector<Value> arguments(schema.arguments.size()), results(schema.results.size());
    std::vector<bool> wanted(arguments.size());
    std::vector<Value> given(results.size());
    const std::span<const Value> values = stack.top(count);
    std::size_t next = 0;
    for (const std::size_t n : use_.gradients) given[n] = values[next++];
    for (const std::size_t n : taken_) arguments[n] = values[next++];
    for (const std::size_t n : use_.results) results[n] = values[next++];
    const std::vector<Value>& flags = values[next].items_unchecked();
    for (std::size_t i = 0; i < use_.gives.size() && i < flags.size(); ++i) {
      wanted[use_.gives[i]] = flags[i].bool_unchecked();
    }
    Gradients gradients;
    for (const Value& value : given) append(gradients, value);
    std::vector<Value> made;
    for (Tensor& gradient : call_.run(arguments, results, std::move(gradients), wanted)) {
      if (gradient.defined()) made.emplace_back(std::move(gradient));
    }
    stack.replace(count, Value::list(std::move(made)));
  }

 private:
  static void append(Gradients& gradients, const Value& value) {
    if (value.is_list()) {
      for (const Value& item : value.items_unchecked()) append(gradients, item);
    } else {
      gradients.push_back(value.is_tensor() ? value.tensor_unchecked() : Tensor());
    }
  }

  DerivativeCall call_;
  DerivativeUse use_;
  std::vector<std::size_t> taken_;
};

void run_backward(const Record& record, const Operator&, DispatchKeySet, Stack& stack) {
  static_cast<const Backward*>(record.context)->run(stack);
}

void destroy_backward(void* backward) { delete static_cast<Backward*>(backward); }

}  // namespace
}  // namespace opyard::xla

using namespace opyard;       // NOLINT
using namespace opyard::xla;  // NOLINT

extern "C" {

// Makes the derivative of `op` the kernel of `backward`, both as "ns::name.overload", until
// opyard_xla_drop() of what is put into *registered. Gives a status.
OPYARD_API int opyard_xla_implement_backward(const char* op, const char* backward,
                                             void** registered) {
  return int(guarded([&] {
    auto run = std::make_unique<Backward>(require_operator(op));
    const OperatorName name = require_operator(backward).name();
    auto library =
        std::make_unique<Library>(LibraryKind::Impl, std::string(name.name_space()),
                                  DispatchKey::CompositeExplicitAutograd, __FILE__, __LINE__);
    Kernel kernel = Kernel::with_context(run_backward, run.get(), destroy_backward);
    static_cast<void>(run.release());  // the kernel has it
    library->implement(backward, std::nullopt, std::move(kernel), false);
    *registered = library.release();
  }));
}

OPYARD_API void opyard_xla_drop(void* registered) { delete static_cast<Library*>(registered); }

}  // extern "C"
