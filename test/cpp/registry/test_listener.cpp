// test_listener.cpp: protects that a listener hears of each definition once, and of its end after
// its beginning. Suspect dispatcher/src/registry/listener_list.cpp.
#include "opyard/registry/listener.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../registering.h"
#include "../thrown_by.h"

namespace opyard::test_listener {
namespace {

RegistrationListener writing_to(std::string& text) {
  return {[&text](const Operator& op) { text += "+" + to_string(op.name()) + " "; },
          [&text](const Operator& op) { text += "-" + to_string(op.name()) + " "; }};
}

TEST(Listener, B33_HearsOfWhatIsThereThenOfWhatComesAndGoes) {
  const Registration before = define("t::before(Tensor x) -> Tensor");
  const Registration kernel = implement("t::dangling", DispatchKey::CPU, echo("dangling"));
  std::string text;
  {
    const Registration listening = registry().listen(writing_to(text));
    EXPECT_EQ(text, "+t::before ") << "kernels are not told of";
    Registration after = define("t::after(Tensor x) -> Tensor");
    const Registration more = implement("t::after", DispatchKey::CPU, echo("after"));
    EXPECT_EQ(text, "+t::before +t::after ");
    after.undo();
    EXPECT_EQ(text, "+t::before +t::after -t::after ");
    const Registration again = define("t::after(Tensor x) -> Tensor");
    EXPECT_EQ(text, "+t::before +t::after -t::after +t::after ");
    text.clear();
  }
  EXPECT_EQ(text, "-t::after ");
  const Registration unheard = define("t::unheard(Tensor x) -> Tensor");
  EXPECT_EQ(text, "-t::after ") << "its registration has ended";
}

TEST(Listener, B33_AnOperatorCanStillBeUsedWhileItsEndIsTold) {
  std::string ran;
  Registration op = define("t::ending(Tensor x) -> Tensor");
  const Registration kernel = implement("t::ending", DispatchKey::CPU, echo("kernel"));
  const Registration listening =
      registry().listen({{}, [&](const Operator& ending) {
                           EXPECT_EQ(registry().find(ending.name()), &ending);
                           ran = who_ran(ending, {DispatchKey::CPU});
                         }});
  op.undo();
  EXPECT_EQ(ran, "kernel");
  EXPECT_EQ(registry().find({"t::ending", ""}), nullptr);
}

TEST(Listener, B33_SeveralAreToldInOrderAndMayComeAndGoMeanwhile) {
  std::string text;
  Registration second;
  bool add = true;
  const Registration first = registry().listen({[&](const Operator&) {
                                                  text += "first ";
                                                  if (std::exchange(add, false))
                                                    second = registry().listen(writing_to(text));
                                                },
                                                {}});
  const Registration a = define("t::a(Tensor x) -> Tensor");
  EXPECT_EQ(text, "first +t::a ") << "the new one had it on its list";
  const Registration b = define("t::b(Tensor x) -> Tensor");
  EXPECT_EQ(text, "first +t::a first +t::b ");
  second.undo();
  const Registration c = define("t::c(Tensor x) -> Tensor");
  EXPECT_EQ(text, "first +t::a first +t::b first ");
}

TEST(Listener, B33_EachOneThatComesHearsOfWhatIsThere) {
  const Registration a = define("t::a(Tensor x) -> Tensor");
  const Registration b = define("t::b(Tensor x) -> Tensor");
  std::string texts[4];
  std::vector<Registration> listening;
  for (std::string& text : texts) listening.push_back(registry().listen(writing_to(text)));
  for (const std::string& text : texts) EXPECT_EQ(text, "+t::a +t::b ");
}

TEST(Listener, B33_OneThatWasRemovedHearsNoMoreWhoeverIsBeingTold) {
  std::string text;
  Registration first;
  Registration second;
  first = registry().listen({[&](const Operator&) {
                               text += "first ";
                               first.undo();
                               second.undo();
                             },
                             {}});
  second = registry().listen(writing_to(text));
  const Registration third = registry().listen(writing_to(text));
  const Registration op = define("t::few(Tensor x) -> Tensor");
  EXPECT_EQ(text, "first +t::few ") << "from the third only";
}

TEST(Listener, B33_WhatEndsBeforeItWasToldOfIsNeverTold) {
  std::string text;
  const Registration a = define("t::a(Tensor x) -> Tensor");
  Registration b = define("t::b(Tensor x) -> Tensor");
  RegistrationListener listener = writing_to(text);
  const Registration listening =
      registry().listen({[&, tell = listener.on_defined](const Operator& op) {
                           tell(op);
                           b.undo();
                         },
                         listener.on_undefined});
  EXPECT_EQ(text, "+t::a ") << "neither that it is there nor that it is gone";
}

TEST(Listener, B33_OneThatComesWhileADefinitionEndsHearsNothingOfIt) {
  std::string text;
  Registration late;
  Registration op = define("t::ends(Tensor x) -> Tensor");
  const Registration other = define("t::stays(Tensor x) -> Tensor");
  const Registration listening =
      registry().listen({{}, [&](const Operator&) { late = registry().listen(writing_to(text)); }});
  op.undo();
  EXPECT_EQ(text, "+t::stays ");
}

TEST(Listener, OneThatThrowsTakesTheDefinitionBack) {
  std::string text;
  const Registration quiet = registry().listen(writing_to(text));
  {
    const Registration refusing =
        registry().listen({[](const Operator&) { throw std::runtime_error("not here"); },
                           [](const Operator&) { throw std::runtime_error("nor there"); }});
    EXPECT_THROW(define("t::refused(Tensor x) -> Tensor"), std::runtime_error);
    EXPECT_EQ(registry().find({"t::refused", ""}), nullptr);
    EXPECT_EQ(text, "+t::refused -t::refused ");
  }
  const Registration op = define("t::refused(Tensor x) -> Tensor");
  EXPECT_THROW(registry().listen({[](const Operator&) { throw 42; }, {}}), int);
  EXPECT_EQ(text, "+t::refused -t::refused +t::refused ") << "and the one that threw is gone";
}

TEST(Listener, NoneCanRefuseWhatIsPutBack) {
  std::string text;
  int raised = 0;
  const Registration refusing = registry().listen({[&](const Operator&) {
                                                     ++raised;
                                                     throw 42;
                                                   },
                                                   {}});
  const Registration behind = registry().listen(writing_to(text));
  EXPECT_THROW(define("t::back(Tensor x) -> Tensor"), int);
  EXPECT_FALSE(put_definitions_back(true));
  const Registration op = define("t::back(Tensor x) -> Tensor");
  EXPECT_TRUE(put_definitions_back(false));
  EXPECT_NE(registry().find({"t::back", ""}), nullptr);
  EXPECT_EQ(raised, 2);
  EXPECT_EQ(text, "-t::back +t::back ") << "those behind it are told";
  EXPECT_THROW(define("t::other(Tensor x) -> Tensor"), int) << "again, once that is over";
}

TEST(Listener, ADefinitionThatEndsWhileItIsBeingToldOfIsToldAsEndedAfterwards) {
  std::string text;
  Registration op = define("t::brief(Tensor x) -> Tensor");
  const Registration other = define("t::other(Tensor x) -> Tensor");
  const Registration listening = registry().listen(
      {[&](const Operator& defined) {
         text += "+" + to_string(defined.name()) + " ";
         op.undo();
         text += "undone ";
       },
       [&](const Operator& ended) { text += "-" + to_string(ended.name()) + " "; }});
  EXPECT_EQ(text, "+t::brief undone -t::brief +t::other undone ");
}

TEST(Listener, EachLifeOfADefinitionIsToldOnce) {
  std::string text;
  Registration op = define("t::lives(Tensor x) -> Tensor");
  bool first = true;
  const Registration listening = registry().listen({[&](const Operator&) {
                                                      text += "+";
                                                      if (!std::exchange(first, false)) return;
                                                      op.undo();
                                                      op = define("t::lives(Tensor x) -> Tensor");
                                                      op.undo();
                                                      op = define("t::lives(Tensor x) -> Tensor");
                                                      text += "undone and defined twice ";
                                                    },
                                                    [&](const Operator&) { text += "-"; }});
  EXPECT_EQ(text, "+undone and defined twice -+-+");
}

// Each listener's account must be in order for every operator, whatever the threads do.
TEST(Listener, B33_IsRightAmongThreads) {
  struct Account {
    std::mutex mutex;
    std::map<const Operator*, int> standing;
    std::string fault;
  };
  std::atomic<bool> stop{false};
  std::vector<std::thread> definers;
  for (int i = 0; i < 2; ++i) {
    definers.emplace_back([&, i] {
      const std::string schema = "t::busy" + std::to_string(i) + "(Tensor x) -> Tensor";
      while (!stop) const Registration op = define(schema);
    });
  }
  for (int round = 0; round < 300; ++round) {
    auto account = std::make_shared<Account>();
    const auto change = [account](const Operator& op, int by) {
      const std::lock_guard lock(account->mutex);
      int& standing = account->standing[&op];
      standing += by;
      if (standing < 0 || standing > 1) account->fault = op.declaration();
    };
    const Registration listening =
        registry().listen({[change](const Operator& op) { change(op, 1); },
                           [change](const Operator& op) { change(op, -1); }});
    std::this_thread::yield();
    const std::lock_guard lock(account->mutex);
    EXPECT_EQ(account->fault, "") << "round " << round;
    if (HasFailure()) break;
  }
  stop = true;
  for (std::thread& thread : definers) thread.join();
}

}  // namespace
}  // namespace opyard::test_listener
