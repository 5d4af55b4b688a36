// opyard/tensor/dlpack.h: tensors to and from other libraries, without copying.
//
// DLPack is a C layout that array libraries agree on: a struct that describes memory, and a
// function in it by which the receiver gives the memory back. There are two forms. The legacy
// one says nothing about writing; the versioned one has flags, and room for later versions.
//
//   producer ── DLManagedTensor* ──> consumer        the holder of the pointer calls
//               { DLTensor, manager_ctx, deleter }   deleter(pointer) once, and is done
//
// The structs are written down here after the specification, in a namespace of their own: the
// official header may be included beside this one, and pointers be cast from one to the other.
//
// Depends on: tensor/tensor.h.
#pragma once

#include <cstdint>

#include "opyard/tensor/tensor.h"

namespace opyard {
namespace dlpack {

// Kinds of device that appear in messages and conversions. Others exist and arrive as numbers.
inline constexpr std::int32_t kCPU = 1;
inline constexpr std::int32_t kCUDA = 2;
inline constexpr std::int32_t kCUDAHost = 3;   // memory of the CPU, pinned for CUDA
inline constexpr std::int32_t kROCMHost = 11;  // memory of the CPU, pinned for ROCm

// Flags of the versioned form.
inline constexpr std::uint64_t kReadOnly = 1;  // the receiver must not write
inline constexpr std::uint64_t kIsCopied = 2;  // the memory was copied for the receiver

// The version that we write, and the one major version that we read.
inline constexpr std::uint32_t kMajorVersion = 1;
inline constexpr std::uint32_t kMinorVersion = 0;

// More dimensions than this are refused: no library makes them, and a wrong pointer does.
inline constexpr std::int32_t kMaxDims = 64;

// As dlpack.h of DLPack has it.
struct DLDevice {
  std::int32_t device_type;
  std::int32_t device_id;
};

struct DLDataType {
  std::uint8_t code;  // the column "DLPack code" of dtypes.def
  std::uint8_t bits;
  std::uint16_t lanes;  // elements in one vector; 1 for all of ours
};

// As dlpack.h of DLPack has it.
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null for row-major order without gaps
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);  // may be null: nothing is to be given back
};

// As dlpack.h of DLPack has it.
struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

// Up to `deleter` this layout holds for every major version, so that a receiver can give back
// what it does not understand.
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);  // may be null
  std::uint64_t flags;
  DLTensor dl_tensor;
};

}  // namespace dlpack

// A tensor on the memory of a foreign array. It takes `managed` over: its deleter is called
// exactly once, when the last tensor on the memory is gone, or before this raises. A foreign
// kReadOnly makes the tensor's memory read-only. Device: cpu, also for pinned memory.
//
// Raises BadArgument for a null pointer; Unsupported for another major version, for memory
// that the CPU cannot read, for an element type outside dtypes.def and for lanes other than 1;
// BadShape for a number of dimensions outside 0 to 64, for negative sizes and for sizes or
// strides past 64 bits; BadValue for a missing shape, missing data and data that is not
// aligned to its elements; std::bad_alloc.
OPYARD_API Tensor from_dlpack(dlpack::DLManagedTensor* managed);
OPYARD_API Tensor from_dlpack(dlpack::DLManagedTensorVersioned* managed);

// The tensor for another library: it shares the memory and owns a part of it until its deleter
// is called, on whatever thread. Strides are always written out, byte_offset is 0. Raises
// BadValue for an undefined tensor, and from the legacy form, which cannot say so, for one
// whose memory is read-only; Unsupported for a device other than cpu; std::bad_alloc.
[[nodiscard]] OPYARD_API dlpack::DLManagedTensor* to_dlpack(const Tensor& tensor);
[[nodiscard]] OPYARD_API dlpack::DLManagedTensorVersioned* to_dlpack_versioned(
    const Tensor& tensor);

// Where DLPack says the tensor is. Raises as to_dlpack does for an undefined tensor and a device.
OPYARD_API dlpack::DLDevice dlpack_device_of(const Tensor& tensor);

}  // namespace opyard
