// test_observer.cpp: protects that observers see every call of their thread, and no other.
// Suspect dispatcher/src/observe/observer.cpp.
#include "opyard/observe/observer.h"

#include <gtest/gtest.h>

#include <thread>

#include "../registering.h"

namespace opyard::test_observer {
namespace {

using K = DispatchKey;
using Unary = Tensor(const Tensor&);

// Writes down what it is told.
class Scribe : public Observer {
 public:
  explicit Scribe(std::string& trace, std::string name = "", bool wants_values = true)
      : trace_(trace), name_(std::move(name)), wants_values_(wants_values) {}

  bool wants_values() const noexcept override { return wants_values_; }
  void on_enter(const Operator& op, DispatchKeySet keys, const Stack* arguments) noexcept override {
    trace_ +=
        name_ + "(" + to_string(op.name()) + " " + to_string(keys.highest()) + " " + of(arguments);
    if (call_inside != nullptr) who_ran(*call_inside, {K::CPU});
  }
  void on_exit(const Operator& op, bool threw, const Stack* results) noexcept override {
    EXPECT_EQ(threw && results != nullptr, false);
    trace_ += (threw ? "!" : "") + to_string(op.name()).substr(3) + name_ + ")";
    if (call_inside != nullptr) who_ran(*call_inside, {K::CPU});
  }

  const Operator* call_inside = nullptr;

 private:
  static std::string of(const Stack* stack) {
    return stack == nullptr ? "-" : std::to_string(stack->size());
  }

