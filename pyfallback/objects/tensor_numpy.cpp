// objects/tensor_numpy.cpp: tensors on the memory of NumPy arrays, through the buffer protocol.
//
// A memoryview of the array is the storage's context: it keeps the array alive and forbids it to
// move its memory. It is let go of through the interpreter tag, so that a tensor may die on any
// thread and take no GIL.
#include "runtime/python.h"

#include <memory>

#include "objects/buffer_source.h"
#include "objects/tensor_parts.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// What a storage keeps of an array.
struct Hold {
  PyObject* view;
  Interpreter* tag;

  static void let_go(void* context) {
    const std::unique_ptr<Hold> hold(static_cast<Hold*>(context));
    hold->tag->decref(hold->view, false);
  }
};

}  // namespace

PyObject* import_array(PyObject* module, PyObject* array) {
  return entry_from_python([&] {
    Runtime& runtime = runtime_of_module(module);
    BufferSource source(array, "from_numpy");
    source.require_shareable();
    auto hold = std::make_unique<Hold>(Hold{nullptr, runtime.tag});
    hold->view = source.release_view();
    const BufferGeometry& geometry = source.geometry();
    Tensor tensor = Tensor::adopt(geometry.data, geometry.sizes, geometry.strides, geometry.dtype,
                                  Device{}, hold.release(), Hold::let_go, geometry.read_only);
    return wrap(runtime, std::move(tensor)).release();
  });
}

}  // namespace opyard::python
