// tensor/tensor.cpp: making tensors and views, and errors of undefined tensors.
#include "opyard/tensor/tensor.h"

#include <fmt/format.h>

#include "opyard/detail/tensor/gradient_functions.h"
#include "opyard/detail/tensor/meta_call.h"
#include "opyard/tensor/places.h"
#include "opyard/tensor/reinterpret.h"
#include "tensor/geometry.h"
#include "tensor/keys_on.h"

namespace opyard {
namespace {

// A view is a plain tensor: it does not inherit the layers of an object of Python.
DispatchKeySet keys_of_view(DispatchKeySet keys) {
  return keys - DispatchKeySet{DispatchKey::Python, DispatchKey::PythonTLSSnapshot};
}

// In C++ these views are for kernels: a gradient would not flow through one that a program makes.
[[noreturn]] OPYARD_COLD void refuse_untaped(const char* function, const Tensor& tensor) {
  fail(
      ErrorKind::Unsupported,
      fmt::format("Tensor::{0} of {1}, which needs a gradient, would not be taped: it is for "
                  "kernels, which run below autograd; call the operator aten::{0} instead, or turn "
                  "gradients off with GradientModeGuard",
                  function, describe(tensor)));
}
void check_untaped(const char* function, const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  const bool has_state = impl.gradient_state() || impl.storage()->gradient_state();
  if (__builtin_expect(!has_state, 1)) return;
  constexpr DispatchKeySet kAutograd(DispatchKey::AutogradFunctionality);
  if (!gradients_enabled() || !impl.keys().has(DispatchKey::AutogradFunctionality) ||
      (detail::excluded_keys() & kAutograd.raw()) != 0) {
    return;
  }
  const auto* const functions = detail::gradient_functions.load(std::memory_order_acquire);
  if (functions != nullptr && functions->needs(tensor)) refuse_untaped(function, tensor);
}

// Under inference mode calls pass by the tape, which marks such views elsewhere.
void mark_if_inferred(const Tensor& viewed, TensorImpl& view) noexcept {
  if (__builtin_expect(!is_inference(), 1)) return;
  const auto* const functions = detail::gradient_functions.load(std::memory_order_acquire);
  if (functions == nullptr || !functions->needs(viewed)) return;
  view.set_marks(std::uint8_t(view.marks() | TensorImpl::kMadeWithoutGradients));
}

// Bytes of `count` elements. Raises BadShape if they pass int64.
std::size_t count_bytes(std::int64_t count, DType dtype, IntSpan sizes) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, std::int64_t(item_size(dtype)), &bytes)) {
    fail(ErrorKind::BadShape, fmt::format("sizes {} of {} need more bytes than fit in 64 bits",
                                          describe_sizes(sizes), name_of(dtype)));
  }
  return std::size_t(bytes);
}

// Where in memory a geometry is around its first element at `data`.
struct TensorBlock {
  void* begin = nullptr;
  std::size_t bytes = 0;
  std::int64_t first = 0;  // the offset of the first element
};

// Raises BadShape if the block would leave the address space.
TensorBlock find_block(void* data, IntSpan sizes, IntSpan strides, DType dtype) {
  if (count_elements(sizes) == 0) return {data, 0, 0};
  const auto item = std::int64_t(item_size(dtype));
  std::int64_t below = 0, above = 0, bytes = 0;
  std::uintptr_t begin = 0, end = 0;
  const std::optional<Extent> extent = find_extent(sizes, strides);
  if (!extent || __builtin_mul_overflow(extent->lowest, item, &below) ||
      __builtin_mul_overflow(extent->highest, item, &above) ||
      __builtin_add_overflow(above, item, &above) || __builtin_sub_overflow(above, below, &bytes) ||
      (data != nullptr &&
       (__builtin_add_overflow(reinterpret_cast<std::uintptr_t>(data), below, &begin) ||
        __builtin_add_overflow(begin, bytes, &end)))) {
    fail(ErrorKind::BadShape,
         fmt::format("sizes {} with strides {} of {} leave the address space",
                     describe_sizes(sizes), describe_sizes(strides), name_of(dtype)));
  }
  return {reinterpret_cast<void*>(begin), std::size_t(bytes), -extent->lowest};
}

// Memory of someone else until a storage has taken it over.
struct HandedTensor {
  void* context;
  Storage::Deleter deleter;

  HandedTensor(void* c, Storage::Deleter d) noexcept : context(c), deleter(d) {}
  HandedTensor(const HandedTensor&) = delete;
  HandedTensor& operator=(const HandedTensor&) = delete;
  ~HandedTensor() {
    if (deleter != nullptr) deleter(context);
  }
};

