// opyard/detail/tensor/exported_tensor.h: tensors on memory that is exported for a call.
//
// A call that gets an array of another library needs a tensor on its memory, and few kernels keep
// that tensor. So a tensor and its storage are made once and filled in for one call after another:
// nothing is allocated, and no count changes.
//
//            stand_for()               take_back()
//   free ─────────────> exported ───────────────────────────> free, if there is no other owner
//                         │  own()                release()
//                         └───────> with an owner ──────────> a tensor as any other
//
// While it is exported the memory belongs to the caller, who keeps it alive. If the tensor, or
// something on its storage, lives on after the call, the caller gives the storage an owner of the
// memory and lets go.
//
// [Unresolved] A borrowed struct does not say whether the memory may be written. Then the storage
// asks the exporter, out of line and on any thread, once someone asks it (Storage::read_only) or
// wants the memory to have an owner (Storage::resolve). The exporter answers with set_access().
//
// One thread at a time uses an ExportedTensor, but for Exporter::resolve().
//
// Depends on: tensor/dlpack.h.
#pragma once

#include <cstdint>
#include <utility>

#include "opyard/tensor/dlpack.h"

namespace opyard {

// Who exports memory without saying all of it.
class OPYARD_API Exporter {
 public:
  Exporter() noexcept = default;
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // See [Unresolved]. Any thread; may raise.
  virtual void resolve() = 0;

 protected:
  ~Exporter() = default;
};

class OPYARD_API ExportedTensor {
 public:
  // The exporter outlives whatever it leaves unresolved. Raises std::bad_alloc.
  explicit ExportedTensor(Exporter& exporter);
  ExportedTensor(const ExportedTensor&) = delete;
  ExportedTensor& operator=(const ExportedTensor&) = delete;
  ~ExportedTensor();

  // How strides are counted.
  enum class Unit : std::uint8_t { Elements, Bytes };
  static constexpr std::size_t kMostDims = 5;

  // Fills the tensor in from an array. False, and nothing is changed, if from_dlpack() would refuse
  // the array or it is out of the ordinary: no elements, more than kMostDims dimensions, strides
  // below zero or between elements. Strides are null for row-major order without gaps.
  //
  // Not in a struct: sizes and strides that are side by side are loaded at once right after they
  // were stored apart, and the processor waits (10 ns; bench row foreign_buffer).
  bool stand_for(void* data, IntSpan sizes, const std::int64_t* strides, DType dtype,
                 MemoryAccess access, Unit unit = Unit::Elements) noexcept;
  bool stand_for(const dlpack::DLTensor& array, MemoryAccess access) noexcept;

  // While it is exported. The caller is no owner; who wants to be one counts.
  TensorImpl& tensor() const noexcept { return *tensor_; }

  bool is_unresolved() const noexcept;
  void set_access(bool read_only) noexcept;
  // The storage gives the memory back by itself from now on, as Storage::adopt() has it. Once,
  // before release().
  void own(void* context, Storage::Deleter deleter) noexcept;

  // Ends an export. False if somebody else owns tensor or storage; then release() follows.
  bool take_back() noexcept {
    TensorImpl& tensor = *tensor_;
    if (!tensor.is_unshared() || !tensor.storage_->is_unshared()) return false;
    const bool is_plain =
        tensor.object_link_.tag() == nullptr && tensor.policies_ == 0 && tensor.marks_ == 0;
    const bool keeps_nothing =
        !tensor.cached_geometry_ && !tensor.gradient_state_ && !tensor.storage_->gradient_state_;
    if (__builtin_expect(is_plain && keeps_nothing, 1)) return true;
    return clean();
  }
  // Lets go of the tensor, which others own; there is none in here any more.
  void release() noexcept;
  explicit operator bool() const noexcept { return tensor_ != nullptr; }
  // Another tensor after release(). Raises std::bad_alloc.
  void renew(Exporter& exporter);
  // Gives a storage on borrowed memory a copy of the elements, of which it is an owner, unless the
  // caller is all that has it. Raises std::bad_alloc; then it has no elements.
  static void move_to_copy(Storage& storage);

  // [Changing] This class fills tensors in that are there already, so what changes any other one is
  // here as well. Only tensor/resize.h calls it.
  //
  // Gives a tensor this geometry, on this storage if there is one, and counts a version.
  static void change(TensorImpl& tensor, CountedPtr<Storage> storage, DimVector sizes,
                     DimVector strides);
  // Gives a tensor the geometry of a view of it, symbolic or not, and counts a version.
  static void take_geometry(TensorImpl& tensor, const TensorImpl& view);
  // Puts a shallow copy that no one else has onto another storage of the memory.
  static void put_on(TensorImpl& tensor, CountedPtr<Storage> storage) noexcept {
    tensor.storage_ = std::move(storage);
  }
  // Whether a class is all that there is of the tensor: without memory, on a device that has some.
  static bool is_without_memory(const TensorImpl& tensor) noexcept {
    return tensor.storage_->data() == nullptr && tensor.keys_.has(DispatchKey::Python) &&
           tensor.storage_->device().backend != Backend::Meta;
  }
  // A tensor without memory that a class gave as a view of another one: from here on both count the
  // same writes. It is in the other's group, or, if it is detached, in one of its own. Nothing for
  // other tensors, and for one on whose storage there is something already.
  static void share_versions(TensorImpl& view, const TensorImpl& of, bool is_detached) noexcept;
  // Whether the memory of a storage is Opyard's own, or of this deleter, and no second storage has
  // it.
  static bool has_own_memory(const Storage& storage, Storage::Deleter or_by) noexcept;
  // What the deleter is called with; null if the storage has another deleter.
  static void* context_of(const Storage& storage, Storage::Deleter deleter) noexcept {
    return storage.deleter_ == deleter ? storage.context_ : nullptr;
  }

 private:
  bool fill(void* data, IntSpan sizes, const std::int64_t* strides, DType dtype,
            MemoryAccess access, Unit unit) noexcept;
  OPYARD_COLD bool clean() noexcept;
  Storage& storage() const noexcept { return *tensor_->storage_; }

  TensorImpl* tensor_;
};

}  // namespace opyard
