// objects/tensor/tensor_numpy.cpp: opyard.from_numpy(array), through the buffer protocol.
#include "objects/arrays/beyond_memory.h"
#include "objects/arrays/buffer_source.h"
#include "objects/arrays/dlpack_source.h"
#include "objects/arrays/numpy_types.h"
#include "objects/tensor/tensor_parts.h"
#include "runtime/types.h"

namespace opyard::python {

PyObject* import_array(PyObject* module, PyObject* array) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_module(module);
    constexpr const char* kPrefix = "from_numpy: ";
    const BeyondMemory* const beyond =
        is_numpys_own(Py_TYPE(array)) ? nullptr : find_beyond_memory(runtime, Py_TYPE(array));
    if (const Owned copy = require_only_memory(beyond, array, kPrefix)) {
      return wrap(runtime, as_read_only(share_buffer(runtime, copy.get(), "from_numpy"))).release();
    }
    return wrap(runtime, share_buffer(runtime, array, "from_numpy")).release();
  });
}

}  // namespace opyard::python
