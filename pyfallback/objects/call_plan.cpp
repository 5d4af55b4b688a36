// objects/call_plan.cpp: one walk over the parameters.
#include "objects/call_plan.h"

#include <fmt/format.h>

#include "objects/convert.h"
#include "objects/tensor.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// The keyword argument of this name, borrowed, or null. Names are interned on both sides
// almost always, so the first walk compares addresses.
PyObject* find_keyword(PyObject* const* values, PyObject* names, PyObject* wanted) {
  const Py_ssize_t count = PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyTuple_GET_ITEM(names, i) == wanted) return values[i];
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), wanted) == 0) return values[i];
  }
  return nullptr;
}

std::string text_of(PyObject* object) {
  const Owned text = Owned::steal(PyObject_Repr(object));
  const char* const utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (utf8 != nullptr) return utf8;
  PyErr_Clear();  // the object cannot show itself; its type has been named
  return "<unprintable>";
}

}  // namespace

CallPlan::CallPlan(const Operator& op) : op_(op) {
  const Schema& schema = op.schema();
  for (const Argument& argument : schema.arguments) {
    Owned name = checked(PyUnicode_InternFromString(argument.name.c_str()));
    parameters_.push_back({std::move(name), &argument, argument.type->kind() == TypeKind::Tensor});
    if (!argument.keyword_only) ++positional_;
  }
  if (schema.variadic_arguments || schema.variadic_results) positional_ = kCannotBeCalled;
}

const CallPlan::Parameter* CallPlan::find(PyObject* name) const {
  for (const Parameter& parameter : parameters_) {
    if (PyUnicode_Compare(parameter.name.get(), name) == 0) return &parameter;
  }
  return nullptr;
}

bool CallPlan::bind(Runtime& runtime, PyObject* const* args, Py_ssize_t count, PyObject* names,
                    Stack& stack, std::string* why) const {
  const auto refuse = [&](std::size_t pushed, const auto& explain) {
    if (why != nullptr) *why = explain();
    stack.drop(pushed);
    return false;
  };
  if (count > positional_) {
    return refuse(0, [&] {
      if (positional_ == kCannotBeCalled) return explain_variadic();
      return fmt::format(
          "{}() takes {} positional argument(s) but {} was/were given.  Declaration: {}",
          op_.name().name, positional_, count, op_.declaration());
    });
  }
  Py_ssize_t keywords_left = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    PyObject* given = Py_ssize_t(i) < count ? args[i] : nullptr;
    if (given == nullptr && keywords_left > 0) {
      given = find_keyword(args + count, names, parameter.name.get());
      if (given != nullptr) --keywords_left;
    }
    if (given == nullptr) {
      const std::optional<Value>& default_value = parameter.argument->default_value;
      if (!default_value) {
        return refuse(i, [&] {
          return fmt::format("{}() is missing value for argument '{}'. Declaration: {}",
                             op_.name().name, parameter.argument->name, op_.declaration());
        });
      }
      stack.push(*default_value);
    } else if (parameter.is_tensor && Py_TYPE(given) == runtime.tensor_type) {
      stack.lend(tensor_unchecked(given));
    } else {
      Value value;
      if (!to_value(runtime, *parameter.argument->type, given, value)) {
        return refuse(i, [&] { return explain_mismatch(i, given); });
      }
      stack.push(std::move(value));
    }
  }
  if (keywords_left == 0) return true;
  return refuse(parameters_.size(), [&] { return explain_names(runtime, count, names); });
}

std::string CallPlan::explain_variadic() const {
  return fmt::format("{} has a variadic schema, which this version cannot call from Python",
                     op_.declaration());
}

std::string CallPlan::explain_mismatch(std::size_t position, PyObject* given) const {
  const Argument& argument = *parameters_[position].argument;
  return fmt::format(
      "{}() Expected a value of type '{}' for argument '{}' but instead found type '{}'.\n"
      "Position: {}\nValue: {}\nDeclaration: {}",
      op_.name().name, to_string(*argument.type), argument.name, Py_TYPE(given)->tp_name, position,
      text_of(given), op_.declaration());
}

std::string CallPlan::explain_names(Runtime& runtime, Py_ssize_t count, PyObject* names) const {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    const Parameter* const known = find(name);
    const char* const text = PyUnicode_AsUTF8(name);
    if (text == nullptr) throw_python_error(runtime);
    if (known == nullptr) {
      return fmt::format("Unknown keyword argument '{}' for operator '{}'. Schema: {}", text,
                         op_.name().name, op_.declaration());
    }
    if (known - parameters_.data() < count) {
      return fmt::format(
          "Argument '{}' specified both as positional and keyword argument. Schema: {}", text,
          op_.declaration());
    }
  }
  fail(ErrorKind::Internal, "keyword arguments were left over although all of them are known");
}

void CallPlan::require(Runtime& runtime, PyObject* const* args, Py_ssize_t count, PyObject* names,
                       Stack& stack) const {
  if (bind(runtime, args, count, names, stack, nullptr)) return;
  if (positional_ == kCannotBeCalled) fail(ErrorKind::Unsupported, explain_variadic());
  std::string why;
  bind(runtime, args, count, names, stack, &why);
  fail(ErrorKind::BadArgument, std::move(why));
}

PyObject* CallPlan::take_results(Runtime& runtime, Stack& stack) const {
  const std::vector<Argument>& results = op_.schema().results;
  if (results.empty()) Py_RETURN_NONE;
  const std::span<Value> values = stack.top(results.size());
  const auto convert = [&](std::size_t i) {
    if (values[i].is_tensor()) return wrap(runtime, values[i].take_tensor());
    return to_python(runtime, *results[i].type, values[i]);
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

}  // namespace opyard::python
