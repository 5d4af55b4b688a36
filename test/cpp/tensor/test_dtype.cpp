// test_dtype.cpp: protects the numbers and names of element types, which schemas print.
// Suspect dispatcher/src/tensor/dtype.cpp.
#include "opyard/tensor/dtype.h"

#include <gtest/gtest.h>

#include <string>

#include "../thrown_by.h"

namespace opyard::test_dtype {
namespace {

struct Row {
  int code;
  DType dtype;
  const char* name;
  std::size_t bytes;
  std::size_t bits;
  bool same_type;
};

constexpr Row kRows[] = {
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, ...) \
  {code, DType::name, #python, sizeof(type), bits, dtype_of<type> == DType::name},
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
};

TEST(DTypes, NumbersNamesAndTypesLeadToEachOther) {
  for (const Row& row : kRows) {
    EXPECT_EQ(int(row.dtype), row.code);
    EXPECT_STREQ(name_of(row.dtype), row.name);
    EXPECT_EQ(find_dtype(row.name), row.dtype);
    EXPECT_EQ(require_dtype(row.code), row.dtype);
    EXPECT_EQ(item_size(row.dtype), row.bytes);
    EXPECT_EQ(row.bits, row.bytes * 8);
    EXPECT_TRUE(row.same_type) << row.name;
  }
}

TEST(DTypes, NumbersAreFrozen) {
  EXPECT_EQ(int(DType::UInt8), 0);
  EXPECT_EQ(int(DType::Int64), 4);
  EXPECT_EQ(int(DType::Float32), 6);
  EXPECT_EQ(int(DType::ComplexDouble), 10);
  EXPECT_EQ(int(DType::Bool), 11);
  EXPECT_EQ(int(DType::BFloat16), 15);
  EXPECT_EQ(int(DType::UInt16), 27);
  EXPECT_EQ(int(DType::UInt32), 28);
  EXPECT_EQ(int(DType::UInt64), 29);
}

TEST(DTypes, EachIsOfOneSort) {
  for (const Row& row : kRows) {
    const int sorts = int(is_floating_point(row.dtype)) + int(is_complex(row.dtype)) +
                      int(is_integral(row.dtype)) + int(row.dtype == DType::Bool);
    EXPECT_EQ(sorts, 1) << row.name;
  }
  EXPECT_TRUE(is_floating_point(DType::BFloat16));
  EXPECT_TRUE(is_integral(DType::UInt8));
  EXPECT_TRUE(is_integral(DType::UInt64) && is_unsigned(DType::UInt64));
  EXPECT_FALSE(is_unsigned(DType::Int64) || is_unsigned(DType::Bool));
  EXPECT_EQ(signed_like(DType::UInt32), DType::Int32);
  EXPECT_EQ(signed_like(DType::UInt8), DType::UInt8);
}

TEST(DTypes, AnUnknownNumberOrNameIsNone) {
  EXPECT_THROWN(require_dtype(8), BadValue,
                "8 is not the number of a dtype; the dtypes are uint8 (0), int8 (1), int16 (2), "
                "int32 (3), int64 (4), float16 (5), float32 (6), float64 (7), complex64 (9), "
                "complex128 (10), bool (11), bfloat16 (15), uint16 (27), uint32 (28), uint64 (29)");
  EXPECT_EQ(thrown_by([] { require_dtype(-1); }).kind, ErrorKind::BadValue);
  EXPECT_EQ(thrown_by([] { require_dtype(256 + 6); }).kind, ErrorKind::BadValue);
  EXPECT_FALSE(find_dtype("float").has_value());
  EXPECT_FALSE(find_dtype("").has_value());
  EXPECT_STREQ(name_of(DType(99)), "<no dtype>");
}

}  // namespace
}  // namespace opyard::test_dtype
