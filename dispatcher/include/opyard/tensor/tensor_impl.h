// opyard/tensor/tensor_impl.h: what a tensor is made of.
//
//   Tensor ──> TensorImpl { keys, sizes, strides, offset, dtype, object slot } ──> Storage
//
// Tensors share a TensorImpl by handle; views are TensorImpls of their own on the same
// Storage. Sizes and strides are int64 words, strides in elements. Geometry is written
// while a tensor is made and is constant once it is shared.
//
// Users of tensors want tensor/tensor.h. A kernel or plugin that makes views wants this.
//
// Depends on: base/small_vector.h, keys/dispatch_key_set.h, slot/object_slot.h,
// tensor/{dtype,layout,storage}.h.
#pragma once

#include <cstdint>
#include <span>

#include "opyard/base/small_vector.h"
#include "opyard/keys/dispatch_key_set.h"
#include "opyard/slot/object_slot.h"
#include "opyard/tensor/dtype.h"
#include "opyard/tensor/layout.h"
#include "opyard/tensor/storage.h"

namespace opyard {

using IntSpan = std::span<const std::int64_t>;
using DimVector = SmallVector<std::int64_t, 5>;

class OPYARD_API TensorImpl final : public Counted {
 public:
  // Raises BadShape for a negative size, for sizes and strides of different lengths, for a
  // number of elements past int64, and for geometry that leaves the storage.
  TensorImpl(CountedPtr<Storage> storage, DType dtype, IntSpan sizes, IntSpan strides,
             std::int64_t storage_offset, DispatchKeySet keys);
  ~TensorImpl() override;

  DispatchKeySet keys() const noexcept { return keys_; }
  // Only while no other thread can see the tensor.
  void set_keys(DispatchKeySet keys) noexcept { keys_ = keys; }

  IntSpan sizes() const noexcept { return sizes_; }
  IntSpan strides() const noexcept { return strides_; }
  std::int64_t dim() const noexcept { return std::int64_t(sizes_.size()); }
  std::int64_t numel() const noexcept { return numel_; }
  std::int64_t storage_offset() const noexcept { return storage_offset_; }
  DType dtype() const noexcept { return dtype_; }
  Layout layout() const noexcept { return Layout::Strided; }
  Device device() const noexcept { return storage_->device(); }
  bool is_contiguous() const noexcept { return contiguous_; }
  const CountedPtr<Storage>& storage() const noexcept { return storage_; }

  // The address of the first element; null where the storage has no data.
  void* data() const noexcept {
    auto* base = static_cast<std::byte*>(storage_->data());
    return base == nullptr ? nullptr : base + storage_offset_ * std::int64_t(item_size(dtype_));
  }

  ObjectSlot& object_slot() const noexcept { return object_slot_; }

  // For the object in the slot that the slot owns, with the interpreter's lock held: makes the object
  // an owner again, and the slot none. `was_left` says that no other owner was there any more: then
  // the slot's reference to the object is given back by who let go last, else by the caller.
  CountedPtr<TensorImpl> return_to_object_with_lock_held(bool& was_left);
  // Whether the last owner has left this to the object in the slot.
  bool is_left_to_object() const noexcept { return is_left_without_owner(); }

 private:
  void end() const noexcept override;

  DispatchKeySet keys_;
  mutable ObjectSlot object_slot_;
  CountedPtr<Storage> storage_;
  std::int64_t storage_offset_;
  std::int64_t numel_;
  DimVector sizes_;
  DimVector strides_;
  DType dtype_;
  bool contiguous_;
};

// Strides of a contiguous tensor with these sizes: the last dimension is 1.
OPYARD_API DimVector contiguous_strides(IntSpan sizes);
// The product of the sizes. Raises BadShape for a negative size and for a product past int64.
OPYARD_API std::int64_t count_elements(IntSpan sizes);

}  // namespace opyard
