// test_resolution.cpp: protects the order in which a slot finds its kernel (B26).
// Suspect dispatcher/src/registry/operator_entry.cpp.
//
// Each test registers kernels and reads the computed table, whose rules are in brackets; what
// a call then does is checked for the same keys.
#include <gtest/gtest.h>

#include <sstream>

#include "../registering.h"
#include "../thrown_by.h"

namespace opyard::test_resolution {
namespace {

using K = DispatchKey;

// An operator and the kernels that a test gives it, all gone at its end.
class Resolution : public testing::Test {
 protected:
  void add(K key) {
    registrations_.push_back(implement("t::f", key, echo(to_string(key)), to_string(key)));
  }
  void add_fallthrough(K key) {
    registrations_.push_back(implement("t::f", key, Kernel::fallthrough(), "fallthrough"));
  }
  void add_fallback(K key) {
    registrations_.push_back(
        registry().implement_fallback(key, boxed_echo("fallback"), "fallback"));
  }
  // The table's line for a key, without the key: "CPU [kernel]". Empty where it has none.
  static std::string line(K key) {
    inspect::check_invariants();
    std::istringstream table(dump_table("t::f"));
    const std::string start = to_string(key) + ": ";
    for (std::string text; std::getline(table, text);) {
      if (text.rfind(start, 0) == 0) return text.substr(start.size());
    }
    return "";
  }
  static std::string ran(DispatchKeySet keys) { return who_ran("t::f", keys); }
  // The text of the error of a call with one tensor of these keys.
  static std::string refusal(DispatchKeySet keys) {
    const Thrown thrown = thrown_by([&] {
      InlineStack<1> stack;
      stack.push(Value(tensor_with(keys)));
      registry().require("t::f").call_boxed(stack);
    });
    EXPECT_EQ(thrown.kind, ErrorKind::NoKernel);
    return thrown.text;
  }

