// test_dict.cpp: protects the shared dict with typed keys and values, and the order of its entries.
// Suspect dispatcher/src/value/dict_object.cpp.
#include "opyard/value/dict.h"

#include <gtest/gtest.h>

#include <iterator>
#include <limits>
#include <random>

#include "../failing_allocator.h"
#include "../one_of_each.h"
#include "../thrown_by.h"

namespace opyard::test_dict {
namespace {

using Numbers = Dict<std::string, std::int64_t>;
static_assert(std::forward_iterator<Numbers::Iterator>);

TEST(Dict, D5_CopiesAreTheSameDict) {
  const Numbers dict{{"a", 1}};
  const Numbers copy = dict;
  const Value value = dict;
  copy.insert("b", 2);
  dict.insert_or_assign("a", 9);
  EXPECT_EQ(to_string(value), "{a: 9, b: 2}");
  EXPECT_TRUE(Numbers(value).identical(dict));
}

TEST(Dict, D5_CopyDetaches) {
  const Numbers dict{{"a", 1}};
  const Numbers other = dict.copy();
  EXPECT_EQ(other, dict);
  EXPECT_FALSE(other.identical(dict));
  other.insert("b", 2);
  EXPECT_EQ(dict.size(), 1u);
}

TEST(Dict, D5_EntriesAreAddedFoundReplacedAndErased) {
  const Numbers dict;
  EXPECT_TRUE(dict.empty());
  EXPECT_TRUE(dict.insert("a", 1));
  EXPECT_FALSE(dict.insert("a", 2)) << "it is there";
  EXPECT_EQ(dict.at("a"), 1);
  EXPECT_FALSE(dict.insert_or_assign("a", 3));
  EXPECT_TRUE(dict.insert_or_assign("b", 4));
  EXPECT_EQ(dict.find("a"), 3);
  EXPECT_EQ(dict.find("c"), std::nullopt);
  EXPECT_TRUE(dict.contains("b"));
  EXPECT_TRUE(dict.erase("a"));
  EXPECT_FALSE(dict.erase("a"));
  EXPECT_FALSE(dict.contains("a"));
  EXPECT_EQ(dict.size(), 1u);
  dict.clear();
  EXPECT_TRUE(dict.empty());
  EXPECT_TRUE(dict.insert("a", 1));
}

TEST(Dict, D5_KeepsTheOrderInWhichKeysCame) {
  const Numbers dict{{"z", 1}, {"a", 2}, {"m", 3}};
  dict.insert_or_assign("z", 4);
  EXPECT_EQ(to_string(dict.value()), "{z: 4, a: 2, m: 3}") << "a replaced value keeps its place";
  dict.erase("a");
  dict.insert("a", 5);
  EXPECT_EQ(to_string(dict.value()), "{z: 4, m: 3, a: 5}");
  EXPECT_EQ(dict.keys().to_vector(), (std::vector<std::string>{"z", "m", "a"}));
  EXPECT_EQ(dict.values().to_vector(), (std::vector<std::int64_t>{4, 3, 5}));
}

TEST(Dict, D5_KeysOfEveryType) {
  const Dict<std::int64_t, bool> ints{{-1, true}};
  EXPECT_TRUE(ints.at(-1));
  const Dict<double, bool> doubles{{0.0, true}};
  EXPECT_TRUE(doubles.contains(-0.0)) << "equal numbers are one key";
  doubles.insert(std::numeric_limits<double>::quiet_NaN(), true);
  EXPECT_FALSE(doubles.contains(std::numeric_limits<double>::quiet_NaN())) << "NaN equals nothing";
  const Dict<std::complex<double>, bool> complexes{{{1, 2}, true}};
  EXPECT_TRUE(complexes.contains({1, 2}));
  const Dict<bool, bool> bools{{true, false}};
  EXPECT_FALSE(bools.at(true));
  const std::int64_t one[] = {1};
  const Tensor x = Tensor::empty(one);
  const Dict<Tensor, std::int64_t> tensors{{x, 1}};
  EXPECT_EQ(tensors.at(x), 1);
  EXPECT_FALSE(tensors.contains(x.alias())) << "a tensor is the key of itself alone";
}

TEST(Dict, D5_KeysOfDifferentKindsDoNotMeet) {
  const Value dict = Value::dict({{Value(1), Value("int")},
                                  {Value(1.0), Value("float")},
                                  {Value(true), Value("bool")},
                                  {Value(std::complex<double>(1)), Value("complex")},
                                  {Value("1"), Value("str")}});
  EXPECT_EQ(dict.to_dict().size(), 5u);
  EXPECT_EQ(dict.to_dict().find(Value(1.0))->to_string_view(), "float");
}

TEST(Dict, D5_WhatCannotBeAKeyIsRefused) {
  for (const Value& key : one_of_each(FakeA::create())) {
    if (is_key(key)) continue;
    const std::string text =
        std::string(
            "expected a key (Bool, Int, Double, ComplexDouble, String or Tensor) but got ") +
        name_of(key.kind());
    EXPECT_THROWN(Value::dict({{key, Value(1)}}), BadArgument, text);
    EXPECT_THROWN(Value::dict({}).to_dict().find(key), BadArgument, text);
  }
}

TEST(Dict, D5_AMissingKeyIsNamed) {
  EXPECT_THROWN(Numbers().at("a b"), BadIndex, R"(the dict has no entry with the key "a b")");
  EXPECT_THROWN((Dict<std::int64_t, bool>().at(3)), BadIndex,
                "the dict has no entry with the key 3");
}

TEST(Dict, D5_EntriesOfAnotherKindAreRefusedWhenRead) {
  const Numbers dict(Value::dict({{Value("a"), Value(1)}, {Value("b"), Value(2.5)}}));
  EXPECT_EQ(dict.at("a"), 1);
  EXPECT_THROWN(dict.at("b"), BadArgument, "expected Int but got Double");
  EXPECT_THROWN(dict.values(), BadArgument, "expected Int but got Double");
  const Dict<std::int64_t, Value> by_number(dict.value());
  EXPECT_FALSE(by_number.contains(1));
  EXPECT_THROWN(by_number.keys(), BadArgument, "expected Int but got String");
  EXPECT_THROWN(Numbers(Value::list({})), BadArgument, "expected GenericDict but got GenericList");
}

TEST(Dict, D5_AnEntryThatIsErasedWhileItIsIteratedRaises) {
  const Numbers dict{{"a", 1}, {"b", 2}};
  auto at = dict.begin();
  dict.erase("a");
  EXPECT_THROWN(*at, BadIndex,
                "the dict was changed while it was walked through: the entry is gone");
  EXPECT_EQ((*++at).first, "b");
}

TEST(Dict, D5_ADictThatGrowsWhileItIsIteratedIsLeftInTheEnd) {
  const Dict<std::int64_t, std::int64_t> dict{{0, 0}};
  std::int64_t steps = 0;
  for (const auto& [key, value] : dict) {
    if (++steps < 100) dict.insert(key + 1, 0);
    dict.erase(key);
  }
  EXPECT_LE(steps, 101);
}

TEST(Dict, D5_EqualityIsByEntryInAnyOrder) {
  EXPECT_TRUE((Numbers{{"a", 1}, {"b", 2}}) == (Numbers{{"b", 2}, {"a", 1}}));
  EXPECT_FALSE((Numbers{{"a", 1}, {"b", 2}}) == (Numbers{{"a", 1}, {"b", 3}}));
  EXPECT_FALSE((Numbers{{"a", 1}}) == (Numbers{{"b", 1}}));
  EXPECT_FALSE((Numbers{{"a", 1}}) == (Numbers{{"a", 1}, {"b", 2}}));
}

// A dict by the simplest means.
struct Model {
  std::vector<std::pair<std::int64_t, std::int64_t>> entries;
  auto find(std::int64_t key) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const auto& entry) { return entry.first == key; });
  }
};

