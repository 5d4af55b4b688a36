// test_tensor.cpp: protects a tensor's ownership of memory, its views, and its checks.
// Suspect dispatcher/src/tensor/tensor.cpp and tensor_impl.cpp.
#include "opyard/tensor.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "../failing_allocator.h"
#include "../fake_interpreter.h"
#include "../thrown_by.h"

namespace opyard::test_tensor {
namespace {

using Dims = std::vector<std::int64_t>;
using K = DispatchKey;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr Device kCpu{Backend::CPU, -1};

void count(void* counter) { ++*static_cast<int*>(counter); }

Dims dims(IntSpan span) { return {span.begin(), span.end()}; }

TEST(Tensor, AnEmptyTensorIsContiguousAndHasTheKeysOfItsDevice) {
  const Tensor tensor = Tensor::empty(Dims{2, 3, 4}, DType::Int64);
  EXPECT_EQ(dims(tensor.sizes()), (Dims{2, 3, 4}));
  EXPECT_EQ(dims(tensor.strides()), (Dims{12, 4, 1}));
  EXPECT_EQ(tensor.dim(), 3);
  EXPECT_EQ(tensor.numel(), 24);
  EXPECT_EQ(tensor.storage_offset(), 0);
  EXPECT_EQ(tensor.dtype(), DType::Int64);
  EXPECT_EQ(tensor.device(), kCpu);
  EXPECT_EQ(tensor.layout(), Layout::Strided);
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(to_string(tensor.keys()), "DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU)");
  EXPECT_EQ(tensor.impl()->storage()->bytes(), 192u);
  EXPECT_EQ(Tensor::empty({}).numel(), 1) << "no dimensions, one element";
  EXPECT_EQ(Tensor::empty({}).dtype(), DType::Float32);
}

TEST(Tensor, J13_AMetaTensorHasAStorageWithoutDataAndADevice) {
  const Tensor tensor = Tensor::empty(Dims{1000, 1000}, DType::Float64, {Backend::Meta, -1});
  EXPECT_TRUE(tensor.impl()->storage());
  EXPECT_EQ(tensor.impl()->data(), nullptr);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(tensor.raw()); }).kind, ErrorKind::Unsupported);
  EXPECT_EQ(tensor.device().backend, Backend::Meta);
  EXPECT_EQ(to_string(tensor.keys()), "DispatchKeySet(Meta, ADInplaceOrView, AutogradMeta)");
  const Tensor view = tensor.as_strided(Dims{10}, Dims{1000}, 5);
  EXPECT_EQ(view.impl()->data(), nullptr);
  EXPECT_EQ(view.device().backend, Backend::Meta);
}

TEST(Tensor, J13_ATensorWithoutAStorageIsRefused) {
  EXPECT_THROWN(make_counted<TensorImpl>(CountedPtr<Storage>(), DType::Float32, Dims{}, Dims{}, 0,
                                         DispatchKeySet()),
                BadValue,
                "a tensor was given no storage; one without data still needs a storage, which "
                "knows its device");
}

TEST(Tensor, SizesAndStridesCountFromBothEnds) {
  const Tensor tensor = Tensor::empty(Dims{2, 3, 4});
  EXPECT_EQ(tensor.size(0), 2);
  EXPECT_EQ(tensor.size(-1), 4);
  EXPECT_EQ(tensor.size(-3), 2);
  EXPECT_EQ(tensor.stride(1), 4);
  EXPECT_EQ(tensor.stride(-2), 4);
  EXPECT_THROWN(tensor.size(3), BadIndex,
                "dimension 3 is out of range for a tensor of 3 dimensions; accepted are -3 to 2");
  EXPECT_THROWN(tensor.stride(-4), BadIndex,
                "dimension -4 is out of range for a tensor of 3 dimensions; accepted are -3 to 2");
  EXPECT_THROWN(Tensor::empty(Dims{5}).size(1), BadIndex,
                "dimension 1 is out of range for a tensor of 1 dimension; accepted are -1 to 0");
  EXPECT_THROWN(Tensor::empty({}).size(0), BadIndex,
                "dimension 0 was asked for, and the tensor has no dimensions");
}

