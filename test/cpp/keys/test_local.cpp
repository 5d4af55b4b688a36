// test_local.cpp: protects the thread's include and exclude sets, and the guards that change them.
// Suspect dispatcher/src/keys/local.cpp.
#include "opyard/keys/gradient_mode.h"
#include "opyard/keys/local_key.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <random>
#include <thread>
#include <type_traits>

namespace opyard::test_local {
namespace {

using K = DispatchKey;

// The set of a call whose operator has kernels at the keys in `mask`.
DispatchKeySet call_keys(DispatchKeySet arguments, DispatchKeySet mask) {
  const LocalKeys local = local_keys();
  return ((arguments | local.include) - local.exclude) & mask;
}

TEST(LocalKeys, A27_TheDefaultsOfANewThread) {
  LocalKeys seen;
  std::thread([&] { seen = local_keys(); }).join();
  EXPECT_EQ(to_string(seen.include), "DispatchKeySet(BackendSelect, ADInplaceOrView)");
  EXPECT_EQ(to_string(seen.exclude), "DispatchKeySet(AutocastCPU, AutocastCUDA)");
  EXPECT_EQ(seen, kDefaultLocalKeys);
}

// Reads the sets when the thread ends: of all its objects this one was made first, so it dies last.
struct ReadsAtTheEnd {
  LocalKeys* seen = nullptr;
  ~ReadsAtTheEnd() {
    if (seen != nullptr) *seen = local_keys();
  }
};
thread_local ReadsAtTheEnd at_the_end;

void* read_keys(void* seen) {
  at_the_end.seen = static_cast<LocalKeys*>(seen) + 1;
  static_cast<LocalKeys*>(seen)[0] = local_keys();
  return nullptr;
}

TEST(LocalKeys, A27_TheSetsArePlainDataThatNeedsNoConstructorAndOutlivesDestructors) {
  static_assert(std::is_trivially_copyable_v<detail::LocalBlock>);
  static_assert(std::is_trivially_default_constructible_v<detail::LocalBlock>);
  static_assert(std::is_trivially_destructible_v<detail::LocalBlock>);
  LocalKeys seen[2];
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, nullptr, &read_keys, seen), 0);  // of C, as a host's may be
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_EQ(seen[0], kDefaultLocalKeys);
  EXPECT_EQ(seen[1], kDefaultLocalKeys) << "while the thread's objects die";
}

TEST(LocalKeys, A27_EachThreadHasSetsOfItsOwn) {
  const IncludeDispatchKeyGuard include(DispatchKeySet(K::Tracer));
  const ExcludeDispatchKeyGuard exclude(DispatchKeySet(K::AutogradFunctionality));
  LocalKeys seen;
  std::thread([&] {
    seen = local_keys();
    set_local_keys({DispatchKeySet(), DispatchKeySet()});
  }).join();
  EXPECT_EQ(seen, kDefaultLocalKeys);
  EXPECT_TRUE(local_keys().include.has(K::Tracer));
  EXPECT_TRUE(local_keys().exclude.has(K::AutocastCPU));
}

TEST(LocalKeys, A28_IncludeIsAddedBeforeExcludeIsTakenAwaySoExcludeWins) {
  const DispatchKeySet full(DispatchKeySet::FULL);
  IncludeDispatchKeyGuard include(DispatchKeySet{K::Tracer, K::AboveAutograd1});
  ExcludeDispatchKeyGuard exclude(DispatchKeySet{K::Tracer, K::AutogradFunctionality});
  const DispatchKeySet keys = call_keys({K::CPU, K::AutogradCPU}, full);
  EXPECT_FALSE(keys.has(K::Tracer)) << "included and excluded";
  EXPECT_FALSE(keys.has(K::AutogradCPU)) << "of an argument and excluded";
  EXPECT_TRUE(keys.has(K::AboveAutograd1));
  EXPECT_TRUE(keys.has(K::CPU)) << "excluding an autograd layer keeps the backend";
  const DispatchKeySet mask{K::CPU, K::AutogradCPU};
  EXPECT_EQ(call_keys({K::CPU, K::AutogradCPU}, mask), DispatchKeySet(K::CPU));
}

