// test_dlpack_exchange.cpp: protects exchange tables: the layout of a table to the byte, and adopting,
// borrowing and allocating by description. Suspect dispatcher/src/tensor/dlpack.cpp.
#include "opyard/tensor/dlpack_exchange.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "../failing_allocator.h"
#include "../symbolic.h"
#include "../thrown_by.h"
#include "foreign_array.h"
#include "opyard/value/sym_tensor.h"

namespace opyard::test_dlpack_exchange {
namespace {

using dlpack::DLPackExchangeAPI;
using dlpack::DLPackExchangeAPIHeader;
using dlpack::DLTensor;
using Dims = std::vector<std::int64_t>;

// The layout as the DLPack specification has it from version 1.3 on.
static_assert(sizeof(DLPackExchangeAPIHeader) == 16 && sizeof(DLPackExchangeAPI) == 56);
static_assert(offsetof(DLPackExchangeAPIHeader, prev_api) == 8);
static_assert(offsetof(DLPackExchangeAPI, managed_tensor_allocator) == 16);
static_assert(offsetof(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync) == 24);
static_assert(offsetof(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync) == 32);
static_assert(offsetof(DLPackExchangeAPI, dltensor_from_py_object_no_sync) == 40);
static_assert(offsetof(DLPackExchangeAPI, current_work_stream) == 48);

void count(void* calls) { ++*static_cast<int*>(calls); }

TEST(DLPackExchange, F57_WhatIsAdoptedIsGivenBackByTheDeleterThatCameWithIt) {
  ForeignArray foreign;
  int calls = 0;
  Tensor tensor = adopt_dlpack(foreign.versioned, &calls, count);
  EXPECT_EQ(tensor.raw(), foreign.memory);
  EXPECT_EQ(describe(tensor), "float32[2, 3]");
  Tensor view = tensor.alias();
  tensor = Tensor();
  EXPECT_EQ(calls, 0);
  view = Tensor();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(foreign.deleted, 0) << "the struct is only read";
  adopt_dlpack(foreign.legacy, &calls, count);
  EXPECT_EQ(calls, 2);
}

TEST(DLPackExchange, P17_ReadOnlyIsTakenOver) {
  ForeignArray foreign;
  foreign.versioned.flags = dlpack::kReadOnly;
  const Tensor tensor = adopt_dlpack(foreign.versioned, nullptr, nullptr);
  EXPECT_TRUE(tensor.impl()->storage()->read_only());
  EXPECT_TRUE(adopt_dlpack(foreign.legacy.dl_tensor, true, nullptr, nullptr)
                  .impl()
                  ->storage()
                  ->read_only());
}

TEST(DLPackExchange, P17_WhatIsRefusedIsGivenBackOnce) {
  ForeignArray foreign;
  foreign.legacy.dl_tensor.ndim = -1;
  int calls = 0;
  EXPECT_THROWN(adopt_dlpack(foreign.legacy, &calls, count), BadShape,
                "a foreign array claims -1 dimensions; accepted are 0 to 64");
  EXPECT_EQ(calls, 1);
  foreign.versioned.version.major = 2;
  thrown_by([&] { adopt_dlpack(foreign.versioned, &calls, count); });
  EXPECT_EQ(calls, 2);
}

TEST(DLPackExchange, P17_WithoutMemoryItIsGivenBackOnce) {
  ForeignArray foreign;
  for (int allowed = 0; allowed < 2; ++allowed) {
    int calls = 0;
    {
      const FailingAllocator failing(allowed);
      EXPECT_THROW(adopt_dlpack(foreign.versioned, &calls, count), std::bad_alloc);
    }
    EXPECT_EQ(calls, 1);
  }
}

TEST(DLPackExchange, F57_ABorrowedStructLeadsIntoTheTensor) {
  const Tensor tensor = Tensor::empty(Dims{2, 3}, DType::Int16).as_strided(Dims{3}, Dims{2}, 1);
  DLTensor borrowed{};
  borrow_dlpack(tensor, borrowed);
  EXPECT_EQ(borrowed.data, tensor.raw());
  EXPECT_EQ(borrowed.ndim, 1);
  EXPECT_EQ(borrowed.shape[0], 3);
  EXPECT_EQ(borrowed.strides[0], 2);
  EXPECT_EQ(borrowed.dtype.bits, 16);
  EXPECT_EQ(thrown_by([&] { borrow_dlpack(Tensor(), borrowed); }).kind, ErrorKind::BadValue);
}

TEST(DLPackExchange, E9_ASymbolicTensorHasNoSizesToExport) {
  const Tensor tensor = Tensor::empty(Dims{2, 3});
  make_symbolic(tensor, {Reasoner::symbol("n", 5), 3}, {3, 1}, 0);
  DLTensor borrowed{};
  EXPECT_THROWN(borrow_dlpack(tensor, borrowed), BadValue,
                "Cannot call sizes on a tensor with symbolic shapes/strides");
}

TEST(DLPackExchange, F57_MemoryIsAllocatedAfterAPrototype) {
  ForeignArray foreign;
  DLTensor prototype = foreign.legacy.dl_tensor;
  prototype.data = nullptr;
  prototype.strides = nullptr;
  const Tensor made = empty_dlpack(prototype);
  EXPECT_EQ(describe(made), "float32[2, 3]");
  EXPECT_TRUE(made.is_contiguous());
  prototype.dtype.lanes = 2;
  EXPECT_THROWN(
      empty_dlpack(prototype), Unsupported,
      "the elements of a foreign array have 2 lanes; accepted is 1 lane, so make the lanes a "
      "dimension of the array");
  prototype.dtype.lanes = 1;
  prototype.device.device_type = dlpack::kCUDA;
  EXPECT_EQ(thrown_by([&] { empty_dlpack(prototype); }).kind, ErrorKind::Unsupported);
}

}  // namespace
}  // namespace opyard::test_dlpack_exchange
