// test_list.cpp: protects the shared list with typed elements.
// Suspect opyard/value/list.h and dispatcher/src/value/containers.cpp.
#include "opyard/value/list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "../failing_allocator.h"
#include "../one_of_each.h"
#include "../thrown_by.h"

namespace opyard::test_list {
namespace {

using Ints = List<std::int64_t>;
static_assert(std::forward_iterator<Ints::Iterator>);

TEST(List, D5_CopiesAreTheSameList) {
  const Ints list{1, 2};
  const Ints copy = list;
  const Value value = list;
  copy.push_back(3);
  list.set(0, 9);
  EXPECT_EQ(list.to_vector(), (std::vector<std::int64_t>{9, 2, 3}));
  EXPECT_EQ(to_string(value), "[9, 2, 3]");
  EXPECT_TRUE(Ints(value).identical(list));
}

TEST(List, D5_CopyDetaches) {
  const Ints list{1, 2};
  const Ints other = list.copy();
  EXPECT_EQ(other, list);
  EXPECT_FALSE(other.identical(list));
  other.push_back(3);
  EXPECT_EQ(list.size(), 2u);
  const List<Value> outer{list.value()};
  EXPECT_TRUE(outer.copy()[0].identical(list.value())) << "elements are not copied";
}

TEST(List, D5_IsChangedInPlace) {
  const Ints list;
  EXPECT_TRUE(list.empty());
  list.push_back(2);
  list.insert(0, 1);
  list.insert(2, 4);
  list.insert(2, 3);
  EXPECT_EQ(list.to_vector(), (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(list.pop_back(), 4);
  list.erase(1);
  EXPECT_EQ(list.to_vector(), (std::vector<std::int64_t>{1, 3}));
  list.append(list);
  EXPECT_EQ(list.to_vector(), (std::vector<std::int64_t>{1, 3, 1, 3}));
  list.clear();
  EXPECT_TRUE(list.empty());
}

TEST(List, D5_AnIndexPastTheEndIsRefused) {
  const Ints list{1};
  const char* const text = "index 1 is out of range for a list of 1 element";
  EXPECT_THROWN(list.get(1), BadIndex, text);
  EXPECT_THROWN(list[1], BadIndex, text);
  EXPECT_THROWN(list.set(1, 0), BadIndex, text);
  EXPECT_THROWN(list.erase(1), BadIndex, text);
  EXPECT_THROWN(list.insert(2, 0), BadIndex, "index 2 is out of range for a list of 1 element");
  EXPECT_THROWN(list.get(std::size_t(-1)), BadIndex,
                "index -1 is out of range for a list of 1 element");
  EXPECT_THROWN(Ints().pop_back(), BadIndex, "the list is empty");
}

TEST(List, D5_ElementsOfAnotherKindAreRefusedWhenRead) {
  const Value mixed = Value::list({Value(1), Value(2.5), Value()});
  const Ints list(mixed);
  EXPECT_EQ(list[0], 1);
  EXPECT_THROWN(list[1], BadArgument, "expected Int but got Double");
  EXPECT_THROWN(list.to_vector(), BadArgument, "expected Int but got Double");
  list.set(1, 2);
  EXPECT_THROWN(list[2], BadArgument, "expected Int but got None");
  EXPECT_THROWN(Ints(Value(1)), BadArgument, "expected GenericList but got Int");
  EXPECT_THROWN(Ints(Value::tuple({})), BadArgument, "expected GenericList but got Tuple");
}

TEST(List, D5_HoldsAnyTypeThatAValueIsReadAs) {
  const std::int64_t one[] = {1};
  const Tensor x = Tensor::empty(one);
  const List<Tensor> tensors{x};
  EXPECT_TRUE(tensors[0].same(x));
  const List<std::optional<std::string>> texts{"a", std::nullopt};
  EXPECT_EQ(texts[0], "a");
  EXPECT_EQ(texts[1], std::nullopt);
  const List<Ints> nested{Ints{1}, Ints{}};
  nested[1].push_back(5);
  EXPECT_EQ(to_string(nested.value()), "[[1], [5]]");
  const List<bool> bools{true, false};
  EXPECT_TRUE(bools[0]);
}

TEST(List, D5_IsIteratedInOrder) {
  const Ints list{3, 1, 2};
  std::vector<std::int64_t> seen;
  for (const std::int64_t item : list) seen.push_back(item);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{3, 1, 2}));
  EXPECT_EQ(*std::ranges::max_element(list), 3);
  const Ints none;
  EXPECT_EQ(none.begin(), none.end());
}

TEST(List, D5_AListThatShrinksWhileItIsIteratedRaises) {
  const Ints list{1, 2, 3};
  EXPECT_THROWN(for ([[maybe_unused]] const std::int64_t item : list) list.pop_back(), BadIndex,
                "index 2 is out of range for a list of 1 element");
}

TEST(List, D5_EqualityIsByElement) {
  EXPECT_TRUE((Ints{1, 2}) == (Ints{1, 2}));
  EXPECT_FALSE((Ints{1, 2}) == (Ints{2, 1}));
  EXPECT_FALSE((Ints{1, 2}).identical(Ints{1, 2}));
}

// An object that looks at its list when it dies.
struct Looker : Object {
  explicit Looker(List<Value> list) : list(std::move(list)) {}
  ~Looker() override { seen = std::ptrdiff_t(list.size()); }
  List<Value> list;
  static inline std::ptrdiff_t seen = -1;
};

TEST(List, D5_AnElementThatDiesFindsTheListWhole) {
  register_class<Looker>("test.Looker");
  const List<Value> list{Value(1)};
  list.push_back(Value(make_counted<Looker>(list)));
  list.erase(1);
  EXPECT_EQ(Looker::seen, 1);
  list.push_back(Value(make_counted<Looker>(list)));
  list.clear();
  EXPECT_EQ(Looker::seen, 0);
  list.push_back(Value(make_counted<Looker>(list)));
  list.set(0, Value(1));
  EXPECT_EQ(Looker::seen, 1);
}

TEST(List, D5_MakingOneLosesNothingWhenMemoryRunsOut) {
  fail_every_allocation([&] {
    const List<std::string> list{"a", "b"};
    EXPECT_EQ(list.copy(), list);
  });
}

}  // namespace
}  // namespace opyard::test_list
