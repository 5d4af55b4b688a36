// opyard/ffi/c_dlpack.h: DLPack's structs for C, as the functions of operators take them. C99 and C++.
//
// They have the layout and the names of the official dlpack.h. Who has that header includes it
// first; then this one adds nothing. opyard/tensor/dlpack.h explains the fields, and has the
// structs for C++.
//
// Depends on: nothing else of ours.
#pragma once

#ifndef DLPACK_DLPACK_H_

#include <stdint.h>

typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

#endif
