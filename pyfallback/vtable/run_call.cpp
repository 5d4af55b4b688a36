// vtable/run_call.cpp: run calls: arguments, the run, and its outputs.
//
// A Tensor for an input that takes tensors is borrowed, as its wrapper holds it: the caller's
// array keeps it. All else is converted. Values are on the C stack up to kFew.
#include "vtable/run_call.h"

#include <array>
#include <vector>

#include "objects/convert/convert.h"
#include "objects/convert/require_value.h"
#include "objects/tensor/tensor.h"
#include "opyard/value/stack.h"
#include "runtime/gil.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

constexpr std::size_t kFew = 8;

void push_argument(Runtime& runtime, const PythonRun& run, std::size_t index, PyObject* object,
                   Stack& stack) {
  if (index >= run.input_count) return stack.push({});
  const Type& type = *run.inputs[index];
  if (type.kind() == TypeKind::Tensor && is_tensor(runtime, object)) {
    return stack.borrow(tensor_unchecked(object));
  }
  stack.push(require_value(runtime, type, object, run.names[index]));
}

Owned result_object(Runtime& runtime, const Type& type, Value& value) {
  if (type.kind() == TypeKind::Tensor && value.is_tensor() && value.tensor_unchecked().defined()) {
    return wrap(runtime, value.take_tensor());
  }
  return to_python(runtime, type, value);
}

Owned objects_of(Runtime& runtime, const PythonRun& run, std::span<Value> outputs) {
  if (outputs.empty()) return Owned::share(Py_None);
  if (outputs.size() == 1) return result_object(runtime, *run.outputs[0], outputs[0]);
  Owned tuple = checked(PyTuple_New(Py_ssize_t(outputs.size())));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i),
                     result_object(runtime, *run.outputs[i], outputs[i]).release());
  }
  return tuple;
}

}  // namespace

PyObject* call_run(const PythonTable* self, const PythonRun* run, PyObject* const* args,
                   std::size_t count) {
  return enter_from_python([&]() -> PyObject* {
    Runtime& runtime = *static_cast<Runtime*>(self->interpreter->context());
    const CalledFromPython called(runtime);
    InlineStack<kFew> inputs;
    for (std::size_t i = 0; i < count; ++i) push_argument(runtime, *run, i, args[i], inputs);
    std::array<Value, kFew> few;
    std::vector<Value> many(run->output_count > kFew ? run->output_count : 0);
    const std::span<Value> outputs =
        many.empty() ? std::span(few).first(run->output_count) : std::span<Value>(many);
    run->run(run->context, inputs.top(count), outputs);
    return objects_of(runtime, *run, outputs).release();
  });
}

}  // namespace opyard::python
