// test_dispatch_log.cpp: protects the lines of the dispatch log, and that calls do not change by it.
// Suspect dispatcher/src/registry/dispatch_log.cpp.
#include "opyard/inspect/inspect.h"
#include "opyard/registry/dispatch_log.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/inspect/explain.h"
#include "opyard/registry/next.h"

namespace opyard::test_dispatch_log {
namespace {

using K = DispatchKey;
using Unary = Tensor(const Tensor&);

// Switches the log on for a body and gives what it wrote.
template <typename Body>
std::string shown(Body&& body) {
  testing::internal::CaptureStderr();
  set_dispatch_log(true);
  inspect::check_invariants();
  body();
  set_dispatch_log(false);
  inspect::check_invariants();
  return testing::internal::GetCapturedStderr();
}

class DispatchLog : public testing::Test {
 protected:
  const Registration inner_ = define("t::inner(Tensor x) -> Tensor");
  const Registration outer_ = define("t::outer(Tensor x) -> Tensor");
  const Registration cpu_ = implement("t::inner", K::CPU, echo("inner"));
  const Registration autograd_ = implement(
      "t::inner", K::AutogradCPU, Kernel::from([](DispatchKeySet keys, const Tensor& x) -> Tensor {
        return registry()
            .require("t::inner")
            .typed<Unary>()
            .redispatch(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, K::AutogradCPU), x);
      }));
  const Registration meta_ = implement("t::inner", K::Meta, boxed_echo("meta"));
  const Registration calls_ =
      implement("t::outer", K::CPU, Kernel::from([](const Tensor& x) -> Tensor {
                  return registry().require("t::inner").typed<Unary>().call(x);
                }));
};

TEST_F(DispatchLog, B45_ALineAKernelIndentedByNesting) {
  const auto outer = registry().require("t::outer").typed<Unary>();
  const Tensor x = tensor_with({K::CPU, K::AutogradCPU});
  Tensor result;
  EXPECT_EQ(shown([&] { result = outer.call(x); }),
            " [call] op=[t::outer], key=[CPU]\n"
            "  [call] op=[t::inner], key=[AutogradCPU]\n"
            "   [redispatch] op=[t::inner], key=[CPU]\n");
  EXPECT_TRUE(result.same(x));
  EXPECT_EQ(shown([&] { EXPECT_EQ(who_ran("t::inner", {K::CPU, K::AutogradCPU}), "inner"); }),
            " [callBoxed] op=[t::inner], key=[AutogradCPU]\n"
            "  [redispatch] op=[t::inner], key=[CPU]\n");
  EXPECT_EQ(
      shown([&] { registry().require("t::inner").typed<Unary>().call(tensor_with({K::Meta})); }),
      " [call] op=[t::inner], key=[Meta]\n")
      << "a kernel that takes boxes, called without";
}

TEST_F(DispatchLog, B45_SwitchedOffItShowsNothingAndRegistrationsMayChangeMeanwhile) {
  const auto inner = registry().require("t::inner").typed<Unary>();
  testing::internal::CaptureStderr();
  inner.call(tensor_with({K::CPU}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(shown([&] {
              Registration over =
                  registry().implement({"t::inner", ""}, K::CPU, echo("over"), "", nullptr, true);
              EXPECT_EQ(who_ran("t::inner", {K::CPU}), "over");
              over.undo();
              const Registration fresh = define("t::fresh(Tensor x) -> Tensor");
              EXPECT_EQ(who_ran("t::fresh", {K::CPU}), "no kernel");
            }),
            " [callBoxed] op=[t::inner], key=[CPU]\n [callBoxed] op=[t::fresh], key=[CPU]\n");
}

TEST_F(DispatchLog, B45_KernelsThatOthersCoverAreShownIfTheyRun) {
  const KernelPlace pinned = *serving_place(registry().require("t::inner"), K::CPU);
  const Registration over = registry().implement(
      {"t::inner", ""}, K::CPU,
      Kernel::with_context([](const Record& record, const Operator& op, DispatchKeySet keys,
                              Stack& stack) { call_next(op, place_of(record), keys, stack); },
                           nullptr, nullptr),
      "", nullptr, true);
  EXPECT_EQ(
      shown([&] { EXPECT_EQ(who_ran("t::inner", {K::CPU}), "inner"); }),
      " [callBoxed] op=[t::inner], key=[CPU]\n  [redispatchBoxed] op=[t::inner], key=[CPU]\n");
  const auto call = [&] {
    InlineStack<2> stack;
    stack.push(Value(tensor_with({K::CPU})));
    call_pinned(registry().require("t::inner"), pinned, {K::CPU}, stack);
  };
  EXPECT_EQ(shown(call), " [callBoxed] op=[t::inner], key=[CPU]\n");
}

TEST_F(DispatchLog, B45_ErrorsAndExplanationsAreTheSameWithIt) {
  const auto inner = registry().require("t::inner").typed<Unary>();
  const Tensor lost = tensor_with({K::XLA});
  const auto text = [&] { return thrown_by([&] { inner.call(lost); }).text; };
  const std::string without = text();
  std::string with;
  const std::vector<Value> arguments{Value(tensor_with({K::CPU, K::AutogradCPU}))};
  const std::string route = to_string(explain(registry().require("t::inner"), arguments));
  EXPECT_EQ(shown([&] {
              with = text();
              EXPECT_EQ(to_string(explain(registry().require("t::inner"), arguments)), route);
            }),
            " [call] op=[t::inner], key=[XLA]\n");
  EXPECT_EQ(with, without);
  // After an error the next call is at the left margin again.
  EXPECT_EQ(shown([&] { inner.call(tensor_with({K::CPU})); }),
            " [call] op=[t::inner], key=[CPU]\n");
}

// The variable is read once, when libopyard is loaded: so in programs of their own.
TEST(DispatchLogVariable, B45_IsReadAtTheStart) {
  const auto run = [](const std::string& value) {
    const std::string command = "OPYARD_DISPATCH_LOG=" + value + " /proc/" +
                                std::to_string(getpid()) +
                                "/exe --gtest_also_run_disabled_tests "
                                "--gtest_filter=DispatchLogVariable.DISABLED_Child 2>&1 >/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), &pclose);
    std::string text;
    char line[256];
    while (fgets(line, sizeof line, output.get()) != nullptr) text += line;
    return text;
  };
  EXPECT_EQ(run("1"), " [callBoxed] op=[t::child], key=[CPU]\n");
  EXPECT_EQ(run("0"), "");
  EXPECT_EQ(run("yes"),
            "opyard: warning: ignoring invalid value for OPYARD_DISPATCH_LOG: yes; valid values "
            "are 0 or 1.\n");
}
TEST(DispatchLogVariable, DISABLED_Child) {
  const Registration op = define("t::child(Tensor x) -> Tensor");
  const Registration kernel = implement("t::child", K::CPU, echo("child"));
  who_ran("t::child", {K::CPU});
}

}  // namespace
}  // namespace opyard::test_dispatch_log
