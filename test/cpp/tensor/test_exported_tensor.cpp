// test_exported_tensor.cpp: protects tensors on memory that is exported for a call: their properties, that they are used again only
// if no one else has them, and that the exporter is asked for what it did not say.
// Suspect dispatcher/src/tensor/exported_tensor.cpp.
#include "opyard/detail/tensor/exported_tensor.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "../thrown_by.h"
#include "foreign_array.h"
#include "opyard/base/weak.h"

namespace opyard::test_exported_tensor {
namespace {

using Dims = std::vector<std::int64_t>;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct TestExporter final : Exporter {
  ExportedTensor* exported = nullptr;
  bool read_only = true;
  int asked = 0;
  void resolve() override {
    ++asked;
    if (exported != nullptr) return exported->set_access(read_only);
    fail(ErrorKind::BadValue, "the exporter refuses");
  }
};

class ExportedTensorTest : public testing::Test {
 protected:
  bool export_array(const Dims& sizes, const Dims* strides, DType dtype = DType::Float32,
                    ExportedTensor::Unit unit = ExportedTensor::Unit::Elements,
                    std::size_t at = 0) {
    return exported.stand_for(memory + at, sizes, strides == nullptr ? nullptr : strides->data(),
                              dtype, MemoryAccess::Writable, unit);
  }
  Tensor shared() const { return Tensor(CountedPtr<TensorImpl>::share(&exported.tensor())); }