TEST(Tensor, DataIsReachedOnlyUnderItsOwnType) {
  const Tensor tensor = Tensor::empty(Dims{2, 3});
  float* const data = tensor.mutable_data<float>();
  for (int i = 0; i < 6; ++i) data[i] = float(i);
  EXPECT_EQ(tensor.data<float>()[5], 5.0f);
  EXPECT_EQ(tensor.raw(), data);
  EXPECT_THROWN(
      tensor.data<double>(), BadArgument,
      "the elements of float32[2, 3] were asked for as float64; its dtype is float32, and "
      "data is never converted in place: give x.to(float64), or take every dtype by "
      "dispatch_dtypes()");
  EXPECT_EQ(thrown_by([&] { tensor.mutable_data<std::int32_t>(); }).kind, ErrorKind::BadArgument);
}

TEST(Tensor, ReachingForDataToWriteCountsAWriteForAllViews) {
  const Tensor tensor = Tensor::empty(Dims{4});
  const Tensor view = tensor.as_strided(Dims{2}, Dims{2}, 1);
  const auto version = [&] { return tensor.impl()->storage()->version(); };
  EXPECT_EQ(version(), 0u);
  static_cast<void>(tensor.data<float>());
  EXPECT_EQ(version(), 0u);
  tensor.mutable_data<float>()[3] = 9;
  EXPECT_EQ(version(), 1u);
  EXPECT_EQ(view.data<float>()[2], 9.0f);
  static_cast<void>(view.mutable_raw());
  EXPECT_EQ(version(), 2u);
  EXPECT_EQ(thrown_by([&] { tensor.mutable_data<double>(); }).kind, ErrorKind::BadArgument);
  EXPECT_EQ(version(), 2u) << "a refusal is no write";
}

TEST(Tensor, ReadOnlyMemoryIsNotHandedOutToWrite) {
  float memory[4] = {1, 2, 3, 4};
  const Tensor tensor =
      Tensor::adopt(memory, Dims{2, 2}, Dims{2, 1}, DType::Float32, kCpu, nullptr, nullptr, true);
  EXPECT_EQ(tensor.data<float>()[3], 4.0f);
  EXPECT_THROWN(tensor.mutable_data<float>(), BadValue,
                "the memory of float32[2, 2] is read-only and cannot be written; write to a copy, "
                "as clone() makes one");
  EXPECT_EQ(thrown_by([&] { tensor.alias().mutable_raw(); }).kind, ErrorKind::BadValue);
  EXPECT_EQ(tensor.impl()->storage()->version(), 0u);
}

TEST(Tensor, AViewSharesMemoryAndKeepsItAlive) {
  int deleted = 0;
  float memory[6] = {0, 1, 2, 3, 4, 5};
  Tensor tensor =
      Tensor::adopt(memory, Dims{2, 3}, Dims{3, 1}, DType::Float32, kCpu, &deleted, count);
  Tensor column = tensor.as_strided(Dims{2}, Dims{3}, 1);
  EXPECT_FALSE(column.same(tensor));
  EXPECT_FALSE(column.is_contiguous());
  EXPECT_EQ(column.data<float>(), memory + 1);
  EXPECT_EQ(column.impl()->storage(), tensor.impl()->storage());
  tensor = Tensor();
  EXPECT_EQ(deleted, 0);
  EXPECT_EQ(column.data<float>()[3], 4.0f);
  column = Tensor();
  EXPECT_EQ(deleted, 1);
}

TEST(Tensor, AdoptedMemoryGoesBackOnceWhenTheGeometryIsRefused) {
  float memory[4] = {};
  int deleted = 0;
  const auto adopt = [&](const Dims& sizes, const Dims& strides) {
    return thrown_by([&] {
             Tensor::adopt(memory, sizes, strides, DType::Float32, kCpu, &deleted, count);
           })
        .kind;
  };
  EXPECT_EQ(adopt({2, -2}, {2, 1}), ErrorKind::BadShape);
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(adopt({2, 2}, {1}), ErrorKind::BadShape);
  EXPECT_EQ(deleted, 2);
  EXPECT_EQ(adopt({kMost, kMost}, {1, 1}), ErrorKind::BadShape);
  EXPECT_EQ(deleted, 3);
  EXPECT_EQ(adopt({2, 2}, {kMost, 1}), ErrorKind::BadShape);
  EXPECT_EQ(deleted, 4);
  EXPECT_EQ(adopt({3}, {-(kMost / 16)}), ErrorKind::BadShape) << "below address 0";
  EXPECT_EQ(deleted, 5);
}

