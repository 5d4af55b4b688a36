// tensor/resize.cpp: changing sizes and strides of tensors.
#include "opyard/tensor/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "opyard/detail/tensor/exported_tensor.h"
#include "opyard/detail/tensor/gradient_functions.h"
#include "opyard/keys/gradient_mode.h"

namespace opyard {
namespace {

// What a storage that has grown owns. See [Growing].
struct Grown {
  CountedPtr<Storage> memory;
  CountedPtr<Storage> former;
};

void drop_grown(void* context) { delete static_cast<Grown*>(context); }

// Bytes up to the last of `numel` elements. Raises BadShape if they pass int64.
std::size_t bytes_for(const Tensor& tensor, IntSpan sizes, std::int64_t numel) {
  std::int64_t bytes = 0;
  if (__builtin_add_overflow(tensor.impl()->own_storage_offset(), numel, &bytes) ||
      __builtin_mul_overflow(bytes, std::int64_t(item_size(tensor.dtype())), &bytes)) {
    fail(ErrorKind::BadShape, fmt::format("sizes {} of {} need more bytes than fit in 64 bits",
                                          describe_sizes(sizes), name_of(tensor.dtype())));
  }
  return numel == 0 ? 0 : std::size_t(bytes);
}

bool is_wrapper(const TensorImpl& impl) {
  return impl.keys().has(DispatchKey::Python) && impl.data() == nullptr && impl.own_numel() != 0;
}

bool needs_gradient(const Tensor& tensor) {
  const auto* const functions = detail::gradient_functions.load(std::memory_order_acquire);
  return functions != nullptr && functions->needs(tensor);
}

void require_own_memory(const Tensor& tensor, const char* cannot) {
  if (!tensor.impl()->storage()->is_borrowed()) return;
  fail(ErrorKind::BadValue,
       fmt::format("the memory of {} is borrowed for this call, and {}", describe(tensor), cannot));
}

void require_own_geometry(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  if (impl.policies() != 0 || is_wrapper(impl)) {
    fail(ErrorKind::Unsupported,
         fmt::format("the sizes of {} are those of its class, or symbolic, and cannot be changed",
                     describe(tensor)));
  }
  if (impl.own_device().backend != Backend::CPU && impl.own_device().backend != Backend::Meta) {
    fail(ErrorKind::Unsupported,
         fmt::format("{} is on {}; only tensors on cpu and meta can be resized", describe(tensor),
                     to_string(impl.own_device())));
  }
  if (needs_gradient(tensor)) {
    fail(ErrorKind::BadValue,
         fmt::format("{} needs a gradient, and cannot be resized; resize a detached clone()",
                     describe(tensor)));
  }
  require_own_memory(tensor, "cannot be resized; resize a clone()");
}

[[noreturn]] OPYARD_COLD void refuse_to_grow(const Tensor& tensor, std::size_t bytes,
                                             const char* why) {
  fail(ErrorKind::BadValue,
       fmt::format("{} has {} bytes of memory and needs {}, but {}, so that it cannot grow; resize "
                   "a clone()",
                   describe(tensor), tensor.impl()->storage()->bytes(), bytes, why));
}

void require_growing(const Tensor& tensor, std::size_t bytes) {
  const Storage& storage = *tensor.impl()->storage();
  if (!ExportedTensor::has_own_memory(storage, drop_grown)) {
    refuse_to_grow(tensor, bytes, "that is another library's");
  }
  if (!storage.is_unshared()) refuse_to_grow(tensor, bytes, "other tensors are on it");
  if (tensor.impl()->has_mark(kLent)) {
    refuse_to_grow(tensor, bytes, "its address was given away, as numpy() does");
  }
  if (storage.gradient_state()) refuse_to_grow(tensor, bytes, "it is on the tape");
}

CountedPtr<Storage> grow(const Storage& former, std::size_t bytes) {
  CountedPtr<Storage> memory = Storage::allocate(bytes, former.device());
  if (former.data() == nullptr) return memory;
  std::memcpy(memory->data(), former.data(), former.bytes());
  CountedPtr<Storage> kept = CountedPtr<Storage>::share(const_cast<Storage*>(&former));
  if (auto* const before = static_cast<Grown*>(ExportedTensor::context_of(former, drop_grown))) {
    kept = before->memory;
  }
  void* const data = memory->data();
  auto grown = std::make_unique<Grown>(Grown{std::move(memory), std::move(kept)});
  return Storage::adopt(data, bytes, former.device(), grown.release(), drop_grown);
}

}  // namespace

void note_lent(const Tensor& tensor) noexcept {
  TensorImpl& impl = *tensor.impl();
  if (!impl.has_mark(kLent)) impl.set_marks(std::uint8_t(impl.marks() | kLent));
}

void resize(const Tensor& tensor, IntSpan sizes, std::optional<MemoryFormat> format) {
  require_own_geometry(tensor);
  const std::int64_t numel = count_elements(sizes);
  if (!format && std::ranges::equal(sizes, tensor.sizes())) return;
  DimVector strides = format ? strides_in(*format, sizes) : contiguous_strides(sizes);
  const std::size_t bytes = bytes_for(tensor, sizes, numel);
  CountedPtr<Storage> storage = tensor.impl()->storage();
  if (bytes > storage->bytes()) {
    storage.reset();
    require_growing(tensor, bytes);
    storage = grow(*tensor.impl()->storage(), bytes);
  }
  ExportedTensor::change(*tensor.impl(), std::move(storage), DimVector(sizes), std::move(strides));
}

void take_geometry(const Tensor& tensor, const Tensor& view) {
  TensorImpl& impl = *tensor.impl();
  if ((impl.policies() & ~TensorImpl::kSymbolic) != 0 || is_wrapper(impl)) {
    fail(ErrorKind::Unsupported,
         fmt::format("the sizes of {} are those of its class, and cannot be changed; make a view",
                     describe(tensor)));
  }
  require_own_memory(tensor, "its sizes cannot be changed for good; make a view");
  if (!gradients_enabled() && needs_gradient(tensor)) {
    fail(ErrorKind::BadValue,
         fmt::format("{} needs a gradient, and its sizes cannot be changed with gradients off; "
                     "make a view, or change a detach()",
                     describe(tensor)));
  }
  OPYARD_CHECK(view.impl()->storage() == impl.storage(), BadValue,
               describe(view) + " is no view of " + describe(tensor));
  ExportedTensor::take_geometry(impl, *view.impl());
}

}  // namespace opyard
