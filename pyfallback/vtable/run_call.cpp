// vtable/run_call.cpp: run calls: arguments, the run, and its outputs.
//
// A Tensor for an input that takes tensors is borrowed, as its wrapper holds it: the caller's
// array keeps it. Values are on the C stack up to kFew.
//
// [Others] A call of which all arguments are such Tensors keeps no books. The first argument that
// is none leads to call_with_others(), which converts, notes arrays of other libraries, and gives
// outputs of their kind, as a call of an operator does: objects/convert/foreign_results.h.
#include "vtable/run_call.h"

#include <array>
#include <vector>

#include "objects/arrays/foreign_array.h"
#include "objects/convert/convert.h"
#include "objects/convert/foreign_results.h"
#include "objects/convert/require_value.h"
#include "objects/tensor/tensor.h"
#include "opyard/value/stack.h"
#include "runtime/gil.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

constexpr std::size_t kFew = 8;

// Whether it was pushed.
bool push_tensor(Runtime& runtime, const PythonRun& run, std::size_t index, PyObject* object,
                 Stack& stack) {
  if (index >= run.input_count || run.inputs[index]->kind() != TypeKind::Tensor ||
      !is_tensor(runtime, object)) {
    return false;
  }
  stack.borrow(tensor_unchecked(object));
  return true;
}

void push_other(Runtime& runtime, const PythonRun& run, std::size_t index, PyObject* object,
                ForeignArguments& arrays, Stack& stack) {
  if (index >= run.input_count) return stack.push({});
  const Type& type = *run.inputs[index];
  arrays.set_written(run.written != nullptr && run.written[index] != 0);
  if (type.kind() == TypeKind::Tensor && !arrays.written() && !run.outlives_call) {
    if (TensorImpl* const array = arrays.export_of_known_type(runtime, object)) {
      return borrow_to(stack, array);
    }
  }
  if (may_run_code(runtime, object)) arrays.expect_code();
  stack.push(require_value(runtime, type, object, run.names[index], &arrays));
}

Owned result_object(Runtime& runtime, const Type& type, Value& value) {
  if (type.kind() == TypeKind::Tensor && value.is_tensor() && value.tensor_unchecked().defined()) {
    return wrap(runtime, value.take_tensor());
  }
  return to_python(runtime, type, value);
}

// Runs it, and gives its outputs by `to_object`.
template <typename ToObject>
[[gnu::always_inline]] inline Owned run_with(const PythonRun& run, std::span<const Value> inputs,
                                             const ToObject& to_object) {
  std::array<Value, kFew> few;
  std::vector<Value> many(run.output_count > kFew ? run.output_count : 0);
  const std::span<Value> outputs =
      many.empty() ? std::span(few).first(run.output_count) : std::span<Value>(many);
  run.run(run.context, inputs, outputs);
  if (outputs.empty()) return Owned::share(Py_None);
  if (outputs.size() == 1) return to_object(*run.outputs[0], outputs[0]);
  Owned tuple = checked(PyTuple_New(Py_ssize_t(outputs.size())));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), to_object(*run.outputs[i], outputs[i]).release());
  }
  return tuple;
}

// See [Others]. The arguments before `first` are in `inputs` already.
[[gnu::noinline]] Owned call_with_others(Runtime& runtime, const PythonRun& run,
                                         PyObject* const* args, std::size_t count,
                                         std::size_t first, Stack& inputs) {
  ForeignArguments arrays({args, Py_ssize_t(count), nullptr});
  arrays.set_outlives_call(run.outlives_call);
  for (std::size_t i = first; i < count; ++i) {
    if (!push_tensor(runtime, run, i, args[i], inputs)) {
      push_other(runtime, run, i, args[i], arrays, inputs);
    }
  }
  arrays.before_call(runtime, run.name);
  Owned result = run_with(run, inputs.top(count), [&](const Type& type, Value& value) {
    return arrays.empty() ? result_object(runtime, type, value)
                          : give_back(runtime, arrays, type, value);
  });
  inputs.truncate(0);  // they may own what the arrays end
  return result;
}

}  // namespace

PyObject* call_run(const PythonTable* self, const PythonRun* run, PyObject* const* args,
                   std::size_t count) {
  return enter_from_python([&]() -> PyObject* {
    Runtime& runtime = *static_cast<Runtime*>(self->interpreter->context());
    const CalledFromPython called(runtime);
    InlineStack<kFew> inputs;
    for (std::size_t i = 0; i < count; ++i) {
      if (!push_tensor(runtime, *run, i, args[i], inputs)) {
        return call_with_others(runtime, *run, args, count, i, inputs).release();
      }
    }
    return run_with(
               *run, inputs.top(count),
               [&](const Type& type, Value& value) { return result_object(runtime, type, value); })
        .release();
  });
}

}  // namespace opyard::python
