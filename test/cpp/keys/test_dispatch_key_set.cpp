// test_dispatch_key_set.cpp: protects the algebra of key sets, against a model made of std::set.
// Suspect dispatcher/src/keys/dispatch_key_set.cpp.
#include "opyard/keys/dispatch_key_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <unordered_set>
#include <vector>

#include "../thrown_by.h"
#include "opyard/keys/alias_keys.h"
#include "opyard/keys/key_set_hash.h"

namespace opyard::test_dispatch_key_set {
namespace {

using K = DispatchKey;
using Keys = std::vector<DispatchKey>;

constexpr const char* kAliasMessage =
    "an alias key stands for several keys and cannot be a member of a key set; "
    "use runtime_keys_of(alias)";

Keys listed(DispatchKeySet set) { return {set.begin(), set.end()}; }

// The same set as two sets of names, with the rules of the documentation spelled out.
struct Model {
  std::set<int> backends;
  std::set<K> layers;

  explicit Model(DispatchKeySet set) {
    for (int i = 0; i < 64; ++i) {
      if (((set.raw() >> i) & 1) == 0) continue;
      if (i < 16) {
        backends.insert(i);
      } else {
        layers.insert(K(i - 15));
      }
    }
  }
  Model() = default;

  Keys members() const {
    Keys keys;
    for (const K layer : layers) {
      if (!is_per_backend_layer(layer)) keys.push_back(layer);
      if (!is_per_backend_layer(layer)) continue;
      for (const int backend : backends) keys.push_back(instance_of(layer, Backend(backend)));
    }
    return keys;
  }
  K highest() const {
    if (layers.empty()) return K::Undefined;
    const K layer = *layers.rbegin();
    if (!is_per_backend_layer(layer)) return layer;
    return backends.empty() ? K::Undefined : instance_of(layer, Backend(*backends.rbegin()));
  }
  bool operator==(const Model&) const = default;
};

template <typename T, typename Combine>
std::set<T> combined(const std::set<T>& a, const std::set<T>& b, Combine combine) {
  std::set<T> result;
  combine(a.begin(), a.end(), b.begin(), b.end(), std::inserter(result, result.end()));
  return result;
}

#define COMBINED(a, b, algorithm)                                              \
  [&] {                                                                        \
    const auto combine = [](auto... args) { return std::algorithm(args...); }; \
    Model result;                                                              \
    result.backends = combined((a).backends, (b).backends, combine);           \
    result.layers = combined((a).layers, (b).layers, combine);                 \
    return result;                                                             \
  }()

Keys runtime_keys() {
  Keys keys;
  for (const K key : all_dispatch_keys()) {
    if (is_runtime_key(key) && key != K::Undefined) keys.push_back(key);
  }
  return keys;
}

DispatchKeySet random_set(std::mt19937& random) {
  static const Keys keys = runtime_keys();
  DispatchKeySet set;
  const unsigned count = random() % 6;
  for (unsigned i = 0; i < count; ++i) set = set | DispatchKeySet(keys[random() % keys.size()]);
  if (random() % 3 == 0) set = set | DispatchKeySet(Backend(random() % 16));
  if (random() % 4 == 0) set = set.remove_backend(Backend(random() % 16));
  return set;
}

TEST(KeySet, A1_SixteenBackendBitsBelowFortyEightLayerBits) {
  static_assert(sizeof(DispatchKeySet) == 8);
  static_assert(kBackendCount + kLayerCount == 64);
  EXPECT_EQ(DispatchKeySet(Backend::CPU).raw(), 1u);
  EXPECT_EQ(DispatchKeySet(Backend::UserBackend8).raw(), std::uint64_t{1} << 15);
  EXPECT_EQ(DispatchKeySet(K::Dense).raw(), std::uint64_t{1} << 16);
  EXPECT_EQ(DispatchKeySet(K::ThreadEntry).raw(), std::uint64_t{1} << 63);
  EXPECT_EQ(DispatchKeySet(K::AutogradCUDA).raw(), (std::uint64_t{1} << 38) | 2);
}

TEST(KeySet, A2_WhereTwoBackendsMeetTheHigherOneWins) {
  EXPECT_EQ(DispatchKeySet({K::CPU, K::CUDA}).highest(), K::CUDA);
  EXPECT_EQ(DispatchKeySet({K::PrivateUse1, K::CUDA}).highest(), K::PrivateUse1);
}

TEST(KeySet, A5_UndefinedIsInNoSet) {
  EXPECT_TRUE(DispatchKeySet(K::Undefined).empty());
  EXPECT_FALSE(DispatchKeySet(DispatchKeySet::FULL).has(K::Undefined));
  EXPECT_EQ(DispatchKeySet(K::CPU).add(K::Undefined), DispatchKeySet(K::CPU));
  EXPECT_EQ(DispatchKeySet().highest(), K::Undefined);
}

TEST(KeySet, A18_AnAliasCannotBePutIntoOrSoughtInASet) {
  for (const K key : all_dispatch_keys()) {
    if (!is_alias(key)) continue;
    DispatchKeySet set(K::CPU);
    EXPECT_THROWN(set = DispatchKeySet(key), BadValue, kAliasMessage);
    EXPECT_THROWN(set = DispatchKeySet({K::CPU, key}), BadValue, kAliasMessage);
    EXPECT_THROWN(set = DispatchKeySet(DispatchKeySet::FULL_AFTER, key), BadValue, kAliasMessage);
    EXPECT_THROWN(set = set.add(key), BadValue, kAliasMessage);
    EXPECT_THROWN(set = set.remove(key), BadValue, kAliasMessage);
    EXPECT_THROWN(static_cast<void>(set.has(key)), BadValue, kAliasMessage);
    EXPECT_EQ(set, DispatchKeySet(K::CPU));
  }
}

TEST(KeySet, A19_WaysToBuildASet) {
  EXPECT_EQ(DispatchKeySet().raw(), 0u);
  EXPECT_EQ(DispatchKeySet(K::CPU).raw(), (std::uint64_t{1} << 16) | 1) << "a layer and a backend";
  EXPECT_EQ(DispatchKeySet(K::AutogradFunctionality).raw(), std::uint64_t{1} << 38);
  EXPECT_EQ(DispatchKeySet({K::CPU, K::Tracer}),
            DispatchKeySet(K::CPU) | DispatchKeySet(K::Tracer));
  EXPECT_EQ(DispatchKeySet({Backend::CPU, Backend::XLA}).raw(), 5u);
  EXPECT_EQ(DispatchKeySet(DispatchKeySet::RAW, 0x30001).raw(), 0x30001u);
}

TEST(KeySet, A19_FullIsEveryKeyWithANameButThreadEntry) {
  const DispatchKeySet full(DispatchKeySet::FULL);
  EXPECT_FALSE(full.has(K::ThreadEntry));
  Keys expected = runtime_keys();
  std::erase(expected, K::ThreadEntry);
  std::sort(expected.begin(), expected.end(),
            [](K a, K b) { return std::pair(layer_of(a), a) < std::pair(layer_of(b), b); });
  EXPECT_EQ(listed(full), expected);
}

TEST(KeySet, A19_FullAfterIsEveryLowerLayer) {
  for (const K key : runtime_keys()) {
    const DispatchKeySet after(DispatchKeySet::FULL_AFTER, key);
    for (const K other : runtime_keys()) {
      EXPECT_EQ(after.has(other), layer_of(other) < layer_of(key))
          << to_string(other) << " after " << to_string(key);
    }
    for (int i = 0; i < kBackendCount; ++i) EXPECT_TRUE(after.has_backend(Backend(i)));
  }
}

TEST(KeySet, A20_DifferenceNeverTakesABackendAway) {
  const DispatchKeySet both{K::CPU, K::AutogradCPU};
  EXPECT_EQ(both - DispatchKeySet(K::AutogradCPU), DispatchKeySet(K::CPU));
  EXPECT_TRUE((both - both).has_backend(Backend::CPU));
  EXPECT_EQ((both - both).highest(), K::Undefined);
}

TEST(KeySet, A20_TheAlgebraIsThatOfSetsOfBackendsAndLayers) {
  std::mt19937 random(19);
  for (int run = 0; run < 3000; ++run) {
    const DispatchKeySet a = random_set(random);
    const DispatchKeySet b = random_set(random);
    const Model x(a);
    const Model y(b);
    ASSERT_EQ(Model(a | b), COMBINED(x, y, set_union));
    ASSERT_EQ(Model(a & b), COMBINED(x, y, set_intersection));
    ASSERT_EQ(Model(a ^ b), COMBINED(x, y, set_symmetric_difference));
    Model difference = COMBINED(x, y, set_difference);
    difference.backends = x.backends;
    ASSERT_EQ(Model(a - b), difference);
    ASSERT_EQ(a == b, x == y);
    ASSERT_EQ(a != b, !(x == y));
    ASSERT_EQ(a.empty(), x.backends.empty() && x.layers.empty());
    ASSERT_EQ(a.has_any(b), !COMBINED(x, y, set_intersection).layers.empty());
    ASSERT_EQ(a.has_all(b), COMBINED(x, y, set_intersection) == y);
    ASSERT_EQ(a.is_superset_of(b), a.has_all(b));
    ASSERT_EQ(DispatchKeySet(DispatchKeySet::RAW, a.raw()), a);
  }
}

TEST(KeySet, A21_AddRemoveAndHasAgreeWithTheModel) {
  std::mt19937 random(21);
  const Keys keys = runtime_keys();
  for (int run = 0; run < 300; ++run) {
    const DispatchKeySet set = random_set(random);
    const Keys members = Model(set).members();
    for (const K key : keys) {
      const bool member = std::count(members.begin(), members.end(), key) != 0;
      ASSERT_EQ(set.has(key), member) << to_string(key) << " in " << to_string(set);
      ASSERT_TRUE(set.add(key).has(key));
      ASSERT_FALSE(set.remove(key).has(key));
      ASSERT_EQ(Model(set.remove(key)).backends, Model(set).backends);
      ASSERT_TRUE(set.add(key).is_superset_of(set));
    }
    for (int i = 0; i < kBackendCount; ++i) {
      ASSERT_EQ(set.has_backend(Backend(i)), Model(set).backends.count(i) != 0);
      Model without(set);
      without.backends.erase(i);
      ASSERT_EQ(Model(set.remove_backend(Backend(i))), without);
    }
  }
}

TEST(KeySet, A21_AnInstanceNeedsBothItsBits) {
  EXPECT_FALSE(DispatchKeySet(Backend::CPU).has(K::CPU));
  EXPECT_FALSE(DispatchKeySet(K::Dense).has(K::CPU));
  EXPECT_TRUE(DispatchKeySet(K::CPU).has(K::Dense)) << "the bare layer is there";
  EXPECT_FALSE(DispatchKeySet(K::CPU).has_any(DispatchKeySet(K::AutogradCPU)))
      << "a common backend is no common key";
}

TEST(KeySet, A22_ASetMeansEveryBackendTimesEveryPerBackendLayer) {
  const DispatchKeySet set{K::CPU, K::AutogradCUDA};
  EXPECT_TRUE(set.has(K::AutogradCPU));
  EXPECT_TRUE(set.has(K::CUDA));
  EXPECT_EQ(to_string(set), "DispatchKeySet(CPU, CUDA, AutogradCPU, AutogradCUDA)");
}

TEST(KeySet, A23_TheHighestKeyIsTheHighestLayerOnTheHighestBackend) {
  std::mt19937 random(23);
  for (int run = 0; run < 3000; ++run) {
    const DispatchKeySet set = random_set(random);
    const Model model(set);
    ASSERT_EQ(set.highest(), model.highest()) << to_string(set);
    ASSERT_EQ(set.highest_layer(), model.layers.empty() ? K::Undefined : *model.layers.rbegin());
    ASSERT_EQ(set.highest_backend().has_value(), !model.backends.empty());
    if (set.highest_backend()) {
      ASSERT_EQ(int(*set.highest_backend()), *model.backends.rbegin());
    }
  }
  EXPECT_EQ(DispatchKeySet(K::Dense).highest(), K::Undefined) << "a layer without its backend";
  EXPECT_EQ(DispatchKeySet({K::CPU, K::BackendSelect}).highest(), K::BackendSelect);
}

TEST(KeySet, A24_WalkingGivesTheMembersLowestFirst) {
  EXPECT_EQ(listed({K::AutogradCPU, K::CUDA, K::BackendSelect}),
            (Keys{K::CPU, K::CUDA, K::BackendSelect, K::AutogradCPU, K::AutogradCUDA}));
  std::mt19937 random(24);
  for (int run = 0; run < 3000; ++run) {
    const DispatchKeySet set = random_set(random);
    ASSERT_EQ(listed(set), Model(set).members()) << to_string(set);
  }
}

TEST(KeySet, A24_NothingToWalkInAnEmptySetAndNoStepPastTheEnd) {
  const DispatchKeySet empty;
  EXPECT_TRUE(empty.begin() == empty.end());
  EXPECT_TRUE(DispatchKeySet(Backend::CPU).begin() == DispatchKeySet(Backend::CPU).end());
  auto end = empty.end();
  EXPECT_THROWN(++end, BadIndex, "a dispatch key set was stepped through past its end");
  auto last = DispatchKeySet(K::OnTop2).begin();
  EXPECT_EQ(*last++, K::OnTop2);
  EXPECT_THROWN(last++, BadIndex, "a dispatch key set was stepped through past its end");
}

TEST(KeySet, A25_ASetPrintsItsKeysLowestFirst) {
  EXPECT_EQ(to_string(DispatchKeySet()), "DispatchKeySet()");
  EXPECT_EQ(to_string(DispatchKeySet{K::AutogradCPU, K::CPU}), "DispatchKeySet(CPU, AutogradCPU)");
  EXPECT_EQ(to_string(DispatchKeySet{K::Tracer}), "DispatchKeySet(Tracer)");
}

TEST(KeySet, TheEndNamesNoKeyAndPositionsOutsideAreRefused) {
  const DispatchKeySet keys(DispatchKey::CPU);
  EXPECT_EQ(*keys.end(), DispatchKey::Undefined);
  DispatchKeySet::Iterator at = keys.begin();
  EXPECT_EQ(*at, DispatchKey::CPU);
  EXPECT_EQ(++at, keys.end());
  EXPECT_EQ(thrown_by([&] { ++at; }).kind, ErrorKind::BadIndex);
  for (const int layer : {-1, 49, 1000}) {
    EXPECT_EQ(thrown_by([&] { DispatchKeySet::Iterator(keys.raw(), layer); }).kind,
              ErrorKind::BadIndex);
  }
}

TEST(KeySet, SetsAreKeysOfMapsOfTheStandardLibrary) {
  std::unordered_set<DispatchKeySet> sets;
  for (const DispatchKey key : all_dispatch_keys()) {
    if (!is_alias(key)) sets.insert(DispatchKeySet(key));
  }
  const std::size_t count = sets.size();
  EXPECT_TRUE(sets.contains(DispatchKeySet(DispatchKey::CPU)));
  sets.insert(DispatchKeySet(DispatchKey::CPU));
  EXPECT_EQ(sets.size(), count);
  const std::hash<DispatchKeySet> hash;
  EXPECT_NE(hash(DispatchKeySet(DispatchKey::CPU)), hash(DispatchKeySet(DispatchKey::CUDA)));
}

}  // namespace
}  // namespace opyard::test_dispatch_key_set
