// operators/call_plan.cpp: compiling a schema, and calls whose arguments are bound.
#include "operators/call_plan.h"

#include <algorithm>
#include <span>

#include "objects/convert/convert.h"
#include "objects/convert/foreign_results.h"
#include "objects/tensor/tensor.h"
#include "operators/missing_results.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// `convert` makes a Python object of a result.
template <typename Convert>
PyObject* take_results(Runtime&, const Operator& op, Stack& stack, const Convert& convert_result) {
  const std::vector<Argument>& results = op.schema().results;
  if (results.empty()) Py_RETURN_NONE;
  const std::span<Value> values = stack.top(results.size());
  const auto convert = [&](std::size_t i) {
    Owned object = convert_result(*results[i].type, values[i]);
    if (__builtin_expect(object.get() == Py_None, 0)) require_result(op.schema(), i);
    if (PyList_CheckExact(object.get())) require_items(op.schema(), i, object.get());
    return object;
  };
  Owned object;
  if (results.size() == 1) {
    object = convert(0);
  } else {
    object = checked(PyTuple_New(Py_ssize_t(results.size())));
    for (std::size_t i = 0; i < results.size(); ++i) {
      PyTuple_SET_ITEM(object.get(), Py_ssize_t(i), convert(i).release());
    }
  }
  stack.drop(results.size());
  return object.release();
}

bool is_list_of_ints(const Type& type) {
  return type.kind() == TypeKind::List &&
         (type.element().kind() == TypeKind::Int || type.element().kind() == TypeKind::SymInt);
}

// Operators whose tensors may be numbers, as in PyTorch: aten's arithmetic, and copy_.
bool is_arithmetic(const OperatorName& name) {
  static constexpr std::string_view kNames[] = {
      "add",       "add_",      "sub",          "sub_",          "mul",         "mul_",
      "div",       "div_",      "rsub",         "copy_",         "remainder",   "divide",
      "subtract",  "multiply",  "floor_divide", "floor_divide_", "true_divide", "divide_",
      "subtract_", "multiply_", "true_divide_"};
  return name.name_space() == "aten" &&
         std::find(std::begin(kNames), std::end(kNames), name.base_name()) != std::end(kNames);
}

}  // namespace

CallPlan::CallPlan(Runtime& runtime, const Operator& op) : op_(op), direct_(runtime, op) {
  const Schema& schema = op.schema();
  for (const Argument& argument : schema.arguments) {
    Owned name = checked(PyUnicode_InternFromString(argument.name.c_str()));
    parameters_.push_back({std::move(name), &argument, argument.type->kind() == TypeKind::Tensor,
                           argument.is_write(), may_need_conversion(*argument.type)});
    may_need_conversion_ |= parameters_.back().may_need_conversion;
    if (!argument.keyword_only) ++positional_;
    if (argument.name == "storage_offset" && parameters_.front().is_tensor) {
      storage_offset_ = parameters_.size() - 1;
    }
  }
  takes_numbers_ = is_arithmetic(op.name());
  ends_in_ints_ = op.name().name_space() == "aten" && positional_ > 0 &&
                  is_list_of_ints(*schema.arguments[positional_ - 1].type) &&
                  std::all_of(parameters_.begin(), parameters_.begin() + positional_ - 1,
                              [](const Parameter& parameter) { return parameter.is_tensor; });
  if (schema.variadic_arguments || schema.variadic_results) {
    positional_ = kCannotBeCalled;
    ends_in_ints_ = false;
  }
}

const Argument* CallPlan::find_argument(PyObject* name) const noexcept {
  for (const Parameter& parameter : parameters_) {
    if (parameter.name.get() == name) return parameter.argument;
  }
  return nullptr;
}

PyObject* CallPlan::call(PythonCall& call) const {
  before_call(call);
  op_.call_boxed_unchecked(call.stack);
  return take_results(op_, call);
}

PyObject* take_results(Runtime& runtime, const Operator& op, Stack& stack) {
  return take_results(runtime, op, stack, [&](const Type& type, Value& value) {
    if (value.is_tensor()) return wrap(runtime, value.take_tensor());
    return to_python(runtime, type, value);
  });
}

PyObject* take_results(const Operator& op, PythonCall& call) {
  Runtime& runtime = call.runtime;
  if (__builtin_expect(call.arrays.empty(), 1)) return take_results(runtime, op, call.stack);
  return take_results(runtime, op, call.stack, [&](const Type& type, Value& value) {
    return give_back(runtime, call.arrays, type, value);
  });
}

}  // namespace opyard::python
