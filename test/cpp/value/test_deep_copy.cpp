// test_deep_copy.cpp: protects that a copy shares nothing that can change, and keeps what was shared.
// Suspect dispatcher/src/value/deep_copy.cpp.
#include "opyard/value/deep_copy.h"

#include <gtest/gtest.h>

#include "../failing_allocator.h"
#include "../one_of_each.h"
#include "../thrown_by.h"
#include "opyard/value/alias.h"
#include "opyard/value/cast.h"
#include "opyard/value/list.h"

namespace opyard::test_deep_copy {
namespace {

constexpr std::int64_t kTwo[] = {2};
constexpr std::int64_t kOne[] = {1};

Tensor numbered() {
  const Tensor tensor = Tensor::empty(kTwo);
  tensor.mutable_data<float>()[0] = 1;
  tensor.mutable_data<float>()[1] = 2;
  return tensor;
}

TEST(DeepCopy, D4_ContainersAndTensorsAreCopiedWithTheirContent) {
  const Value tensor(numbered());
  const Value value =
      Value::list({Value(1), Value::dict({{Value("t"), tensor}}), Value::tuple({Value("text")})});
  const Value copy = deep_copy(value);
  EXPECT_FALSE(overlaps(copy, value));
  const Tensor copied = copy.to_list()[1].to_dict().find(Value("t"))->to_tensor();
  EXPECT_EQ(copied.data<float>()[1], 2);
  copied.mutable_data<float>()[1] = 5;
  EXPECT_EQ(tensor.to_tensor().data<float>()[1], 2);
  EXPECT_EQ(copied.keys(), tensor.to_tensor().keys());
}

TEST(DeepCopy, D4_WhatWasSharedIsSharedInTheCopy) {
  const Value inner = Value::list({Value(1)});
  const Value tensor(numbered());
  const Value copy = deep_copy(Value::tuple({inner, inner, tensor, tensor}));
  EXPECT_TRUE(copy.to_tuple()[0].identical(copy.to_tuple()[1]));
  EXPECT_TRUE(copy.to_tuple()[2].identical(copy.to_tuple()[3]));
}

TEST(DeepCopy, D4_ViewsOfOneMemoryBecomeViewsOfOneCopy) {
  const Tensor base = numbered();
  const Tensor second = base.as_strided(kOne, kOne, 1);
  const Value copy =
      deep_copy(Value::list({Value(base), Value(second), Value(base.impl()->storage())}));
  const Tensor copied_base = copy.to_list()[0].to_tensor();
  const Tensor copied_second = copy.to_list()[1].to_tensor();
  EXPECT_EQ(copied_base.impl()->storage(), copied_second.impl()->storage());
  EXPECT_EQ(copied_base.impl()->storage().get(), &copy.to_list()[2].to_storage());
  EXPECT_NE(copied_base.impl()->storage(), base.impl()->storage());
  copied_second.mutable_data<float>()[0] = 9;
  EXPECT_EQ(copied_base.data<float>()[1], 9);
  EXPECT_EQ(base.data<float>()[1], 2);
}

TEST(DeepCopy, D4_ReadOnlyMemoryHasAWritableCopy) {
  float data[] = {3};
  const Tensor tensor =
      Tensor::adopt(data, kOne, kOne, DType::Float32, Device{}, nullptr, nullptr, true);
  const Tensor copy = deep_copy(Value(tensor)).to_tensor();
  copy.mutable_data<float>()[0] = 4;
  EXPECT_EQ(data[0], 3);
}

TEST(DeepCopy, D4_WhatCannotChangeIsItsOwnCopy) {
  for (const Value& value : {Value(), Value(true), Value(1), Value(2.5), Value(Device{}),
                             Value("text"), Value(std::complex<double>(1, 2)), Value(Stream{}),
                             Value(require_member(color_type(), "Red")), Value(Tensor())}) {
    EXPECT_TRUE(deep_copy(value).identical(value)) << name_of(value.kind());
  }
}

TEST(DeepCopy, D4_ObjectsAndGeneratorsCopyThemselves) {
  counter_type();
  const Value counter(make_counted<Counter>(4));
  const auto copy = deep_copy(counter).to<CountedPtr<Counter>>();
  EXPECT_NE(copy.get(), counter.object_unchecked());
  EXPECT_EQ(copy->count, 4);
  const Value generator(make_counted<CountingGenerator>(Device{}, 11u));
  const Value cloned = deep_copy(generator);
  EXPECT_FALSE(cloned.identical(generator));
  EXPECT_EQ(cloned.to_generator().seed(), 11u);
}

struct Stubborn : Object {};
struct Holder : Object {
  CountedPtr<Object> copy(CopyMemo& memo) const override {
    auto made = make_counted<Holder>();
    made->held = deep_copy(held, memo);
    return made;
  }
  void append_values(std::vector<Value>& values) const override { values.push_back(held); }
  Value held;
};

TEST(DeepCopy, D4_WhatCannotBeCopiedIsRefusedByName) {
  register_class<Stubborn>("test.Stubborn");
  EXPECT_THROWN(deep_copy(Value::list({Value(make_counted<Stubborn>())})), Unsupported,
                "an object of class test.Stubborn cannot be copied; the class overrides "
                "opyard::Object::copy() where it can be");
  EXPECT_THROWN(deep_copy(some_capsule()), Unsupported,
                "a Capsule cannot be copied: only those who made it know what it holds");
  EXPECT_THROWN(deep_copy(Value(make_counted<FutureObject>())), Unsupported,
                "a Future cannot be copied: what completes it knows the one that there is; copy "
                "the value once it is there");
  int object = 0;
  EXPECT_THROWN(deep_copy(Value(make_counted<ForeignObject>(FakeA::create(), &object))),
                Unsupported,
                "a PyObject cannot be copied: only those who made it know what it holds");
  const auto remote = Storage::adopt(nullptr, 4, Device{Backend::CUDA, 0}, nullptr, nullptr);
  EXPECT_THROWN(deep_copy(Value(remote)), Unsupported,
                "memory on cuda:0 cannot be copied here; only memory on cpu and meta can");
}

TEST(DeepCopy, D4_AnObjectCopiesWhatItHoldsWithTheSameMemo) {
  register_class<Holder>("test.Holder");
  const Value list = Value::list({Value(1)});
  const auto holder = make_counted<Holder>();
  holder->held = list;
  const Value copy = deep_copy(Value::tuple({Value(holder), list}));
  const auto copied = copy.to_tuple()[0].to<CountedPtr<Holder>>();
  EXPECT_TRUE(copied->held.identical(copy.to_tuple()[1]));
  EXPECT_FALSE(copied->held.identical(list));
}

TEST(DeepCopy, D4_AnObjectThatHoldsItselfIsRefused) {
  register_class<Holder>("test.Holder");
  const AllocationCount before = live_allocations();
  {
    const auto holder = make_counted<Holder>();
    const List<Value> list;
    list.push_back(Value(holder));
    holder->held = list.value();
    EXPECT_THROWN(deep_copy(Value(holder)), Unsupported,
                  "an object of class test.Holder that holds itself cannot be copied");
    const List<Value> copy(deep_copy(list.value()));
    EXPECT_TRUE(copy[0].to<CountedPtr<Holder>>()->held.identical(copy.value()))
        << "a list that holds itself through an object can be";
    copy.clear();
    list.clear();
  }
  EXPECT_EQ(live_allocations().blocks, before.blocks) << "what was copied is freed";
}

TEST(DeepCopy, D4_OneMemoJoinsSeveralCopies) {
  const Value list = Value::list({Value(1)});
  CopyMemo memo;
  const Value first = deep_copy(list, memo);
  const Value second = deep_copy(Value::tuple({list}), memo);
  EXPECT_TRUE(second.to_tuple()[0].identical(first));
}

TEST(DeepCopy, D4_NothingIsLeftWhenMemoryRunsOut) {
  const List<Value> ring;
  ring.push_back(ring.value());
  ring.push_back(Value::dict({{Value("t"), Value(numbered())}, {Value("ring"), ring.value()}}));
  fail_every_allocation([&] {
    const List<Value> copy(deep_copy(ring.value()));
    EXPECT_EQ(copy.size(), 2u);
    copy.clear();
  });
  ring.clear();
}

}  // namespace
}  // namespace opyard::test_deep_copy