  const Registration op_ = define("t::f(Tensor x) -> Tensor");
  std::vector<Registration> registrations_;
};

TEST_F(Resolution, B26_1_AKernelAtExactlyTheKeyComesFirst) {
  for (const K key : {K::CompositeExplicitAutogradNonFunctional, K::CompositeExplicitAutograd,
                      K::CompositeImplicitAutograd, K::Autograd, K::CPU, K::AutogradCPU}) {
    add(key);
  }
  add_fallback(K::CPU);
  EXPECT_EQ(line(K::CPU), "CPU [kernel]");
  EXPECT_EQ(line(K::AutogradCPU), "AutogradCPU [kernel]");
  EXPECT_EQ(ran({K::CPU, K::AutogradCPU}), "AutogradCPU");
  EXPECT_EQ(ran({K::CPU}), "CPU");
}

TEST_F(Resolution, B26_21_ThenTheNonFunctionalCompositeWhereItsSetHasTheKey) {
  add(K::CompositeExplicitAutogradNonFunctional);
  add(K::CompositeExplicitAutograd);
  const std::string non_functional =
      "CompositeExplicitAutogradNonFunctional [default backend kernel]";
  const std::string any = "CompositeExplicitAutograd [default backend kernel]";
  EXPECT_EQ(line(K::Undefined), non_functional);
  EXPECT_EQ(line(K::CPU), non_functional);
  EXPECT_EQ(line(K::QuantizedMeta), non_functional);
  EXPECT_EQ(line(K::XLA), any);
  EXPECT_EQ(line(K::QuantizedLazy), any);
  EXPECT_EQ(line(K::SparseCPU), any);
  EXPECT_EQ(line(K::NestedTensorCPU), "");
  EXPECT_EQ(ran({K::CPU}), "CompositeExplicitAutogradNonFunctional");
  EXPECT_EQ(ran({K::XLA}), "CompositeExplicitAutograd");
}

TEST_F(Resolution, B26_22_ThenTheExplicitComposite) {
  add(K::CompositeExplicitAutograd);
  add(K::CompositeImplicitAutograd);
  const std::string rule = "CompositeExplicitAutograd [default backend kernel]";
  EXPECT_EQ(line(K::Undefined), rule);
  EXPECT_EQ(line(K::SparseCUDA), rule);
  EXPECT_EQ(line(K::AutogradCPU), "fallthrough built in [backend fallback]");
  EXPECT_EQ(line(K::AutogradOther), "fallthrough built in [backend fallback]");
  EXPECT_EQ(line(K::Tracer), "fallthrough built in [backend fallback]");
}

TEST_F(Resolution, B26_23a_ThenTheNestedCompositeForNestedKeys) {
  add(K::CompositeImplicitAutogradNestedTensor);
  add(K::CompositeImplicitAutograd);
  EXPECT_EQ(line(K::NestedTensorCPU), "CompositeImplicitAutogradNestedTensor [nested kernel]");
  EXPECT_EQ(line(K::AutogradNestedTensor), "CompositeImplicitAutogradNestedTensor [nested kernel]");
  EXPECT_EQ(line(K::CPU), "CompositeImplicitAutograd [math kernel]");
  EXPECT_EQ(line(K::Undefined), "CompositeImplicitAutograd [math kernel]");
  add(K::CompositeExplicitAutograd);
  EXPECT_EQ(line(K::NestedTensorCPU), "CompositeImplicitAutogradNestedTensor [nested kernel]")
      << "the explicit composite does not serve nested tensors";
  EXPECT_EQ(ran({K::NestedTensorCPU}), "CompositeImplicitAutogradNestedTensor");
  add(K::NestedTensorCPU);
  EXPECT_EQ(line(K::AutogradNestedTensor), "fallthrough built in [backend fallback]")
      << "a backend kernel below must be reached";
}

TEST_F(Resolution, B26_23b_ThenTheImplicitComposite) {
  add(K::CompositeImplicitAutograd);
  for (const K key : {K::Undefined, K::CPU, K::QuantizedCUDA, K::SparseXLA, K::AutogradCPU,
                      K::AutogradOther, K::AutogradNestedTensor}) {
    EXPECT_EQ(line(key), "CompositeImplicitAutograd [math kernel]") << to_string(key);
  }
  EXPECT_EQ(line(K::NestedTensorCPU), "");
  EXPECT_EQ(line(K::Batched), "");
}

TEST_F(Resolution, B26_23b_ButNotAboveAKernelOfTheBackend) {
  add(K::CompositeImplicitAutograd);
  add(K::CPU);
  EXPECT_EQ(line(K::AutogradCPU), "fallthrough built in [backend fallback]");
  EXPECT_EQ(line(K::AutogradCUDA), "CompositeImplicitAutograd [math kernel]");
  EXPECT_EQ(line(K::CUDA), "CompositeImplicitAutograd [math kernel]");
  EXPECT_EQ(ran({K::CPU, K::AutogradCPU}), "CPU");
  EXPECT_EQ(ran({K::CUDA, K::AutogradCUDA}), "CompositeImplicitAutograd");
  add(K::Autograd);
  EXPECT_EQ(line(K::AutogradCPU), "Autograd [autograd kernel]");
  EXPECT_EQ(line(K::AutogradCUDA), "CompositeImplicitAutograd [math kernel]");
}

TEST_F(Resolution, B26_23b_AndAutogradOtherWithBothIsAmbiguous) {
  add(K::CompositeImplicitAutograd);
  add(K::SparseCPU);
  EXPECT_EQ(line(K::AutogradOther), "ambiguous_autogradother [ambiguous autogradother]");
  EXPECT_EQ(line(K::AutogradCPU), "CompositeImplicitAutograd [math kernel]");
  EXPECT_EQ(ran({K::SparseCPU, K::AutogradOther}), "no kernel");
  EXPECT_EQ(ran({K::SparseCPU}), "SparseCPU");
  add(K::CompositeExplicitAutograd);
  EXPECT_EQ(line(K::AutogradOther), "ambiguous_autogradother [ambiguous autogradother]");
  add(K::AutogradOther);
  EXPECT_EQ(line(K::AutogradOther), "AutogradOther [kernel]");
}

TEST_F(Resolution, B26_24_ThenTheAutogradAlias) {
  add(K::Autograd);
  for (const K key :
       {K::AutogradOther, K::AutogradCPU, K::AutogradUserBackend8, K::AutogradNestedTensor}) {
    EXPECT_EQ(line(key), "Autograd [autograd kernel]") << to_string(key);
  }
  EXPECT_EQ(line(K::Undefined), "");
  EXPECT_EQ(line(K::CPU), "");
}

TEST_F(Resolution, B26_25_ThenTheBatchedDecomposition) {
  add(K::BatchedDecomposition);
  add_fallback(K::Batched);
  EXPECT_EQ(line(K::Batched), "BatchedDecomposition [batched kernel]");
  EXPECT_EQ(line(K::CPU), "");
}

TEST_F(Resolution, B26_3_ThenTheFallbackOfTheKey) {
  add_fallback(K::CPU);
  add_fallback(K::AutogradCPU);
  EXPECT_EQ(line(K::CPU), "fallback [backend fallback]");
  EXPECT_EQ(line(K::AutogradCPU), "fallback [backend fallback]") << "in place of the built-in one";
  EXPECT_EQ(line(K::AutogradCUDA), "fallthrough built in [backend fallback]");
  EXPECT_EQ(ran({K::CPU}), "fallback");
}

TEST_F(Resolution, B26_4_ElseTheKernelIsMissing) {
  EXPECT_EQ(line(K::CPU), "");
  EXPECT_STREQ(inspect::resolve(registry().require("t::f"), K::CPU).rule, "missing");
  EXPECT_EQ(ran({K::CPU}), "no kernel");
  EXPECT_EQ(ran({}), "no kernel");
}

TEST_F(Resolution, B31_BothCompositesMayStandSideBySide) {
  add(K::CompositeImplicitAutograd);
  add(K::CompositeExplicitAutograd);
  add(K::Autograd);
  EXPECT_EQ(line(K::CPU), "CompositeExplicitAutograd [default backend kernel]");
  EXPECT_EQ(line(K::AutogradCPU), "Autograd [autograd kernel]");
  EXPECT_EQ(ran({K::CPU, K::AutogradCPU}), "Autograd");
  EXPECT_EQ(ran({K::CPU}), "CompositeExplicitAutograd");
}

TEST_F(Resolution, B28_AFallthroughOnEveryBackendLeavesTheMask) {
  add(K::CPU);
  const Operator& op = registry().require("t::f");
  EXPECT_FALSE(op.mask().has(K::Tracer)) << "falls through built in";
  EXPECT_FALSE(op.mask().has(K::AutogradFunctionality));
  EXPECT_TRUE(op.mask().has(K::Dense));
  add(K::Tracer);
  EXPECT_TRUE(op.mask().has(K::Tracer));
  EXPECT_EQ(ran({K::CPU, K::Tracer}), "Tracer");
  add_fallthrough(K::OnTop1);
  EXPECT_FALSE(op.mask().has(K::OnTop1));
  EXPECT_EQ(ran({K::CPU, K::OnTop1}), "CPU");
}

TEST_F(Resolution, B28_AFallthroughOnOneBackendIsPassedThereOnly) {
  add(K::AutogradCUDA);
  add(K::CPU);
  const Operator& op = registry().require("t::f");
  EXPECT_TRUE(op.mask().has(K::AutogradFunctionality)) << "it stays for CUDA";
  EXPECT_EQ(ran({K::CPU, K::AutogradCPU}), "CPU");
  EXPECT_EQ(ran({K::CUDA, K::AutogradCUDA}), "AutogradCUDA");
  add_fallthrough(K::XLA);
  add(K::CompositeExplicitAutograd);
  EXPECT_EQ(line(K::XLA), "fallthrough fallthrough [kernel]");
  EXPECT_EQ(ran({K::XLA}), "CompositeExplicitAutograd") << "on to the slot of no key at all";
}

TEST_F(Resolution, B28_AFallthroughFallbackIsPassedByEveryOperator) {
  add(K::CPU);
  registrations_.push_back(
      registry().implement_fallback(K::Python, Kernel::fallthrough(), "fallthrough"));
  EXPECT_EQ(ran({K::CPU, K::Python}), "CPU");
  EXPECT_FALSE(registry().require("t::f").mask().has(K::Python));
}

TEST_F(Resolution, B28_WhereEveryKeyFallsThroughTheErrorSaysSo) {
  add_fallthrough(K::CPU);
  add(K::CUDA);
  EXPECT_EQ(refusal({K::CPU, K::AutogradCPU}),
            "t::f has no key left for this call: each one falls through or is excluded on this "
            "thread, and there is no kernel for calls without a key.\n"
            "     AutogradCPU            falls through, built in\n"
            "     ADInplaceOrView        falls through, built in\n"
            "     BackendSelect          falls through, built in\n"
            "     CPU                    falls through, fallthrough\n"
            "  -> Undefined              no kernel\n"
            "Kernels are registered at: CPU, CUDA.");
}

TEST_F(Resolution, B29_ACompositeThatFallsThroughEndsInAnErrorAndNotInALoop) {
  add_fallthrough(K::CompositeExplicitAutograd);
  EXPECT_EQ(line(K::CPU), "fallthrough fallthrough [default backend kernel]");
  EXPECT_EQ(line(K::Undefined), "") << "there is nothing below no key at all";
  EXPECT_EQ(ran({}), "no kernel");
  EXPECT_EQ(ran({K::CPU}), "no kernel");
}

TEST_F(Resolution, B29_TheAmbiguousStubExplainsItself) {
  add(K::CompositeImplicitAutograd);
  add(K::QuantizedCPU);
  EXPECT_EQ(refusal({K::QuantizedCPU, K::AutogradOther}),
            "t::f has a kernel at CompositeImplicitAutograd and one for a backend that shares "
            "AutogradOther, so AutogradOther cannot tell which to differentiate. Register the "
            "composite kernel at CompositeExplicitAutograd, or a kernel at AutogradOther.\n"
            "  -> AutogradOther          ambiguous autogradother\n"
            "Kernels are registered at: QuantizedCPU, CompositeImplicitAutograd.");
}

}  // namespace
}  // namespace opyard::test_resolution
