"""test_dlpack_header.py: opyard/ffi/c_dlpack.h beside DLPack's own header, in either order.

The official header is written down here as far as programs meet it: its include guard and names.
Suspect dispatcher/include/opyard/ffi/c_dlpack.h.
"""

import shutil
import subprocess

import pytest
from built import ROOT

pytestmark = pytest.mark.once

OFFICIAL = """
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#include <stdint.h>
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 1
#define OFFICIAL 1
typedef struct { uint32_t major; uint32_t minor; } DLPackVersion;
#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
  kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLOpenCL = 4, kDLVulkan = 7, kDLMetal = 8, kDLVPI = 9,
  kDLROCM = 10, kDLROCMHost = 11, kDLExtDev = 12, kDLCUDAManaged = 13, kDLOneAPI = 14,
  kDLWebGPU = 15, kDLHexagon = 16, kDLMAIA = 17
} DLDeviceType;
typedef struct { DLDeviceType device_type; int32_t device_id; } DLDevice;
typedef enum {
  kDLInt = 0U, kDLUInt = 1U, kDLFloat = 2U, kDLOpaqueHandle = 3U, kDLBfloat = 4U, kDLComplex = 5U,
  kDLBool = 6U
} DLDataTypeCode;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  void* data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t* shape; int64_t* strides;
  uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
  DLTensor dl_tensor; void* manager_ctx; void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
typedef struct DLManagedTensorVersioned {
  DLPackVersion version; void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self); uint64_t flags; DLTensor dl_tensor;
} DLManagedTensorVersioned;
#endif
"""

# A function as people write them, with whichever header; and the numbers that are promised.
USE = """
int is_vector(const DLTensor* x);
int is_vector(const DLTensor* x) {
  DLDevice cpu = {kDLCPU, 0};
  DLDataType wanted = {kDLFloat, 32, 1};
  DLDeviceType type = x->device.device_type;
  switch (x->device.device_type) {
    case kDLCPU:
    case kDLCUDAHost:
    case kDLROCMHost:
      break;
    default:
      return 0;
  }
  return type == cpu.device_type && x->dtype.code == wanted.code && x->ndim == 1;
}
int is_read_only(const DLManagedTensorVersioned* x, DLManagedTensor* old);
int is_read_only(const DLManagedTensorVersioned* x, DLManagedTensor* old) {
  if (old->deleter) old->deleter(old);
  return x->version.major == DLPACK_MAJOR_VERSION &&
         (x->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
}
#define AGREES(name, holds) typedef char name[(holds) ? 1 : -1]
AGREES(sizes, sizeof(DLDevice) == 8 && sizeof(DLDataType) == 4 && sizeof(DLTensor) == 48);
AGREES(kinds, kDLInt == 0 && kDLUInt == 1 && kDLFloat == 2 && kDLBfloat == 4 && kDLComplex == 5);
AGREES(more_kinds, kDLBool == 6 && kDLOpaqueHandle == 3);
AGREES(devices, kDLCPU == 1 && kDLCUDA == 2 && kDLCUDAHost == 3 && kDLROCM == 10);
"""
# What has DLPack's names for other structs of C++, in a namespace.
BESIDE = """
#include "opyard/tensor/dlpack.h"
static_assert(opyard::dlpack::kCPU == kDLCPU && opyard::dlpack::kCUDAHost == kDLCUDAHost);
static_assert(opyard::dlpack::kReadOnly == DLPACK_FLAG_BITMASK_READ_ONLY);
static_assert(sizeof(opyard::dlpack::DLManagedTensorVersioned) == sizeof(DLManagedTensorVersioned));
"""
OURS = '#include "opyard/ffi/c_dlpack.h"\n'
THEIRS = '#include "dlpack/dlpack.h"\n'
ORDERS = {
    "ours alone": OURS,
    "ours first": OURS + THEIRS + "#ifdef OFFICIAL\n#error both were read\n#endif\n",
    "theirs first": THEIRS + OURS + "#ifndef OFFICIAL\n#error theirs was not read\n#endif\n",
    "all of C": '#include "opyard/c_api.h"\n' + THEIRS,
    "all of C last": THEIRS + '#include "opyard/c_api.h"\n',
}
LANGUAGES = {
    "c99": ("cc", "use.c"),
    "c11": ("cc", "use.c"),
    "c++17": ("c++", "use.cpp"),
    "c++20": ("c++", "use.cpp"),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("standard", LANGUAGES)
def test_a_source_may_include_both_headers(standard, order, tmp_path):
    compiler, name = LANGUAGES[standard]
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    (tmp_path / "dlpack").mkdir()
    (tmp_path / "dlpack/dlpack.h").write_text(OFFICIAL)
    beside = BESIDE if standard == "c++20" else ""
    (tmp_path / name).write_text(ORDERS[order] + USE + beside)
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    done = subprocess.run(
        [compiler, f"-std={standard}", *strict, "-I.", f"-I{ROOT / 'dispatcher/include'}", name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