  alignas(64) char memory[1024] = {};
  TestExporter exporter;
  ExportedTensor exported{exporter};
};
using ExportedTensors = ExportedTensorTest;

void count(void* calls) { ++*static_cast<int*>(calls); }

void expect_same(const Tensor& exported, const Tensor& taken) {
  EXPECT_EQ(Dims(exported.sizes().begin(), exported.sizes().end()),
            Dims(taken.sizes().begin(), taken.sizes().end()));
  EXPECT_EQ(Dims(exported.strides().begin(), exported.strides().end()),
            Dims(taken.strides().begin(), taken.strides().end()));
  EXPECT_EQ(exported.numel(), taken.numel());
  EXPECT_EQ(exported.dtype(), taken.dtype());
  EXPECT_EQ(exported.keys(), taken.keys());
  EXPECT_EQ(exported.is_contiguous(), taken.is_contiguous());
  EXPECT_EQ(exported.raw(), taken.raw());
  EXPECT_EQ(exported.storage_offset(), taken.storage_offset());
  EXPECT_EQ(exported.impl()->storage()->bytes(), taken.impl()->storage()->bytes());
  EXPECT_EQ(exported.device(), taken.device());
}

TEST_F(ExportedTensors, F57_LooksAsAdoptedMemoryDoes) {
  for (const auto& [sizes, strides] :
       std::vector<std::pair<Dims, Dims>>{{{2, 3}, {3, 1}},
                                          {{2, 3}, {1, 2}},
                                          {{2, 3}, {0, 0}},
                                          {{}, {}},
                                          {{1, 1}, {7, 9}},
                                          {{4}, {2}},
                                          {{2, 1, 3}, {3, 5, 1}},
                                          {{1, 2, 1, 2, 1}, {4, 2, 2, 1, 1}},
                                          {{3, 2}, {2, 1}}}) {
    ASSERT_TRUE(export_array(sizes, &strides));
    const Tensor taken =
        Tensor::adopt(memory, sizes, strides, DType::Float32, {}, nullptr, nullptr);
    expect_same(shared(), taken);
    ASSERT_TRUE(exported.take_back());
  }
}

TEST_F(ExportedTensors, F57_EveryElementTypeOfDLPackIsExportedAsItIsTaken) {
  for (int code = 0; code < 12; ++code) {
    for (int bits : {0, 1, 4, 8, 16, 24, 32, 64, 128, 256 - 8}) {
      ForeignArray foreign;
      foreign.versioned.dl_tensor.dtype = {std::uint8_t(code), std::uint8_t(bits), 1};
      bool is_taken = true;
      Tensor taken;
      try {
        taken = from_dlpack(&foreign.versioned);
      } catch (const Error&) {
        is_taken = false;
      }
      EXPECT_EQ(exported.stand_for(foreign.versioned.dl_tensor, MemoryAccess::Writable), is_taken)
          << code << ", " << bits;
      if (is_taken) expect_same(shared(), taken);
    }
  }
}

TEST_F(ExportedTensors, F57_WithoutStridesRowsFollowEachOther) {
  ASSERT_TRUE(export_array({2, 3, 4}, nullptr));
  EXPECT_EQ(exported.tensor().strides()[0], 12);
  EXPECT_EQ(exported.tensor().strides()[1], 4);
  EXPECT_TRUE(exported.tensor().is_contiguous());
}

TEST_F(ExportedTensors, F57_StridesInBytes) {
  const Dims strides = {24, 8};
  ASSERT_TRUE(export_array({2, 3}, &strides, DType::Float64, ExportedTensor::Unit::Bytes));
  EXPECT_EQ(exported.tensor().strides()[0], 3);
  const Dims between = {24, 12};
  EXPECT_FALSE(export_array({2, 2}, &between, DType::Float64, ExportedTensor::Unit::Bytes));
  const Dims nowhere = {3, 8};
  ASSERT_TRUE(export_array({1, 3}, &nowhere, DType::Float64, ExportedTensor::Unit::Bytes));
  EXPECT_EQ(exported.tensor().strides()[0], 3) << "a dimension of size 1 goes nowhere";
  EXPECT_TRUE(exported.tensor().is_contiguous());
}

TEST_F(ExportedTensors, T3_WhatIsNotPlainIsNotExported) {
  const Dims below = {-1}, far = {kMost / 2}, most = {kMost}, one = {1};
  EXPECT_FALSE(export_array({2}, &below));
  EXPECT_FALSE(export_array({0}, nullptr));
  EXPECT_FALSE(export_array({-1}, nullptr));
  EXPECT_FALSE(export_array({kMost, 2}, nullptr));
  EXPECT_FALSE(export_array({kMost}, nullptr)) << "past the address space";
  EXPECT_FALSE(export_array({3}, &far));
  EXPECT_FALSE(export_array({kMost}, &most));
  EXPECT_FALSE(export_array({1, 1, 1, 1, 1, 1}, nullptr)) << "six dimensions";
  EXPECT_FALSE(export_array({2}, &one, DType::Float32, ExportedTensor::Unit::Elements, 2))
      << "unaligned";
  EXPECT_TRUE(export_array({2}, &one, DType::ComplexDouble, ExportedTensor::Unit::Elements, 8));
  EXPECT_FALSE(
      exported.stand_for(nullptr, IntSpan(one), nullptr, DType::Float32, MemoryAccess::Writable));
  EXPECT_TRUE(export_array({2}, &one)) << "what was refused leaves nothing behind";
  EXPECT_EQ(exported.tensor().numel(), 2);
}

TEST_F(ExportedTensors, T3_StructsThatFromDLPackRefusesAreNotExported) {
  const auto is_borrowed = [&](auto&& spoil) {
    ForeignArray foreign;
    dlpack::DLTensor array = foreign.versioned.dl_tensor;
    spoil(array);
    return exported.stand_for(array, MemoryAccess::Writable);
  };
  EXPECT_TRUE(is_borrowed([](auto&) {}));
  EXPECT_TRUE(is_borrowed([](auto& array) { array.byte_offset = 4; }));
  EXPECT_TRUE(is_borrowed([](auto& array) { array.ndim = 0, array.shape = nullptr; }));
  EXPECT_FALSE(is_borrowed([](auto& array) { array.ndim = -1; }));
  EXPECT_FALSE(is_borrowed([](auto& array) { array.ndim = 65; }));
  EXPECT_FALSE(is_borrowed([](auto& array) { array.shape = nullptr; }));
  EXPECT_FALSE(is_borrowed([](auto& array) { array.data = nullptr; }));
  EXPECT_FALSE(is_borrowed([](auto& array) { array.byte_offset = 2; }));
  EXPECT_FALSE(is_borrowed([](auto& array) { array.byte_offset = ~std::uint64_t{3}; }));
  EXPECT_FALSE(is_borrowed([](auto& array) { array.device.device_type = dlpack::kCUDA; }));
  EXPECT_FALSE(is_borrowed([](auto& array) { array.dtype.lanes = 2; }));
  EXPECT_FALSE(is_borrowed([](auto& array) { array.dtype.lanes = 0; }));
}

TEST_F(ExportedTensors, P17_EndsIfNoOneElseOwnsIt) {
  ASSERT_TRUE(export_array({2}, nullptr));
  {
    const Tensor other = shared();
    EXPECT_FALSE(exported.take_back());
  }
  EXPECT_TRUE(exported.take_back());
  {
    const Tensor view = shared().alias();
    EXPECT_FALSE(exported.take_back()) << "a view owns the storage";
  }
  EXPECT_TRUE(exported.take_back());
  {
    const CountedPtr<Storage> storage = exported.tensor().storage();
    EXPECT_FALSE(exported.take_back());
  }
  EXPECT_TRUE(exported.take_back());
}

TEST_F(ExportedTensors, P17_DoesNotEndIfAWeakPointerCouldReachIt) {
  ASSERT_TRUE(export_array({2}, nullptr));
  const WeakPtr<TensorImpl> weak(shared().impl());
  EXPECT_FALSE(exported.take_back());
}

TEST_F(ExportedTensors, P17_WhatIsKeptGetsAnOwner) {
  int calls = 0;
  ASSERT_TRUE(export_array({2}, nullptr));
  Tensor kept = shared();
  Tensor view = kept.alias();
  ASSERT_FALSE(exported.take_back());
  exported.own(&calls, count);
  exported.release();
  EXPECT_FALSE(bool(exported));
  kept = Tensor();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(view.raw(), memory);
  view = Tensor();
  EXPECT_EQ(calls, 1);
}

TEST_F(ExportedTensors, P17_WhatIsReleasedAloneEndsAtOnce) {
  int calls = 0;
  ASSERT_TRUE(export_array({2}, nullptr));
  exported.own(&calls, count);
  exported.release();
  EXPECT_EQ(calls, 1);
}

TEST_F(ExportedTensors, P17_TheExporterIsAskedOnceAndOnlyIfSomeoneWantsToKnow) {
  exporter.exported = &exported;
  const Dims sizes = {2};
  ASSERT_TRUE(exported.stand_for(memory, sizes, nullptr, DType::Float32, MemoryAccess::Unresolved));
  EXPECT_TRUE(exported.is_unresolved());
  EXPECT_NE(shared().data<float>(), nullptr);
  EXPECT_EQ(exporter.asked, 0);
  EXPECT_TRUE(exported.tensor().storage()->read_only());
  EXPECT_TRUE(exported.tensor().storage()->read_only());
  exported.tensor().storage()->resolve();
  EXPECT_EQ(exporter.asked, 1);
  EXPECT_FALSE(exported.is_unresolved());
  EXPECT_STREQ(name_of(thrown_by([&] { shared().mutable_data<float>(); }).kind), "BadValue");

  exporter.read_only = false;
  ASSERT_TRUE(exported.stand_for(memory, sizes, nullptr, DType::Float32, MemoryAccess::Unresolved));
  EXPECT_NE(shared().mutable_data<float>(), nullptr);
  EXPECT_EQ(exporter.asked, 2);
  EXPECT_EQ(exported.tensor().storage()->version(), 1U);
  ASSERT_TRUE(exported.stand_for(memory, sizes, nullptr, DType::Float32, MemoryAccess::ReadOnly));
  EXPECT_EQ(exported.tensor().storage()->version(), 0U) << "other memory";
  EXPECT_TRUE(exported.tensor().storage()->read_only());
  EXPECT_EQ(exporter.asked, 2);
}

TEST_F(ExportedTensors, P17_AnExporterThatRefusesIsHeard) {
  const Dims sizes = {2};
  ASSERT_TRUE(exported.stand_for(memory, sizes, nullptr, DType::Float32, MemoryAccess::Unresolved));
  EXPECT_THROWN(static_cast<void>(exported.tensor().storage()->read_only()), BadValue,
                "the exporter refuses");
  EXPECT_THROWN(shared().mutable_raw(), BadValue, "the exporter refuses");
  EXPECT_TRUE(exported.take_back());
}

TEST_F(ExportedTensors, F57_TheNextArrayFindsNothingOfTheLastOne) {
  ASSERT_TRUE(export_array({2, 3}, nullptr));
  exported.tensor().set_keys(DispatchKeySet(DispatchKey::Meta));
  exported.tensor().set_policies(TensorImpl::kSymbolic);
  ASSERT_TRUE(exported.take_back());
  ASSERT_TRUE(export_array({4}, nullptr, DType::Int64));
  expect_same(shared(),
              Tensor::adopt(memory, Dims{4}, Dims{1}, DType::Int64, {}, nullptr, nullptr));
  EXPECT_EQ(exported.tensor().policies(), 0);
}

TEST_F(ExportedTensors, F57_MarksAreForgottenAndWhatIsKeptForGradientsIsNotHandedOn) {
  struct State : Counted {};
  ASSERT_TRUE(export_array({2}, nullptr));
  exported.tensor().detach();
  ASSERT_TRUE(exported.take_back());
  EXPECT_EQ(exported.tensor().marks(), 0);
  EXPECT_EQ(exported.tensor().detached_group(), 0u);
  const Tensor tensor = shared();
  tensor.impl()->gradient_state().set(make_counted<State>());
  exported.release();
  EXPECT_TRUE(tensor.impl()->gradient_state()) << "it was left to its owner";
  ExportedTensor second(exporter);
  ASSERT_TRUE(second.stand_for(memory, Dims{2}, nullptr, DType::Float32, MemoryAccess::Writable,
                               ExportedTensor::Unit::Elements));
  second.tensor().storage()->gradient_state().set(make_counted<State>());
  EXPECT_FALSE(second.take_back());
}

}  // namespace
}  // namespace opyard::test_exported_tensor
