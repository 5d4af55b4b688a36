// test_call_keys.cpp: protects the key set of a call, through real calls (A28, A29).
#include <gtest/gtest.h>

#include "registering.h"

namespace opyard {
namespace {

using K = DispatchKey;

// A kernel that notes the set it was called with, and leaves its results to `boxed_echo`.
DispatchKeySet received;
Kernel noting() {
  return Kernel::boxed([](const Operator&, DispatchKeySet keys, Stack&) { received = keys; });
}

// Every key reaches a kernel, so that nothing is masked.
class CallKeys : public testing::Test {
 protected:
  static DispatchKeySet received_by(std::string_view name, std::vector<Value> arguments) {
    Stack stack;
    for (Value& value : arguments) stack.push(std::move(value));
    registry().require(name).call_boxed(stack);
    return received;
  }
  static Value tensor(DispatchKeySet keys) { return Value(tensor_with(keys)); }
};

TEST_F(CallKeys, A28_ArgumentsPlusIncludeMinusExcludeUnderTheMask) {
  const Registration op = define("t::sets(Tensor x, Tensor y) -> (Tensor, Tensor)");
  const Registration cpu = implement("t::sets", K::CUDA, noting());
  const Registration autograd = implement("t::sets", K::AutogradCUDA, noting());
  const Registration tracer = implement("t::sets", K::Tracer, noting());
  const auto call = [&] {
    return received_by("t::sets", {tensor({K::CPU, K::AutogradCPU}), tensor({K::CUDA})});
  };
  const DispatchKeySet backends({Backend::CPU, Backend::CUDA});
  const DispatchKeySet both = backends | DispatchKeySet{K::Dense, K::AutogradFunctionality};
  EXPECT_EQ(call(), both) << "the defaults of the thread fall through and are masked";
  {
    const IncludeDispatchKeyGuard include(K::Tracer);
    EXPECT_EQ(call(), both | DispatchKeySet(K::Tracer));
    const ExcludeDispatchKeyGuard exclude(DispatchKeySet{K::Tracer, K::AutogradFunctionality});
    EXPECT_EQ(call(), backends | DispatchKeySet(K::Dense)) << "exclude wins, and takes no backend";
  }
  {
    const ForceDispatchKeyGuard force({}, {});
    EXPECT_EQ(call(), both);
  }
  const Registration everywhere = registry().implement_fallback(K::ADInplaceOrView, noting(), "");
  EXPECT_EQ(call(), both | DispatchKeySet(K::ADInplaceOrView)) << "it no longer falls through";
}

TEST_F(CallKeys, A29_WhichArgumentsContribute) {
  std::vector<Registration> kernels;
  const auto keys_of = [&](const char* type, Value value) {
    const Registration op =
        define(std::string("t::kind(") + type + " a, Tensor b) -> (Any, Tensor)");
    const Registration cpu = implement("t::kind", K::CPU, noting());
    const Registration meta = implement("t::kind", K::Meta, noting());
    return received_by("t::kind", {std::move(value), tensor({K::CPU})});
  };
  const DispatchKeySet cpu(K::CPU);
  const DispatchKeySet both{K::CPU, K::Meta};
  EXPECT_EQ(keys_of("Tensor", tensor({K::Meta})), both);
  EXPECT_EQ(keys_of("Tensor", Value()), cpu) << "an undefined tensor has no keys";
  EXPECT_EQ(keys_of("Tensor", Value(Tensor())), cpu);
  EXPECT_EQ(keys_of("Tensor?", tensor({K::Meta})), both);
  EXPECT_EQ(keys_of("Tensor?", Value()), cpu);
  EXPECT_EQ(keys_of("Tensor[]", Value::list({tensor({K::CPU}), tensor({K::Meta})})), both);
  EXPECT_EQ(keys_of("Tensor[]", Value::list({})), cpu);
  EXPECT_EQ(keys_of("Tensor[]?", Value::list({tensor({K::Meta})})), both);
  EXPECT_EQ(keys_of("Tensor?[]", Value::list({Value(), tensor({K::Meta})})), both);
  EXPECT_EQ(keys_of("Any", tensor({K::Meta})), cpu) << "not declared as a tensor";
  EXPECT_EQ(keys_of("Tensor[][]", Value::list({Value::list({tensor({K::Meta})})})), cpu)
      << "nested lists do not contribute";
  EXPECT_EQ(keys_of("int", Value(1)), cpu);
}

TEST_F(CallKeys, A29_TypedCallsSeeTheSameKeys) {
  const Registration op =
      define("t::typed(Tensor a, Tensor? b, Tensor[] c, Tensor?[] d, int e) -> Tensor");
  const Registration kernel =
      implement("t::typed", K::PrivateUse3,
                Kernel::from([](DispatchKeySet keys, const Tensor& a, const std::optional<Tensor>&,
                                const std::vector<Tensor>&,
                                const std::vector<std::optional<Tensor>>&, std::int64_t) -> Tensor {
                  received = keys;
                  return a;
                }));
  using Signature = Tensor(const Tensor&, const std::optional<Tensor>&, const std::vector<Tensor>&,
                           const std::vector<std::optional<Tensor>>&, std::int64_t);
  const auto handle = registry().require("t::typed").typed<Signature>();
  const Tensor a = tensor_with({K::CPU});
  const Tensor b = tensor_with({K::Meta});
  const Tensor c = tensor_with({K::PrivateUse2});
  const Tensor d = tensor_with({K::PrivateUse3});
  handle.call(a, b, {c}, {std::nullopt, d}, 1);
  const DispatchKeySet typed = received;
  EXPECT_EQ(typed, (DispatchKeySet{K::CPU, K::Meta, K::PrivateUse2, K::PrivateUse3}));
  received_by("t::typed", {Value(a), Value(b), Value::list({Value(c)}),
                           Value::list({Value(), Value(d)}), Value(1)});
  EXPECT_EQ(received, typed);
  handle.call(Tensor(), std::nullopt, {}, {d}, 1);
  EXPECT_EQ(received, DispatchKeySet(K::PrivateUse3));
}

}  // namespace
}  // namespace opyard
