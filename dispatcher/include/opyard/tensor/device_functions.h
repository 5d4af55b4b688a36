// opyard/tensor/device_functions.h: devices that plugins bring, as tensors use them.
//
//   register_device(Backend::PrivateUse1, functions);
//   const Tensor there = Tensor::empty(sizes, DType::Float32, Device{Backend::PrivateUse1, 0});
//   copy_elements(there, here);        into the current stream of the device
//   synchronise(current_stream(there.device()));
//
// Registered functions stay for ever, as names of keys do, since memory that came from them goes
// back through them; their code is never unmapped.
//
// Depends on: tensor/c_device.h, tensor/tensor.h, tensor/stream.h.
#pragma once

#include "opyard/tensor/c_device.h"
#include "opyard/tensor/stream.h"
#include "opyard/tensor/tensor.h"

namespace opyard {

// From now on the backend's memory comes from these. The same name again, as when a plugin is
// loaded again, replaces the functions for what comes; memory goes back to those that it came from.
//
// Raises BadRegistration for the CPU and Meta, and for a backend that has functions of another
// name; BadArgument for a missing function; Unsupported for fields of a later version.
OPYARD_API void register_device(Backend backend, const opyard_device_functions& functions);
OPYARD_API bool has_device_functions(Backend backend) noexcept;

// Copies all elements, between the CPU and a device, on one, or between two of a backend; in the
// current stream of the device, of `to` if both are devices. On a device no one waits for it:
// read the CPU's memory, and let it go, after synchronise(). Counts as a write to `to`.
//
// Raises BadShape for other sizes, BadArgument for another dtype, BadValue for one that is not
// contiguous and for read-only memory, Unsupported for two backends and for no functions, and what
// the device says.
OPYARD_API void copy_elements(const Tensor& to, const Tensor& from);

// These raise Unsupported for a backend without functions, and what the device says. On the CPU
// there is only stream 0, which is always done.
OPYARD_API Stream current_stream(Device device);
// Lets what is put into `stream` from now on begin after what `other` has now. Raises BadArgument
// for streams of two devices.
OPYARD_API void wait(Stream stream, Stream other);
// Returns when all that is in the stream is done.
OPYARD_API void synchronise(Stream stream);

// Makes a device this thread's current one for a scope, on the thread that it was made on.
class OPYARD_API DeviceGuard {
 public:
  explicit DeviceGuard(Device device);
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  ~DeviceGuard();

 private:
  const opyard_device_functions* functions_;
  std::int32_t former_ = -1;
};

namespace detail {

// Memory for a storage, on the device with this index or, for -1, the current one. Null if the
// backend has no functions.
CountedPtr<Storage> allocate_on_device(std::size_t bytes, Device device);

}  // namespace detail
}  // namespace opyard
