// protocol/python_kernel.cpp: from a boxed call to a Python function and back.
//
// [Arguments] Positional arguments are passed by position, without those at the end that equal
// their default; keyword-only ones by name, without those that equal their default. So a
// handler sees what a person would have typed, and its own defaults stay in force.
//
// [Results] Nothing for `-> ()`, the value for one result, a tuple or list for several. Number
// and types are checked; the error names the operator, the kernel and the position.
//
// [Errors] An exception of the function leaves as an Error that carries it, and becomes the same
// object again where Python called.
#include "protocol/python_kernel.h"

#include <fmt/format.h>

#include <array>

#include "objects/convert.h"
#include "objects/key_set.h"
#include "objects/overload.h"
#include "objects/packet.h"
#include "runtime/errors.h"
#include "runtime/gil.h"

namespace opyard::python {
namespace {

struct PythonKernel {
  Runtime& runtime;
  PyObject* const function;
  const KernelConvention convention;
};

void destroy_kernel(void* context) {
  const std::unique_ptr<PythonKernel> kernel(static_cast<PythonKernel*>(context));
  (*kernel->runtime.tag)->decref(kernel->function);
}

// The argument array of one vectorcall. Holds a reference to each; the slot before the first
// is free for the callee.
class CallArguments {
 public:
  explicit CallArguments(std::size_t most)
      : many_(most + 1 > few_.size() ? most + 1 : 0),
        objects_(many_.empty() ? few_.data() : many_.data()) {}
  CallArguments(const CallArguments&) = delete;
  CallArguments& operator=(const CallArguments&) = delete;
  ~CallArguments() {
    for (std::size_t i = 1; i <= count_; ++i) drop_reference(objects_[i]);
  }
  void add(Owned object) noexcept { objects_[++count_] = object.release(); }
  PyObject* const* data() const noexcept { return objects_ + 1; }
  std::size_t count() const noexcept { return count_; }

