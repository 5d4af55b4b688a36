// objects/tensor/tensor_numpy.cpp: opyard.from_numpy(array), through the buffer protocol.
#include "objects/arrays/buffer_source.h"
#include "objects/tensor/tensor_parts.h"
#include "runtime/types.h"

namespace opyard::python {

PyObject* import_array(PyObject* module, PyObject* array) {
  return entry_from_python([&] {
    Runtime& runtime = runtime_of_module(module);
    return wrap(runtime, share_buffer(runtime, array, "from_numpy")).release();
  });
}

}  // namespace opyard::python
