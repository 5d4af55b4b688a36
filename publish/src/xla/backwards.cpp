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

void run_backward(const Record& record, const Operator&, DispatchKeySet, Stack& stack) {
  const auto& derivative = *static_cast<const DerivativeCall*>(record.context);
  const auto& [arguments, results, gradients, gives, missing] = derivative.use();
  const std::size_t count = gradients.size() + arguments.size() + results.size() + 1;
  stack.replace(count, derivative.run(stack.top(count)));
}

void destroy_derivative(void* derivative) { delete static_cast<DerivativeCall*>(derivative); }

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
    auto run = std::make_unique<autograd::DerivativeCall>(require_operator(op));
    OPYARD_CHECK(bool(*run), Unsupported, "an operator without a derivative has no backward");
    const OperatorName name = require_operator(backward).name();
    auto library =
        std::make_unique<Library>(LibraryKind::Impl, std::string(name.name_space()),
                                  DispatchKey::CompositeExplicitAutograd, __FILE__, __LINE__);
    Kernel kernel = Kernel::with_context(run_backward, run.get(), destroy_derivative);
    static_cast<void>(run.release());  // the kernel has it
    library->implement(backward, std::nullopt, std::move(kernel), false);
    *registered = library.release();
  }));
}

OPYARD_API void opyard_xla_drop(void* registered) { delete static_cast<Library*>(registered); }

}  // extern "C"