TEST(Dict, D5_DoesWhatASimpleModelDoes) {
  std::mt19937 random(1);
  for (const int keys : {3, 8, 12, 40, 300}) {
    const Dict<std::int64_t, std::int64_t> dict;
    Model model;
    for (int step = 0; step < 4000; ++step) {
      const std::int64_t key = std::int64_t(random() % unsigned(keys)) << 32;
      const auto known = model.find(key);
      switch (random() % 4) {
        case 0:
          ASSERT_EQ(dict.erase(key), known != model.entries.end());
          if (known != model.entries.end()) model.entries.erase(known);
          break;
        case 1:
          ASSERT_EQ(dict.insert(key, step), known == model.entries.end());
          if (known == model.entries.end()) model.entries.emplace_back(key, step);
          break;
        case 2:
          ASSERT_EQ(dict.insert_or_assign(key, step), known == model.entries.end());
          if (known == model.entries.end()) {
            model.entries.emplace_back(key, step);
          } else {
            known->second = step;
          }
          break;
        default:
          ASSERT_EQ(dict.contains(key), known != model.entries.end());
      }
      ASSERT_EQ(dict.size(), model.entries.size());
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> entries(dict.begin(), dict.end());
    EXPECT_EQ(entries, model.entries) << keys << " keys";
  }
}

TEST(Dict, D5_AValueThatDiesFindsTheDictWhole) {
  struct Looker : Object {
    explicit Looker(Dict<std::string, Value> dict) : dict(std::move(dict)) {}
    ~Looker() override { seen() = std::ptrdiff_t(dict.size()); }
    static std::ptrdiff_t& seen() {
      static std::ptrdiff_t size = -1;
      return size;
    }
    Dict<std::string, Value> dict;
  };
  register_class<Looker>("test.DictLooker");
  const Dict<std::string, Value> dict{{"other", Value(1)}};
  dict.insert("a", Value(make_counted<Looker>(dict)));
  dict.erase("a");
  EXPECT_EQ(Looker::seen(), 1);
  dict.insert("a", Value(make_counted<Looker>(dict)));
  dict.insert_or_assign("a", Value(1));
  EXPECT_EQ(Looker::seen(), 2);
  dict.insert_or_assign("a", Value(make_counted<Looker>(dict)));
  dict.clear();
  EXPECT_EQ(Looker::seen(), 0);
}

TEST(Dict, D5_MakingOneLosesNothingWhenMemoryRunsOut) {
  fail_every_allocation([&] {
    const Numbers dict{{"a", 1}, {"b", 2}};
    EXPECT_EQ(dict.copy(), dict);
    EXPECT_EQ(dict.keys().size(), 2u);
  });
}

}  // namespace
}  // namespace opyard::test_dict
