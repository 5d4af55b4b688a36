// opyard/tensor/storage.h: a block of bytes on a device, shared by the tensors that view it.
//
// A tensor's storage is never null, since the storage knows the device; its data may be null
// (an empty tensor, a meta tensor, an output that is yet to be allocated).
//
// Depends on: base/counted.h, base/set_once.h, tensor/device.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "opyard/base/counted.h"
#include "opyard/detail/base/set_once.h"
#include "opyard/tensor/device.h"

namespace opyard {

// What may be done with memory. Unresolved is exported memory of which only its exporter knows:
// tensor/exported_tensor.h.
enum class MemoryAccess : std::uint8_t { Writable, ReadOnly, Unresolved };

class OPYARD_API Storage : public Counted {
 public:
  // Called once with `context` when the last owner lets go, on whatever thread that is.
  using Deleter = void (*)(void* context);

  // Memory of our own: 64-byte aligned, uninitialised. For Meta no memory is taken.
  // Raises Unsupported for a device without an allocator, std::bad_alloc.
  static CountedPtr<Storage> allocate(std::size_t bytes, Device device);

  // Memory of someone else, given back through `deleter` exactly once, also when this call
  // throws. With a null deleter the memory is borrowed: the caller keeps it alive.
  static CountedPtr<Storage> adopt(void* data, std::size_t bytes, Device device, void* context,
                                   Deleter deleter, bool read_only = false);

  void* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  Device device() const noexcept { return device_; }
  // Memory that its owner forbids to write, such as an exported constant. For memory that is
  // exported (tensor/exported_tensor.h) the exporter may have to be asked, which raises what that
  // does.
  bool read_only() const {
    resolve();
    return access_.load(std::memory_order_relaxed) == MemoryAccess::ReadOnly;
  }
  // From here on memory that is exported belongs to a struct of its own, as if it had not been
  // exported. Nothing for other memory.
  void resolve() const {
    if (__builtin_expect(access_.load(std::memory_order_acquire) == MemoryAccess::Unresolved, 0))
      ask_exporter();
  }

  // Counts writes; shared by all views of the storage's tensors.
  std::uint32_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  void bump_version() noexcept { version_.fetch_add(1, std::memory_order_relaxed); }

  // What the tape stores with the storage, such as the history of writes to it; empty as a rule.
  // It owns nothing that owns the storage.
  SetOnce<Counted>& gradient_state() const noexcept { return gradient_state_; }

  // Another storage on the same memory, for those that this one's gradient state owns: it owns the
  // memory, and no gradient state. Always the same one. Raises bad_alloc.
  CountedPtr<Storage> second();
  // The version of the memory: of a second storage that of the first, also after its end.
  std::uint32_t shared_version() const {
    return __builtin_expect(is_second_, 0) ? version_of_first() : version();
  }
  // Whether the memory belongs to a caller, who may take it back: see exported_tensor.h.
  bool is_borrowed() const noexcept { return deleter_ == nullptr && data_ != nullptr; }

 protected:
  Storage(void* data, std::size_t bytes, Device device, void* context, Deleter deleter,
          bool read_only) noexcept
      : data_(data),
        bytes_(bytes),
        context_(context),
        deleter_(deleter),
        device_(device),
        access_(read_only ? MemoryAccess::ReadOnly : MemoryAccess::Writable) {}
  ~Storage() override;

 private:
  friend class ExportedTensor;

  OPYARD_COLD void ask_exporter() const;
  std::uint32_t version_of_first() const;

  // Constant once the storage is shared, but for what an ExportedTensor resolves: an owner of its
  // own, and its access.
  void* data_;
  std::size_t bytes_;
  void* context_;
  Deleter deleter_;
  const Device device_;
  std::atomic<MemoryAccess> access_;
  // Which of the allocator's lists the memory goes back to; 0 for none. Constant.
  std::uint8_t size_class_ = 0;
  bool is_second_ = false;
  std::atomic<std::uint32_t> version_{0};
  mutable SetOnce<Counted> gradient_state_;
  // The second storage of this one, which has the memory from then on; and of a second one the
  // first, null after its end. Guarded by one lock for all, but for the look whether there is one.
  SetOnce<Storage> second_;
  Storage* first_ = nullptr;
};

}  // namespace opyard
