// test_dlpack_defects.cpp: protects against foreign structs that are wrong.
// Suspect dispatcher/src/tensor/dlpack.cpp.
//
// Forty defects, each in both forms. Each must be named in a sentence, and the array be given
// back exactly once.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "../thrown_by.h"
#include "foreign_array.h"

namespace opyard::test_dlpack_defects {
namespace {

using dlpack::DLDataType;
using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;
using dlpack::DLTensor;
using Dims = std::vector<std::int64_t>;

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
         "float64, complex64, complex128, bool, bfloat16, uint16, uint32, uint64 first";
}

std::string bad_device(int type, const char* kind) {
  return "a foreign array is on DLPack device type " + std::to_string(type) + " (" + kind +
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
      {"unsigned of 128 bits", type({1, 128, 1}), Unsupported, bad_type(1, 128)},
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

}  // namespace
}  // namespace opyard::test_dlpack_defects