TEST(Tensor, AnyAllocationMayFail) {
  const Dims sizes = {1, 2, 3, 1, 2, 3};
  EXPECT_EQ(fail_every_allocation([&] { Tensor::empty(sizes); }), 6)
      << "strides, bytes, storage, tensor, its sizes, its strides";
  const Tensor base = Tensor::empty(Dims{4});
  EXPECT_EQ(fail_every_allocation([&] { base.alias(); }), 1);
  int deleted = 0;
  float memory[2] = {};
  const int requests = fail_every_allocation(
      [&] { Tensor::adopt(memory, Dims{2}, Dims{1}, DType::Float32, kCpu, &deleted, count); });
  EXPECT_EQ(requests, 2) << "storage and tensor";
  EXPECT_EQ(deleted, 3) << "once in each of three runs, two of which failed";
}

TEST(Tensor, AnAliasIsUntaggedAndWithoutTheKeysOfPython) {
  Interpreter* const a = FakeA::create();
  const Tensor tensor = Tensor::empty(Dims{2, 3});
  tensor.impl()->object_link().claim(a);
  tensor.impl()->set_keys(tensor.keys().add(K::Python).add(K::PythonTLSSnapshot).add(K::OnTop1));
  const Tensor alias = tensor.alias();
  EXPECT_FALSE(alias.same(tensor));
  EXPECT_EQ(alias.impl()->object_link().tag(), nullptr);
  EXPECT_EQ(alias.keys(), Tensor::empty({}).keys().add(K::OnTop1));
  EXPECT_EQ(alias.raw(), tensor.raw());
  EXPECT_EQ(dims(alias.sizes()), dims(tensor.sizes()));
  EXPECT_EQ(dims(alias.strides()), dims(tensor.strides()));
}

TEST(Tensor, E21_ATensorThatOwnsItsObjectIsLeftToIt) {
  Interpreter* const a = FakeA::create();
  int object = 0;
  const int before = FakeA::decrefs;
  const auto make = [&](bool owns) {
    const Tensor tensor = Tensor::empty({});
    ObjectLink& slot = tensor.impl()->object_link();
    slot.claim(a);
    slot.set_object_with_lock_held(&object);
    slot.set_owns_object_with_lock_held(owns);
    return tensor.impl().get();
  };
  make(false);
  EXPECT_EQ(FakeA::decrefs, before) << "nothing was owned";
  TensorImpl* const left = make(true);
  EXPECT_EQ(FakeA::decrefs, before + 1);
  ASSERT_TRUE(left->is_left_to_object());
  bool was_left = false;
  CountedPtr<TensorImpl> owner = left->return_to_object_with_lock_held(was_left);
  EXPECT_TRUE(was_left);
  EXPECT_FALSE(left->object_link().owns_object());
  EXPECT_EQ(owner->owner_count(), 1u);
  owner.reset();
  EXPECT_EQ(FakeA::decrefs, before + 1) << "it owned nothing when it died";
}

TEST(Tensor, E24_WhereTheInterpreterIsGoneATensorAndItsObjectStay) {
  Interpreter* const a = FakeA::create();
  int object = 0;
  const int before = FakeA::decrefs;
  TensorImpl* left = nullptr;
  {
    const Tensor tensor = Tensor::empty({});
    left = tensor.impl().get();
    left->object_link().claim(a);
    left->object_link().set_object_with_lock_held(&object);
    left->object_link().set_owns_object_with_lock_held(true);
    a->disarm();
  }
  EXPECT_EQ(FakeA::decrefs, before);
  ASSERT_TRUE(left->is_left_to_object());
  bool was_left = false;
  left->return_to_object_with_lock_held(was_left);  // lets go of it: no leak for the checker
}

TEST(Tensor, E21_AnObjectMayBecomeTheOwnerAgainBeforeTheOthersLetGo) {
  Interpreter* const a = FakeA::create();
  int object = 0;
  const int before = FakeA::decrefs;
  Tensor tensor = Tensor::empty({});
  ObjectLink& slot = tensor.impl()->object_link();
  slot.claim(a);
  slot.set_object_with_lock_held(&object);
  slot.set_owns_object_with_lock_held(true);
  bool was_left = true;
  const CountedPtr<TensorImpl> owner = tensor.impl()->return_to_object_with_lock_held(was_left);
  EXPECT_FALSE(was_left);
  EXPECT_EQ(owner->owner_count(), 2u);
  tensor = Tensor();
  EXPECT_EQ(FakeA::decrefs, before);
}

