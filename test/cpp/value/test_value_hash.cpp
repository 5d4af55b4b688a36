// test_value_hash.cpp: protects that equal values have equal hashes, and that what can change has none.
// Suspect dispatcher/src/value/hashing.h and equality.cpp.
#include "opyard/value/hash.h"

#include <gtest/gtest.h>

#include <limits>
#include <unordered_set>

#include "../one_of_each.h"
#include "../thrown_by.h"

namespace opyard::test_value_hash {
namespace {

TEST(ValueHash, D4_EqualValuesHaveEqualHashes) {
  const std::vector<Value> values = one_of_each(FakeA::create());
  for (const Value& value : values) {
    if (value.is_list() || value.is_dict()) continue;
    const Value copy = value;
    EXPECT_EQ(hash_of(value), hash_of(copy)) << name_of(value.kind());
    for (const Value& other : values) {
      if (value.kind() == other.kind()) continue;
      EXPECT_FALSE(value == other);
    }
  }
  EXPECT_EQ(hash_of(Value(0.0)), hash_of(Value(-0.0)));
  EXPECT_EQ(hash_of(Value(std::complex<double>(0, 1))),
            hash_of(Value(std::complex<double>(-0., 1))));
  EXPECT_EQ(hash_of(Value("text")), hash_of(Value(std::string("text"))));
  EXPECT_EQ(hash_of(Value(Stream{})), hash_of(Value(Stream{})));
  EXPECT_EQ(hash_of(Value(require_member(color_type(), "Red"))),
            hash_of(Value(require_number(color_type(), 1))));
  EXPECT_EQ(hash_of(Value::tuple({Value(1), Value::tuple({Value("a")})})),
            hash_of(Value::tuple({Value(1), Value::tuple({Value("a")})})));
}

TEST(ValueHash, D4_DifferentValuesAreToldApart) {
  std::unordered_set<std::size_t> hashes;
  for (int i = -500; i < 500; ++i) {
    hashes.insert(hash_of(Value(i)));
    hashes.insert(hash_of(Value(i + .5)));
    hashes.insert(hash_of(Value::tuple({Value(i), Value(1)})));
    hashes.insert(hash_of(Value::tuple({Value(1), Value(i)})));
  }
  EXPECT_GE(hashes.size(), 3990u);
  EXPECT_NE(hash_of(Value(1)), hash_of(Value(true)));
  EXPECT_NE(hash_of(Value::tuple({Value::tuple({}), Value(1)})),
            hash_of(Value::tuple({Value::tuple({Value(1)})})));
}

TEST(ValueHash, D4_ListsAndDictsHaveNone) {
  EXPECT_THROWN(hash_of(Value::list({})), BadArgument,
                "a GenericList has no hash, since it can change; a Tuple of the same elements has "
                "one");
  EXPECT_EQ(thrown_by([] { hash_of(Value::dict({})); }).kind, ErrorKind::BadArgument);
  EXPECT_EQ(thrown_by([] { hash_of(Value::tuple({Value(1), Value::list({})})); }).kind,
            ErrorKind::BadArgument);
}

TEST(ValueHash, D4_ValuesAreKeysOfTablesOfTheStandardLibrary) {
  std::unordered_set<Value> set;
  set.insert(Value(1));
  set.insert(Value(1));
  set.insert(Value(1.0));
  set.insert(Value("1"));
  set.insert(Value::tuple({Value(1), Value("1")}));
  EXPECT_EQ(set.size(), 4u);
  EXPECT_TRUE(set.contains(Value::tuple({Value(1), Value("1")})));
}

TEST(ValueHash, D4_TuplesThatShareTheirElementsAreHashedOnce) {
  Value tuple = Value::tuple({Value(1)});
  for (int i = 0; i < 200; ++i) tuple = Value::tuple({tuple, tuple});
  Value alike = Value::tuple({Value(1)});
  for (int i = 0; i < 200; ++i) alike = Value::tuple({alike, alike});
  EXPECT_EQ(hash_of(tuple), hash_of(alike));
}

}  // namespace
}  // namespace opyard::test_value_hash
