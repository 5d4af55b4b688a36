// inspect/missing_kernel.cpp: the error of a call without a kernel.
//
// Printing is above resolution: the records that raise are in the tables, and their words are made
// by reading tables. So the records know one function pointer, which is set here when libopyard is
// loaded.
#include <fmt/format.h>

#include "opyard/detail/interpreter/main_interpreter.h"
#include "opyard/inspect/explain.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/registry.h"
#include "registry/built_in_records.h"

namespace opyard {
namespace {

std::string route_of(const Operator& op, DispatchKeySet keys, Stack& stack) {
  const std::size_t count = op.schema().arguments.size();
  if (stack.size() < count) return explain_route(op, keys);
  return explain_route(op, keys, op.argument_keys(stack.top(count)));
}

// What is said of a call without data, if the operator said where its fake kernel is: by Python,
// which knows whether that module is imported, else here. Empty if there is nothing to say.
std::string fake_kernel_sentence(const Operator& op, DispatchKey key) {
  const auto [module, context] = inspect::python_module(op.name());
  if (module.empty() || backend_of(key) != Backend::Meta) return "";
  const std::string name = to_string(op.name());
  if (Interpreter* const interpreter = main_interpreter()) {
    try {
      interpreter->throw_abstract_impl_not_imported_error(name.c_str(), module.c_str(),
                                                          context.c_str());
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::NoKernel) return error.what();
      if (error.kind() != ErrorKind::InterpreterGone) throw;
    }
  }
  return fmt::format(
      "{} has no kernel at Meta, where this call goes. Either it has no fake kernel at all, or one "
      "in "
      "the Python module {}, which is not available because Python isn't available{}{}.",
      name, module, context.empty() ? "" : ": ", context);
}

// A missing kernel is reported by what is registered: if the table does not say the same, that is
// the error. Not of an operator that was unregistered meanwhile.
void check_table(const Operator& op) {
  if (Registry::instance().find(op.name()) == &op) inspect::check_invariants(op.name());
}

// The first argument of a call that could have brought keys, and is no tensor; mostly empty.
std::string missing_tensor_of(const Operator& op, Stack& stack) {
  const std::vector<Argument>& arguments = op.schema().arguments;
  if (stack.size() < arguments.size()) return "";
  const std::span<const Value> values = stack.top(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Value& value = values[i];
    if (arguments[i].type->kind() == TypeKind::Tensor) {
      const bool is_there = value.is_tensor() && value.tensor_unchecked().defined();
      if (!is_there)
        return fmt::format(" Argument '{}' is an undefined tensor; pass a tensor.",
                           arguments[i].name);
    } else if (value.is_list() && value.items_unchecked().empty() &&
               arguments[i].type->kind() == TypeKind::List &&
               arguments[i].type->element().kind() == TypeKind::Tensor) {
      return fmt::format(" Argument '{}' is empty; pass a tensor in it.", arguments[i].name);
    }
  }
  return "";
}

void refuse_missing(const Operator& op, DispatchKeySet keys, Stack& stack) {
  check_table(op);
  const DispatchKey key = keys.highest();
  std::string sentence = to_string(op.name());
  if (key != DispatchKey::Undefined) {
    sentence += fmt::format(" has no kernel at {}, where this call goes.", to_string(key));
  } else if (keys.highest_backend()) {
    sentence +=
        " has no key left for this call: each one falls through or is excluded on this "
        "thread, and there is no kernel for calls without a key.";
  } else {
    sentence +=
        " was called without a tensor that carries dispatch keys, and it has no kernel for "
        "calls without one.";
    sentence += missing_tensor_of(op, stack);
  }
  if (const auto reporter = inspect::missing_kernel_reporter(op)) {
    reporter->report(op, key);
  }
  const std::string of_fake = fake_kernel_sentence(op, key);
  fail(ErrorKind::NoKernel,
       (of_fake.empty() ? sentence : of_fake) + "\n" + route_of(op, keys, stack));
}

void refuse_ambiguous(const Operator& op, DispatchKeySet keys, Stack& stack) {
  fail(ErrorKind::NoKernel,
       fmt::format("{} has a kernel at CompositeImplicitAutograd and one for a backend that shares "
                   "AutogradOther, so AutogradOther cannot tell which to differentiate. Register "
                   "the composite kernel at CompositeExplicitAutograd, or a kernel at "
                   "AutogradOther.\n{}",
                   to_string(op.name()), route_of(op, keys, stack)));
}

void refuse_gone(const Operator& op) {
  fail(ErrorKind::OperatorGone,
       fmt::format("{} is gone: the library that defined it has ended. Load the library "
                   "again, or look the operator up anew.",
                   op.declaration()));
}

void refuse_missing(RecordRole role, const Operator& op, DispatchKeySet keys, Stack& stack) {
  if (role == RecordRole::Ambiguous) refuse_ambiguous(op, keys, stack);
  if (role == RecordRole::Gone) refuse_gone(op);
  refuse_missing(op, keys, stack);
}

[[maybe_unused]] const bool is_set = (set_refuse_call(&refuse_missing), true);

}  // namespace
}  // namespace opyard
