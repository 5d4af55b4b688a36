// c_api/operators.cpp: the C API of finding and calling operators.
#include <fmt/format.h>

#include "c_api/pointers.h"
#include "c_api/stack.h"
#include "opyard/registry/registry.h"
#include "opyard/tensor/loan.h"

namespace opyard::c_api {
namespace {

// Calls with the arguments on top of the stack. Whether it works or not, they are gone then.
template <typename Call>
int call_with(const opyard_operator* pointer, opyard_stack* stack, const Call& call) {
  return border([&] {
    const Operator& op = op_of(pointer);
    const std::size_t arguments = op.schema().arguments.size();
    if (__builtin_expect(require(stack, "a stack")->size() < arguments, 0)) {
      stack->require(arguments, op.declaration().c_str());
    }
    stack->sank_to(stack->size() - arguments);
    call(op, stack->values);
  });
}

// The results, which a call left on top of the stack, in memory of the caller.
void copy_results(const Operator& op, std::span<const Value> values, const DLTensor* results) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_tensor() || !values[i].tensor_unchecked().defined()) {
      fail(ErrorKind::BadArgument,
           fmt::format("{}: result {} is no tensor, so there is nothing to copy; use opyard_call()",
                       to_string(op.name()), i));
    }
    copy_into(as_dlpack(results + i, "the memory of the results"), values[i].tensor_unchecked());
  }
}

}  // namespace
}  // namespace opyard::c_api

using namespace opyard;         // NOLINT
using namespace opyard::c_api;  // NOLINT

extern "C" {

int opyard_find_operator(const char* name, const opyard_operator** op) {
  return border([&] {
    require(op, "the place of the operator");
    *op = pointer_of(require_operator(require(name, "the name of an operator")));
  });
}

const char* opyard_operator_schema(const opyard_operator* op) {
  return op == nullptr ? "" : op_of(op).declaration().c_str();
}

size_t opyard_operator_arguments(const opyard_operator* op) {
  return op == nullptr ? 0 : op_of(op).schema().arguments.size();
}

size_t opyard_operator_results(const opyard_operator* op) {
  return op == nullptr ? 0 : op_of(op).schema().results.size();
}

int opyard_push_defaults(const opyard_operator* pointer, opyard_stack* stack, size_t given) {
  return border([&] {
    const Operator& op = op_of(pointer);
    require(stack, "a stack")->require(given, op.declaration().c_str());
    const std::size_t before = stack->values.size();
    try {
      for (std::size_t i = given; i < op.schema().arguments.size(); ++i) {
        const Argument& argument = op.schema().arguments[i];
        if (!argument.default_value) {
          fail(ErrorKind::BadArgument,
               fmt::format("{}: argument '{}' at position {} has no default and was not given.\n"
                           "Declaration: {}",
                           to_string(op.name()), argument.name, i, op.declaration()));
        }
        stack->values.push(*argument.default_value);
      }
    } catch (...) {
      stack->values.truncate(before);
      throw;
    }
  });
}

int opyard_call(const opyard_operator* op, opyard_stack* stack) {
  return call_with(op, stack, [](const Operator& o, Stack& values) { o.call_boxed(values); });
}

int opyard_redispatch(const opyard_operator* op, uint64_t keys, opyard_stack* stack) {
  return call_with(op, stack, [&](const Operator& o, Stack& values) {
    o.redispatch_boxed({DispatchKeySet::RAW, keys}, values);
  });
}

int opyard_call_at(const opyard_operator* op, const char* key, opyard_stack* stack) {
  return call_with(op, stack, [&](const Operator& o, Stack& values) {
    o.call_boxed_at(parse_dispatch_key(require(key, "a key's name")), values);
  });
}

int opyard_call_into(const opyard_operator* op, opyard_stack* stack, const DLTensor* results,
                     size_t count) {
  return call_with(op, stack, [&](const Operator& o, Stack& values) {
    const std::size_t before = values.size() - o.schema().arguments.size();
    o.call_boxed(values);
    const std::size_t given = values.size() - before;
    try {
      if (given != count) {
        fail(ErrorKind::BadArgument, fmt::format("{} gives {} results, and there is memory for {}",
                                                 to_string(o.name()), given, count));
      }
      copy_results(o, values.top(count), results);
    } catch (...) {
      values.truncate(before);
      throw;
    }
    values.truncate(before);
  });
}

}  // extern "C"
