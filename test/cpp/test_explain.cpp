// test_explain.cpp: protects that explain() says what a call does, and what errors say (B41).
#include "opyard/registry/explain.h"

#include <gtest/gtest.h>

#include "one_of_each.h"
#include "registering.h"
#include "thrown_by.h"

namespace opyard {
namespace {

using K = DispatchKey;

Explanation explain_call(std::string_view name, std::vector<Value> arguments) {
  return explain(registry().require(name), arguments);
}

TEST(Explain, FollowsACallToItsKernel) {
  const Registration op = define("t::f(Tensor x, int n, Tensor? y) -> Tensor");
  const Registration cpu = implement("t::f", K::CPU, boxed_echo("cpu"), "registered at cpu.cpp:1");
  const Registration cuda =
      implement("t::f", K::AutogradCUDA, boxed_echo(""), "registered at g.cpp:2");
  const Registration tracer =
      implement("t::f", K::Tracer, Kernel::fallthrough(), "registered at t.cpp:3");
  const IncludeDispatchKeyGuard include(K::Tracer);
  const ExcludeDispatchKeyGuard exclude(K::BackendSelect);
  const Tensor x = tensor_with({K::CPU, K::AutogradCPU});
  const Explanation found = explain_call("t::f", {Value(x), Value(1), Value()});
  EXPECT_EQ(found.op, "t::f");
  EXPECT_EQ(found.key, K::CPU);
  EXPECT_TRUE(found.has_kernel);
  EXPECT_EQ(found.kernel, "registered at cpu.cpp:1");
  EXPECT_EQ(found.keys, (DispatchKeySet{K::CPU, K::AutogradCPU, K::Tracer, K::ADInplaceOrView}));
  EXPECT_EQ(found.mask, registry().require("t::f").mask());
  ASSERT_EQ(found.arguments.size(), 2u) << "those that can carry keys";
  EXPECT_EQ(found.arguments[1].position, 2u);
  EXPECT_EQ(to_string(found),
            "t::f(Tensor x, int n, Tensor? y) -> Tensor\n"
            "  argument 0 'x': DispatchKeySet(CPU, AutogradCPU)\n"
            "  argument 2 'y': DispatchKeySet()\n"
            "  thread includes:  DispatchKeySet(BackendSelect, ADInplaceOrView, Tracer)\n"
            "  thread excludes:  DispatchKeySet(BackendSelect, AutocastCPU, AutocastCUDA)\n"
            "  keys of the call: DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, Tracer)\n"
            "     Tracer                 falls through, registered at t.cpp:3\n"
            "     AutogradCPU            falls through, built in\n"
            "     ADInplaceOrView        falls through, built in\n"
            "  -> CPU                    kernel, registered at cpu.cpp:1\n"
            "  runs at CPU: registered at cpu.cpp:1\n");
}

TEST(Explain, AListHasTheKeysOfAllItsTensors) {
  const Registration op = define("t::stack(Tensor[] xs) -> Tensor[]");
  const Registration cuda = implement("t::stack", K::CUDA, boxed_echo("cuda"));
  const Tensor first = tensor_with({K::CUDA, K::AutogradCUDA});
  const Tensor second = tensor_with({K::CPU});
  const Explanation found = explain_call("t::stack", {Value::list({Value(first), Value(second)})});
  ASSERT_EQ(found.arguments.size(), 1u);
  EXPECT_EQ(found.arguments[0].keys, first.keys() | second.keys());
  EXPECT_EQ(found.key, K::CUDA);
}

TEST(Explain, AGeneratorHasKeysAsWell) {
  const Registration op = define("t::draw(Generator? generator) -> Generator?");
  const Registration meta = implement("t::draw", K::Meta, boxed_echo("meta"));
  const auto generator = make_counted<CountingGenerator>(Device{Backend::Meta, 0});
  const Explanation found = explain_call("t::draw", {Value(generator)});
  ASSERT_EQ(found.arguments.size(), 1u);
  EXPECT_EQ(found.arguments[0].keys, generator->keys());
  EXPECT_EQ(found.key, K::Meta);
  EXPECT_TRUE(explain_call("t::draw", {Value()}).arguments[0].keys.empty());
}

TEST(Explain, SaysWhereTheCallReallyGoes) {
  const Registration op = define("t::agree(Tensor x) -> Tensor");
  const DispatchKeySet sets[] = {{},
                                 {K::CPU},
                                 {K::CPU, K::AutogradCPU},
                                 {K::SparseCPU, K::AutogradOther},
                                 {K::NestedTensorCPU, K::AutogradNestedTensor},
                                 {K::Meta, K::Batched},
                                 {K::XLA, K::AutogradXLA, K::Tracer}};
  std::vector<Registration> kernels;
  for (const K key : {K::CPU, K::CompositeImplicitAutograd, K::SparseCPU, K::Autograd,
                      K::CompositeExplicitAutograd, K::BatchedDecomposition, K::Tracer}) {
    kernels.push_back(implement("t::agree", key, echo(to_string(key)), to_string(key)));
    for (const DispatchKeySet keys : sets) {
      const Explanation found = explain_call("t::agree", {Value(tensor_with(keys))});
      const std::string ran = who_ran("t::agree", keys);
      EXPECT_EQ(found.has_kernel ? found.kernel : "no kernel", ran) << to_string(keys);
      EXPECT_TRUE(found.considered.back().taken);
    }
  }
}

TEST(Explain, ACallThatFindsNoKernelIsExplainedToo) {
  const Registration op = define("t::missing(Tensor x) -> Tensor");
  const Explanation missing = explain_call("t::missing", {Value(tensor_with({K::XLA}))});
  EXPECT_FALSE(missing.has_kernel);
  EXPECT_EQ(missing.key, K::XLA);
  EXPECT_EQ(missing.kernel, "no kernel");
  const Registration math = implement("t::missing", std::nullopt, echo(""));
  const Registration sparse = implement("t::missing", K::SparseCPU, echo(""));
  const Explanation ambiguous =
      explain_call("t::missing", {Value(tensor_with({K::SparseCPU, K::AutogradOther}))});
  EXPECT_FALSE(ambiguous.has_kernel) << "the call raises";
  EXPECT_EQ(ambiguous.kernel, "ambiguous autogradother");
  EXPECT_EQ(to_string(ambiguous).substr(to_string(ambiguous).rfind("  no")),
            "  no kernel at AutogradOther\n");
}

TEST(Explain, AGoneOperatorIsExplained) {
  Registration op = define("t::gone(Tensor x) -> Tensor");
  const Operator& gone = registry().require("t::gone");
  op.undo();
  const Explanation found = explain(gone, std::vector{Value(tensor_with({K::CPU}))});
  EXPECT_FALSE(found.has_kernel);
  EXPECT_EQ(found.kernel, "definition taken back");
}

TEST(Explain, AKernelWithoutAProvenanceIsAKernel) {
  const Registration op = define("t::quiet(Tensor x) -> Tensor");
  const Registration kernel = implement("t::quiet", K::CPU, echo(""), "");
  EXPECT_TRUE(explain_call("t::quiet", {Value(tensor_with({K::CPU}))}).has_kernel);
}

TEST(Explain, WrongArgumentsAreRefusedAsInACall) {
  const Registration op = define("t::args(Tensor x, int n) -> Tensor");
  EXPECT_THROWN(explain_call("t::args", {Value(tensor_with({}))}), BadArgument,
                "t::args: the number of values given is 1, but the call takes 2.\n"
                "Declaration: t::args(Tensor x, int n) -> Tensor");
  EXPECT_THROWN(explain_call("t::args", {Value(1), Value(2)}), BadArgument,
                "t::args: argument 'x' at position 0 is Int (1), but the schema accepts Tensor.\n"
                "Declaration: t::args(Tensor x, int n) -> Tensor");
}

TEST(Explain, B41_TheErrorNamesOperatorKeyAndEveryKeyConsidered) {
  const Registration op = define("t::err.over(Tensor x) -> Tensor");
  const Registration cpu = implement("t::err.over", K::CPU, echo(""));
  const Registration composite = implement("t::err.over", K::AutogradCUDA, echo(""));
  const std::string message =
      "t::err.over has no kernel at XLA, where this call goes.\n"
      "     AutogradXLA            falls through, built in\n"
      "     ADInplaceOrView        falls through, built in\n"
      "     BackendSelect          falls through, built in\n"
      "  -> XLA                    no kernel\n"
      "Kernels stand at: CPU, AutogradCUDA.";
  const Tensor x = tensor_with({K::XLA, K::AutogradXLA});
  const Operator& err = registry().require("t::err.over");
  EXPECT_THROWN(static_cast<void>(err.typed<Tensor(const Tensor&)>().call(x)), NoKernel, message);
  EXPECT_THROWN(
      {
        InlineStack<1> stack;
        stack.push(Value(x));
        err.call_boxed(stack);
      },
      NoKernel, message);
}

TEST(Explain, B41_WithoutATensorTheErrorSaysSo) {
  const Registration op = define("t::no_tensor(int n) -> int");
  InlineStack<1> stack;
  stack.push(Value(1));
  EXPECT_THROWN(
      registry().require("t::no_tensor").call_boxed(stack), NoKernel,
      "t::no_tensor was called without a tensor that carries dispatch keys, and it has no "
      "kernel for calls without one.\n"
      "     ADInplaceOrView        falls through, built in\n"
      "     BackendSelect          falls through, built in\n"
      "  -> Undefined              no kernel\n"
      "It has no kernel at all.");
}

}  // namespace
}  // namespace opyard
