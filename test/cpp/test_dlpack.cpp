// test_dlpack.cpp: protects the exchange of arrays: layouts to the byte, and one deleter call on
// every path, whatever a struct claims.
#include "opyard/tensor/dlpack.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "failing_allocator.h"
#include "thrown_by.h"

namespace opyard {
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

// A foreign library with one array of 2 x 3 float32, which counts the calls of its deleter.
struct ForeignArray {
  alignas(64) float memory[6] = {0, 1, 2, 3, 4, 5};
  Dims shape = {2, 3};
  Dims strides = {3, 1};
  int deleted = 0;
  void* deleted_struct = nullptr;
  DLManagedTensor legacy{};
  DLManagedTensorVersioned versioned{};

  ForeignArray() {
    describe_array(legacy.dl_tensor);
    describe_array(versioned.dl_tensor);
    legacy.manager_ctx = versioned.manager_ctx = this;
    legacy.deleter = &ForeignArray::give_back<DLManagedTensor>;
    versioned.deleter = &ForeignArray::give_back<DLManagedTensorVersioned>;
    versioned.version = {1, 0};
  }
  ForeignArray(const ForeignArray&) = delete;
  ForeignArray& operator=(const ForeignArray&) = delete;

  void describe_array(DLTensor& array) {
    array = {memory, {dlpack::kCPU, 0}, 2, {2, 32, 1}, shape.data(), strides.data(), 0};
  }
  template <typename Managed>
  static void give_back(Managed* managed) {
    auto* foreign = static_cast<ForeignArray*>(managed->manager_ctx);
    ++foreign->deleted;
    foreign->deleted_struct = managed;
  }
};

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

// One defect of a struct, and the sentence that names it.
struct Defect {
  const char* name;
  std::function<void(ForeignArray&, DLTensor&)> make;
  ErrorKind kind;
  std::string message;
};

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string bad_type(int code, int bits) {
  return "the elements of a foreign array have DLPack type code " + std::to_string(code) +
         " with " + std::to_string(bits) +
         " bits; convert the array to one of uint8, int8, int16, int32, int64, float16, float32, "
         "float64, complex64, complex128, bool, bfloat16 first";
}

std::string bad_device(int type, const char* kind) {
  return "a foreign array lies on DLPack device type " + std::to_string(type) + " (" + kind +
         "); accepted is memory that the CPU can read, so copy the array to the CPU first";
}

std::string bad_lanes(int lanes) {
  return "the elements of a foreign array have " + std::to_string(lanes) +
         " lanes; accepted is 1 lane, so make the lanes a dimension of the array";
}

std::vector<Defect> shape_defects() {
  const auto dims = [](std::int32_t ndim) {
    return [ndim](ForeignArray&, DLTensor& array) { array.ndim = ndim; };
  };
  const auto sizes = [](Dims wanted) {
    return [wanted](ForeignArray& foreign, DLTensor&) {
      std::copy(wanted.begin(), wanted.end(), foreign.shape.begin());
    };
  };
  const auto strides = [](Dims wanted) {
    return [wanted](ForeignArray& foreign, DLTensor&) {
      std::copy(wanted.begin(), wanted.end(), foreign.strides.begin());
    };
  };
  using enum ErrorKind;
  return {
      {"ndim -1", dims(-1), BadShape, "a foreign array claims -1 dimensions; accepted are 0 to 64"},
      {"ndim 65", dims(65), BadShape, "a foreign array claims 65 dimensions; accepted are 0 to 64"},
      {"ndim least", dims(INT32_MIN), BadShape,
       "a foreign array claims -2147483648 dimensions; accepted are 0 to 64"},
      {"ndim most", dims(INT32_MAX), BadShape,
       "a foreign array claims 2147483647 dimensions; accepted are 0 to 64"},
      {"size -1", sizes({2, -1}), BadShape,
       "sizes [2, -1] are negative in dimension 1; a size is 0 or more"},
      {"size -1 beside 0", sizes({0, -1}), BadShape,
       "sizes [0, -1] are negative in dimension 1; a size is 0 or more"},
      {"size least", sizes({INT64_MIN, 1}), BadShape,
       "sizes [-9223372036854775808, 1] are negative in dimension 0; a size is 0 or more"},
      {"numel overflow", sizes({kMost, 2}), BadShape,
       "sizes [9223372036854775807, 2] have more elements than fit in 64 bits"},
      {"numel overflow twice", sizes({std::int64_t{1} << 32, std::int64_t{1} << 32}), BadShape,
       "sizes [4294967296, 4294967296] have more elements than fit in 64 bits"},
      {"bytes overflow", sizes({kMost / 2, 1}), BadShape,
       "sizes [4611686018427387903, 1] with strides [3, 1] of float32 leave the address space"},
      {"stride most", strides({kMost, 1}), BadShape,
       "sizes [2, 3] with strides [9223372036854775807, 1] of float32 leave the address space"},
      {"stride least", strides({INT64_MIN, 1}), BadShape,
       "sizes [2, 3] with strides [-9223372036854775808, 1] of float32 leave the address space"},
      {"stride product overflow", strides({1, kMost}), BadShape,
       "sizes [2, 3] with strides [1, 9223372036854775807] of float32 leave the address space"},
      {"strides below address 0", strides({-(std::int64_t{1} << 60), 1}), BadShape,
       "sizes [2, 3] with strides [-1152921504606846976, 1] of float32 leave the address space"},
      {"no shape", [](ForeignArray&, DLTensor& array) { array.shape = nullptr; }, BadValue,
       "a foreign array claims 2 dimensions and brings no shape"},
      {"no shape and no strides",
       [](ForeignArray&, DLTensor& array) { array.shape = array.strides = nullptr; }, BadValue,
       "a foreign array claims 2 dimensions and brings no shape"},
  };
}

std::vector<Defect> other_defects() {
  const auto type = [](DLDataType dtype) {
    return [dtype](ForeignArray&, DLTensor& array) { array.dtype = dtype; };
  };
  const auto device = [](std::int32_t kind) {
    return [kind](ForeignArray&, DLTensor& array) { array.device.device_type = kind; };
  };
  using enum ErrorKind;
  return {
      {"lanes 0", type({2, 32, 0}), Unsupported, bad_lanes(0)},
      {"lanes 4", type({2, 32, 4}), Unsupported, bad_lanes(4)},
      {"lanes most", type({2, 32, 65535}), Unsupported, bad_lanes(65535)},
      {"bits 0", type({2, 0, 1}), Unsupported, bad_type(2, 0)},
      {"bits 3", type({0, 3, 1}), Unsupported, bad_type(0, 3)},
      {"float of 8 bits", type({2, 8, 1}), Unsupported, bad_type(2, 8)},
      {"float of 128 bits", type({2, 128, 1}), Unsupported, bad_type(2, 128)},
      {"unsigned of 16 bits", type({1, 16, 1}), Unsupported, bad_type(1, 16)},
      {"bool of 1 bit", type({6, 1, 1}), Unsupported, bad_type(6, 1)},
      {"opaque handle", type({3, 64, 1}), Unsupported, bad_type(3, 64)},
      {"8-bit float code", type({10, 8, 1}), Unsupported, bad_type(10, 8)},
      {"code 255", type({255, 32, 1}), Unsupported, bad_type(255, 32)},
      {"device 0", device(0), Unsupported, bad_device(0, "an unknown kind")},
      {"device -1", device(-1), Unsupported, bad_device(-1, "an unknown kind")},
      {"device CUDA", device(dlpack::kCUDA), Unsupported, bad_device(2, "CUDA")},
      {"device OpenCL", device(4), Unsupported, bad_device(4, "OpenCL")},
      {"device ROCm", device(10), Unsupported, bad_device(10, "ROCm")},
      {"device managed", device(13), Unsupported, bad_device(13, "CUDA managed memory")},
      {"device 99", device(99), Unsupported, bad_device(99, "an unknown kind")},
      {"no data", [](ForeignArray&, DLTensor& array) { array.data = nullptr; }, BadValue,
       "a foreign array of 6 elements brings no data"},
      {"no data but an offset",
       [](ForeignArray&, DLTensor& array) {
         array.data = nullptr;
         array.byte_offset = 64;
       },
       BadValue, "a foreign array of 6 elements brings no data"},
      {"offset past the address space",
       [](ForeignArray&, DLTensor& array) { array.byte_offset = UINT64_MAX; }, BadValue,
       "a foreign array begins 18446744073709551615 bytes past its data, which is outside the "
       "address space"},
      {"unaligned offset", [](ForeignArray&, DLTensor& array) { array.byte_offset = 2; }, BadValue,
       "the data of a foreign array of float32 is not aligned to 4 bytes; copy the array first"},
      {"unaligned data",
       [](ForeignArray& foreign, DLTensor& array) {
         array.data = reinterpret_cast<char*>(foreign.memory) + 1;
       },
       BadValue,
       "the data of a foreign array of float32 is not aligned to 4 bytes; copy the array first"},
  };
}

TEST(DLPack, EveryDefectIsNamedAndTheArrayGivenBackOnce) {
  std::vector<Defect> defects = shape_defects();
  for (Defect& defect : other_defects()) defects.push_back(std::move(defect));
  for (const Defect& defect : defects) {
    SCOPED_TRACE(defect.name);
    ForeignArray foreign;
    defect.make(foreign, foreign.legacy.dl_tensor);
    const Thrown legacy = thrown_by([&] { from_dlpack(&foreign.legacy); });
    EXPECT_STREQ(name_of(legacy.kind), name_of(defect.kind));
    EXPECT_EQ(legacy.text, defect.message);
    EXPECT_EQ(foreign.deleted, 1);
    EXPECT_EQ(foreign.deleted_struct, &foreign.legacy);

    ForeignArray newer;
    defect.make(newer, newer.versioned.dl_tensor);
    const Thrown versioned = thrown_by([&] { from_dlpack(&newer.versioned); });
    EXPECT_EQ(versioned.kind, defect.kind);
    EXPECT_EQ(versioned.text, defect.message);
    EXPECT_EQ(newer.deleted, 1);
    EXPECT_EQ(newer.deleted_struct, &newer.versioned);
  }
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

TEST(DLPack, OfAnotherMajorVersionOnlyTheDeleterIsUsed) {
  for (const std::uint32_t major : {0u, 2u, 4000000000u}) {
    ForeignArray foreign;
    foreign.versioned.version = {major, 3};
    foreign.versioned.flags = ~std::uint64_t{0};
    foreign.versioned.dl_tensor.shape = reinterpret_cast<std::int64_t*>(8);
    foreign.versioned.dl_tensor.strides = reinterpret_cast<std::int64_t*>(8);
    EXPECT_THROWN(from_dlpack(&foreign.versioned), Unsupported,
                  "a foreign array comes in DLPack version " + std::to_string(major) +
                      ".3; accepted is version 1, which its library offers where __dlpack__ is "
                      "called with max_version");
    EXPECT_EQ(foreign.deleted, 1);
  }
}

TEST(DLPack, ANullPointerIsRefused) {
  constexpr const char* kMessage = "a null pointer was given where a DLPack struct was expected";
  EXPECT_THROWN(from_dlpack(static_cast<DLManagedTensor*>(nullptr)), BadArgument, kMessage);
  EXPECT_THROWN(from_dlpack(static_cast<DLManagedTensorVersioned*>(nullptr)), BadArgument,
                kMessage);
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
      "float32[2] lies on meta and cannot be handed to another library; only memory of the cpu is "
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
}  // namespace opyard
