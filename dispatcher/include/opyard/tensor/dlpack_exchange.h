// opyard/tensor/dlpack_exchange.h: DLPack's exchange table, by which types of arrays in Python offer C functions.
//
// A type of arrays may keep, as its attribute __dlpack_c_exchange_api__, a capsule that is named
// "dlpack_exchange_api" and leads to this table. What it does is what __dlpack__ and from_dlpack
// do, without a call in Python: 20 ns in place of 200. Objects of Python are void pointers here;
// the caller holds the GIL, but for the allocator and current_work_stream.
//
//   type.__dlpack_c_exchange_api__ ──> DLPackExchangeAPI { header { version, prev_api ──> an older table }, … }
//
// A function gives 0, or -1 with a Python exception set. A table lives as long as the process.
//
// Depends on: tensor/dlpack.h.
#pragma once

#include <cstdint>

#include "opyard/tensor/dlpack.h"

namespace opyard {
namespace dlpack {

// The version of DLPack that has this table.
inline constexpr std::uint32_t kExchangeMinorVersion = 3;

struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  DLPackExchangeAPIHeader* prev_api;  // a whole table of an older major version, or null
};

struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  // New memory for what `prototype` says of elements, sizes and device. Does not touch Python: what
  // is wrong goes to `set_error`, as the name of an exception and a text.
  int (*managed_tensor_allocator)(DLTensor* prototype, DLManagedTensorVersioned** out,
                                  void* error_context,
                                  void (*set_error)(void* error_context, const char* kind,
                                                    const char* message));
  // An array as a struct that the caller owns.
  int (*managed_tensor_from_py_object_no_sync)(void* array, DLManagedTensorVersioned** out);
  // The other way; takes the struct over, also if it fails.
  int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned* managed, void** out);
  // What an array looks like, borrowed until control is given back. May be null. It cannot say
  // read-only.
  int (*dltensor_from_py_object_no_sync)(void* array, DLTensor* out);
  // The stream that work on a device goes to now; null for the CPU.
  int (*current_work_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

}  // namespace dlpack

// A tensor on the memory that a struct describes. The struct is only read, and not given back: that
// is what `deleter` is for, which is called with `context` once, when the last tensor on the memory
// is gone, or before this raises what from_dlpack() raises.
OPYARD_API Tensor adopt_dlpack(const dlpack::DLManagedTensor& managed, void* context,
                               Storage::Deleter deleter);
OPYARD_API Tensor adopt_dlpack(const dlpack::DLManagedTensorVersioned& managed, void* context,
                               Storage::Deleter deleter);
OPYARD_API Tensor adopt_dlpack(const dlpack::DLTensor& array, bool read_only, void* context,
                               Storage::Deleter deleter);

// What a table says of a tensor without owning it: good while the tensor lives. Shape and strides
// are in the tensor, and no one may write to them. Raises what to_dlpack() does, but for memory
// that is read-only, which this cannot say.
OPYARD_API void borrow_dlpack(const Tensor& tensor, dlpack::DLTensor& out);

// New memory of the elements, sizes and device of a prototype, whose data and strides are not
// looked at. Raises what from_dlpack() does for those.
OPYARD_API Tensor empty_dlpack(const dlpack::DLTensor& prototype);

}  // namespace opyard