// A dimension as given, counted from the front. Raises BadIndex.
std::size_t require_own_dim(std::int64_t dim, std::int64_t count) {
  if (dim >= -count && dim < count) return std::size_t(dim < 0 ? dim + count : dim);
  if (count == 0) {
    fail(ErrorKind::BadIndex,
         fmt::format("dimension {} was asked for, and the tensor has no dimensions", dim));
  }
  fail(ErrorKind::BadIndex,
       fmt::format("dimension {} is out of range for a tensor of {} dimension{}; "
                   "accepted are {} to {}",
                   dim, count, count == 1 ? "" : "s", -count, count - 1));
}

}  // namespace

Tensor Tensor::empty(IntSpan sizes, DType dtype, Device device) {
  const std::size_t bytes = count_bytes(count_elements(sizes), dtype, sizes);
  const DimVector strides = contiguous_strides(sizes);
  return Tensor(make_counted<TensorImpl>(Storage::allocate(bytes, device), dtype, sizes, strides, 0,
                                         keys_on(device)));
}

// `data` is the first element. With negative strides the storage begins below it.
Tensor Tensor::adopt(void* data, IntSpan sizes, IntSpan strides, DType dtype, Device device,
                     void* context, Storage::Deleter deleter, bool read_only) {
  HandedTensor handed(context, deleter);
  require_same_length(sizes, strides);
  const TensorBlock block = find_block(data, sizes, strides, dtype);
  CountedPtr<Storage> storage = Storage::adopt(block.begin, block.bytes, device, handed.context,
                                               std::exchange(handed.deleter, nullptr), read_only);
  return Tensor(make_counted<TensorImpl>(std::move(storage), dtype, sizes, strides, block.first,
                                         keys_on(device)));
}

std::int64_t Tensor::size(std::int64_t dim) const {
  const IntSpan all = sizes();
  return all[require_own_dim(dim, std::int64_t(all.size()))];
}

std::int64_t Tensor::stride(std::int64_t dim) const {
  const IntSpan all = strides();
  return all[require_own_dim(dim, std::int64_t(all.size()))];
}

void Tensor::count_write() const {
  Storage& storage = *require().storage();
  if (__builtin_expect(storage.read_only(), 0)) {
    fail(ErrorKind::BadValue,
         fmt::format("the memory of {} is read-only and cannot be written; write to a copy, as "
                     "clone() makes one",
                     describe(*this)));
  }
  storage.bump_version();
}

void* Tensor::mutable_raw() const {
  count_write();
  return elements();
}

void* Tensor::no_elements() const {
  const bool has_some = impl_->own_numel() != 0 ||
                        impl_->has_policy(TensorImpl::kSymbolic | TensorImpl::kCustomSizes);
  if (has_some && impl_->own_device().backend == Backend::Meta) {
    detail::refuse_meta_elements("data()", *this);
  }
  return nullptr;
}

Tensor Tensor::as_strided(IntSpan sizes, IntSpan strides, std::int64_t offset) const {
  return reinterpret(*this, require().dtype(), sizes, strides, offset);
}

Tensor reinterpret(const Tensor& tensor, DType dtype, IntSpan sizes, IntSpan strides,
                   std::int64_t offset) {
  const TensorImpl& impl = *tensor.impl();
  check_untaped("as_strided", tensor);
  auto view = make_counted<TensorImpl>(impl.storage(), dtype, sizes, strides, offset,
                                       keys_of_view(impl.keys()));
  view->inherit_marks(impl);
  mark_if_inferred(tensor, *view);
  return Tensor(std::move(view));
}

Tensor Tensor::alias() const {
  const TensorImpl& impl = require();
  if (impl.has_policy(TensorImpl::kSymbolic)) refuse_symbolic("alias");
  check_untaped("alias", *this);
  auto view = make_counted<TensorImpl>(impl, keys_of_view(impl.keys()));
  mark_if_inferred(*this, *view);
  return Tensor(std::move(view));
}

void Tensor::refuse_undefined() {
  fail(ErrorKind::BadValue,
       "an undefined tensor has no dtype, shape or data; check defined() before asking for them");
}

void Tensor::refuse_strided() const {
  fail(ErrorKind::BadValue,
       fmt::format("data() of {} with strides {}: its elements do not follow each other; take "
                   "contiguous(x).data(), or an accessor or a loop of opyard/kernel.h",
                   describe(*this), describe_sizes(strides())));
}

void Tensor::refuse_dtype(DType wanted) const {
  fail(ErrorKind::BadArgument,
       fmt::format("the elements of {} were asked for as {}; its dtype is {}, and data is never "
                   "converted in place: give x.to({}), or take every dtype by dispatch_dtypes()",
                   describe(*this), name_of(wanted), name_of(dtype()), name_of(wanted)));
}

std::string describe(const Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  const TensorImpl& impl = *tensor.impl();  // its own sizes: a message runs no code of a class
  if (impl.has_policy(TensorImpl::kSymbolic))
    return fmt::format("{}[symbolic]", name_of(impl.dtype()));
  return fmt::format("{}{}", name_of(impl.dtype()), describe_sizes(impl.own_sizes()));
}

}  // namespace opyard
