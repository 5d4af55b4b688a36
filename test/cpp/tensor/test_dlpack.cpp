// test_dlpack.cpp: protects the exchange of arrays: layouts to the byte, and one deleter call on
// every path. Structs that are wrong have a file of their own, test_dlpack_defects.cpp.
// Suspect dispatcher/src/tensor/dlpack.cpp.
#include "opyard/tensor/dlpack.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <thread>
#include <vector>

#include "../failing_allocator.h"
#include "../thrown_by.h"
#include "foreign_array.h"

namespace opyard::test_dlpack {
namespace {

using dlpack::DLDataType;
using dlpack::DLDevice;
using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;
using dlpack::DLPackVersion;
using dlpack::DLTensor;
using Dims = std::vector<std::int64_t>;

// The layouts as the DLPack specification has them, on a 64-bit machine.
static_assert(sizeof(DLDevice) == 8 && offsetof(DLDevice, device_id) == 4);
static_assert(sizeof(DLDataType) == 4 && offsetof(DLDataType, lanes) == 2);
static_assert(sizeof(DLTensor) == 48);
static_assert(offsetof(DLTensor, device) == 8 && offsetof(DLTensor, ndim) == 16);
static_assert(offsetof(DLTensor, dtype) == 20 && offsetof(DLTensor, shape) == 24);
static_assert(offsetof(DLTensor, strides) == 32 && offsetof(DLTensor, byte_offset) == 40);
static_assert(sizeof(DLManagedTensor) == 64);
static_assert(offsetof(DLManagedTensor, manager_ctx) == 48);
static_assert(offsetof(DLManagedTensor, deleter) == 56);
static_assert(sizeof(DLPackVersion) == 8 && offsetof(DLPackVersion, minor) == 4);
static_assert(sizeof(DLManagedTensorVersioned) == 80);
static_assert(offsetof(DLManagedTensorVersioned, manager_ctx) == 8);
static_assert(offsetof(DLManagedTensorVersioned, deleter) == 16);
static_assert(offsetof(DLManagedTensorVersioned, flags) == 24);
static_assert(offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

TEST(DLPack, AForeignArrayIsUsedWhereItLiesAndGivenBackOnce) {
  ForeignArray foreign;
  Tensor tensor = from_dlpack(&foreign.legacy);
  EXPECT_EQ(tensor.raw(), foreign.memory);
  EXPECT_EQ(describe(tensor), "float32[2, 3]");
  EXPECT_EQ(tensor.device(), Device{});
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(tensor.keys(), Tensor::empty({}).keys());
  tensor.mutable_data<float>()[4] = 40;
  EXPECT_EQ(foreign.memory[4], 40.0f);
  Tensor view = tensor.as_strided(Dims{2}, Dims{3}, 1);
  tensor = Tensor();
  EXPECT_EQ(foreign.deleted, 0) << "a view still needs the memory";
  std::thread([moved = std::move(view)]() mutable { moved = Tensor(); }).join();
  EXPECT_EQ(foreign.deleted, 1);
  EXPECT_EQ(foreign.deleted_struct, &foreign.legacy);
}

TEST(DLPack, TheVersionedFormIsTakenInLikewise) {
  ForeignArray foreign;
  foreign.versioned.version.minor = 7;
  foreign.versioned.flags = dlpack::kIsCopied | (std::uint64_t{1} << 40);
  Tensor tensor = from_dlpack(&foreign.versioned);
  EXPECT_EQ(tensor.mutable_raw(), foreign.memory);
  tensor = Tensor();
  EXPECT_EQ(foreign.deleted, 1);
  EXPECT_EQ(foreign.deleted_struct, &foreign.versioned);
}

TEST(DLPack, ReadOnlyIsHonouredComingIn) {
  ForeignArray foreign;
  foreign.versioned.flags = dlpack::kReadOnly;
  const Tensor tensor = from_dlpack(&foreign.versioned);
  EXPECT_EQ(tensor.data<float>()[5], 5.0f);
  EXPECT_EQ(thrown_by([&] { tensor.mutable_data<float>(); }).kind, ErrorKind::BadValue);
}

TEST(DLPack, ReadOnlyIsHonouredGoingOut) {
  const float memory[2] = {1, 2};
  const Tensor tensor = Tensor::adopt(const_cast<float*>(memory), Dims{2}, Dims{1}, DType::Float32,
                                      {}, nullptr, nullptr, true);
  DLManagedTensorVersioned* const versioned = to_dlpack_versioned(tensor);
  EXPECT_EQ(versioned->flags, dlpack::kReadOnly);
  versioned->deleter(versioned);
  EXPECT_THROWN(static_cast<void>(to_dlpack(tensor)), BadValue,
                "the memory of float32[2] is read-only, which DLPack's legacy form cannot say; ask "
                "for the versioned form, or hand out a copy, as clone() makes one");
}

TEST(DLPack, NullStridesMeanRowMajorOrder) {
  ForeignArray foreign;
  foreign.legacy.dl_tensor.strides = nullptr;
  const Tensor tensor = from_dlpack(&foreign.legacy);
  EXPECT_EQ(tensor.stride(0), 3);
  EXPECT_EQ(tensor.stride(1), 1);
}

TEST(DLPack, ByteOffsetAndNegativeStridesLeadToTheFirstElement) {
  ForeignArray foreign;
  foreign.shape = {3};
  foreign.strides = {-2};
  foreign.legacy.dl_tensor.ndim = 1;
  foreign.legacy.dl_tensor.byte_offset = 5 * sizeof(float);
  foreign.legacy.dl_tensor.shape = foreign.shape.data();
  foreign.legacy.dl_tensor.strides = foreign.strides.data();
  const Tensor tensor = from_dlpack(&foreign.legacy);
  EXPECT_EQ(tensor.data<float>(), foreign.memory + 5);
  EXPECT_EQ(tensor.data<float>()[2 * tensor.stride(0)], 1.0f);
  EXPECT_EQ(tensor.impl()->storage()->data(), foreign.memory + 1);
}

TEST(DLPack, AnArrayWithoutDimensionsOrWithoutElementsComesIn) {
  ForeignArray scalar;
  scalar.legacy.dl_tensor.ndim = 0;
  scalar.legacy.dl_tensor.shape = scalar.legacy.dl_tensor.strides = nullptr;
  EXPECT_EQ(from_dlpack(&scalar.legacy).numel(), 1);
  EXPECT_EQ(scalar.deleted, 1);
  ForeignArray empty;
  empty.shape = {0, 3};
  empty.legacy.dl_tensor.data = nullptr;
  EXPECT_EQ(describe(from_dlpack(&empty.legacy)), "float32[0, 3]");
  EXPECT_EQ(empty.deleted, 1);
}

TEST(DLPack, PinnedMemoryIsMemoryOfTheCpu) {
  for (const std::int32_t type : {dlpack::kCUDAHost, dlpack::kROCMHost}) {
    ForeignArray foreign;
    foreign.legacy.dl_tensor.device = {type, 3};
    EXPECT_EQ(from_dlpack(&foreign.legacy).device(), Device{});
  }
}

TEST(DLPack, WithoutADeleterNothingIsGivenBack) {
  ForeignArray foreign;
  foreign.legacy.deleter = nullptr;
  foreign.versioned.deleter = nullptr;
  EXPECT_EQ(from_dlpack(&foreign.legacy).numel(), 6);
  foreign.versioned.dl_tensor.ndim = -1;
  EXPECT_EQ(thrown_by([&] { from_dlpack(&foreign.versioned); }).kind, ErrorKind::BadShape);
  EXPECT_EQ(foreign.deleted, 0);
}

TEST(DLPack, SixtyFourDimensionsAreTheMost) {
  for (const int ndim : {64, 65}) {
    ForeignArray foreign;
    foreign.shape.assign(ndim, 1);
    foreign.strides.assign(ndim, 1);
    foreign.describe_array(foreign.legacy.dl_tensor);
    foreign.legacy.dl_tensor.ndim = ndim;
    if (ndim == 64) {
      EXPECT_EQ(from_dlpack(&foreign.legacy).dim(), 64);
    } else {
      EXPECT_EQ(thrown_by([&] { from_dlpack(&foreign.legacy); }).kind, ErrorKind::BadShape);
    }
    EXPECT_EQ(foreign.deleted, 1);
  }
}

TEST(DLPack, WithoutMemoryTheArrayIsGivenBackOnce) {
  ForeignArray foreign;
  const int requests = fail_every_allocation([&] { from_dlpack(&foreign.legacy); });
  EXPECT_EQ(foreign.deleted, requests + 1) << "once in each run, the last of which succeeded";
  const Tensor tensor = Tensor::empty(Dims{1, 1, 1, 1, 1, 1, 1});
  const std::uint32_t owners = tensor.impl()->owner_count();
  fail_every_allocation([&] {
    DLManagedTensor* const managed = to_dlpack(tensor);
    managed->deleter(managed);
  });
  EXPECT_EQ(tensor.impl()->owner_count(), owners);
}

// Hands `tensor` out in one form, gives it to `look`, and takes it back.
template <typename Managed, typename Look>
void hand_out(Managed* managed, const Tensor& tensor, Look&& look) {
  const std::uint32_t owners = tensor.impl()->owner_count();
  look(managed->dl_tensor);
  managed->deleter(managed);
  EXPECT_EQ(tensor.impl()->owner_count(), owners - 1) << "the deleter lets the tensor go";
}

TEST(DLPack, EveryDtypeGoesOutAndComesBack) {
  for (const char* name : {"uint8", "int8", "int16", "int32", "int64", "float16", "float32",
                           "float64", "complex64", "complex128", "bool", "bfloat16"}) {
    const Tensor tensor = Tensor::empty(Dims{2, 5}, *find_dtype(name));
    const Tensor legacy = from_dlpack(to_dlpack(tensor));
    const Tensor versioned = from_dlpack(to_dlpack_versioned(tensor));
    for (const Tensor& back : {legacy, versioned}) {
      EXPECT_EQ(describe(back), describe(tensor));
      EXPECT_EQ(back.raw(), tensor.raw());
      EXPECT_FALSE(back.impl()->storage()->read_only());
    }
    EXPECT_EQ(tensor.impl()->owner_count(), 3u);
  }
}

TEST(DLPack, WhatGoesOutDescribesTheTensorInFull) {
  const Tensor base = Tensor::empty(Dims{4, 6}, DType::Int16);
  const Tensor tensor = base.as_strided(Dims{2, 3}, Dims{6, 2}, 7);
  const auto look = [&](const DLTensor& array) {
    EXPECT_EQ(array.data, tensor.raw());
    EXPECT_EQ(array.byte_offset, 0u);
    EXPECT_EQ(array.device.device_type, 1);
    EXPECT_EQ(array.device.device_id, 0);
    EXPECT_EQ(array.ndim, 2);
    EXPECT_EQ(array.shape[0], 2);
    EXPECT_EQ(array.shape[1], 3);
    EXPECT_EQ(array.strides[0], 6);
    EXPECT_EQ(array.strides[1], 2);
    EXPECT_EQ(array.dtype.code, 0);
    EXPECT_EQ(array.dtype.bits, 16);
    EXPECT_EQ(array.dtype.lanes, 1);
    array.shape[0] = 99;  // a consumer that writes there
  };
  hand_out(to_dlpack(tensor), tensor, look);
  DLManagedTensorVersioned* const versioned = to_dlpack_versioned(tensor);
  EXPECT_EQ(versioned->version.major, 1u);
  EXPECT_EQ(versioned->flags, 0u);
  hand_out(versioned, tensor, look);
  EXPECT_EQ(tensor.size(0), 2) << "what a consumer writes does not reach the tensor";
}

TEST(DLPack, WhatIsOutKeepsTheMemoryAlive) {
  int deleted = 0;
  float memory[2] = {1, 2};
  DLManagedTensor* managed = nullptr;
  {
    const Tensor tensor = Tensor::adopt(memory, Dims{2}, Dims{1}, DType::Float32, {}, &deleted,
                                        [](void* counter) { ++*static_cast<int*>(counter); });
    managed = to_dlpack(tensor);
  }
  EXPECT_EQ(deleted, 0);
  EXPECT_EQ(managed->dl_tensor.data, memory);
  std::thread([managed] { managed->deleter(managed); }).join();
  EXPECT_EQ(deleted, 1);
}

TEST(DLPack, OnlyMemoryOfTheCpuGoesOut) {
  const Tensor meta = Tensor::empty(Dims{2}, DType::Float32, {Backend::Meta, -1});
  constexpr const char* kMessage =
      "float32[2] is on meta and cannot be handed to another library; only memory of the cpu is "
      "exchanged";
  EXPECT_THROWN(static_cast<void>(to_dlpack(meta)), Unsupported, kMessage);
  EXPECT_THROWN(static_cast<void>(to_dlpack_versioned(meta)), Unsupported, kMessage);
  EXPECT_THROWN(dlpack_device_of(meta), Unsupported, kMessage);
  EXPECT_EQ(thrown_by([] { static_cast<void>(to_dlpack(Tensor())); }).kind, ErrorKind::BadValue);
  EXPECT_EQ(thrown_by([] { static_cast<void>(to_dlpack_versioned(Tensor())); }).kind,
            ErrorKind::BadValue);
  EXPECT_EQ(dlpack_device_of(Tensor::empty({})).device_type, dlpack::kCPU);
}

}  // namespace
}  // namespace opyard::test_dlpack
