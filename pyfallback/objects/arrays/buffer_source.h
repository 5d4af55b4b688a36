// objects/arrays/buffer_source.h: buffer protocol import.
//
// Depends on: runtime/runtime.h, tensor/tensor.h.
#pragma once

#include "runtime/runtime.h"

#include <optional>
#include <string_view>

#include "opyard/tensor/tensor.h"

namespace opyard::python {

struct BufferGeometry {
  void* data = nullptr;
  DimVector sizes;
  DimVector strides;  // in elements
  DType dtype = DType::UInt8;
  bool read_only = false;
};

// The dtype of a format of the struct module, without its byte order, for elements of so many
// bytes.
std::optional<DType> find_dtype_of(std::string_view format, Py_ssize_t bytes) noexcept;

// Holds a memoryview of the object. Everything with the GIL held.
class BufferSource {
 public:
  // Raises, beginning with `what` if that is not empty: BadArgument for an object without the
  // buffer protocol, for elements that it cannot show and for a masked array; BadValue for elements
  // that are no dtype or have another byte order.
  BufferSource(PyObject* object, const char* what);

  // Raises BadValue for geometry that a tensor on the same memory cannot have: negative strides,
  // strides between elements, unaligned data, pointers to pointers.
  void require_shareable();
  // Only after require_shareable().
  const BufferGeometry& geometry() const noexcept { return geometry_; }

  // A new row-major tensor with a copy of the elements, whatever their geometry.
  Tensor copy() const;

  [[nodiscard]] PyObject* release_view() noexcept { return view_.release(); }

 private:
  const Py_buffer& buffer() const noexcept { return *PyMemoryView_GET_BUFFER(view_.get()); }

  const char* what_;
  Owned view_;
  BufferGeometry geometry_;
};

// A tensor on the memory of an object with the buffer protocol; read-only if the buffer is.
// Raises what BufferSource and its require_shareable() do. A memoryview of the object is the
// storage's context: it keeps the object alive and forbids it to move its memory. It is let go of
// through the interpreter tag, so that a tensor may die on any thread and take no GIL.
Tensor share_buffer(Runtime& runtime, PyObject* object, const char* what);

}  // namespace opyard::python
