// test_concurrency_interpreters.cpp: protects views: interpreters that share a registry see kernels of their
// own, while others register, come and go. Suspect dispatcher/src/registry/interpreter_tables.cpp.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "../fake_interpreter.h"
#include "../thrown_by.h"
#include "opyard/inspect/inspect.h"
#include "opyard/library.h"
#include "opyard/registry/registry.h"

namespace opyard::test_concurrency_interpreters {
namespace {

// A kernel that gives a number.
template <std::int64_t kNumber>
void give(const Operator&, DispatchKeySet, Stack& stack) {
  stack.push(Value(kNumber));
}

std::int64_t call(const Operator& op) {
  Stack stack;
  op.call_boxed(stack);
  return stack.pop().to_int();
}

// An interpreter that takes part until the end of the scope.
template <typename Fake>
struct Guest {
  Interpreter* const tag = Fake::create();
  Guest() { Registry::instance().join(tag); }
  ~Guest() {
    tag->disarm();
    Registry::instance().leave(tag);
  }
};

// This thread is in the interpreter for a scope.
template <typename Fake>
struct Inside {
  explicit Inside(const Guest<Fake>& guest) { Fake::current = guest.tag; }
  ~Inside() { Fake::current = nullptr; }
};

class Views : public testing::Test {
 protected:
  struct Own : Library {
    Own() : Library(LibraryKind::Def, "views") {
      def("number() -> int");
      impl("number", DispatchKey::CompositeImplicitAutograd, &give<0>);
    }
  } own;
  const Operator& op = require_operator("views::number");
};

TEST_F(Views, X12_AKernelOfOneInterpreterServesItsCallsAlone) {
  const Guest<FakeA> a;
  const Guest<FakeB> b;
  Library of_a(LibraryKind::Impl, "views", std::nullopt, "", 0, a.tag);
  of_a.impl("number", DispatchKey::CompositeExplicitAutograd, &give<1>);
  {
    const Inside inside(a);
    EXPECT_EQ(call(op), 1);
  }
  {
    const Inside inside(b);
    EXPECT_EQ(call(op), 0) << "goes on below";
  }
  EXPECT_EQ(call(op), 1) << "a thread in none sees all";
  Library of_b(LibraryKind::Impl, "views", std::nullopt, "", 0, b.tag);
  of_b.impl("number", DispatchKey::CompositeExplicitAutograd, &give<2>);
  {
    const Inside inside(b);
    EXPECT_EQ(call(op), 2);
  }
  const auto line = [&](const Interpreter* interpreter) {
    const std::string table = inspect::dump_table(op.name(), interpreter);
    return table.substr(0, table.find('\n'));
  };
  EXPECT_NE(line(a.tag), "") << line(a.tag);
  inspect::check_invariants();
  of_a.reset();
  {
    const Inside inside(a);
    EXPECT_EQ(call(op), 0);
  }
  inspect::check_invariants();
}

TEST_F(Views, X12_TheLastOneLeftHasTheTableForItself) {
  const Guest<FakeA> a;
  Library of_a(LibraryKind::Impl, "views", std::nullopt, "", 0, a.tag);
  of_a.impl("number", DispatchKey::CompositeExplicitAutograd, &give<1>);
  EXPECT_NE(op.record(DispatchKeySet()).role, RecordRole::PerInterpreter) << "alone: no detour";
  {
    const Guest<FakeB> b;
    EXPECT_EQ(op.record(DispatchKeySet()).role, RecordRole::PerInterpreter);
    Library of_b(LibraryKind::Impl, "views", std::nullopt, "", 0, b.tag);
    of_b.impl("number", DispatchKey::CompositeExplicitAutograd, &give<2>);
  }
  EXPECT_NE(op.record(DispatchKeySet()).role, RecordRole::PerInterpreter);
  EXPECT_EQ(call(op), 1);
  inspect::check_invariants();
}

TEST_F(Views, F11_ADefinitionStandsUntilTheLastOfItsInterpretersTakesItBack) {
  const Guest<FakeA> a;
  const Guest<FakeB> b;
  Library of_a(LibraryKind::Def, "shared", std::nullopt, "a.py", 1, a.tag);
  of_a.def("f(Tensor x) -> Tensor");
  Library of_b(LibraryKind::Def, "shared", std::nullopt, "b.py", 2, b.tag);
  EXPECT_THROWN(
      of_b.def("f(Tensor x, int n) -> Tensor"), BadRegistration,
      "Interpreters of one process share their operators, but interpreter B defines "
      "shared::f(Tensor "
      "x, int n) -> Tensor (registered at b.py:2), and interpreter A has defined shared::f(Tensor "
      "x) "
      "-> Tensor (registered at a.py:1); give both the same schema, or one of them another name");
  of_b.def("f(Tensor x) -> Tensor");
  EXPECT_THROW(of_b.def("f(Tensor x) -> Tensor"), Error) << "once each";
  EXPECT_THROW(Library(LibraryKind::Def, "shared"), Error) << "and none that is no interpreter's";
  of_a.reset();
  EXPECT_NE(Registry::instance().find({"shared::f", ""}), nullptr);
  of_b.reset();
  EXPECT_EQ(Registry::instance().find({"shared::f", ""}), nullptr);
}

TEST_F(Views, P14_CallsRegistrationsAndGuestsAtOnce) {
  const Guest<FakeA> a;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; ++n) {
    threads.emplace_back([&] {
      const Inside inside(a);
      while (!stop) {
        const std::int64_t got = call(op);
        if (got != 0 && got != 1) ++wrong;
      }
    });
  }
  threads.emplace_back([&] {
    for (int n = 0; n < 100; ++n) {
      Library of_a(LibraryKind::Impl, "views", std::nullopt, "", 0, a.tag);
      of_a.impl("number", DispatchKey::CompositeExplicitAutograd, &give<1>);
    }
  });
  for (int n = 0; n < 30; ++n) {
    const Guest<FakeB> b;
    const Inside inside(b);
    Library of_b(LibraryKind::Impl, "views", std::nullopt, "", 0, b.tag);
    of_b.override_kernel("number", DispatchKey::CompositeExplicitAutograd, &give<2>);
    if (call(op) != 2) ++wrong;
  }
  threads.back().join();
  threads.pop_back();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  inspect::check_invariants();
}

}  // namespace
}  // namespace opyard::test_concurrency_interpreters
