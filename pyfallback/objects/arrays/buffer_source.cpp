// objects/arrays/buffer_source.cpp: buffer protocol import: element types and strides, checked.
#include "objects/arrays/buffer_source.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "objects/arrays/numpy_types.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

std::string prefix(const char* what) { return *what == '\0' ? "" : std::string(what) + ": "; }

// The view's own exception says why; it becomes the cause of one that says what to do. What is no
// refusal, but an exception of the array's own code or a lack of memory, leaves as itself.
[[noreturn]] void refuse_object(PyObject* object, const char* what) {
  const bool has_buffer = PyObject_CheckBuffer(object) != 0;
  const bool is_refusal =
      !has_buffer || (PyErr_ExceptionMatches(PyExc_BufferError) != 0 && *what != '\0') ||
      (PyErr_ExceptionMatches(PyExc_ValueError) != 0 &&
       (PyMemoryView_Check(object) || is_of_numpy(Py_TYPE(object), "numpy.ndarray")));
  if (!is_refusal) throw PythonErrorSet();
  PyObject* const cause = take_exception();
  const std::string type = Py_TYPE(object)->tp_name;
  const bool released =
      PyMemoryView_Check(object) && PyErr_GivenExceptionMatches(cause, PyExc_ValueError) != 0;
  const std::string text =
      released ? prefix(what) + "the memoryview was released; pass one that is still in use"
      : has_buffer
          ? prefix(what) + "the elements of this " + type +
                " cannot be shown to others; convert it to numbers that tensors hold, such as "
                "float32 or int64"
          : prefix(what) + "a " + type +
                " was given; accepted are NumPy arrays and other objects with the buffer protocol";
  if (*what == '\0') {  // the caller says more
    Py_XDECREF(cause);
    fail(ErrorKind::BadArgument, text);
  }
  PyErr_SetString(PyExc_TypeError, text.c_str());
  PyObject* const exception = take_exception();
  PyException_SetCause(exception, cause);
  restore_exception(exception);
  throw PythonErrorSet();
}

std::optional<DType> integer_of(Py_ssize_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? DType::Int8 : DType::UInt8;
    case 2:
      return is_signed ? DType::Int16 : DType::UInt16;
    case 4:
      return is_signed ? DType::Int32 : DType::UInt32;
    case 8:
      return is_signed ? DType::Int64 : DType::UInt64;
    default:
      return std::nullopt;
  }
}

// "f" is entry 'f' of a table, and "Zf" entry 128 + 'f'; nothing for other formats.
constexpr std::optional<std::size_t> format_index(std::string_view format) noexcept {
  const bool is_complex_number = format.size() == 2 && format[0] == 'Z';
  if ((format.size() != 1 && !is_complex_number) || (format.back() & 0x80) != 0) return {};
  return std::size_t(format.back()) + (is_complex_number ? 128 : 0);
}

constexpr std::uint8_t kNoDType = 0xFF;
constexpr auto kFormats = [] {
  std::array<std::uint8_t, 256> codes{};
  codes.fill(kNoDType);
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, format, ...) \
  if (const auto index = format_index(format)) codes[*index] = code;
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  return codes;
}();

DType require_dtype_of(const Py_buffer& buffer, const char* what) {
  const std::string_view full = buffer.format == nullptr ? "B" : buffer.format;
  const std::string_view letters =
      !full.empty() && std::string_view("@=<>!").find(full[0]) != std::string_view::npos
          ? full.substr(1)
          : full;
  const std::optional<DType> dtype = find_dtype_of(letters, buffer.itemsize);
  if (!dtype) {
    fail(ErrorKind::BadValue,
         prefix(what) + "the elements have the format '" + std::string(full) +
             "'; accepted are bool, int8 to int64, uint8 to uint64, float16 to float64 and complex "
             "numbers, so convert them first, as array.astype does");
  }
  if (buffer.itemsize > 1 && (full[0] == '>' || full[0] == '!')) {
    fail(ErrorKind::BadValue,
         prefix(what) +
             "the elements are in another byte order than this machine's; convert them "
             "first, as array.astype(array.dtype.newbyteorder('=')) does");
  }
  return *dtype;
}

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

