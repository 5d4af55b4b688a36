// operators/explanation.cpp: Explanation as a dictionary.
#include "operators/explanation.h"

#include "objects/values/key_set.h"
#include "opyard/keys/gradient_mode.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

void put(PyObject* dictionary, const char* name, const Owned& value) {
  if (PyDict_SetItemString(dictionary, name, value.get()) < 0) throw PythonErrorSet();
}

Owned truth(bool value) { return Owned::share(value ? Py_True : Py_False); }

Owned rows_of(Runtime& runtime, const std::vector<ConsideredKey>& considered) {
  Owned rows = checked(PyList_New(0));
  for (const ConsideredKey& at : considered) {
    const Owned key = wrap(runtime, at.key);
    const Owned row = checked(PyTuple_Pack(4, key.get(), at.taken ? Py_True : Py_False,
                                           to_text(at.reason).get(), to_text(at.provenance).get()));
    if (PyList_Append(rows.get(), row.get()) < 0) throw PythonErrorSet();
  }
  return rows;
}

}  // namespace

Owned to_python(Runtime& runtime, const Explanation& explanation) {
  Owned result = checked(PyDict_New());
  PyObject* const to = result.get();
  const Owned arguments = checked(PyList_New(0));
  for (const ArgumentKeys& argument : explanation.arguments) {
    const Owned keys = wrap(runtime, argument.keys);
    const Owned row = checked(
        Py_BuildValue("nsO", Py_ssize_t(argument.position), argument.name.c_str(), keys.get()));
    if (PyList_Append(arguments.get(), row.get()) < 0) throw PythonErrorSet();
  }
  put(to, "op", to_text(explanation.op));
  put(to, "declaration", to_text(explanation.declaration));
  put(to, "arguments", arguments);
  put(to, "include", wrap(runtime, explanation.include));
  put(to, "exclude", wrap(runtime, explanation.exclude));
  put(to, "mask", wrap(runtime, explanation.mask));
  put(to, "keys", wrap(runtime, explanation.keys));
  put(to, "considered", rows_of(runtime, explanation.considered));
  put(to, "key", wrap(runtime, explanation.key));
  put(to, "has_kernel", truth(explanation.has_kernel));
  put(to, "kernel", to_text(explanation.kernel));
  put(to, "body", to_text(explanation.body));
  put(to, "chain", rows_of(runtime, explanation.chain));
  put(to, "gradients", truth(gradients_enabled()));
  put(to, "text", to_text(to_string(explanation)));
  return result;
}

}  // namespace opyard::python
