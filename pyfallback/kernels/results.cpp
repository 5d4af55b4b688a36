// kernels/results.cpp: checking and converting results of Python functions.
#include "kernels/results.h"

#include <fmt/format.h>

#include "objects/convert/convert.h"
#include "operators/missing_results.h"
#include "runtime/errors.h"

namespace opyard::python {
namespace {

// `why` says more of what is wrong with it, or is empty.
[[noreturn]] void refuse_result(const Returner& returner, const Operator& op, std::size_t position,
                                PyObject* object, const std::string& why) {
  fail(ErrorKind::BadReturn,
       fmt::format("{}: {} returned a value of type '{}'{} for result {}, but the "
                   "schema says '{}'.\nDeclaration: {}",
                   to_string(op.name()), returner.text(), Py_TYPE(object)->tp_name, why, position,
                   to_string(*op.schema().results[position].type), op.declaration()));
}

[[noreturn]] void refuse_result_count(const Returner& returner, const Operator& op,
                                      PyObject* object) {
  const bool is_sequence = PyTuple_Check(object) || PyList_Check(object);
  const std::string came = is_sequence
                               ? fmt::format("{} values", PySequence_Fast_GET_SIZE(object))
                               : fmt::format("a value of type '{}'", Py_TYPE(object)->tp_name);
  const std::size_t count = op.schema().results.size();
  fail(ErrorKind::BadReturn,
       fmt::format("{}: {} returned {}, but the schema has {}.\nDeclaration: {}",
                   to_string(op.name()), returner.text(), came,
                   count == 0
                       ? "no result, so it must return None"
                       : fmt::format("{} results, so it must return a tuple of {}", count, count),
                   op.declaration()));
}

// None for a Tensor: a function without `return`, or one of several results that was not made. See
// operators/missing_results.h, [Left out].
bool is_forgotten(const Returner& returner, const Schema& schema, std::size_t position,
                  PyObject* object) {
  const Argument& result = schema.results[position];
  return object == Py_None && result.type->kind() == TypeKind::Tensor &&
         !(returner.returns_arguments && result.is_write()) && !may_leave_out_results(schema);
}

}  // namespace

void push_results(Runtime& runtime, const Returner& returner, const Operator& op, PyObject* object,
                  Stack& stack) {
  const std::vector<Argument>& results = op.schema().results;
  const auto push = [&](std::size_t position, PyObject* item) {
    if (is_forgotten(returner, op.schema(), position, item)) {
      refuse_result(returner, op, position, item,
                    results.size() == 1 ? " (is a return statement missing? A result that may be "
                                          "None is a 'Tensor?')"
                                        : " (a result that may be None is a 'Tensor?')");
    }
    const Py_ssize_t missing = find_missing_item(op.schema(), position, item);
    if (missing >= 0) {
      refuse_result(returner, op, position, item,
                    fmt::format(" with None at [{}] (a list whose items may be None is a "
                                "'Tensor?[]')",
                                missing));
    }
    Value value;
    try {
      if (!to_value(runtime, *results[position].type, item, value)) {
        refuse_result(returner, op, position, item, "");
      }
    } catch (const PastRange& range) {
      refuse_result(returner, op, position, item,
                    fmt::format(" with a number outside of {}{}{}", range.accepted,
                                range.place.empty() ? "" : " at ", range.place));
    } catch (const WrongElement& element) {
      refuse_result(returner, op, position, item,
                    element.place.empty()
                        ? fmt::format(" (a {})", element.found)
                        : fmt::format(" with a '{}' at {}", element.found, element.place));
    } catch (const NamesNothing& error) {
      refuse_result(returner, op, position, item, fmt::format(" ({})", error.what()));
    }
    stack.push(std::move(value));
  };
  if (results.size() == 1) return push(0, object);
  if (results.empty() && object == Py_None) return;
  const bool is_sequence = PyTuple_Check(object) || PyList_Check(object);
  if (results.empty() || !is_sequence ||
      std::size_t(PySequence_Fast_GET_SIZE(object)) != results.size()) {
    refuse_result_count(returner, op, object);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Converting the one before may have run Python code that shortened the list.
    if (i >= std::size_t(PySequence_Fast_GET_SIZE(object)))
      refuse_result_count(returner, op, object);
    push(i, Owned::share(PySequence_Fast_GET_ITEM(object, Py_ssize_t(i))).get());
  }
}

}  // namespace opyard::python
