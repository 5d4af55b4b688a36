// test_explain.cpp: protects that explain() agrees with calls and with their errors (B41).
// Suspect dispatcher/src/inspect/explain.cpp.
#include "opyard/inspect/explain.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "../one_of_each.h"
#include "../registering.h"
#include "../thrown_by.h"

namespace opyard::test_explain {
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

// A kernel that notes its name and goes on with what is left below its key, if anything is.
std::vector<std::string> ran;
Kernel noting() {
  return Kernel::with_context(
      [](const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
        ran.push_back(record.provenance);
        const DispatchKeySet rest =
            keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, keys.highest_layer());
        if (rest.highest_layer() != K::Undefined) op.redispatch_boxed(rest, stack);
      },
      nullptr, nullptr);
}

// Random registrations, fallthroughs, fallbacks, thread-local sets and arguments: the kernel that
// is named is the one that runs, and those below it are the ones it redispatches to.
TEST(Explain, NamesTheKernelsThatRun) {
  std::mt19937 random(1);
  const auto chance = [&](unsigned of) { return random() % of == 0; };
  const K places[] = {K::CPU,
                      K::CUDA,
                      K::Meta,
                      K::SparseCPU,
                      K::QuantizedCPU,
                      K::AutogradCPU,
                      K::AutogradCUDA,
                      K::AutogradOther,
                      K::Tracer,
                      K::BackendSelect,
                      K::ADInplaceOrView,
                      K::Batched,
                      K::OnTop1,
                      K::Python,
                      K::Autograd,
                      K::BatchedDecomposition,
                      K::CompositeImplicitAutograd,
                      K::CompositeExplicitAutograd,
                      K::CompositeExplicitAutogradNonFunctional,
                      K::CompositeImplicitAutogradNestedTensor};
  const K carried[] = {
      K::CPU,         K::CUDA,         K::Meta,          K::SparseCPU, K::QuantizedCPU,
      K::AutogradCPU, K::AutogradCUDA, K::AutogradOther, K::Batched,   K::ADInplaceOrView,
      K::Python};
  const K local[] = {K::Tracer,      K::OnTop1,          K::BackendSelect,
                     K::AutogradCPU, K::ADInplaceOrView, K::Batched};
  const auto any_set = [&](std::span<const K> keys, unsigned count) {
    DispatchKeySet set;
    while (count-- > 0) set = set | DispatchKeySet(keys[random() % keys.size()]);
    return set;
  };
  std::map<std::string, int> outcomes;
  // What is built in there asks handlers, and there are none.
  const Registration no_handlers =
      registry().implement_fallback(K::Python, Kernel::fallthrough(), "no handlers");
  for (int round = 0; round < 3000; ++round) {
    const Registration op = define("t::fuzz(Tensor x, Tensor[] more) -> Tensor[]");
    std::vector<Registration> standing;
    for (unsigned count = random() % 7; count > 0; --count) {
      const K key = places[random() % std::size(places)];
      Kernel kernel = chance(4) ? Kernel::fallthrough() : noting();
      standing.push_back(registry().implement(
          {"t::fuzz", ""}, key, std::move(kernel),
          "round " + std::to_string(round) + " " + std::to_string(count) + " " + to_string(key),
          nullptr, true));
    }
    if (chance(3)) {
      const K key = local[random() % std::size(local)];
      standing.push_back(registry().implement_fallback(
          key, chance(2) ? Kernel::fallthrough() : noting(), "fallback " + to_string(key)));
    }
    const IncludeDispatchKeyGuard include(any_set(local, random() % 3));
    const ExcludeDispatchKeyGuard exclude(any_set(local, random() % 3));
    const Tensor x = tensor_with(any_set(carried, random() % 3));
    const Tensor y = tensor_with(any_set(carried, random() % 3));
    const Explanation found = explain_call("t::fuzz", {Value(x), Value::list({Value(y)})});
    std::vector<std::string> foretold;
    if (found.has_kernel) foretold.push_back(found.kernel);
    for (const ConsideredKey& at : found.chain) {
      if (at.taken && !at.provenance.empty()) foretold.push_back(at.provenance);  // else no kernel
    }
    ran.clear();
    bool missing = false;
    InlineStack<4> stack;
    stack.push(Value(x));
    stack.push(Value::list({Value(y)}));
    try {
      registry().require("t::fuzz").call_boxed(stack);
    } catch (const Error& error) {
      missing = error.kind() == ErrorKind::NoKernel;
      // What noting() leaves on the stack are the arguments, which are no results.
      ASSERT_TRUE(missing || error.kind() == ErrorKind::BadReturn) << error.what();
    }
    ASSERT_EQ(ran, foretold) << to_string(found);
    ASSERT_TRUE(found.has_kernel || missing) << to_string(found);
    ++outcomes[ran.empty() ? "none" : ran.size() == 1 ? "one" : "a chain"];
  }
  EXPECT_GT(outcomes["none"], 300);
  EXPECT_GT(outcomes["one"], 300);
  EXPECT_GT(outcomes["a chain"], 300);
}

TEST(Explain, ShowsWhatLiesBelowTheKernel) {
  const Registration op = define("t::chain(Tensor x) -> Tensor");
  const Registration cpu = implement("t::chain", K::CPU, boxed_echo(""), "registered at c.cpp:1");
  const Registration grad =
      implement("t::chain", K::AutogradCPU, boxed_echo(""), "registered at g.cpp:2");
  const ExcludeDispatchKeyGuard exclude(K::BackendSelect);
  const Explanation found =
      explain_call("t::chain", {Value(tensor_with({K::CPU, K::AutogradCPU}))});
  EXPECT_EQ(found.key, K::AutogradCPU);
  ASSERT_EQ(found.chain.size(), 2u);
  EXPECT_EQ(found.chain[1].key, K::CPU);
  const std::string text = to_string(found);
  EXPECT_EQ(text.substr(text.find("  ->")),
            "  -> AutogradCPU            kernel, registered at g.cpp:2\n"
            "  runs at AutogradCPU: registered at g.cpp:2\n"
            "  below it, should that kernel redispatch:\n"
            "     ADInplaceOrView        falls through, built in\n"
            "  -> CPU                    kernel, registered at c.cpp:1\n");
  EXPECT_TRUE(explain_call("t::chain", {Value(tensor_with({K::CPU}))}).chain.empty());
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
  EXPECT_EQ(found.kernel, "definition unregistered");
}

TEST(Explain, AKernelWithoutAProvenanceIsAKernel) {
  const Registration op = define("t::quiet(Tensor x) -> Tensor");
  const Registration kernel = implement("t::quiet", K::CPU, echo(""), "");
  EXPECT_TRUE(explain_call("t::quiet", {Value(tensor_with({K::CPU}))}).has_kernel);
}

TEST(Explain, AKernelThatReleasesTheGilIsMarked) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration cpu =
      implement("t::f", K::CPU, releases_gil([](const Tensor& x) { return x; }), "at a.cpp:1");
  const Value x = tensor_with({K::CPU});
  EXPECT_EQ(explain_call("t::f", {x}).kernel, "at a.cpp:1, releases the GIL");
  const Registration other = implement("t::f", K::CPU, echo(""), "at b.cpp:1");
  EXPECT_EQ(explain_call("t::f", {x}).kernel, "at b.cpp:1");
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
      "Kernels are registered at: CPU, AutogradCUDA.";
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
}  // namespace opyard::test_explain
