// test_weak_value.cpp: protects weak references to values.
// Suspect dispatcher/src/value/weak_value.cpp.
#include "opyard/value/weak_value.h"

#include <gtest/gtest.h>

#include "../one_of_each.h"

namespace opyard::test_weak_value {
namespace {

TEST(WeakValue, D4_SeesTheEndOfEveryKindThatIsCounted) {
  std::vector<Value> values = one_of_each(FakeA::create());
  std::vector<WeakValue> weak;
  for (const Value& value : values) weak.emplace_back(value);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(weak[i].kind(), values[i].kind());
    EXPECT_TRUE(weak[i].lock().identical(values[i])) << name_of(values[i].kind());
    EXPECT_FALSE(weak[i].expired());
  }
  const std::size_t count = values.size();
  values.clear();
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(weak[i].expired(), is_heap(weak[i].kind())) << name_of(weak[i].kind());
    EXPECT_EQ(weak[i].lock().is_none(), is_heap(weak[i].kind()) || weak[i].kind() == Kind::None);
  }
}

TEST(WeakValue, D4_TheUndefinedTensorNeverExpires) {
  const WeakValue weak{Value(Tensor())};
  EXPECT_FALSE(weak.expired());
  EXPECT_TRUE(weak.lock().is_tensor());
}

TEST(WeakValue, D4_ABorrowedTensorIsWatchedAsAnyOther) {
  const std::int64_t two[] = {2};
  Tensor tensor = Tensor::empty(two);
  const WeakValue weak{Value::borrow(tensor)};
  EXPECT_EQ(tensor.impl()->owner_count(), 1u);
  EXPECT_TRUE(weak.lock().to_tensor().same(tensor));
  tensor = Tensor();
  EXPECT_TRUE(weak.expired());
}

}  // namespace
}  // namespace opyard::test_weak_value