TEST(LocalKeys, A30_AGuardRestoresOnlyWhatItChanged) {
  {
    IncludeDispatchKeyGuard outer(DispatchKeySet(K::Tracer));
    {
      IncludeDispatchKeyGuard inner(DispatchKeySet{K::Tracer, K::Batched});
      EXPECT_TRUE(local_keys().include.has(K::Batched));
    }
    EXPECT_TRUE(local_keys().include.has(K::Tracer)) << "the inner guard did not add it";
    EXPECT_FALSE(local_keys().include.has(K::Batched));
  }
  EXPECT_EQ(local_keys(), kDefaultLocalKeys);
  {
    ExcludeDispatchKeyGuard outer(DispatchKeySet(K::Python));
    {
      ExcludeDispatchKeyGuard inner(DispatchKeySet{K::Python, K::AutocastCPU});
    }
    EXPECT_TRUE(local_keys().exclude.has(K::Python));
    EXPECT_TRUE(local_keys().exclude.has(K::AutocastCPU)) << "it is excluded by default";
  }
  EXPECT_EQ(local_keys(), kDefaultLocalKeys);
  {
    IncludeDispatchKeyGuard guard(DispatchKeySet(K::BackendSelect));
  }
  EXPECT_TRUE(local_keys().include.has(K::BackendSelect)) << "it is included by default";
}

TEST(LocalKeys, A30_ForcingReplacesBothSetsForAScope) {
  {
    IncludeDispatchKeyGuard outer(DispatchKeySet(K::Tracer));
    {
      ForceDispatchKeyGuard force(DispatchKeySet(K::Batched), DispatchKeySet());
      EXPECT_EQ(local_keys(), (LocalKeys{DispatchKeySet(K::Batched), DispatchKeySet()}));
    }
    EXPECT_TRUE(local_keys().include.has(K::Tracer));
    EXPECT_TRUE(local_keys().exclude.has(K::AutocastCUDA));
  }
  EXPECT_EQ(local_keys(), kDefaultLocalKeys);
}

TEST(LocalKeys, A30_BelowAutogradIsWithoutItsKeysOnAllBackends) {
  const DispatchKeySet full(DispatchKeySet::FULL);
  const DispatchKeySet tensor{K::CPU, K::AutogradCPU, K::AutogradOther, K::AutogradNestedTensor};
  const DispatchKeySet dense{K::CPU, K::BackendSelect};
  {
    const AutoDispatchBelowAutograd below;
    EXPECT_EQ(call_keys(tensor, full), dense.add(K::ADInplaceOrView));
    {
      const AutoDispatchBelowADInplaceOrView further;
      EXPECT_EQ(call_keys(tensor, full), dense);
    }
    EXPECT_EQ(call_keys(tensor, full), dense.add(K::ADInplaceOrView));
  }
  EXPECT_EQ(local_keys(), kDefaultLocalKeys);
}

TEST(LocalKeys, A31_OneKeyIsSetAndAskedFor) {
  EXPECT_TRUE(is_dispatch_key_included(K::BackendSelect));
  EXPECT_TRUE(is_dispatch_key_excluded(K::AutocastCPU));
  EXPECT_FALSE(is_dispatch_key_included(K::Tracer));
  set_dispatch_key_included(K::Tracer, true);
  set_dispatch_key_excluded(K::Batched, true);
  set_dispatch_key_excluded(K::AutocastCPU, false);
  EXPECT_TRUE(is_dispatch_key_included(K::Tracer));
  EXPECT_FALSE(is_dispatch_key_excluded(K::Tracer));
  EXPECT_TRUE(is_dispatch_key_excluded(K::Batched));
  EXPECT_FALSE(is_dispatch_key_excluded(K::AutocastCPU));
  EXPECT_TRUE(is_dispatch_key_excluded(K::AutocastCUDA));
  EXPECT_TRUE(is_dispatch_key_included(K::BackendSelect)) << "others stay";
  set_dispatch_key_included(K::Tracer, false);
  set_dispatch_key_excluded(K::Batched, false);
  set_dispatch_key_excluded(K::AutocastCPU, true);
  EXPECT_EQ(local_keys(), kDefaultLocalKeys);
}

