// objects/tensor/tensor_buffer.cpp: the buffer protocol: memoryview(t), and all who use it.
//
// A view's shape and strides are in memory of its own. The view holds the wrapper, and a tensor
// whose memory was shown does not get other memory (opyard/tensor/resize.h), so nothing has
// to be counted or locked while it is out.
#include "objects/tensor/tensor_parts.h"
#include "objects/tensor/traced_read.h"
#include "objects/values/element.h"
#include "opyard/tensor/resize.h"
#include "opyard/tensor/wrapped_stride.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// The struct module's letters for an element; null for bfloat16, which has none.
const char* find_format(DType dtype) noexcept {
  switch (dtype) {
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, format, ...) \
  case DType::name:                                                       \
    return sizeof(format) > 1 ? (format) : nullptr;
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  return nullptr;
}
static_assert(sizeof(int) == 4 && sizeof(long) == 8 && sizeof(Py_ssize_t) == 8);

bool is_column_major(const Tensor& tensor) {
  if (tensor.numel() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = 0; i < tensor.sizes().size(); ++i) {
    if (tensor.sizes()[i] == 1) continue;
    if (tensor.strides()[i] != expected) return false;
    expected *= tensor.sizes()[i];
  }
  return true;
}

bool asks(int flags, int request) noexcept { return (flags & request) == request; }

// Why the tensor cannot be shown as it is asked for, or null.
const char* find_objection(const Tensor& tensor, int flags) {
  if (asks(flags, PyBUF_WRITABLE) && tensor.impl()->storage()->read_only()) {
    return "the tensor's memory is read-only, and a writable buffer was asked for";
  }
  const bool rows = tensor.is_contiguous();
  if (asks(flags, PyBUF_C_CONTIGUOUS) && !rows) {
    return "the tensor is not contiguous, and a row-major buffer was asked for";
  }
  if (asks(flags, PyBUF_F_CONTIGUOUS) && !is_column_major(tensor)) {
    return "the tensor is not contiguous by columns, and such a buffer was asked for";
  }
  if (asks(flags, PyBUF_ANY_CONTIGUOUS) && !rows && !is_column_major(tensor)) {
    return "the tensor is not contiguous, and a contiguous buffer was asked for";
  }
  if (!asks(flags, PyBUF_STRIDES) && !rows) {
    return "the tensor is not contiguous, and a buffer without strides was asked for";
  }
  return nullptr;
}

// Sizes, then strides in bytes. Null for no dimensions, and if memory is out.
Py_ssize_t* copy_geometry(const Tensor& tensor) {
  const std::size_t dims = tensor.sizes().size();
  if (dims == 0) return nullptr;
  Py_ssize_t* const words = PyMem_New(Py_ssize_t, 2 * dims);
  if (words == nullptr) throw std::bad_alloc();
  for (std::size_t i = 0; i < dims; ++i) {
    words[i] = tensor.sizes()[i];
    words[dims + i] = wrapped_product(tensor.strides()[i], std::int64_t(item_size(tensor.dtype())));
  }
  return words;
}

void fill(Py_buffer& view, PyObject* self, int flags) {
  static char nothing = 0;  // what an empty buffer points to: null means no buffer to some
  const Tensor& tensor = tensor_unchecked(self);
  void* const data = tensor.impl()->data();
  view.buf = data == nullptr ? &nothing : data;
  view.itemsize = Py_ssize_t(item_size(tensor.dtype()));
  view.len = tensor.numel() * view.itemsize;
  view.readonly = tensor.impl()->storage()->read_only() ? 1 : 0;
  view.format =
      asks(flags, PyBUF_FORMAT) ? const_cast<char*>(find_format(tensor.dtype())) : nullptr;
  view.suboffsets = nullptr;
  view.ndim = 1;
  view.shape = nullptr;
  view.strides = nullptr;
  view.internal = nullptr;
  if (asks(flags, PyBUF_ND)) {
    auto* const words = copy_geometry(tensor);
    view.internal = words;
    view.ndim = int(tensor.dim());
    view.shape = words;
    if (words != nullptr && asks(flags, PyBUF_STRIDES)) view.strides = words + tensor.dim();
  }
  view.obj = Owned::share(self).release();
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  if (view == nullptr) {
    PyErr_SetString(PyExc_BufferError, "a tensor fills a buffer, and none was given");
    return -1;
  }
  view->obj = nullptr;
  return enter_from_python(-1, [&] {
    const Tensor& tensor = tensor_unchecked(self);
    note_read(self, "its buffer");
    try {
      require_no_tangent(self, "buffer");
      require_readable(tensor, "buffer");
      require_buffer_format(tensor, "buffer");
    } catch (const Error& error) {
      PyErr_SetString(PyExc_BufferError, error.what());
      return -1;
    }
    if (const char* const objection = find_objection(tensor, flags)) {
      PyErr_SetString(PyExc_BufferError, objection);
      return -1;
    }
    fill(*view, self, flags);
    note_lent(tensor);
    return 0;
  });
}

void release_buffer(PyObject*, Py_buffer* view) { PyMem_Free(view->internal); }

PyType_Slot protocol_slots[] = {{Py_bf_getbuffer, slot(get_buffer)},
                                {Py_bf_releasebuffer, slot(release_buffer)}};

}  // namespace

bool has_buffer_format(const Tensor& tensor) noexcept {
  return find_format(tensor.dtype()) != nullptr;
}

void require_buffer_format(const Tensor& tensor, const char* what) {
  if (has_buffer_format(tensor)) return;
  fail(ErrorKind::Unsupported, std::string(what) + ": the tensor is " + describe(tensor) +
                                   ", and neither NumPy nor the buffer protocol has that element "
                                   "type; convert it to float32 first");
}

TypeSlots buffer_slots() { return protocol_slots; }

}  // namespace opyard::python
