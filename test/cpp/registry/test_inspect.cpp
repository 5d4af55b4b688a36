// test_inspect.cpp: protects queries of the registry about kernels, and the report for one that is
// missing. Suspect dispatcher/src/inspect/inspect.cpp and missing_kernel.cpp.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/library.h"

namespace opyard::test_inspect {
namespace {

using K = DispatchKey;

OperatorName named(std::string_view name) { return parse_operator_name(name); }

TEST(Inspect, B32_KernelsWithoutADefinitionAreListed) {
  EXPECT_TRUE(inspect::dangling().empty());
  Registration lone = implement("t::lone", K::CPU, echo("lone"), "registered at lone.cpp:1");
  const Registration other =
      implement("t::lone.out", K::Meta, boxed_echo("out"), "registered at out.cpp:2");
  EXPECT_EQ(
      inspect::dangling(),
      (std::vector<std::string>{
          "name: t::lone\nschema: (none)\nCPU: registered at lone.cpp:1 :: (Tensor _0) -> Tensor "
          "_0 [ boxed unboxed ]\n",
          "name: t::lone.out\nschema: (none)\nMeta: registered at out.cpp:2 :: (none) [ boxed "
          "]\n"}));
  {
    const Registration op = define("t::lone(Tensor x) -> Tensor");
    EXPECT_EQ(inspect::dangling().size(), 1u);
  }
  lone.undo();
  EXPECT_EQ(inspect::dangling().size(), 1u);
}

TEST(Inspect, B43_WhetherThereIsAKernel) {
  const Registration op = define("t::asked(Tensor x) -> Tensor");
  EXPECT_FALSE(inspect::has_kernel(named("t::asked")));
  EXPECT_FALSE(inspect::has_kernel(named("t::nope")));
  const Registration meta = implement("t::asked", K::Meta, echo("meta"));
  const Registration all = implement("t::asked", K::CompositeExplicitAutograd, echo("all"));
  const Registration through = implement("t::asked", K::AutogradCPU, Kernel::fallthrough());
  EXPECT_TRUE(inspect::has_kernel(named("t::asked")));
  EXPECT_TRUE(inspect::has_kernel_at(named("t::asked"), K::Meta));
  EXPECT_TRUE(inspect::has_kernel_at(named("t::asked"), K::CompositeExplicitAutograd));
  EXPECT_FALSE(inspect::has_kernel_at(named("t::asked"), K::CPU)) << "exactly this key";
  EXPECT_TRUE(inspect::has_kernel_at_any(named("t::asked"), {K::CUDA, K::Meta}));
  EXPECT_FALSE(inspect::has_kernel_at_any(named("t::asked"), {K::CUDA, K::CPU}));

  EXPECT_TRUE(inspect::has_computed_kernel(named("t::asked"), K::CPU)) << "by the composite";
  EXPECT_TRUE(inspect::has_computed_kernel(named("t::asked"), K::Undefined));
  EXPECT_FALSE(inspect::has_computed_kernel(named("t::asked"), K::NestedTensorCPU));
  EXPECT_TRUE(inspect::is_fallthrough(named("t::asked"), K::AutogradCPU));
  EXPECT_FALSE(inspect::is_fallthrough(named("t::asked"), K::CPU));
  EXPECT_THROWN(inspect::has_computed_kernel(named("t::asked"), K::Autograd), BadValue,
                "Autograd is an alias key. Alias keys do not have runtime kernel registrations.");
  EXPECT_THROWN(inspect::has_computed_kernel(named("t::asked"), K::Dense), BadValue,
                "Dense has no slot of its own; name the key of one backend");
  EXPECT_THROWN(inspect::is_fallthrough(named("t::nope"), K::CPU), NotFound,
                "operator t::nope does not exist");

  EXPECT_FALSE(inspect::has_fallback(K::XLA));
  const Registration fallback = registry().implement_fallback(K::XLA, boxed_echo("xla"), "");
  EXPECT_TRUE(inspect::has_fallback(K::XLA));
}

TEST(Inspect, B43_D11_TheKernelOfOneKeyCanBeCalled) {
  const Registration op = define("t::at(Tensor x) -> Tensor");
  const Registration cpu = implement("t::at", K::CPU, echo("cpu"));
  static DispatchKeySet seen;
  const Registration meta =
      implement("t::at", K::Meta, Kernel::from([](DispatchKeySet keys, const Tensor& x) -> Tensor {
                  seen = keys;
                  last_ran = "meta";
                  return x;
                }));
  const Operator& at = registry().require("t::at");
  Stack stack;
  stack.push(Value(tensor_with({K::CPU, K::AutogradCPU})));
  at.call_boxed_at(K::Meta, stack);
  EXPECT_EQ(last_ran, "meta");
  EXPECT_EQ(seen.highest(), K::Meta);
  EXPECT_FALSE(seen.has(K::AutogradCPU));
  at.call_boxed_at(K::CPU, stack);
  EXPECT_EQ(last_ran, "cpu");
  EXPECT_EQ(stack.size(), 1u);
  EXPECT_THROWN(
      at.call_boxed_at(K::Dense, stack), BadValue,
      "t::at cannot be called at Dense: name the key of one backend, or of a layer that has no "
      "backends");
  EXPECT_TRUE(stack.empty()) << "the arguments are consumed";
  EXPECT_EQ(thrown_by([&] { at.call_boxed_at(K::ThreadEntry, stack); }).kind, ErrorKind::BadValue);
  stack.push(Value(tensor_with({K::CPU})));
  EXPECT_EQ(thrown_by([&] { at.call_boxed_at(K::XLA, stack); }).kind, ErrorKind::NoKernel);
}

TEST(Inspect, B43_AKernelOfOneKeyIsGivenNoBackendAboveIt) {
  const Registration op = define("t::lowest(Tensor x) -> Tensor");
  static DispatchKeySet seen;
  const auto note = [](DispatchKeySet keys, const Tensor& x) -> Tensor {
    seen = keys;
    return x;
  };
  const Registration cpu = implement("t::lowest", K::CPU, Kernel::from(note));
  const Registration meta = implement("t::lowest", K::Meta, echo("meta"));
  Stack stack;
  stack.push(Value(tensor_with({K::CPU, K::CUDA, K::XLA, K::Meta})));
  registry().require("t::lowest").call_boxed_at(K::CPU, stack);
  EXPECT_EQ(seen.highest(), K::CPU) << to_string(seen);
}

TEST(Inspect, AnOperatorOfFormerTimesIsNotTakenForTheOneOfItsName) {
  const Registration cpu = implement("t::again", K::CPU, boxed_echo("cpu"));
  Registration op = define("t::again(Tensor x) -> Tensor");
  const Operator& former = registry().require("t::again");
  EXPECT_EQ(inspect::keys_with_kernel(former), std::vector<K>{K::CPU});
  op.undo();
  op = define("t::again(Tensor y) -> Tensor");
  ASSERT_NE(&registry().require("t::again"), &former);
  EXPECT_TRUE(inspect::keys_with_kernel(former).empty());
  EXPECT_STREQ(inspect::resolve(former, K::CPU).rule, "definition unregistered");
}

// Raises an error of its own, or leaves it to the dispatcher.
class Reporter : public MissingKernelReporter {
 public:
  explicit Reporter(std::string word) : word_(std::move(word)) {}
  void report(const Operator& op, DispatchKey key) const override {
    if (!word_.empty())
      throw std::runtime_error(word_ + " " + to_string(op.name()) + " " + to_string(key));
  }

