// opyard/tensor/tensor_impl.h: TensorImpl: storage, geometry, dtype and keys of a tensor.
//
//   Tensor ──> TensorImpl { keys, sizes, strides, offset, dtype, object link } ──> Storage
//
// Tensors share a TensorImpl by count; views are TensorImpls of their own on the same
// Storage. Sizes and strides are int64 words, strides in elements. Geometry is written
// while a tensor is made and is constant once it is shared.
//
// [Policies] A class of an interpreter may define what its tensors are like. One bit of a tensor
// says for each part that it does; who asks for such a part then asks the interpreter of the
// tensor's object, out of line, which may run code and raise. Tensors without policies pay one test
// of a byte.
//
//   kCustomStrides   strides(), is_contiguous(), is_non_overlapping_and_dense()
//   kCustomSizes     sizes(), dim(), numel(), and what kCustomStrides names
//   kCustomDevice    device()
//   kCustomLayout    layout()
//   kSymbolic        sizes and strides are symbolic: value/sym_tensor.h gives them, and asking for
//                    plain ones raises BadValue
//
// What a tensor was made with, whatever its policies, is what own_sizes() and the like give.
//
// [Marks] What is true of a tensor because of how it was made, and of every view of it. The bits
// belong to the tape; here they are only stored and handed on. A detached tensor and its views are
// a group, which has a number: writes that are taped in one group are no history of the memory's
// other tensors.
//
// Users of tensors want tensor/tensor.h. A kernel or plugin that makes views wants this.
//
// Depends on: base/set_once.h, base/small_vector.h, keys/dispatch_key_set.h,
// interpreter/object_link.h, tensor/{dtype,layout,storage}.h.
#pragma once

#include <cstdint>
#include <span>

#include "opyard/detail/base/set_once.h"
#include "opyard/detail/base/small_vector.h"
#include "opyard/detail/interpreter/object_link.h"
#include "opyard/keys/dispatch_key_set.h"
#include "opyard/tensor/dtype.h"
#include "opyard/tensor/layout.h"
#include "opyard/tensor/storage.h"

namespace opyard {

// Sizes and strides, borrowed and owned.
using IntSpan = std::span<const std::int64_t>;
using DimVector = SmallVector<std::int64_t, 5>;

class OPYARD_API TensorImpl final : public Counted {
 public:
  // Raises BadShape for a negative size, for sizes and strides of different lengths, for a
  // number of elements past int64, and for geometry that leaves the storage.
  TensorImpl(CountedPtr<Storage> storage, DType dtype, IntSpan sizes, IntSpan strides,
             std::int64_t storage_offset, DispatchKeySet keys);
  // A view of the whole of another tensor, with keys of its own: nothing is left to check. It has
  // the marks of the other and no policies, and its object link is empty.
  TensorImpl(const TensorImpl& viewed, DispatchKeySet keys);
  ~TensorImpl() override;

  // From memory that dead ones left, if there is some: see src/base/free_list.h.
  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory, std::size_t bytes) noexcept;

  DispatchKeySet keys() const noexcept { return keys_; }
  // Only while no other thread can see the tensor.
  void set_keys(DispatchKeySet keys) noexcept { keys_ = keys; }

  // See [Policies].
  static constexpr std::uint8_t kCustomStrides = 1;
  static constexpr std::uint8_t kCustomSizes = 2;
  static constexpr std::uint8_t kCustomDevice = 4;
  static constexpr std::uint8_t kCustomLayout = 8;
  static constexpr std::uint8_t kSymbolic = 16;
  bool has_policy(std::uint8_t any_of) const noexcept {
    return __builtin_expect((policies_ & any_of) != 0, 0);
  }
  // Only while no other thread can see the tensor. kCustomSizes brings kCustomStrides along. Raises
  // BadArgument for a custom part of a tensor whose object link is not tagged.
  void set_policies(std::uint8_t policies);
  std::uint8_t policies() const noexcept { return policies_; }

  // See [Marks].
  static constexpr std::uint8_t kDetached = 1;              // it has a detached_group()
  static constexpr std::uint8_t kMadeWithoutGradients = 2;  // under GradientMode::NoGradients
  static constexpr std::uint8_t kInference = 4;             // under GradientMode::Inference
  std::uint8_t marks() const noexcept { return marks_; }
  bool has_mark(std::uint8_t any_of) const noexcept { return (marks_ & any_of) != 0; }
  // 0 for a tensor that is not detached.
  std::uint32_t detached_group() const noexcept { return detached_group_; }
  // Only while no other thread can see the tensor, as what follows.
  void set_marks(std::uint8_t marks) noexcept { marks_ = marks; }
  // Those of a tensor that this one is a view of.
  void inherit_marks(const TensorImpl& viewed) noexcept {
    marks_ = viewed.marks_;
    detached_group_ = viewed.detached_group_;
  }
  // The first of a group of its own. Numbers come again after 2^32 - 1 of them.
  void detach() noexcept;

