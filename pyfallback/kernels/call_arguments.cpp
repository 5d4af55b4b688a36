// kernels/call_arguments.cpp: arguments of Python kernels, without those that equal defaults.
#include "kernels/call_arguments.h"

#include <cmath>

#include "objects/convert/convert.h"
#include "runtime/errors.h"

namespace opyard::python {
namespace {

bool is_nan_value(const Value& value) { return value.is_double() && std::isnan(value.to_double()); }
bool is_default(const Argument& argument, const Value& value) {
  if (!argument.default_value) return false;
  return *argument.default_value == value ||
         (is_nan_value(*argument.default_value) && is_nan_value(value));
}
bool goes_by_name(const Argument& argument, const Value& value) {
  return argument.keyword_only && !is_default(argument, value);
}

Owned argument_name(Runtime& runtime, const Argument& argument) {
  return require(runtime, PyUnicode_InternFromString(argument.name.c_str()));
}

// Adds the keyword-only arguments that differ from their defaults; gives their names, or null.
Owned add_keywords(Runtime& runtime, const Schema& schema, std::span<const Value> values,
                   CallArguments& arguments) {
  std::vector<const Argument*> passed;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    if (!goes_by_name(argument, values[i])) continue;
    arguments.add(to_python(runtime, *argument.type, values[i]));
    passed.push_back(&argument);
  }
  if (passed.empty()) return {};
  Owned names = require(runtime, PyTuple_New(Py_ssize_t(passed.size())));
  for (std::size_t i = 0; i < passed.size(); ++i) {
    PyTuple_SET_ITEM(names.get(), Py_ssize_t(i), argument_name(runtime, *passed[i]).release());
  }
  return names;
}

}  // namespace

std::size_t count_positional(const Schema& schema, std::span<const Value> values) {
  std::size_t count = 0;
  while (count < schema.arguments.size() && !schema.arguments[count].keyword_only) ++count;
  while (count > 0 && is_default(schema.arguments[count - 1], values[count - 1])) --count;
  return count;
}

Owned add_arguments(Runtime& runtime, const Schema& schema, std::span<const Value> values,
                    CallArguments& arguments, std::size_t& by_position) {
  const std::size_t positional = count_positional(schema, values);
  for (std::size_t i = 0; i < positional; ++i) {
    arguments.add(to_python(runtime, *schema.arguments[i].type, values[i]));
  }
  by_position = arguments.count();
  return add_keywords(runtime, schema, values, arguments);
}

Owned args_of(Runtime& runtime, const Schema& schema, std::span<const Value> values) {
  const std::size_t positional = count_positional(schema, values);
  Owned args = require(runtime, PyTuple_New(Py_ssize_t(positional)));
  for (std::size_t i = 0; i < positional; ++i) {
    PyTuple_SET_ITEM(args.get(), Py_ssize_t(i),
                     to_python(runtime, *schema.arguments[i].type, values[i]).release());
  }
  return args;
}

Owned kwargs_of(Runtime& runtime, const Schema& schema, std::span<const Value> values) {
  Owned kwargs;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    if (!goes_by_name(argument, values[i])) continue;
    if (!kwargs) kwargs = require(runtime, PyDict_New());
    const Owned object = to_python(runtime, *argument.type, values[i]);
    if (PyDict_SetItem(kwargs.get(), argument_name(runtime, argument).get(), object.get()) < 0) {
      throw_python_error(runtime);
    }
  }
  return kwargs;
}

}  // namespace opyard::python