  std::string& trace_;
  const std::string name_;
  const bool wants_values_;
};

class Observing : public testing::Test {
 protected:
  const Registration f_ = define("t::f(Tensor x) -> Tensor");
  const Registration g_ = define("t::g(Tensor x) -> Tensor");
  const Registration f_cpu_ = implement("t::f", K::CPU, echo("f"));
  const Registration g_cpu_ = implement("t::g", K::CPU, Kernel::from([](const Tensor& x) -> Tensor {
                                          return registry().require("t::f").typed<Unary>().call(x);
                                        }));
  const Registration f_meta_ =
      implement("t::f", K::Meta,
                Kernel::from([](const Tensor&) -> Tensor { fail(ErrorKind::BadShape, "no"); }));
  const Tensor x_ = tensor_with({K::CPU});
  std::string trace_;
};

TEST_F(Observing, SeesTypedAndBoxedCallsWithTheirArguments) {
  Scribe scribe(trace_);
  const auto f = registry().require("t::f").typed<Unary>();
  EXPECT_TRUE(f.call(x_).same(x_));
  EXPECT_EQ(trace_, "") << "no one observes";
  {
    const ObserverGuard guard(scribe);
    EXPECT_EQ(ObserverGuard::innermost(), &guard);
    EXPECT_TRUE(f.call(x_).same(x_));
    EXPECT_EQ(trace_, "(t::f CPU 1f)");
    trace_.clear();
    EXPECT_EQ(who_ran("t::f", {K::CPU}), "f");
    EXPECT_EQ(trace_, "(t::f CPU 1f)");
  }
  trace_.clear();
  EXPECT_EQ(ObserverGuard::innermost(), nullptr);
  EXPECT_TRUE(f.call(x_).same(x_));
  EXPECT_EQ(trace_, "");
  EXPECT_EQ(local_keys(), kDefaultLocalKeys);
}

TEST_F(Observing, SeesNestedCallsAndRedispatchesOnce) {
  Scribe scribe(trace_);
  const ObserverGuard guard(scribe);
  EXPECT_EQ(who_ran("t::g", {K::CPU}), "f");
  EXPECT_EQ(trace_, "(t::g CPU 1(t::f CPU 1f)g)");
  trace_.clear();
  const auto f = registry().require("t::f").typed<Unary>();
  EXPECT_TRUE(f.redispatch(K::CPU, x_).same(x_));
  EXPECT_EQ(trace_, "") << "a redispatch is part of a call that was seen";
}

TEST_F(Observing, SeesAFailedCallEnd) {
  Scribe scribe(trace_);
  const ObserverGuard guard(scribe);
  EXPECT_THROW(who_ran("t::f", {K::Meta}), Error);
  EXPECT_EQ(trace_, "(t::f Meta 1!f)");
  trace_.clear();
  EXPECT_EQ(who_ran("t::f", {K::XLA}), "no kernel");
  EXPECT_EQ(trace_, "(t::f XLA 1!f)");
}

TEST_F(Observing, SeveralObserversAreToldOutermostFirst) {
  Scribe a(trace_, "a");
  Scribe b(trace_, "b");
  const ObserverGuard outer(a);
  {
    const ObserverGuard inner(b);
    EXPECT_EQ(inner.outer(), &outer);
    EXPECT_EQ(who_ran("t::f", {K::CPU}), "f");
    EXPECT_EQ(trace_, "a(t::f CPU 1b(t::f CPU 1fa)fb)");
  }
  trace_.clear();
  EXPECT_EQ(who_ran("t::f", {K::CPU}), "f");
  EXPECT_EQ(trace_, "a(t::f CPU 1fa)") << "the outer one stays when the inner one ends";
}

TEST_F(Observing, AnObserverIsNotToldOfItsOwnCalls) {
  Scribe scribe(trace_);
  scribe.call_inside = &registry().require("t::f");
  const ObserverGuard guard(scribe);
  EXPECT_EQ(who_ran("t::f", {K::CPU}), "f");
  EXPECT_EQ(trace_, "(t::f CPU 1f)");
}

TEST_F(Observing, IsAMatterOfOneThread) {
  Scribe scribe(trace_);
  const ObserverGuard guard(scribe);
  std::thread([] {
    EXPECT_EQ(ObserverGuard::innermost(), nullptr);
    EXPECT_EQ(who_ran("t::f", {K::CPU}), "f");
  }).join();
  EXPECT_EQ(trace_, "");
}

TEST_F(Observing, AThreadsFirstCallIsSeen) {
  std::thread([this] {
    Scribe scribe(trace_);
    const ObserverGuard guard(scribe);
    EXPECT_TRUE(registry().require("t::f").typed<Unary>().call(x_).same(x_));
  }).join();
  EXPECT_EQ(trace_, "(t::f CPU 1f)");
}

TEST_F(Observing, AnOperatorCanBeLeftOut) {
  const Registration quiet = implement("t::f", K::Observe, Kernel::fallthrough());
  Scribe scribe(trace_);
  const ObserverGuard guard(scribe);
  EXPECT_EQ(who_ran("t::f", {K::CPU}), "f");
  EXPECT_EQ(trace_, "");
}

TEST_F(Observing, D15_ValuesAreBoxedWhereAnyOfSeveralWantsThem) {
  Scribe wants(trace_, "a");
  Scribe does_not(trace_, "b", false);
  const ObserverGuard outer(wants);
  const ObserverGuard inner(does_not);
  EXPECT_TRUE(registry().require("t::f").typed<Unary>().call(x_).same(x_));
  EXPECT_EQ(trace_, "a(t::f CPU 1b(t::f CPU 1fa)fb)");
}

TEST_F(Observing, D15_NothingIsBoxedWhereNobodyWantsValues) {
  Scribe scribe(trace_, "", false);
  const auto f = registry().require("t::f").typed<Unary>();
  {
    const ObserverGuard guard(scribe);
    EXPECT_TRUE(f.call(x_).same(x_));
    EXPECT_EQ(trace_, "(t::f CPU -f)") << "the call had no stack";
    trace_.clear();
    EXPECT_THROW(f.call(tensor_with({K::Meta})), Error);
    EXPECT_EQ(trace_, "(t::f Meta -!f)");
    trace_.clear();
    std::string seen;
    Scribe curious(seen);
    const ObserverGuard inner(curious);
    EXPECT_TRUE(f.call(x_).same(x_));
    EXPECT_EQ(seen, "(t::f CPU 1f)") << "one that wants them gets them";
  }
  trace_.clear();
  EXPECT_TRUE(f.call(x_).same(x_));
  EXPECT_EQ(trace_, "") << "and no one is told when no one observes";
}

}  // namespace
}  // namespace opyard::test_observer
