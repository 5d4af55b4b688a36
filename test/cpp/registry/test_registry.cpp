// test_registry.cpp: protects definitions, look-ups, and conflicts of registrations.
// Suspect dispatcher/src/registry/registry.cpp and definers.cpp.
#include "opyard/inspect/inspect.h"
#include "opyard/registry/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/registry/exclusive.h"

namespace opyard::test_registry {
namespace {

using K = DispatchKey;

TEST(Registry, B13_ASecondLiveDefinitionIsRefusedAndNamesBoth) {
  const Registration first = define("t::f(Tensor x) -> Tensor", "registered at a.cpp:1");
  EXPECT_THROWN(
      define("t::f(Tensor(a!) x) -> Tensor(a!)", "registered at b.cpp:2"), BadRegistration,
      "Tried to register an operator (t::f(Tensor(a!) x) -> Tensor(a!)) with the same name "
      "and overload name multiple times. Duplicate registration: registered at b.cpp:2. "
      "Original registration: registered at a.cpp:1");
  Definition other;  // of another kind of alias analysis
  other.schema = parse_schema("t::f(Tensor x) -> Tensor");
  other.alias_analysis = AliasAnalysis::Conservative;
  other.provenance = "registered at c.cpp:3";
  EXPECT_THROWN(registry().define(std::move(other)), BadRegistration,
                "Tried to register an operator (t::f(Tensor x) -> Tensor) with the same name and "
                "overload name multiple times. Duplicate registration: registered at c.cpp:3. "
                "Original registration: registered at a.cpp:1");
  const Registration overload = define("t::f.out(Tensor x) -> Tensor");
  EXPECT_TRUE(overload) << "another overload is another operator";
}

TEST(Registry, B20_LookupsSayWhatIsMissing) {
  EXPECT_EQ(registry().find(parse_operator_name("t::nope")), nullptr);
  EXPECT_THROWN(registry().require("t::nope"), NotFound,
                "Could not find schema for t::nope. Is the library that defines it loaded? "
                "load_library() loads one.");
  const Registration kernel = implement("t::dangling", K::CPU, echo("cpu"));
  EXPECT_EQ(registry().find(parse_operator_name("t::dangling")), nullptr);
  EXPECT_THROWN(registry().require("t::dangling"), NotFound,
                "Could not find schema for t::dangling. Kernels are registered for it, but no "
                "definition; is a def() missing, or the library that has it?");
  const Registration op = define("t::there.over(Tensor x) -> Tensor");
  EXPECT_EQ(to_string(registry().require("t::there.over").schema()),
            "t::there.over(Tensor x) -> Tensor");
  EXPECT_EQ(registry().find({"t::there", "over"}), &registry().require("t::there.over"));
  EXPECT_THROWN(registry().require("t::there"), NotFound,
                "Could not find schema for t::there. There is t::there.over.");
  const Registration other = define("t::there.beside(Tensor x) -> Tensor");
  EXPECT_THROWN(registry().require("t::there.ovr"), NotFound,
                "Could not find schema for t::there.ovr. There are t::there.over, "
                "t::there.beside.");
}

TEST(Registry, B20_OperatorsAtAKeyAreThoseWithAKernelThereDefinedOrNot) {
  using Names = std::vector<OperatorName>;
  const Registration op = define("t::a(Tensor x) -> Tensor");
  const Registration alone = define("t::alone(Tensor x) -> Tensor");
  const Registration cpu = implement("t::a", K::CPU, echo("cpu"));
  const Registration other = implement("t::b.over", K::CPU, echo("cpu"));
  const Registration alias = implement("t::b", K::CompositeExplicitAutograd, echo("any"));
  EXPECT_EQ(inspect::names_at(K::CPU), (Names{{"t::a", ""}, {"t::b", "over"}}));
  EXPECT_EQ(inspect::names_at(K::CompositeExplicitAutograd), (Names{{"t::b", ""}}));
  EXPECT_EQ(inspect::names_at(K::Meta), Names{});
  EXPECT_EQ(inspect::names_at({}), (Names{{"t::a", ""}, {"t::b", ""}, {"t::b", "over"}}));
  EXPECT_EQ(inspect::dangling_overloads("t::b"), (Names{{"t::b", ""}, {"t::b", "over"}}));
  EXPECT_EQ(inspect::dangling_overloads("t::a"), Names{});
}

TEST(Registry, NamesAndOverloadsAreThoseDefinedNow) {
  const Registration second = define("t::g.second(Tensor x) -> Tensor");
  Registration first = define("t::g(Tensor x) -> Tensor");
  const Registration third = define("t::g.a_third(Tensor x) -> Tensor");
  const Registration kernel = implement("t::g.undefined", K::CPU, echo("cpu"));
  const Registration longer = define("t::gg(Tensor x) -> Tensor");
  EXPECT_EQ(inspect::overloads("t::g"), (std::vector<std::string>{"second", "", "a_third"}))
      << "in order of definition";
  EXPECT_EQ(inspect::names().size(), 4u) << "by name, kernels alone do not count";
  EXPECT_EQ(to_string(inspect::names().front()), "t::g");
  first.undo();
  EXPECT_EQ(inspect::overloads("t::g"), (std::vector<std::string>{"second", "a_third"}));
  EXPECT_TRUE(inspect::overloads("t::nope").empty());
}

TEST(Registry, TheGenerationRisesWithEachDefinitionAndWithItsEnd) {
  const std::uint64_t before = registry().generation();
  Registration op = define("t::generation(Tensor x) -> Tensor");
  const std::uint64_t defined = registry().generation();
  EXPECT_GT(defined, before);
  const Registration kernel = implement("t::generation", K::CPU, echo("cpu"));
  EXPECT_EQ(registry().generation(), defined) << "kernels change nothing that it speaks for";
  op.undo();
  EXPECT_GT(registry().generation(), defined) << "what was looked up is gone";
}

TEST(Registry, TagsAreKeptInOrder) {
  Definition definition;
  definition.schema = parse_schema("t::tagged(Tensor x) -> Tensor");
  definition.tags = {"pointwise", "core", "a"};
  const Registration op = registry().define(std::move(definition));
  EXPECT_EQ(inspect::tags({"t::tagged", ""}), (std::vector<std::string>{"pointwise", "core", "a"}));
  EXPECT_TRUE(inspect::tags({"t::nope", ""}).empty());
}

TEST(Registry, B2_ANamespaceIsClaimedOnce) {
  Registration first = registry().claim_namespace("mine", "registered at a.cpp:1");
  EXPECT_THROWN(static_cast<void>(registry().claim_namespace("mine", "registered at b.cpp:2")),
                BadRegistration,
                "Only one OPYARD_LIBRARY block can define the namespace mine; put all definitions "
                "into one block, or use OPYARD_LIBRARY_FRAGMENT for the others. Previous "
                "registration was registered at a.cpp:1; latest registration was registered at "
                "b.cpp:2");
  first.undo();
  const Registration again = registry().claim_namespace("mine", "registered at b.cpp:2");
  EXPECT_TRUE(again);
}

TEST(Registry, B21_KernelsComeBeforeOrAfterTheDefinitionOrWithoutOne) {
  const Registration early = implement("t::early", K::CPU, echo("early"));
  EXPECT_EQ(dump("t::early"),
            "name: t::early\nschema: (none)\n"
            "CPU: registered at impl.cpp:1 :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]\n");
  const Registration op = define("t::early(Tensor x) -> Tensor");
  EXPECT_EQ(who_ran("t::early", {K::CPU}), "early");
  const Registration late = implement("t::early", K::Meta, echo("late"));
  EXPECT_EQ(who_ran("t::early", {K::Meta}), "late");
}

TEST(Registry, B21_NoKeyAndUndefinedMeanTheCatchAll) {
  const Registration op = define("t::all(Tensor x) -> Tensor");
  {
    const Registration kernel = implement("t::all", std::nullopt, echo("all"));
    EXPECT_EQ(who_ran("t::all", {}), "all");
    EXPECT_EQ(who_ran("t::all", {K::SparseXLA}), "all");
    EXPECT_EQ(inspect::keys_with_kernel(registry().require("t::all")),
              std::vector<K>{K::CompositeImplicitAutograd});
  }
  const Registration kernel = implement("t::all", K::Undefined, echo("undefined"));
  EXPECT_EQ(who_ran("t::all", {K::CPU}), "undefined");
}

TEST(Registry, AKernelStandsAtARuntimeKeyOrAnAlias) {
  const Registration op = define("t::at(Tensor x) -> Tensor");
  EXPECT_THROWN(
      implement("t::at", K::Dense, echo("")), BadRegistration,
      "t::at: a kernel cannot be registered at Dense, which is a layer of many keys; name the key "
      "of one backend, or an alias key");
  EXPECT_THROWN(
      implement("t::at", K::ThreadEntry, echo("")), BadRegistration,
      "t::at: a kernel cannot be registered at ThreadEntry, which belongs to the dispatcher");
  EXPECT_THROWN(implement("t::at", K(6), echo("at")), BadRegistration,
                "t::at: a kernel cannot be registered at DispatchKey(6), which is no dispatch key");
  EXPECT_THROWN(
      implement("t::at", K(500), echo("at")), BadRegistration,
      "t::at: a kernel cannot be registered at DispatchKey(500), which is no dispatch key");
  EXPECT_EQ(dump("t::at").find("Dense"), std::string::npos);
}

TEST(Registry, AKernelIsRegisteredOnce) {
  Kernel kernel = echo("once");
  const Registration first = implement("t::twice", K::CPU, std::move(kernel));
  EXPECT_THROWN(
      implement("t::twice", K::Meta, std::move(kernel)),  // NOLINT(bugprone-use-after-move)
      BadRegistration, "this kernel was moved from: a kernel can be registered once");
}

TEST(Registry, B22_KernelsOfOneKeyStackAndUncoverEachOther) {
  const CaughtWarnings warnings;
  const Registration op = define("t::stack(Tensor x) -> Tensor");
  Registration a = implement("t::stack", K::CPU, echo("a"), "registered at a.cpp:1");
  Registration b = implement("t::stack", K::CPU, echo("b"), "registered at b.cpp:1");
  Registration c = implement("t::stack", K::CPU, echo("c"), "registered at c.cpp:1");
  EXPECT_EQ(who_ran("t::stack", {K::CPU}), "c");
  b.undo();
  EXPECT_EQ(who_ran("t::stack", {K::CPU}), "c") << "removing a middle one leaves the top";
  EXPECT_EQ(
      dump("t::stack"),
      "name: t::stack\nschema: t::stack(Tensor x) -> Tensor\ndebug: registered at def.cpp:1\n"
      "alias analysis kind: FROM_SCHEMA\n"
      "CPU: registered at c.cpp:1 :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]\n"
      "CPU (inactive): registered at a.cpp:1 :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]\n");
  c.undo();
  EXPECT_EQ(who_ran("t::stack", {K::CPU}), "a") << "removing the newest uncovers the former";
  a.undo();
  EXPECT_EQ(who_ran("t::stack", {K::CPU}), "no kernel");
}

TEST(Registry, TheSameOwnerReplacesAndAnotherStacks) {
  const CaughtWarnings warnings;
  const char owner = 0;
  const Registration op = define("t::own(Tensor x) -> Tensor");
  Registration first = implement("t::own", K::CPU, echo("first"), "", &owner);
  Registration second = implement("t::own", K::CPU, echo("second"), "", &owner);
  EXPECT_EQ(who_ran("t::own", {K::CPU}), "second");
  EXPECT_TRUE(warnings.texts().empty()) << "replacing one's own is no surprise";
  EXPECT_FALSE(first.in_force());
  EXPECT_TRUE(second.in_force());
  first.undo();
  EXPECT_EQ(who_ran("t::own", {K::CPU}), "second") << "the replaced registration undoes nothing";
  second.undo();
  EXPECT_EQ(who_ran("t::own", {K::CPU}), "no kernel") << "nothing is left below";
}

TEST(Registry, AnOwnKernelThatAnotherCoversIsReplacedByOneOnTop) {
  const CaughtWarnings warnings;
  const char owner = 0;
  const char other = 0;
  const Registration op = define("t::covered(Tensor x) -> Tensor");
  Registration first = implement("t::covered", K::CPU, echo("first"), "", &owner);
  Registration cover = implement("t::covered", K::CPU, echo("cover"), "", &other);
  Registration second = implement("t::covered", K::CPU, echo("second"), "", &owner);
  EXPECT_EQ(who_ran("t::covered", {K::CPU}), "second");
  EXPECT_FALSE(first.in_force());
  EXPECT_TRUE(cover.in_force());
  EXPECT_EQ(warnings.texts().size(), 2u) << "one for each that is covered";
  second.undo();
  EXPECT_EQ(who_ran("t::covered", {K::CPU}), "cover");
  cover.undo();
  EXPECT_EQ(who_ran("t::covered", {K::CPU}), "no kernel") << "nothing is left below";
}

TEST(Registry, AnOwnKernelThatAnotherCoversStaysWhereTheWarningIsRaised) {
  const char owner = 0;
  const Registration op = define("t::still_covered(Tensor x) -> Tensor");
  Registration first = implement("t::still_covered", K::CPU, echo("first"), "", &owner);
  Registration cover = registry().implement(parse_operator_name("t::still_covered"), K::CPU,
                                            echo("cover"), "", nullptr, true);
  const auto raise = [](const Warning&) { fail(ErrorKind::BadValue, "raised"); };
  const WarningHandler former = set_warning_handler(raise);
  EXPECT_EQ(
      thrown_by([&] { implement("t::still_covered", K::CPU, echo("second"), "", &owner); }).kind,
      ErrorKind::BadValue);
  set_warning_handler(former);
  EXPECT_EQ(who_ran("t::still_covered", {K::CPU}), "cover");
  cover.undo();
  EXPECT_TRUE(first.in_force());
  EXPECT_EQ(who_ran("t::still_covered", {K::CPU}), "first");
}

TEST(Registry, B23_OverridingWarnsAndNamesTheKernelReallyReplaced) {
  const CaughtWarnings warnings;
  const Registration op = define("t::over(Tensor x) -> Tensor");
  const Registration meta = implement("t::over", K::Meta, echo(""), "registered at first.cpp:1");
  const Registration a = implement("t::over", K::CPU, echo(""), "registered at a.cpp:1");
  EXPECT_TRUE(warnings.texts().empty()) << "another key is no override";
  const Registration b = implement("t::over", K::CPU, echo(""), "registered at b.cpp:2");
  ASSERT_EQ(warnings.texts().size(), 1u);
  EXPECT_EQ(warnings.texts()[0],
            "Overriding a previously registered kernel for the same operator and the same dispatch "
            "key\n  operator: t::over(Tensor x) -> Tensor\n  dispatch key: CPU\n"
            "  previous kernel: registered at a.cpp:1\n  new kernel: registered at b.cpp:2");
}

TEST(Registry, B23_TheWarningComesOnceForEachKernelMoreAtAnOperatorAndKey) {
  const CaughtWarnings warnings;
  const Registration f = define("t::once(Tensor x) -> Tensor");
  const Registration g = define("t::once.other(Tensor x) -> Tensor");
  for (int i = 0; i < 3; ++i) {
    const Registration a = implement("t::once", K::CPU, echo(""));
    const Registration b = implement("t::once", K::CPU, echo(""));
    const Registration c = implement("t::once", K::CPU, echo(""));
  }
  EXPECT_EQ(warnings.texts().size(), 2u) << "of the second and of the third, once";
  const Registration a = implement("t::once", K::Meta, echo(""));
  const Registration b = implement("t::once", K::Meta, echo(""));
  EXPECT_EQ(warnings.texts().size(), 3u) << "another key";
  const Registration c = implement("t::once.other", K::CPU, echo(""));
  const Registration d = implement("t::once.other", K::CPU, echo(""));
  EXPECT_EQ(warnings.texts().size(), 4u) << "another operator";
}

TEST(Registry, AnOverrideThatIsMeantDoesNotWarn) {
  const CaughtWarnings warnings;
  const Registration op = define("t::meant(Tensor x) -> Tensor");
  const Registration a = implement("t::meant", K::CPU, echo("a"));
  const Registration b =
      registry().implement({"t::meant", ""}, K::CPU, echo("b"), "", nullptr, true);
  EXPECT_EQ(who_ran("t::meant", {K::CPU}), "b");
  EXPECT_TRUE(warnings.texts().empty());
}

TEST(Registry, AnExclusiveKernelCoversNoneOfAnotherOwner) {
  const CaughtWarnings warnings;
  const Registration op = define("t::strict_one(Tensor x) -> Tensor");
  const char one = 0, other = 0;
  const auto add = [](const char* who, const char* owner, ReloadMark reload = 0) {
    const ExclusiveKernels exclusive;
    return registry().implement({"t::strict_one", ""}, K::CPU, echo(who), "registered at b.cpp:2",
                                owner, false, reload);
  };
  const Registration first = add("first", &one);
  const auto refused = thrown_by([&] { add("second", &other); });
  EXPECT_EQ(refused.kind, ErrorKind::BadRegistration);
  EXPECT_EQ(refused.text,
            "t::strict_one has a kernel at CPU of another library, registered at b.cpp:2, and an "
            "exclusive kernel covers none; take that one back, or go on top of it by an override");
  EXPECT_EQ(who_ran("t::strict_one", {K::CPU}), "first");
  const Registration again = add("again", &one);
  EXPECT_EQ(who_ran("t::strict_one", {K::CPU}), "again");
  const auto ask = [](const char* owner) {
    const ExclusiveKernels only_asked(Exclusive::OnlyAsked);
    return registry().implement({"t::strict_one", ""}, K::CPU, echo("asked"), "", owner);
  };
  const std::string before = dump("t::strict_one");
  EXPECT_EQ(thrown_by([&] { ask(&other); }).kind, ErrorKind::BadRegistration);
  EXPECT_FALSE(ask(&one));
  EXPECT_EQ(dump("t::strict_one"), before);
  EXPECT_TRUE(warnings.texts().empty());
  inspect::check_invariants();
}

TEST(Registry, OfManyExclusiveKernelsAtOnceOneIsRegistered) {
  for (int round = 0; round < 50; ++round) {
    const Registration op = define("t::raced(Tensor x) -> Tensor");
    std::vector<Registration> made(4);
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (Registration& mine : made) {
      threads.emplace_back([&] {
        ++ready;
        while (ready < 4) {
        }
        try {
          const ExclusiveKernels exclusive;
          mine = implement("t::raced", K::CPU, echo("x"), "", &mine);
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::BadRegistration);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::count_if(made.begin(), made.end(), [](auto& one) { return bool(one); }), 1);
  }
}

TEST(Registry, AWarningThatBecomesAnErrorTakesTheRegistrationBack) {
  const Registration op = define("t::strict(Tensor x) -> Tensor");
  const Registration a = implement("t::strict", K::CPU, echo("a"), "registered at a.cpp:1");
  const std::string before = dump("t::strict");
  const WarningHandler former = set_warning_handler(
      [](const Warning& each) { fail(ErrorKind::BadRegistration, each.message); });
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(thrown_by([] { implement("t::strict", K::CPU, echo("b")); }).kind,
              ErrorKind::BadRegistration)
        << "a warning that no one saw has not been given";
    EXPECT_EQ(dump("t::strict"), before);
  }
  set_warning_handler(former);
  EXPECT_EQ(who_ran("t::strict", {K::CPU}), "a");
}

TEST(Registry, B30_OneFallbackAKeySeenByOldAndNewOperators) {
  const Registration old_op = define("t::old(Tensor x) -> Tensor");
  Registration fallback =
      registry().implement_fallback(K::XLA, boxed_echo("fallback"), "registered at a.cpp:1");
  const Registration new_op = define("t::new(Tensor x) -> Tensor");
  EXPECT_EQ(who_ran("t::old", {K::XLA}), "fallback");
  EXPECT_EQ(who_ran("t::new", {K::XLA}), "fallback");
  EXPECT_THROWN(
      registry().implement_fallback(K::XLA, boxed_echo(""), "registered at b.cpp:2"),
      BadRegistration,
      "Tried to register multiple backend fallbacks for the same dispatch key XLA; previous "
      "registration registered at a.cpp:1, new registration registered at b.cpp:2");
  EXPECT_THROWN(registry().implement_fallback(K::Meta, echo(""), ""), BadRegistration,
                "the fallback for Meta serves every operator and must be a boxed kernel or "
                "Kernel::fallthrough()");
  EXPECT_THROWN(registry().implement_fallback(K::Autograd, boxed_echo(""), ""), BadRegistration,
                "a fallback cannot be registered at Autograd: it needs one runtime key");
  fallback.undo();
  EXPECT_EQ(who_ran("t::old", {K::XLA}), "no kernel");
  EXPECT_EQ(who_ran("t::new", {K::XLA}), "no kernel");
}

}  // namespace
}  // namespace opyard::test_registry
