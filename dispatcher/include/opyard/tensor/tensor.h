// opyard/tensor/tensor.h: Tensor: a counted pointer to a TensorImpl.
//
// A Tensor is one counted pointer. Copying counts, moving does not. A default Tensor is
// undefined: it has no keys, no shape and no data, and asking it for them raises BadValue.
//
// Depends on: tensor/tensor_impl.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

#include "opyard/tensor/tensor_impl.h"

namespace opyard {

class OPYARD_API Tensor {
 public:
  Tensor() noexcept = default;
  explicit Tensor(CountedPtr<TensorImpl> impl) noexcept : impl_(std::move(impl)) {}

  // A new tensor of uninitialised elements, contiguous. Keys: the device's own and its
  // autograd key. Raises BadShape, Unsupported (no allocator for the device), bad_alloc.
  static Tensor empty(IntSpan sizes, DType dtype = DType::Float32, Device device = {});
  // A tensor on memory of someone else; see Storage::adopt. `strides` in elements.
  static Tensor adopt(void* data, IntSpan sizes, IntSpan strides, DType dtype, Device device,
                      void* context, Storage::Deleter deleter, bool read_only = false);

  bool defined() const noexcept { return bool(impl_); }
  // The keys that this tensor adds to a call; none if it is undefined.
  DispatchKeySet keys() const noexcept { return impl_ ? impl_->keys() : DispatchKeySet(); }

  IntSpan sizes() const { return require().sizes(); }
  IntSpan strides() const { return require().strides(); }
  // A negative dimension counts from the end. Raises BadIndex.
  std::int64_t size(std::int64_t dim) const;
  std::int64_t stride(std::int64_t dim) const;
  std::int64_t dim() const { return require().dim(); }
  std::int64_t numel() const { return require().numel(); }
  std::int64_t storage_offset() const { return require().storage_offset(); }
  DType dtype() const { return require().dtype(); }
  Device device() const { return require().device(); }
  Layout layout() const { return require().layout(); }
  bool is_contiguous() const { return require().is_contiguous(); }

  // The first element, to read or to write. Raises BadArgument if T is not the tensor's
  // dtype. The writing form bumps the version; it raises BadValue if the memory is read-only.
  // The elements follow each other only if the tensor is contiguous: contiguous(x) of
  // tensor/make.h makes it so, accessors and loops go by strides. In a library compiled with
  // OPYARD_CHECKED defined, both raise BadValue for a tensor that is not. For elements of a meta
  // tensor, which are nowhere, all four raise Unsupported.
  template <typename T>
  const T* data() const {
    require_dtype_is(dtype_of<T>);
    require_contiguous_if_checked();
    return static_cast<const T*>(elements());
  }
  template <typename T>
  T* mutable_data() const {
    require_dtype_is(dtype_of<T>);
    require_contiguous_if_checked();
    return static_cast<T*>(mutable_raw());
  }
  const void* raw() const {
    require();
    return elements();
  }
  void* mutable_raw() const;
  // What the writing forms do before they give an address, for a kernel that writes by other means:
  // bumps the version, of meta tensors, too. Raises BadValue if the memory is read-only.
  void count_write() const;

  // A view: the same storage under another geometry, `offset` in elements from the start of
  // the storage. It has this tensor's keys but for Python's, which stand for an object that a
  // view does not have. Raises BadShape if it leaves the storage.
  Tensor as_strided(IntSpan sizes, IntSpan strides, std::int64_t offset) const;
  // A view with the geometry that this tensor was made with, without an interpreter tag. Raises
  // BadValue if that is symbolic.
  Tensor alias() const;

  // For kernels, which run behind the layers that tape and trace: views that call no operator.
  // tensor/views.h has each as a function, and says what it raises; contiguous() and flatten(),
  // which copy elements if no strides show them so, are those of tensor/make.h.
  Tensor select(std::int64_t dim, std::int64_t index) const;
  Tensor narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const;
  Tensor transpose(std::int64_t dim0, std::int64_t dim1) const;
  Tensor permute(IntSpan dims) const;
  Tensor unsqueeze(std::int64_t dim) const;
  Tensor expand(IntSpan sizes) const;
  Tensor view(IntSpan sizes) const;
  Tensor flatten(std::int64_t start = 0, std::int64_t end = -1) const;
  Tensor contiguous() const;

  bool same(const Tensor& other) const noexcept { return impl_ == other.impl_; }
  const CountedPtr<TensorImpl>& impl() const noexcept { return impl_; }
  [[nodiscard]] TensorImpl* release_impl() noexcept { return impl_.release(); }

 private:
  const TensorImpl& require() const {
    if (__builtin_expect(!impl_, 0)) refuse_undefined();
    return *impl_;
  }
  void* elements() const {
    void* const first = impl_->data();
    return __builtin_expect(first == nullptr, 0) ? no_elements() : first;
  }
  void require_dtype_is(DType dtype) const {
    if (__builtin_expect(require().dtype() != dtype, 0)) refuse_dtype(dtype);
  }
  void require_contiguous_if_checked() const {
#ifdef OPYARD_CHECKED
    if (__builtin_expect(!is_contiguous(), 0)) refuse_strided();
#endif
  }
  // Null; raises for a meta tensor that should have some.
  OPYARD_COLD void* no_elements() const;
  [[noreturn]] static void refuse_undefined();
  [[noreturn]] void refuse_strided() const;
  [[noreturn]] void refuse_dtype(DType wanted) const;

  CountedPtr<TensorImpl> impl_;
};

static_assert(sizeof(Tensor) == sizeof(void*));

// Whether a tensor has sizes, strides and a dtype, but no elements. A kernel for the CPU that makes
// its results by other means than those of opyard/kernel.h returns them here, untouched.
inline bool is_meta(const Tensor& tensor) { return tensor.device().backend == Backend::Meta; }

// Raises Unsupported for a tensor that is not on the CPU, for elements of a meta tensor, and for a
// tensor whose class defines its geometry, and BadValue for one without memory: what is needed
// before elements are touched.
OPYARD_API void require_elements(const char* what, const Tensor& x);

// "float32[2, 3]", "undefined": dtype and sizes, for messages.
OPYARD_API std::string describe(const Tensor& tensor);
// "[2, 3]"
OPYARD_API std::string describe_sizes(IntSpan sizes);

}  // namespace opyard