 private:
  std::array<PyObject*, 12> few_;
  std::vector<PyObject*> many_;
  PyObject** const objects_;
  std::size_t count_ = 0;
};

bool is_default(const Argument& argument, const Value& value) {
  return argument.default_value && *argument.default_value == value;
}

// How many positional arguments are passed: those at the end that equal their default are not.
std::size_t count_positional(const Schema& schema, std::span<const Value> values) {
  std::size_t count = 0;
  while (count < schema.arguments.size() && !schema.arguments[count].keyword_only) ++count;
  while (count > 0 && is_default(schema.arguments[count - 1], values[count - 1])) --count;
  return count;
}

// Adds the keyword-only arguments that differ from their defaults; gives their names, or null.
Owned add_keywords(Runtime& runtime, const Schema& schema, std::span<const Value> values,
                   CallArguments& arguments) {
  std::vector<const Argument*> passed;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    if (!argument.keyword_only || is_default(argument, values[i])) continue;
    arguments.add(to_python(runtime, *argument.type, values[i]));
    passed.push_back(&argument);
  }
  if (passed.empty()) return {};
  Owned names = require(runtime, PyTuple_New(Py_ssize_t(passed.size())));
  for (std::size_t i = 0; i < passed.size(); ++i) {
    PyObject* const name = PyUnicode_InternFromString(passed[i]->name.c_str());
    if (name == nullptr) throw_python_error(runtime);
    PyTuple_SET_ITEM(names.get(), Py_ssize_t(i), name);
  }
  return names;
}

// `why` says more of what is wrong with it, or is empty.
[[noreturn]] void refuse_result(const Record& record, const Operator& op, std::size_t position,
                                PyObject* object, const std::string& why) {
  fail(
      ErrorKind::BadReturn,
      fmt::format("{}: the Python kernel {} returned a value of type '{}'{} for result {}, but the "
                  "schema says '{}'.\nDeclaration: {}",
                  to_string(op.name()), record.provenance, Py_TYPE(object)->tp_name, why, position,
                  to_string(*op.schema().results[position].type), op.declaration()));
}

[[noreturn]] void refuse_result_count(const Record& record, const Operator& op, PyObject* object) {
  const bool is_sequence = PyTuple_Check(object) || PyList_Check(object);
  const std::string came = is_sequence
                               ? fmt::format("{} values", PySequence_Fast_GET_SIZE(object))
                               : fmt::format("a value of type '{}'", Py_TYPE(object)->tp_name);
  const std::size_t count = op.schema().results.size();
  fail(ErrorKind::BadReturn,
       fmt::format("{}: the Python kernel {} returned {}, but the schema has {}.\nDeclaration: {}",
                   to_string(op.name()), record.provenance, came,
                   count == 0
                       ? "no result, so it must return None"
                       : fmt::format("{} results, so it must return a tuple of {}", count, count),
                   op.declaration()));
}

void push_results(Runtime& runtime, const Record& record, const Operator& op, PyObject* object,
                  Stack& stack) {
  const std::vector<Argument>& results = op.schema().results;
  const auto push = [&](std::size_t position, PyObject* item) {
    Value value;
    try {
      if (!to_value(runtime, *results[position].type, item, value)) {
        refuse_result(record, op, position, item, "");
      }
    } catch (const PastRange& range) {
      refuse_result(record, op, position, item,
                    fmt::format(" with a number outside of {}{}{}", range.accepted,
                                range.place.empty() ? "" : " at ", range.place));
    } catch (const WrongElement& element) {
      refuse_result(record, op, position, item,
                    fmt::format(" with a '{}' at {}", element.found, element.place));
    }
    stack.push(std::move(value));
  };
  if (results.size() == 1) return push(0, object);
  if (results.empty() && object == Py_None) return;
  const bool is_sequence = PyTuple_Check(object) || PyList_Check(object);
  if (results.empty() || !is_sequence ||
      std::size_t(PySequence_Fast_GET_SIZE(object)) != results.size()) {
    refuse_result_count(record, op, object);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Converting the one before may have run Python code that shortened the list.
    if (i >= std::size_t(PySequence_Fast_GET_SIZE(object))) refuse_result_count(record, op, object);
    push(i, Owned::share(PySequence_Fast_GET_ITEM(object, Py_ssize_t(i))).get());
  }
}

// With the GIL held.
void call_function(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const PythonKernel& kernel = *static_cast<const PythonKernel*>(record.context);
  Runtime& runtime = kernel.runtime;
  const Schema& schema = op.schema();
  const std::span<Value> values = stack.top(schema.arguments.size());

  CallArguments arguments(values.size() + 2);
  if (kernel.convention.with_keyset) arguments.add(wrap(runtime, keys));
  if (kernel.convention.with_op) arguments.add(overload_object(runtime, op));
  const std::size_t positional = count_positional(schema, values);
  for (std::size_t i = 0; i < positional; ++i) {
    arguments.add(to_python(runtime, *schema.arguments[i].type, values[i]));
  }
  const std::size_t by_position = arguments.count();
  const Owned names = add_keywords(runtime, schema, values, arguments);
  const Owned result = require(runtime, in_python([&] {
                                 return PyObject_Vectorcall(
                                     kernel.function, arguments.data(),
                                     by_position | PY_VECTORCALL_ARGUMENTS_OFFSET, names.get());
                               }));
  stack.drop(values.size());
  push_results(runtime, record, op, result.get(), stack);
}

void run_python_kernel(const Record& record, const Operator& op, DispatchKeySet keys,
                       Stack& stack) {
  Runtime& runtime = static_cast<const PythonKernel*>(record.context)->runtime;
  const HoldGil gil(runtime);
  try {
    call_function(record, op, keys, stack);
  } catch (const PythonErrorSet&) {
    throw_python_error(runtime);  // the caller may be C++, which must not see the other
  }
}

}  // namespace

Kernel make_python_kernel(Runtime& runtime, PyObject* function, KernelConvention convention) {
  auto kernel = std::unique_ptr<PythonKernel>(new PythonKernel{runtime, function, convention});
  Kernel made = Kernel::with_context(&run_python_kernel, kernel.get(), &destroy_kernel);
  Py_INCREF(function);
  static_cast<void>(kernel.release());
  return made;
}

}  // namespace opyard::python