  // What the tape stores with the tensor; empty as a rule.
  SetOnce<Counted>& gradient_state() const noexcept { return gradient_state_; }

  IntSpan sizes() const {
    return has_policy(kCustomSizes | kSymbolic) ? ask_sizes() : IntSpan(sizes_);
  }
  IntSpan strides() const {
    return has_policy(kCustomStrides | kSymbolic) ? ask_strides() : IntSpan(strides_);
  }
  std::int64_t dim() const {
    return has_policy(kCustomSizes) ? ask_dim() : std::int64_t(sizes_.size());
  }
  std::int64_t numel() const { return has_policy(kCustomSizes | kSymbolic) ? ask_numel() : numel_; }
  std::int64_t storage_offset() const {
    return has_policy(kSymbolic) ? ask_storage_offset() : storage_offset_;
  }
  DType dtype() const noexcept { return dtype_; }
  Layout layout() const { return has_policy(kCustomLayout) ? ask_layout() : own_layout(); }
  Device device() const { return has_policy(kCustomDevice) ? ask_device() : own_device(); }
  bool is_contiguous() const {
    return has_policy(kCustomStrides | kSymbolic) ? ask_contiguous() : contiguous_;
  }

  // What it was made with. Where sizes and strides are symbolic, there are as many, all 0.
  IntSpan own_sizes() const noexcept { return sizes_; }
  IntSpan own_strides() const noexcept { return strides_; }
  std::int64_t own_numel() const noexcept { return numel_; }
  std::int64_t own_storage_offset() const noexcept { return storage_offset_; }
  Layout own_layout() const noexcept { return Layout::Strided; }
  Device own_device() const noexcept { return storage_->device(); }
  bool own_contiguous() const noexcept { return contiguous_; }

  // What answers for the custom and the symbolic parts cache with the tensor, for as long as it
  // lives. Written with the interpreter's lock held, or while no other thread can see the tensor.
  const CountedPtr<Counted>& cached_geometry() const noexcept { return cached_geometry_; }
  void cache_geometry(CountedPtr<Counted> geometry) const noexcept {
    cached_geometry_ = std::move(geometry);
  }
  // The interpreter whose class defines parts of this tensor.
  Interpreter& definer() const noexcept { return *object_link_.tag(); }

  const CountedPtr<Storage>& storage() const noexcept { return storage_; }

  // The address of the first element; null if the storage has no data.
  void* data() const noexcept {
    auto* base = static_cast<std::byte*>(storage_->data());
    return base == nullptr ? nullptr : base + storage_offset_ * std::int64_t(item_size(dtype_));
  }

  ObjectLink& object_link() const noexcept { return object_link_; }

  // For the linked object, if the link owns it, with the interpreter's lock held: makes the
  // object an owner again, and the link none. `was_left` says that no other owner was there any
  // more: then the link's reference to the object is released by the last owner, else by the
  // caller.
  CountedPtr<TensorImpl> return_to_object_with_lock_held(bool& was_left);
  // Whether the last owner has left this to the linked object.
  bool is_left_to_object() const noexcept { return is_left_without_owner(); }

 private:
  friend class ExportedTensor;

  void end() const noexcept override;

  OPYARD_COLD IntSpan ask_sizes() const;
  OPYARD_COLD IntSpan ask_strides() const;
  OPYARD_COLD std::int64_t ask_dim() const;
  OPYARD_COLD std::int64_t ask_numel() const;
  OPYARD_COLD std::int64_t ask_storage_offset() const;
  OPYARD_COLD Layout ask_layout() const;
  OPYARD_COLD Device ask_device() const;
  OPYARD_COLD bool ask_contiguous() const;

  DispatchKeySet keys_;
  mutable ObjectLink object_link_;
  CountedPtr<Storage> storage_;
  std::int64_t storage_offset_;
  std::int64_t numel_;
  DimVector sizes_;
  DimVector strides_;
  DType dtype_;
  bool contiguous_;
  std::uint8_t policies_ = 0;
  std::uint8_t marks_ = 0;
  std::uint32_t detached_group_ = 0;
  mutable SetOnce<Counted> gradient_state_;
  mutable CountedPtr<Counted> cached_geometry_;
};

// Raises BadValue: `part` of a tensor was asked for as plain ints, and it is symbolic.
[[noreturn]] OPYARD_API OPYARD_COLD void refuse_symbolic(const char* part);

// Strides of a contiguous tensor with these sizes: the last dimension is 1.
OPYARD_API DimVector contiguous_strides(IntSpan sizes);
// The product of the sizes. Raises BadShape for a negative size and for a product past int64.
OPYARD_API std::int64_t count_elements(IntSpan sizes);

}  // namespace opyard