std::optional<DType> find_dtype_of(std::string_view format, Py_ssize_t bytes) noexcept {
  const std::optional<std::size_t> index = format_index(format);
  if (!index) return std::nullopt;
  // An integer of C's types, whose widths differ from machine to machine.
  if (format.size() == 1 && std::string_view("bhilqnBHILQN").find(format[0]) != format.npos) {
    return integer_of(bytes, format[0] >= 'a');
  }
  const std::uint8_t code = kFormats[*index];
  if (code == kNoDType || Py_ssize_t(item_size(DType(code))) != bytes) return std::nullopt;
  return DType(code);
}

BufferSource::BufferSource(PyObject* object, const char* what) : what_(what) {
  require_unmasked(object, what);
  require_stack();
  view_ = Owned::steal(PyMemoryView_FromObject(object));
  if (!view_) refuse_object(object, what);
  const Py_buffer& source = buffer();
  geometry_.data = source.buf;
  geometry_.dtype = require_dtype_of(source, what);
  geometry_.read_only = source.readonly != 0;
  geometry_.sizes.resize(std::size_t(source.ndim));
  for (std::size_t i = 0; i < geometry_.sizes.size(); ++i) geometry_.sizes[i] = source.shape[i];
}

void BufferSource::require_shareable() {
  const Py_buffer& source = buffer();
  const Py_ssize_t item = source.itemsize;
  OPYARD_CHECK(source.suboffsets == nullptr, BadValue,
               prefix(what_) + "the elements are reached through pointers; copy them first");
  if (source.len == 0) {
    geometry_.strides = contiguous_strides(geometry_.sizes);
    return;
  }
  geometry_.strides.resize(geometry_.sizes.size());
  for (std::size_t i = 0; i < geometry_.sizes.size(); ++i) {
    const Py_ssize_t stride = source.strides[i];
    if (geometry_.sizes[i] > 1 && (stride < 0 || stride % item != 0)) {
      const char* const fault = stride < 0 ? ", and tensors on foreign memory have none below zero"
                                           : ", which is not a whole number of elements";
      fail(ErrorKind::BadValue, prefix(what_) + "the stride of dimension " + std::to_string(i) +
                                    " is " + std::to_string(stride) + " bytes" + fault +
                                    "; copy the array first, as array.copy() does");
    }
    geometry_.strides[i] = geometry_.sizes[i] > 1 ? stride / item : 1;
  }
  const std::size_t alignment =
      is_complex(geometry_.dtype) ? std::size_t(item) / 2 : std::size_t(item);
  if (reinterpret_cast<std::uintptr_t>(source.buf) % alignment != 0) {
    fail(ErrorKind::BadValue, prefix(what_) + "the elements are not aligned to their " +
                                  std::to_string(alignment) +
                                  " bytes in memory; copy the array first, as array.copy() does");
  }
}

Tensor BufferSource::copy() const {
  const Tensor tensor = Tensor::empty(geometry_.sizes, geometry_.dtype);
  if (tensor.numel() == 0) return tensor;
  // The API wants the view without const, and changes nothing.
  auto* const source = const_cast<Py_buffer*>(&buffer());
  if (PyBuffer_ToContiguous(tensor.impl()->data(), source, source->len, 'C') < 0) {
    throw PythonErrorSet();
  }
  return tensor;
}

Tensor share_buffer(Runtime& runtime, PyObject* object, const char* what) {
  BufferSource source(object, what);
  source.require_shareable();
  auto hold = std::make_unique<Hold>(Hold{nullptr, runtime.tag});
  hold->view = source.release_view();
  const BufferGeometry& geometry = source.geometry();
  return Tensor::adopt(geometry.data, geometry.sizes, geometry.strides, geometry.dtype, Device{},
                       hold.release(), Hold::let_go, geometry.read_only);
}

}  // namespace opyard::python
