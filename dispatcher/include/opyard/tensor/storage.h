// opyard/tensor/storage.h: a block of bytes on a device, shared by the tensors that view it.
//
// A tensor's storage is never null, since the storage knows the device; its data may be null
// (an empty tensor, a meta tensor, an output that is yet to be allocated).
//
// Depends on: base/counted.h, tensor/device.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "opyard/base/counted.h"
#include "opyard/tensor/device.h"

namespace opyard {

class OPYARD_API Storage final : public Counted {
 public:
  // Called once with `context` when the last owner lets go, on whatever thread that is.
  using Deleter = void (*)(void* context);

  // Memory of our own: 64-byte aligned, uninitialised. For Meta no memory is taken.
  // Raises Unsupported for a device without an allocator, std::bad_alloc.
  static CountedPtr<Storage> allocate(std::size_t bytes, Device device);

  // Memory of someone else, given back through `deleter` exactly once, also when this call
  // throws. A null deleter lends the memory: the caller keeps it alive.
  static CountedPtr<Storage> adopt(void* data, std::size_t bytes, Device device, void* context,
                                   Deleter deleter, bool read_only = false);

  void* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  Device device() const noexcept { return device_; }
  // Memory that its owner forbids to write, such as an exported constant.
  bool read_only() const noexcept { return read_only_; }

  // Counts writes; shared by all views of the storage's tensors.
  std::uint32_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  void bump_version() noexcept { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Storage(void* data, std::size_t bytes, Device device, void* context, Deleter deleter,
          bool read_only) noexcept
      : data_(data),
        bytes_(bytes),
        context_(context),
        deleter_(deleter),
        device_(device),
        read_only_(read_only) {}
  ~Storage() override;

  void* const data_;
  const std::size_t bytes_;
  void* const context_;
  const Deleter deleter_;
  const Device device_;
  const bool read_only_;
  std::atomic<std::uint32_t> version_{0};
};

}  // namespace opyard
