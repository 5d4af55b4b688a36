// test_call_keys.cpp: protects the key set of a call, through real calls (A28, A29).
// Suspect opyard/registry/operator.h.
#include <gtest/gtest.h>

#include "../one_of_each.h"
#include "../registering.h"
#include "opyard/value/list.h"

namespace opyard::test_call_keys {
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
  const Value generator(make_counted<CountingGenerator>(Device{Backend::Meta, 0}));
  EXPECT_EQ(keys_of("Generator", generator), both);
  EXPECT_EQ(keys_of("Generator?", generator), both);
  EXPECT_EQ(keys_of("Generator?", Value()), cpu);
  EXPECT_EQ(keys_of("Any", generator), cpu);
  EXPECT_EQ(keys_of("Dict(str, Tensor)", Value::dict({{"a", tensor({K::Meta})}})), cpu);
}

TEST_F(CallKeys, A29_AGeneratorAloneFindsItsBackend) {
  const Registration op = define("t::draw(int n, Generator? generator) -> int");
  const Registration cpu = implement(
      "t::draw", K::CPU,
      Kernel::from([](std::int64_t n, const std::optional<CountedPtr<Generator>>&) { return n; }));
  const Registration meta =
      implement("t::draw", K::Meta,
                Kernel::from([](std::int64_t n, const std::optional<CountedPtr<Generator>>&) {
                  return n + 1;
                }));
  const CountedPtr<Generator> generator = make_counted<CountingGenerator>(Device{Backend::Meta, 0});
  const Operator& draw = registry().require("t::draw");
  const auto handle =
      draw.typed<std::int64_t(std::int64_t, const std::optional<CountedPtr<Generator>>&)>();
  EXPECT_EQ(handle(1, generator), 2);
  Stack stack;
  stack.push(1);
  stack.push(Value(generator));
  draw.call_boxed(stack);
  EXPECT_EQ(stack.pop().to_int(), 2);
  EXPECT_THROW(handle(1, std::nullopt), Error) << "nothing says which backend";
}

TEST_F(CallKeys, A29_ContainersOfCppContributeAsTheirSchemaDoes) {
  const Registration op =
      define("t::lists(Tensor[] a, Tensor[] b, Tensor[][] c, Tensor[1] d) -> int");
  using Nested = std::vector<std::vector<Tensor>>;
  const Registration kernel =
      implement("t::lists", K::PrivateUse3,
                Kernel::from([](DispatchKeySet keys, const List<Tensor>&, std::span<const Tensor>,
                                const Nested&, const std::array<Tensor, 1>&) -> std::int64_t {
                  received = keys;
                  return 0;
                }));
  const Operator& lists = registry().require("t::lists");
  const auto handle = lists.typed<std::int64_t(const List<Tensor>&, std::span<const Tensor>,
                                               const Nested&, const std::array<Tensor, 1>&)>();
  const List<Tensor> a{tensor_with({K::CPU})};
  const Tensor b[] = {tensor_with({K::PrivateUse2})};
  const Nested c{{tensor_with({K::CUDA})}};
  const std::array<Tensor, 1> d{tensor_with({K::PrivateUse3})};
  handle(a, b, c, d);
  EXPECT_EQ(received, (DispatchKeySet{K::CPU, K::PrivateUse2, K::PrivateUse3}));
  Stack stack;
  stack.push(a.value());
  stack.push(Value::list({Value(b[0])}));
  stack.push(Value::list({Value::list({Value(c[0][0])})}));
  stack.push(Value::list({Value(d[0])}));
  const DispatchKeySet typed = received;
  lists.call_boxed(stack);
  EXPECT_EQ(received, typed);
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
}  // namespace opyard::test_call_keys
