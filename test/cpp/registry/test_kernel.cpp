// test_kernel.cpp: protects the ways to make a kernel, and the arguments that each gets (D7, D8).
// Suspect dispatcher/src/registry/kernel.cpp and call_kernel.cpp.
#include "opyard/registry/call_kernel.h"
#include "opyard/registry/kernel.h"

#include <gtest/gtest.h>

#include <array>

#include "../registering.h"
#include "../symbolic.h"
#include "../thrown_by.h"

namespace opyard::test_kernel {
namespace {

using K = DispatchKey;

int called = 0;
DispatchKeySet received;

Tensor plain(const Tensor& x) {
  ++called;
  return x;
}
Tensor plain_noexcept(const Tensor& x) noexcept { return plain(x); }
Tensor with_keys(DispatchKeySet keys, const Tensor& x) {
  received = keys;
  return plain(x);
}
Tensor with_keys_noexcept(DispatchKeySet keys, const Tensor& x) noexcept {
  return with_keys(keys, x);
}
void boxed_nothing(const Operator&, Stack&) {}
struct Functor {
  std::string name;
  Tensor operator()(const Tensor& x) { return plain(x); }
};
struct NoexceptFunctor {
  Tensor operator()(const Tensor& x) noexcept { return plain(x); }
};

// Registers the kernel and calls it typed and boxed; gives its line of the dump.
std::string try_out(Kernel kernel) {
  const Registration op = define("t::k(Tensor x) -> Tensor");
  const Registration registration = implement("t::k", K::CPU, std::move(kernel), "here");
  const Tensor x = tensor_with({K::CPU});
  called = 0;
  EXPECT_TRUE(registry().require("t::k").typed<Tensor(const Tensor&)>().call(x).same(x));
  EXPECT_EQ(called, 1);
  InlineStack<1> stack;
  stack.push(Value(x));
  registry().require("t::k").call_boxed(stack);
  EXPECT_TRUE(stack[0].to_tensor().same(x));
  EXPECT_EQ(called, 2);
  const std::string text = dump("t::k");
  return text.substr(text.find("CPU: ") + 5);
}

constexpr const char* kUnboxed = "here :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]\n";

TEST(Kernel, D7_FromFunctionsAndFunctionObjects) {
  EXPECT_EQ(try_out(Kernel::from(&plain)), kUnboxed);
  EXPECT_EQ(try_out(Kernel::from(plain_noexcept)), kUnboxed);
  EXPECT_EQ(try_out(Kernel::from<&plain>()), kUnboxed);
  EXPECT_EQ(try_out(Kernel::from<&plain_noexcept>()), kUnboxed);
  EXPECT_EQ(try_out(Kernel::from([](const Tensor& x) { return plain(x); })), kUnboxed);
  EXPECT_EQ(try_out(Kernel::from([](const Tensor& x) noexcept { return plain(x); })), kUnboxed);
  EXPECT_EQ(try_out(Kernel::from(Functor{"a name that is longer than a small string"})), kUnboxed);
  EXPECT_EQ(try_out(Kernel::from(NoexceptFunctor{})), kUnboxed);
  const Functor constant{"copied"};
  EXPECT_EQ(try_out(Kernel::from(constant)), kUnboxed);
  int captured = 0;
  EXPECT_EQ(try_out(Kernel::from([&captured](const Tensor& x) {
              ++captured;
              return plain(x);
            })),
            kUnboxed);
  EXPECT_EQ(captured, 2);
  EXPECT_EQ(try_out(Kernel::from([count = 0](const Tensor& x) mutable {
              ++count;
              return plain(x);
            })),
            kUnboxed);
}

TEST(Kernel, D7_Boxed) {
  EXPECT_EQ(try_out(Kernel::boxed([](const Operator&, DispatchKeySet, Stack&) { ++called; })),
            "here :: (none) [ boxed ]\n");
  static int destroyed;
  destroyed = 0;
  EXPECT_EQ(
      try_out(Kernel::with_context([](const Record& record, const Operator&, DispatchKeySet,
                                      Stack&) { called += *static_cast<int*>(record.context); },
                                   new int(1),
                                   [](void* context) {
                                     ++destroyed;
                                     delete static_cast<int*>(context);
                                   })),
      "here :: (none) [ boxed ]\n");
  EXPECT_EQ(destroyed, 1);
}

TEST(Kernel, D7_AStubPassesTheCallOn) {
  const Registration op = define("t::stub(Tensor x) -> Tensor");
  const Registration stub = implement("t::stub", K::AutogradCPU, Kernel::fallthrough(), "here");
  const Registration cpu = implement("t::stub", K::CPU, echo("cpu"), "there");
  EXPECT_EQ(dump("t::stub").substr(dump("t::stub").find("AutogradCPU")),
            "AutogradCPU: here :: (none) [ fallthrough boxed ]\n");
  EXPECT_EQ(who_ran("t::stub", {K::CPU, K::AutogradCPU}), "cpu");
}

TEST(Kernel, D7_AnUnregisteredKernelDestroysItsContext) {
  const auto shared = std::make_shared<int>(0);
  {
    Kernel kernel = Kernel::from([shared](const Tensor& x) { return plain(x); });
    EXPECT_EQ(shared.use_count(), 2);
    const Kernel moved = std::move(kernel);
    EXPECT_EQ(shared.use_count(), 2);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

TEST(Kernel, D8_TheKeySetIsTheOneOfTheCallAndNoPartOfTheSignature) {
  const DispatchKeySet expected{K::CPU};
  EXPECT_EQ(try_out(Kernel::from(&with_keys)), kUnboxed);
  EXPECT_EQ(received, expected);
  received = {};
  EXPECT_EQ(try_out(Kernel::from<&with_keys_noexcept>()), kUnboxed);
  EXPECT_EQ(received, expected);
  received = {};
  EXPECT_EQ(try_out(Kernel::from(
                [](DispatchKeySet keys, const Tensor& x) { return with_keys(keys, x); })),
            kUnboxed);
  EXPECT_EQ(received, expected);
}

TEST(Kernel, D8_ABoxedKernelGetsOperatorAndKeySet) {
  static std::string seen;
  EXPECT_EQ(try_out(Kernel::boxed([](const Operator& op, DispatchKeySet keys, Stack& stack) {
              ++called;
              seen = op.declaration() + " " + to_string(keys) + " " + std::to_string(stack.size());
            })),
            "here :: (none) [ boxed ]\n");
  EXPECT_EQ(seen, "t::k(Tensor x) -> Tensor DispatchKeySet(CPU) 1");
}

std::int64_t first_of(const Tensor&, IntSpan sizes) { return sizes[0]; }
void symbolic_first(const Operator&, DispatchKeySet, Stack& stack) {
  const std::string text = to_string(stack.top(1)[0].items_unchecked()[0].to_sym_int());
  stack.drop(2);
  stack.push(Value(std::int64_t(-1)));
  EXPECT_EQ(text, "n");
}

TEST(Kernel, E34_OneForPlainIntsAndAnotherForSymbolicOnes) {
  const Registration op = define("t::k(Tensor x, SymInt[] sizes) -> SymInt");
  const Registration registration =
      implement("t::k", K::CPU, Kernel::with_symbolic<&first_of, &symbolic_first>(), "here");
  const Operator& found = registry().require("t::k");
  const Tensor x = tensor_with({K::CPU});
  const std::array<std::int64_t, 1> plain = {7};
  using Typed = std::int64_t(const Tensor&, IntSpan);
  EXPECT_EQ(found.typed<Typed>().call(x, plain), 7);
  const auto boxed = [&](SymInt size) {
    Stack stack;
    stack.push(Value(x));
    stack.push(ValueCast<std::vector<SymInt>>::to({std::move(size)}));
    found.call_boxed(stack);
    return stack.pop().to_int();
  };
  EXPECT_EQ(boxed(SymInt(5)), 5);
  EXPECT_EQ(boxed(Reasoner::symbol("n", 5)), -1);
}

TEST(Kernel, D7_D8_ABoxedKernelNeedsNoKeySet) {
  static std::string seen;
  const auto function = [](const Operator& op, Stack& stack) {
    ++called;
    seen = op.declaration() + " " + std::to_string(stack.size());
  };
  for (const Gil gil : {Gil::Held, Gil::Released}) {
    seen.clear();
    EXPECT_EQ(try_out(Kernel::boxed(function, gil)), "here :: (none) [ boxed ]\n");
    EXPECT_EQ(seen, "t::k(Tensor x) -> Tensor 1");
  }
  EXPECT_EQ(try_out(releases_gil(function)), "here :: (none) [ boxed ]\n");
  EXPECT_TRUE(releases_gil(function).record().releases_gil);
}

TEST(Kernel, D7_AKernelSaysWhatItIs) {
  const auto says = [](const Kernel& kernel) {
    return std::array{kernel.is_valid(), kernel.is_valid_unboxed(), kernel.is_fallthrough()};
  };
  Kernel typed = Kernel::from(&plain);
  EXPECT_EQ(says(typed), (std::array{true, true, false}));
  EXPECT_EQ(says(Kernel::boxed(&boxed_nothing)), (std::array{true, false, false}));
  EXPECT_EQ(says(Kernel::fallthrough()), (std::array{true, false, true}));
  const Kernel taken = std::move(typed);
  EXPECT_EQ(says(typed), (std::array{false, false, false}));  // NOLINT: that is the question
  EXPECT_EQ(says(taken), (std::array{true, true, false}));
}

TEST(Kernel, D7_ANullFunctionIsRefused) {
  Tensor (*const none)(const Tensor&) = nullptr;
  const char* const expected = "the kernel is a null function pointer";
  EXPECT_THROWN(Kernel::from(none), BadRegistration, expected);
  EXPECT_THROWN(Kernel::boxed(nullptr), BadRegistration, expected);
  EXPECT_THROWN(Kernel::boxed(PlainBoxedKernel(nullptr)), BadRegistration, expected);
  EXPECT_THROWN(Kernel::with_context(nullptr, nullptr, nullptr), BadRegistration, expected);
}

// Called by themselves ---------------------------------------------------------------------

using Unary = Tensor(const Tensor&);

TEST(CallKernel, ATypedKernelRunsWithoutAnOperator) {
  const Tensor x = tensor_with({K::CPU});
  called = 0;
  EXPECT_TRUE(call_kernel<Unary>(Kernel::from(&plain), {K::CPU}, x).same(x));
  EXPECT_TRUE(call_kernel<Unary>(Kernel::from<&plain>(), {K::CPU}, x).same(x));
  EXPECT_TRUE(call_kernel<Unary>(releases_gil(&plain), {K::CPU}, x).same(x));
  EXPECT_TRUE(call_kernel<Unary>(Kernel::from(Functor{"f"}), {K::CPU}, x).same(x));
  EXPECT_EQ(called, 4);
  received = {};
  EXPECT_TRUE(call_kernel<Unary>(Kernel::from(&with_keys), {K::Meta, K::Tracer}, x).same(x));
  EXPECT_EQ(received, DispatchKeySet({K::Meta, K::Tracer}));
}

TEST(CallKernel, AnotherSignatureIsRefused) {
  const Tensor x = tensor_with({K::CPU});
  const auto refused = thrown_by(
      [&] { call_kernel<Tensor(const Tensor&, double)>(Kernel::from(&plain), {K::CPU}, x, 2.0); });
  EXPECT_EQ(refused.kind, ErrorKind::BadSignature);
  EXPECT_EQ(refused.text,
            "call_kernel(): the kernel's C++ signature is opyard::Tensor (opyard::Tensor const&), "
            "and it was called as opyard::Tensor (opyard::Tensor const&, double)");
  for (const bool falls_through : {false, true}) {
    const Kernel kernel = falls_through ? Kernel::fallthrough() : boxed_echo("b");
    EXPECT_EQ(thrown_by([&] { call_kernel<Unary>(kernel, {K::CPU}, x); }).text,
              "call_kernel(): the kernel has no C++ signature, since it takes its arguments on a "
              "stack, and was called as opyard::Tensor (opyard::Tensor const&); use "
              "call_kernel_boxed()");
  }
}

TEST(CallKernel, ABoxedOneIsHeldToTheSchemaOfItsOperator) {
  const Registration op = define("t::alone(Tensor x) -> Tensor");
  const Operator& alone = registry().require("t::alone");
  const Tensor x = tensor_with({K::CPU});
  const auto call = [&](const Kernel& kernel, Value argument) {
    InlineStack<2> stack;
    stack.push(Value(std::int64_t{7}));
    stack.push(std::move(argument));
    std::string refused;
    try {
      call_kernel_boxed(kernel, alone, {K::CPU}, stack);
    } catch (const Error& error) {
      refused = error.what();
    }
    EXPECT_EQ(stack[0].to_int(), 7) << "what is below is left alone";
    EXPECT_EQ(stack.size(), refused.empty() ? 2u : 1u);
    return refused;
  };
  EXPECT_EQ(call(boxed_echo("boxed"), Value(x)), "");
  EXPECT_EQ(last_ran, "boxed");
  EXPECT_EQ(call(Kernel::from(&plain), Value(x)), "");
  EXPECT_NE(call(boxed_echo("boxed"), Value(2.5)).find("argument 'x' at position 0"),
            std::string::npos);
  EXPECT_EQ(
      call(Kernel::fallthrough(), Value(x)),
      "call_kernel_boxed() of t::alone: the kernel falls through, so there is nothing to run");
  EXPECT_EQ(call(Kernel::from([](const Tensor& given, double) { return given; }), Value(x)),
            "call_kernel_boxed() of t::alone: the kernel is for another schema. "
            "The number of arguments is different. 1 vs 2.");
  EXPECT_EQ(
      call(Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) { stack.drop(1); }),
           Value(x))
          .find("t::alone"),
      0u);
}

}  // namespace
}  // namespace opyard::test_kernel
