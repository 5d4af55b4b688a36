// test_runtime_table.cpp: protects the slot numbers, which every table and every call rely on.
// Suspect opyard/detail/keys/runtime_table.h.
#include "opyard/detail/keys/runtime_table.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "../thrown_by.h"

namespace opyard::test_runtime_table {
namespace {

using K = DispatchKey;

TEST(RuntimeTable, A5_TheEmptySetReadsTheSlotOfUndefined) {
  static_assert(runtime_index(DispatchKeySet()) == 0);
  static_assert(key_of_slot(0) == K::Undefined);
  static_assert(slot_of(K::Undefined) == 0);
  EXPECT_EQ(runtime_index(DispatchKeySet(Backend::CUDA)), 0u) << "backends alone are no key";
}

TEST(RuntimeTable, A6_ThereIsOneSlotForEachRuntimeKeyAndOneRowWithoutBackend) {
  EXPECT_EQ(kSlotCount, 5 * 17 + 21) << "Undefined shares the slot of Dense without a backend";
  std::set<unsigned> slots;
  for (const K key : all_dispatch_keys()) {
    if (!is_runtime_key(key)) continue;
    EXPECT_TRUE(slots.insert(slot_of(key)).second) << to_string(key);
    EXPECT_LT(slot_of(key), unsigned(kSlotCount));
    EXPECT_EQ(key_of_slot(slot_of(key)), key);
  }
  for (unsigned slot = 0; slot < unsigned(kSlotCount); ++slot) {
    if (slots.count(slot) == 0) {
      EXPECT_EQ(key_of_slot(slot), K::Undefined) << slot;
    }
  }
  EXPECT_EQ(int(slots.size()), kSlotCount - 4);
}

TEST(RuntimeTable, A6_HigherKeysHaveHigherSlots) {
  unsigned last = 0;
  for (const K key : DispatchKeySet(DispatchKeySet::FULL).add(K::ThreadEntry)) {
    EXPECT_GT(slot_of(key), last) << to_string(key);
    last = slot_of(key);
  }
  EXPECT_EQ(last, unsigned(kSlotCount - 1));
}

TEST(RuntimeTable, A6_ASetReadsTheSlotOfItsHighestKey) {
  std::mt19937_64 random(6);
  const DispatchKeySet named = DispatchKeySet(DispatchKeySet::FULL).add(K::ThreadEntry);
  for (int run = 0; run < 20000; ++run) {
    // Few bits in some runs, many in others.
    std::uint64_t bits = random();
    for (std::uint64_t thin = random() % 6; thin > 0; --thin) bits &= random();
    const DispatchKeySet set = DispatchKeySet(DispatchKeySet::RAW, bits) & named;
    ASSERT_EQ(key_of_slot(runtime_index(set)), set.highest()) << to_string(set);
  }
}

TEST(RuntimeTable, OnlyARuntimeKeyHasASlot) {
  EXPECT_THROWN(static_cast<void>(slot_of(K::Dense)), BadValue, "only a runtime key has a slot");
  EXPECT_THROWN(static_cast<void>(slot_of(K::Autograd)), BadValue, "only a runtime key has a slot");
}

}  // namespace
}  // namespace opyard::test_runtime_table