 private:
  const std::string word_;
};

TEST(Inspect, B42_AnOperatorsOwnReportOfAMissingKernel) {
  Registration op = define("t::missing(Tensor x) -> Tensor");
  const Registration cpu = implement("t::missing", K::CPU, echo("cpu"));
  const Operator& missing = registry().require("t::missing");
  const auto text = [&]() -> std::string {
    try {
      missing.typed<Tensor(const Tensor&)>().call(tensor_with({K::XLA}));
    } catch (const std::exception& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(text().find("t::missing has no kernel at XLA"), 0u);
  registry().set_missing_kernel_reporter(missing, make_counted<Reporter>("ours:"));
  EXPECT_EQ(text(), "ours: t::missing XLA");
  EXPECT_EQ(who_ran(missing, {K::CPU}), "cpu") << "only where there is none";
  registry().set_missing_kernel_reporter(missing, make_counted<Reporter>(""));
  EXPECT_EQ(text().find("t::missing has no kernel at XLA"), 0u) << "one that does not raise";
  registry().set_missing_kernel_reporter(missing, make_counted<Reporter>("again"));
  op.undo();
  EXPECT_THROWN(registry().set_missing_kernel_reporter(missing, {}), NotFound,
                "t::missing(Tensor x) -> Tensor is gone: its definition was unregistered");
  op = define("t::missing(Tensor x) -> Tensor");
  EXPECT_EQ(text().find("t::missing has no kernel at XLA"), 0u) << "it went with the definition";
}

TEST(Inspect, B19_E7_AFakeKernelsModuleIsNamedToWhoMissesIt) {
  const CaughtWarnings warnings;
  Library lib(LibraryKind::Fragment, "t", std::nullopt, "fake.cpp", 3);
  lib.def("real(Tensor x) -> Tensor");
  lib.set_python_module("demo.fakes", "see its README");
  lib.def("fake(Tensor x) -> Tensor");
  EXPECT_EQ(inspect::python_module(named("t::real")), (std::pair<std::string, std::string>{}));
  EXPECT_EQ(inspect::python_module(named("t::fake")),
            (std::pair<std::string, std::string>("demo.fakes", "see its README")));
  const auto text = [](const char* name, DispatchKeySet keys) {
    return thrown_by([&] {
             registry().require(name).typed<Tensor(const Tensor&)>().call(tensor_with(keys));
           })
        .text;
  };
  EXPECT_EQ(
      text("t::fake", {K::Meta})
          .find("t::fake has no kernel at Meta, where this call goes. Either it has no fake kernel "
                "at all, or one in the Python module demo.fakes, which is not available because "
                "Python isn't available: see its README.\n"),
      0u)
      << text("t::fake", {K::Meta});
  EXPECT_EQ(text("t::fake", {K::CPU}).find("demo.fakes"), std::string::npos);
  EXPECT_EQ(text("t::real", {K::Meta}).find("demo.fakes"), std::string::npos);
  EXPECT_TRUE(warnings.texts().empty());
  lib.set_python_module("demo.others");
  EXPECT_EQ(
      warnings.texts(),
      std::vector<std::string>{
          "the fake kernels of operators that this library of t defines from now on are looked for "
          "in the Python module demo.others, no longer in demo.fakes (registered at fake.cpp:3)"});
}

TEST(Inspect, B19_ADefinitionWithAKernelHasTheModuleToo) {
  const CaughtWarnings warnings;
  Library lib(LibraryKind::Fragment, "t", std::nullopt, "fake.cpp", 3);
  lib.set_python_module("demo.fakes", "see its README");
  lib.def("inferred", [](const Tensor& x) { return x; });
  EXPECT_EQ(inspect::python_module(named("t::inferred")),
            (std::pair<std::string, std::string>("demo.fakes", "see its README")));
  lib.set_python_module("demo.fakes", "see its README");
  EXPECT_TRUE(warnings.texts().empty()) << "the same again";
  lib.set_python_module("demo.fakes", "ask its author");
  EXPECT_EQ(warnings.texts().size(), 1u) << "what people are told is another now";
}

TEST(Inspect, B46_AnOperatorSaysWhatItIsAsJson) {
  Library lib(LibraryKind::Fragment, "t");
  lib.def("told.out(Tensor(a!) x, int[2] n=[1, 2], *, str mode=\"a\\\"b\") -> Tensor(a!)",
          {"core", "out"}, AliasAnalysis::FromSchema,
          "Tells.\n\nA \"quote\", a \\ and a \x01\x1f.");
  EXPECT_EQ(
      inspect::metadata(named("t::told.out")),
      "{\"name\": \"t::told\", \"overload\": \"out\", \"schema\": \"t::told.out(Tensor(a!) x, "
      "int[2] "
      "n=[1, 2], *, str mode=\\\"a\\\\\\\"b\\\") -> Tensor(a!)\", \"doc\": \"Tells.\\u000a\\u000aA "
      "\\\"quote\\\", a \\\\ and a \\u0001\\u001f.\", \"tags\": [\"core\", \"out\"], "
      "\"arguments\": "
      "[{\"name\": "
      "\"x\", \"type\": \"Tensor\", \"alias\": \"(a!)\"}, {\"name\": \"n\", \"type\": \"int[2]\", "
      "\"default\": \"[1, 2]\"}, {\"name\": \"mode\", \"type\": \"str\", \"default\": "
      "\"\\\"a\\\\\\\"b\\\"\", \"keyword_only\": true}], \"results\": [{\"name\": \"\", \"type\": "
      "\"Tensor\", \"alias\": \"(a!)\"}]}");
  EXPECT_THROWN(inspect::metadata(named("t::told")), NotFound,
                "Could not find schema for t::told. There is t::told.out.");
}

// Objects that end after main: nothing that they undo has ended before them.
struct AtExit {
  Registration op;
  Registration kernel;
  Library* library = nullptr;
  ~AtExit() {
    op.undo();
    kernel.undo();
    delete library;
  }
};
AtExit at_exit;

TEST(Inspect, B35_RegistrationsMayEndAfterMain) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    at_exit.op = define("t::late(Tensor x) -> Tensor");
    at_exit.kernel = implement("t::late", K::CPU, echo("late"));
    at_exit.library = new Library(LibraryKind::Def, "late");
    at_exit.library->def("op(Tensor x) -> Tensor");
    std::exit(who_ran("t::late", {K::CPU}) == "late" ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace opyard::test_inspect
