// test_thread_context.cpp: protects that a captured context is whole, and leaves nothing behind.
// Suspect dispatcher/src/thread/thread_context.cpp.
#include "opyard/thread/thread_context.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "../fake_interpreter.h"
#include "opyard/observe/observer.h"

namespace opyard::test_thread_context {
namespace {

using K = DispatchKey;

char object;
ModePtr mode() {
  return make_counted<Mode>(InterpreterObject::steal(FakeA::create(), &object), ModePlace::User);
}

TEST(ThreadContext, X14_CarriesModesAndKeysToAnotherThread) {
  std::optional<ThreadContext> context;
  {
    const IncludeDispatchKeyGuard include{DispatchKeySet(K::OnTop1)};
    const ExcludeDispatchKeyGuard exclude{DispatchKeySet(K::Tracer)};
    push_mode(mode());
    context = ThreadContext::capture();
    pop_mode();
  }
  EXPECT_FALSE(context->keys().include.has(K::Python)) << "the modes add it";
  std::thread([&] {
    const LocalKeys before = local_keys();
    {
      const ThreadContextScope scope(*context);
      EXPECT_EQ(thread_modes().size(), 1U);
      EXPECT_TRUE(local_keys().include.has_all({K::OnTop1, K::Python}));
      EXPECT_TRUE(local_keys().exclude.has(K::Tracer));
      push_mode(mode());  // left behind
    }
    EXPECT_EQ(thread_modes().size(), 0U);
    EXPECT_EQ(local_keys(), before);
  }).join();
  EXPECT_EQ(local_keys(), kDefaultLocalKeys);
}

TEST(ThreadContext, X14_ReplacesWhatTheThreadHas) {
  const ThreadContext empty = ThreadContext::capture();
  const IncludeDispatchKeyGuard include{DispatchKeySet(K::OnTop1)};
  push_mode(mode());
  const ModePtr own = thread_modes()[0];
  {
    const ThreadContextScope scope(empty);
    EXPECT_TRUE(thread_modes().empty());
    EXPECT_EQ(local_keys(), kDefaultLocalKeys);
  }
  EXPECT_EQ(thread_modes().at(0), own);
  EXPECT_TRUE(local_keys().include.has_all({K::OnTop1, K::Python}));
  pop_mode();
  EXPECT_FALSE(local_keys().include.has(K::Python));
}

TEST(ThreadContext, X14_CarriesTheGradientModeAndPutsTheFormerOneBack) {
  const ThreadContext with_gradients = ThreadContext::capture();
  const GradientModeGuard guard(GradientMode::Inference);
  const ThreadContext context = ThreadContext::capture();
  EXPECT_EQ(context.gradient_mode(), GradientMode::Inference);
  std::thread([&] {
    EXPECT_TRUE(gradients_enabled()) << "a thread begins so";
    {
      const ThreadContextScope scope(context);
      EXPECT_TRUE(is_inference());
      EXPECT_FALSE(gradients_enabled());
      const ThreadContextScope inner(with_gradients);
      EXPECT_TRUE(gradients_enabled());
    }
    EXPECT_EQ(gradient_mode(), GradientMode::Gradients);
  }).join();
  EXPECT_TRUE(is_inference());
}

TEST(ThreadContext, X14_LeavesObserversWhereTheyAre) {
  struct Silent : Observer {
    void on_enter(const Operator&, DispatchKeySet, const Stack*) noexcept override {}
    void on_exit(const Operator&, bool, const Stack*) noexcept override {}
  } silent;
  const ThreadContext quiet = ThreadContext::capture();
  const ObserverGuard guard(silent);
  const ThreadContext observed = ThreadContext::capture();
  {
    const ThreadContextScope scope(quiet);
    EXPECT_TRUE(local_keys().include.has(K::Observe)) << "this thread is observed";
  }
  std::thread([&] {
    const ThreadContextScope scope(observed);
    EXPECT_FALSE(local_keys().include.has(K::Observe)) << "and this one is not";
  }).join();
}

TEST(ThreadContext, X14_KeepsItsModesAlive) {
  const int before = FakeA::decrefs;
  {
    push_mode(mode());
    const ThreadContext context = ThreadContext::capture();
    const ThreadContext copy = context;
    pop_mode();
    EXPECT_EQ(FakeA::decrefs, before);
    EXPECT_EQ(copy.modes(), context.modes());
  }
  EXPECT_EQ(FakeA::decrefs, before + 1);
}

}  // namespace
}  // namespace opyard::test_thread_context