// Guards in random order and depth; each must leave the sets as it found them.
void nest(std::mt19937& random, int depth) {
  const LocalKeys before = local_keys();
  const DispatchKeySet keys(DispatchKeySet::RAW, (std::uint64_t{random()} << 32) | random());
  if (depth > 0) {
    switch (random() % 3) {
      case 0: {
        IncludeDispatchKeyGuard guard(keys);
        EXPECT_TRUE(local_keys().include.is_superset_of(keys.remove(K::ThreadEntry)));
        nest(random, depth - 1);
        break;
      }
      case 1: {
        ExcludeDispatchKeyGuard guard(keys);
        EXPECT_TRUE(local_keys().exclude.is_superset_of(keys.remove(K::ThreadEntry)));
        nest(random, depth - 1);
        break;
      }
      default: {
        ForceDispatchKeyGuard guard(keys, keys);
        nest(random, depth - 1);
      }
    }
  }
  EXPECT_EQ(local_keys(), before);
}

TEST(LocalKeys, A30_GuardsNestInAnyOrder) {
  std::mt19937 random(30);
  for (int run = 0; run < 500; ++run) nest(random, 8);
}

TEST(LocalKeys, A33_ANewThreadDoesNotInheritTheSetsOfItsMaker) {
  ForceDispatchKeyGuard force(DispatchKeySet(K::Tracer), DispatchKeySet(K::Python));
  LocalKeys seen;
  std::thread([&] { seen = local_keys(); }).join();
  EXPECT_EQ(seen, kDefaultLocalKeys);
}

TEST(LocalKeys, A32_TheGradientModeIsNoKeyAndNoSetTouchesIt) {
  const LocalKeys keys = local_keys();
  {
    const GradientModeGuard off(GradientMode::NoGradients);
    EXPECT_FALSE(gradients_enabled());
    EXPECT_FALSE(is_inference());
    EXPECT_EQ(local_keys(), keys);
    const ForceDispatchKeyGuard all{DispatchKeySet(DispatchKeySet::FULL), DispatchKeySet(K::CPU)};
    const ExcludeDispatchKeyGuard backends{DispatchKeySet(DispatchKeySet::FULL)};
    EXPECT_EQ(gradient_mode(), GradientMode::NoGradients);
    const GradientModeGuard inference(GradientMode::Inference);
    EXPECT_TRUE(is_inference());
  }
  EXPECT_TRUE(gradients_enabled());
  EXPECT_EQ(local_keys(), keys);
}

TEST(LocalKeys, ThreadEntryNeverShowsAndNoSetterTouchesIt) {
  std::thread([] {
    const auto entry = [] { return (detail::local_block.include & detail::kThreadEntryBit) != 0; };
    EXPECT_TRUE(entry()) << "a thread is born with it";
    EXPECT_FALSE(local_keys().include.has(K::ThreadEntry));
    set_local_keys({DispatchKeySet(), DispatchKeySet(K::ThreadEntry)});
    EXPECT_TRUE(entry());
    EXPECT_FALSE(local_keys().exclude.has(K::ThreadEntry)) << "it cannot be excluded";
    {
      ExcludeDispatchKeyGuard guard(DispatchKeySet(K::ThreadEntry));
    }
    {
      IncludeDispatchKeyGuard guard(DispatchKeySet(K::ThreadEntry));
    }
    EXPECT_TRUE(entry());
    {
      ForceDispatchKeyGuard force((DispatchKeySet()), DispatchKeySet());
      detail::local_block.include &= ~detail::kThreadEntryBit;  // as the first call does
    }
    EXPECT_FALSE(entry()) << "a guard does not bring it back";
    {
      IncludeDispatchKeyGuard guard(DispatchKeySet(K::ThreadEntry));
    }
    set_local_keys({DispatchKeySet(K::ThreadEntry), DispatchKeySet()});
    EXPECT_FALSE(entry());
  }).join();
}

}  // namespace
}  // namespace opyard::test_local