TEST(Tensor, AnUndefinedTensorHasNoKeysAndNothingToAskFor) {
  const Tensor tensor;
  EXPECT_FALSE(tensor.defined());
  EXPECT_TRUE(tensor.keys().empty());
  EXPECT_EQ(describe(tensor), "undefined");
  EXPECT_TRUE(tensor.same(Tensor()));
  constexpr const char* kMessage =
      "an undefined tensor has no dtype, shape or data; check defined() before asking for them";
  EXPECT_THROWN(tensor.sizes(), BadValue, kMessage);
  EXPECT_THROWN(tensor.size(0), BadValue, kMessage);
  EXPECT_THROWN(tensor.data<float>(), BadValue, kMessage);
  EXPECT_THROWN(tensor.mutable_raw(), BadValue, kMessage);
  EXPECT_THROWN(tensor.as_strided({}, {}, 0), BadValue, kMessage);
  EXPECT_THROWN(tensor.alias(), BadValue, kMessage);
}

TEST(Tensor, AHandleIsOnePointerAndMovingItDoesNotCount) {
  Tensor tensor = Tensor::empty({});
  TensorImpl* const impl = tensor.impl().get();
  const Tensor moved = std::move(tensor);
  EXPECT_EQ(impl->owner_count(), 1u);
  EXPECT_FALSE(tensor.defined());  // NOLINT(bugprone-use-after-move)
  const Tensor copy = moved;
  EXPECT_EQ(impl->owner_count(), 2u);
  EXPECT_TRUE(copy.same(moved));
}

TEST(Tensor, DescriptionsNameDtypeAndSizes) {
  EXPECT_EQ(describe(Tensor::empty(Dims{2, 3}, DType::BFloat16)), "bfloat16[2, 3]");
  EXPECT_EQ(describe(Tensor::empty({})), "float32[]");
  EXPECT_EQ(describe_sizes(Dims{7}), "[7]");
}

TEST(Tensor, ViewsInheritMarksAndNoGradientState) {
  struct State : Counted {};
  const Tensor tensor = Tensor::empty(Dims{2, 3});
  EXPECT_EQ(tensor.impl()->marks(), 0);
  tensor.impl()->set_marks(TensorImpl::kMadeWithoutGradients | TensorImpl::kInference);
  tensor.impl()->detach();
  EXPECT_NE(tensor.impl()->detached_group(), 0u);
  tensor.impl()->gradient_state().set(make_counted<State>());
  for (const Tensor& view : {tensor.alias(), tensor.as_strided(Dims{3}, Dims{1}, 3)}) {
    EXPECT_TRUE(view.impl()->has_mark(TensorImpl::kDetached));
    EXPECT_EQ(view.impl()->detached_group(), tensor.impl()->detached_group());
    EXPECT_TRUE(view.impl()->has_mark(TensorImpl::kInference));
    EXPECT_FALSE(view.impl()->has_mark(TensorImpl::kMadeWithoutGradients));
    EXPECT_FALSE(view.impl()->gradient_state());
    EXPECT_FALSE(view.impl()->storage()->gradient_state());
  }
}

TEST(Tensor, WhatIsKeptForGradientsIsSetOnceAndDiesWithTheTensor) {
  struct State : Counted {
    explicit State(int& dead) : dead_(dead) {}
    ~State() override { ++dead_; }
    int& dead_;
  };
  int dead = 0;
  {
    const Tensor tensor = Tensor::empty(Dims{2});
    SetOnce<Counted>& state = tensor.impl()->gradient_state();
    EXPECT_EQ(state.get(), nullptr);
    Counted& first = state.set(make_counted<State>(dead));
    EXPECT_EQ(&state.set(make_counted<State>(dead)), &first) << "the first one stays";
    EXPECT_EQ(state.get(), &first);
    EXPECT_EQ(dead, 1);
    tensor.impl()->storage()->gradient_state().set(make_counted<State>(dead));
  }
  EXPECT_EQ(dead, 3);
}

}  // namespace
}  // namespace opyard::test_tensor
