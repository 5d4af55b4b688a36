// test_out_of_memory.cpp: protects that the registry is as before when an allocation fails.
// Suspect dispatcher/src/registry/registry.cpp and operator_entry.cpp.
//
// Each scenario runs with its first request failing, then its second, and so on until none
// fails; once with that request alone failing, and once with all from there on. After each
// failure the registry must look as before, and the same scenario must then work.
#include <gtest/gtest.h>

#include <thread>

#include "../counting_new.h"
#include "../registering.h"
#include "opyard/inspect/explain.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/library.h"
#include "opyard/registry/listener.h"

namespace opyard::test_out_of_memory {
namespace {

using K = DispatchKey;

// Long, so that no text is inside its string.
const std::string kPlace = "registered at a_file_with_a_long_name_indeed.cpp:1234";

std::string picture() {
  inspect::check_invariants();
  std::string text;
  for (const OperatorName& name : inspect::names()) {
    text += dump(to_string(name)) + dump_table(to_string(name));
  }
  for (const char* name : {"t::dangling", "t::fresh", "t::fixed"}) text += dump(name);
  return text;
}

// Runs `scenario`, which leaves nothing behind, until no request fails. Gives the requests.
template <typename Scenario>
long fail_each(Scenario&& scenario) {
  scenario();
  for (const bool once : {true, false}) {
    for (long n = 0;; ++n) {
      const std::string before = picture();
      const AllocationCount live = live_allocations();
      bool failed = false;
      {
        const counting::Failure failure(n, once);
        try {
          scenario();
        } catch (const std::bad_alloc&) {
          failed = true;
        }
      }
      EXPECT_EQ(picture(), before) << "request " << n;
      EXPECT_EQ(live_allocations().blocks, live.blocks) << "request " << n;
      scenario();
      EXPECT_EQ(picture(), before) << "after request " << n;
      if (!counting::refused) {
        EXPECT_FALSE(failed);
        if (!once) return n;
        break;
      }
      EXPECT_TRUE(failed) << "request " << n << " was refused and no one was told";
      if (testing::Test::HasFailure()) return n;
    }
  }
  return 0;
}

TEST(OutOfMemory, B14_ADefinitionLeavesTheRegistryAsItWas) {
  const Schema schema = parse_schema("t::fresh.overload(Tensor x, int[] sizes) -> Tensor");
  EXPECT_GT(fail_each([&] {
              Definition definition;
              definition.schema = schema;
              definition.provenance = kPlace;
              const Registration op = registry().define(std::move(definition));
            }),
            3);
}

TEST(OutOfMemory, B14_AKernelLeavesTheRegistryAsItWas) {
  const Registration op = define("t::kernel(Tensor x) -> Tensor", kPlace);
  EXPECT_GT(fail_each([&] {
              const Registration kernel =
                  implement("t::kernel", K::CPU, echo("a name that is rather long"), kPlace);
            }),
            3);
  EXPECT_GT(fail_each([&] {
              const Registration kernel = implement("t::dangling", K::CPU, echo(""), kPlace);
            }),
            3);
}

TEST(OutOfMemory, B14_ANameNeverSeenBeforeLeavesNoHalfMadeEntry) {
  for (const bool define_it : {true, false}) {
    long n = 0;
    for (bool failed = true; failed; ++n) {
      const std::string name = "t::a_name_that_was_never_seen_before_" + std::to_string(n) +
                               (define_it ? "_def" : "_impl");
      const Schema schema = parse_schema(name + "(Tensor x) -> Tensor");
      failed = false;
      {
        const counting::Failure failure(n, true);
        try {
          Definition definition;
          definition.schema = schema;
          const Registration registration = define_it ? registry().define(std::move(definition))
                                                      : implement(name, K::CPU, echo(""), kPlace);
        } catch (const std::bad_alloc&) {
          failed = true;
        }
      }
      // Walks over every entry, and writes every table.
      const Registration fallback = registry().implement_fallback(K::XLA, boxed_echo(""), "");
      EXPECT_EQ(picture(), "");
      const Registration again = define(name + "(Tensor x) -> Tensor");
      EXPECT_EQ(to_string(inspect::names().front()), name);
    }
    EXPECT_GT(n, 3);
  }
}

TEST(OutOfMemory, B14_ARefusedKernelFixesNoSignature) {
  // Whichever request fails: the operator must still take a kernel of another signature.
  for (long n = 0;; ++n) {
    const Registration op = define("t::fixed(Tensor x) -> Tensor");
    bool failed = false;
    {
      const counting::Failure failure(n, true);
      try {
        const Registration kernel = implement("t::fixed", K::CPU, echo(""), kPlace);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
    }
    if (!failed) break;
    const Registration other =
        implement("t::fixed", K::CPU, Kernel::from([](Tensor x) -> Tensor { return x; }));
  }
}

TEST(OutOfMemory, AnOverrideThatWarnsLeavesTheRegistryAsItWas) {
  const CaughtWarnings warnings;
  const Registration op = define("t::over(Tensor x) -> Tensor", kPlace);
  const Registration below = implement("t::over", K::CPU, echo("below"), kPlace);
  const char owner = 0;
  const Registration mine = implement("t::over", K::Meta, echo("mine"), kPlace, &owner);
  fail_each([&] { const Registration over = implement("t::over", K::CPU, echo("over"), kPlace); });
  const std::string before = who_ran("t::over", {K::Meta});
  for (long n = 0;; ++n) {
    const counting::Failure failure(n, true);
    try {
      const Registration fresh = implement("t::over", K::Meta, echo("fresh"), kPlace, &owner);
    } catch (const std::bad_alloc&) {
      counting::remaining = -1;
      EXPECT_EQ(who_ran("t::over", {K::Meta}), before) << "a failed replacement replaces nothing";
      continue;
    }
    break;
  }
}

TEST(OutOfMemory, AFallbackAndANamespaceLeaveTheRegistryAsItWas) {
  const Registration op = define("t::any(Tensor x) -> Tensor", kPlace);
  fail_each([&] {
    const Registration fallback =
        registry().implement_fallback(K::XLA, boxed_echo("a rather long name of a kernel"), kPlace);
  });
  fail_each([&] {
    const Registration claim =
        registry().claim_namespace("a_namespace_with_a_rather_long_name", kPlace);
  });
}

TEST(OutOfMemory, B33_AListenerThatCannotBeAddedHearsNothing) {
  const Registration op = define("t::heard(Tensor x) -> Tensor", kPlace);
  fail_each([&] {
    int heard = 0;
    try {
      const Registration listening = registry().listen({[&](const Operator&) { ++heard; }, {}});
      EXPECT_EQ(heard, 1);
    } catch (const std::bad_alloc&) {
      EXPECT_EQ(heard, 0);
      throw;
    }
  });
}

TEST(OutOfMemory, ALibraryLeavesTheRegistryAsItWas) {
  EXPECT_GT(fail_each([&] {
              Library library(LibraryKind::Def, "whole_library_of_operators", std::nullopt,
                              "a_file_with_a_long_name_indeed.cpp", 1234);
              library.def("one(Tensor x, int[] sizes, *, str mode=\"a default text\") -> Tensor");
              library.def("two", [](const Tensor& x, std::int64_t) -> Tensor { return x; });
              library.impl("one", K::CPU, Kernel::fallthrough());
            }),
            20);
}

TEST(OutOfMemory, TakingBackNeedsNoMemory) {
  for (int round = 0; round < 2; ++round) {
    Registration op = define("t::back(Tensor x) -> Tensor", kPlace);
    Registration kernel = implement("t::back", K::CPU, echo("a rather long name"), kPlace);
    Registration fallback = registry().implement_fallback(K::XLA, boxed_echo(""), kPlace);
    Registration claim = registry().claim_namespace("some_namespace", kPlace);
    {
      const counting::Failure failure(0, false);
      if (round == 0) op.undo();
      kernel.undo();
      fallback.undo();
      claim.undo();
      op.undo();
    }
    EXPECT_FALSE(counting::refused) << "nothing was even asked for";
    EXPECT_EQ(dump("t::back"), "");
    EXPECT_EQ(inspect::retired_count(), 0u);
  }
}

TEST(OutOfMemory, ACallThatFailsIsFollowedByOneThatWorks) {
  const Registration op = define("t::list(Tensor[] x, str s) -> Tensor[]");
  const Registration kernel =
      implement("t::list", K::CPU,
                Kernel::from([](const std::vector<Tensor>& x, const std::string&) { return x; }));
  const Registration boxed = implement(
      "t::list", K::Meta, Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) {
        for (int i = 0; i < 40; ++i) stack.push(Value(i));
        stack.drop(41);
      }));
  const Operator& list = registry().require("t::list");
  const auto typed =
      list.typed<std::vector<Tensor>(const std::vector<Tensor>&, const std::string&)>();
  const std::string text = "a text that is not inside its string";
  for (const K key : {K::CPU, K::Meta}) {
    const std::vector<Tensor> tensors(3, tensor_with({key}));
    fail_each([&] { EXPECT_EQ(typed.call(tensors, text).size(), 3u); });
    fail_each([&] {
      Stack stack;
      stack.push(Value::list({Value(tensors[0]), Value(tensors[1])}));
      stack.push(Value(text));
      list.call_boxed(stack);
    });
    EXPECT_EQ(tensors[0].impl()->owner_count(), 3u) << "no failed call kept a tensor";
  }
}

TEST(OutOfMemory, AThreadsFirstCallMayFailAndItsSecondWorks) {
  const Registration op = define("t::first(Tensor x) -> Tensor");
  const Registration kernel = implement("t::first", K::CPU, echo("first"));
  const auto handle = registry().require("t::first").typed<Tensor(const Tensor&)>();
  const Tensor x = tensor_with({K::CPU});
  std::thread([&] {
    {
      const counting::Failure failure(0, false);
      EXPECT_THROW(static_cast<void>(handle.call(x)), std::bad_alloc);
      EXPECT_THROW(static_cast<void>(handle.redispatch(K::CPU, x)), std::bad_alloc);
    }
    EXPECT_EQ(detail::local_block.call_depth, 0u);
    EXPECT_TRUE(handle.call(x).same(x));
  }).join();
}

TEST(OutOfMemory, LookingChangesNothing) {
  const Registration op = define("t::look(Tensor x) -> Tensor", kPlace);
  const Registration kernel = implement("t::look", K::CPU, echo(""), kPlace);
  const Operator& look = registry().require("t::look");
  const std::vector<Value> arguments = {Value(tensor_with({K::CPU}))};
  const std::vector<Value> missing = {Value(tensor_with({K::XLA}))};
  fail_each([&] {
    static_cast<void>(dump("t::look") + dump_table("t::look"));
    static_cast<void>(to_string(explain(look, arguments)));
    static_cast<void>(inspect::overloads("t::look"));
  });
  fail_each([&] {
    try {
      InlineStack<1> stack;
      stack.push(missing[0]);
      look.call_boxed(stack);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::NoKernel);
    }
  });
}

}  // namespace
}  // namespace opyard::test_out_of_memory
