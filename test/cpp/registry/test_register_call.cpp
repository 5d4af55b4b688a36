// test_register_call.cpp: protects calls from registers: whatever serves the operator, they give what
// a boxed call gives, raise what it raises, and count nothing that the kernel does not count.
// Suspect dispatcher/src/registry/register_call.cpp.
#include "opyard/detail/registry/register_call.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "../counting_new.h"
#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/observe/observer.h"
#include "opyard/registry/dispatch_log.h"

namespace opyard::test_register_call {
namespace {

using K = DispatchKey;
using counting::requests_of;

// What a call gave: its results, or the kind and text of its error.
struct Outcome {
  std::vector<Value> results;
  std::string error;

  friend std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
    for (const Value& result : outcome.results) out << to_string(result) << "; ";
    return out << outcome.error;
  }
  bool operator==(const Outcome& other) const {
    return error == other.error && results == other.results;
  }
};

Outcome outcome_of(const std::function<std::vector<Value>()>& call) {
  try {
    return {call(), ""};
  } catch (const Error& error) {
    return {{}, std::string(name_of(error.kind())) + ": " + error.what()};
  } catch (int number) {
    return {{}, "int " + std::to_string(number)};
  }
}

Outcome boxed(const Operator& op, const std::vector<Value>& arguments) {
  return outcome_of([&] {
    Stack stack;
    for (const Value& value : arguments) stack.push(value);
    op.call_boxed_unchecked(stack);
    std::vector<Value> results;
    for (std::size_t i = 0; i < stack.size(); ++i) results.push_back(stack[i]);
    return results;
  });
}

// Calls from registers of its own: arguments first, results behind them.
struct Registers {
  Registers(const Operator& op, std::vector<Value> arguments)
      : op_(op), values(std::move(arguments)), given_(values.size()) {
    values.resize(given_ + op.schema().results.size());
    for (std::size_t i = 0; i < given_; ++i) arguments_.push_back(&values[i]);
    for (std::size_t i = given_; i < values.size(); ++i) results_.push_back(&values[i]);
  }
  void call(std::uint64_t last_uses = 0) {
    op_.call_from_registers({arguments_.data(), results_.data(), last_uses});
  }
  std::vector<Value> results() const { return {values.begin() + long(given_), values.end()}; }

  const Operator& op_;
  std::vector<Value> values;
  std::size_t given_;
  std::vector<const Value*> arguments_;
  std::vector<Value*> results_;
};

Outcome from_registers(const Operator& op, const std::vector<Value>& arguments,
                       std::uint64_t last_uses = 0) {
  return outcome_of([&] {
    Registers registers(op, arguments);
    registers.call(last_uses);
    for (std::size_t i = 0; i < std::min<std::size_t>(arguments.size(), 64); ++i) {
      if ((last_uses >> i & 1) != 0) {
        EXPECT_TRUE(registers.values[i].is_none()) << "argument " << i << " is still there";
      } else {
        EXPECT_TRUE(registers.values[i].identical(arguments[i])) << "argument " << i;
      }
    }
    return registers.results();
  });
}

// Both ways, arguments kept and used a last time; and nothing of them is left anywhere.
Outcome both_ways(std::string_view name, const std::vector<Value>& arguments) {
  const Operator& op = registry().require(name);
  std::vector<std::pair<TensorImpl*, std::uint64_t>> owners;
  for (const Value& value : arguments) {
    if (value.is_tensor() && value.tensor_unchecked().defined()) {
      TensorImpl* const impl = value.tensor_unchecked().impl().get();
      owners.emplace_back(impl, impl->owner_count());
    }
  }
  Outcome wanted = boxed(op, arguments);
  EXPECT_EQ(from_registers(op, arguments), wanted) << name;
  EXPECT_EQ(from_registers(op, arguments, ~std::uint64_t{0} >> (64 - arguments.size())), wanted)
      << name << ", with arguments that are used a last time";
  wanted.results.clear();
  for (const auto& [impl, count] : owners) EXPECT_EQ(impl->owner_count(), count) << name;
  return boxed(op, arguments);
}

// An operator t::f with one kernel, for as long as the object lives.
struct Served {
  Served(const std::string& arguments_and_results, Kernel kernel, std::optional<K> key = K::CPU)
      : op(define("t::f" + arguments_and_results)),
        kernel(implement("t::f", key, std::move(kernel))) {}
  Registration op;
  Registration kernel;
};

Tensor pass(const Tensor& x) { return x; }
const Tensor& pass_reference(const Tensor& x) { return x; }
Tensor pass_with_keys(DispatchKeySet, const Tensor& x) { return x; }
Tensor by_value(Tensor x, Tensor) { return x; }
Tensor& in_place(Tensor& self, const Tensor&) { return self; }
void nothing(const Tensor&) {}
std::tuple<Tensor, std::int64_t, std::string> three(const Tensor& x, std::int64_t n) {
  return {x, n + 1, "text"};
}
std::tuple<Tensor&, Tensor&> two_references(const Tensor&, Tensor& a, Tensor& b) { return {b, a}; }
[[noreturn]] Tensor throws(const Tensor&) { throw 42; }
[[noreturn]] Tensor fails(const Tensor&) { fail(ErrorKind::BadShape, "no such shape"); }
Tensor changes_its_handle(Tensor& x) {
  x = Tensor();
  return x;
}

TEST(RegisterCall, EveryWayToRegisterAFunctionGivesWhatABoxedCallGives) {
  const Value x = tensor_with({K::CPU, K::AutogradCPU});
  const char* const unary = "(Tensor x) -> Tensor";
  const std::function<Kernel()> kernels[] = {
      [] { return Kernel::from(&pass); },
      [] { return Kernel::from<&pass>(); },
      [] { return Kernel::from(&pass_reference); },
      [] { return Kernel::from(&pass_with_keys); },
      [] { return Kernel::from<&pass_with_keys>(); },
      [] { return Kernel::from([kept = 1](const Tensor& y) { return kept == 1 ? y : Tensor(); }); },
      [] { return Kernel::boxed([](const Operator&, DispatchKeySet, Stack&) {}); },
      [] { return boxed_echo("boxed"); },
  };
  for (const auto& kernel : kernels) {
    for (const std::optional<K> key :
         {std::optional<K>(K::CPU), std::optional<K>(K::AutogradCPU), std::optional<K>()}) {
      const Served served(unary, kernel(), key);
      const Outcome outcome = both_ways("t::f", {x});
      ASSERT_EQ(outcome.results.size(), 1u) << outcome;
      EXPECT_TRUE(outcome.results[0].identical(x));
    }
  }
}

TEST(RegisterCall, EveryShapeOfArgumentsAndResultsGivesWhatABoxedCallGives) {
  const Value x = tensor_with({K::CPU});
  const Value y = tensor_with({K::CPU});
  const Value nested = Value::list({Value(1), Value(2)});
  {
    const Served served("(Tensor x, Tensor y) -> Tensor", Kernel::from(&by_value));
    both_ways("t::f", {x, y});
    both_ways("t::f", {x, Value()});
  }
  {
    const Served served("(Tensor(a!) x, Tensor y) -> Tensor(a!)", Kernel::from(&in_place));
    EXPECT_TRUE(both_ways("t::f", {x, y}).results[0].identical(x));
  }
  {
    const Served served("(Tensor x) -> ()", Kernel::from(&nothing));
    EXPECT_TRUE(both_ways("t::f", {x}).results.empty());
  }
  {
    const Served served("(Tensor x, int n) -> (Tensor, int, str)", Kernel::from(&three));
    const Outcome outcome = both_ways("t::f", {x, Value(4)});
    ASSERT_EQ(outcome.results.size(), 3u) << outcome;
    EXPECT_EQ(outcome.results[1], Value(5));
    EXPECT_EQ(outcome.results[2], Value("text"));
  }
  {
    const Served served("(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(b!), Tensor(a!))",
                        Kernel::from(&two_references));
    EXPECT_TRUE(both_ways("t::f", {x, x, y}).results[0].identical(y));
  }
  {
    const Served served(
        "(Tensor x, float a, bool b, str c, Scalar d, Device e, int? f, Tensor? g, int[] h, "
        "Tensor[] i, Any j, int[2] k) -> Any",
        Kernel::from([](const Tensor&, double a, bool b, std::string_view c, const Scalar&, Device,
                        std::optional<std::int64_t>, const std::optional<Tensor>& g, IntSpan h,
                        const std::vector<Tensor>& i, const Value& j,
                        std::array<std::int64_t, 2> k) -> Value {
          return Value::tuple({Value(a), Value(b), Value(c), Value(bool(g)),
                               Value(std::int64_t(h.size())), Value(i[0]), j, Value(k[1])});
        }));
    const Outcome outcome =
        both_ways("t::f", {x, Value(2.5), Value(true), Value("c"), Value(3), Value(Device{}),
                           Value(), y, nested, Value::list({y, x}), nested, nested});
    EXPECT_EQ(outcome.error, "");
  }
  {
    const Served served("(Tensor[] x) -> Tensor[]",
                        Kernel::from([](const List<Tensor>& list) { return list; }));
    const Value list = Value::list({x, y});
    EXPECT_TRUE(both_ways("t::f", {list}).results[0].identical(list)) << "the caller's own list";
  }
  {
    const Served served("(Tensor[] x) -> Tensor?",
                        Kernel::from([](const std::vector<Tensor>& list) {
                          return std::optional<Tensor>(list[1]);
                        }));
    EXPECT_TRUE(both_ways("t::f", {Value::list({x, y})}).results[0].identical(y));
  }
}

TEST(RegisterCall, ErrorsAreThoseOfABoxedCall) {
  const Value x = tensor_with({K::CPU});
  const auto error = [&](Kernel kernel, const std::vector<Value>& arguments,
                         const char* schema = "(Tensor x) -> Tensor") {
    const Served served(schema, std::move(kernel));
    const std::string text = both_ways("t::f", arguments).error;
    EXPECT_NE(text, "");
    return text;
  };
  EXPECT_EQ(error(Kernel::from(&throws), {x}), "int 42");
  EXPECT_EQ(error(Kernel::from(&fails), {x}), "BadShape: no such shape");
  EXPECT_NE(error(Kernel::from(&three), {x, Value(1.5)}, "(Tensor x, int n) -> (Tensor, int, str)")
                .find("expected Int but got Double"),
            std::string::npos);
  EXPECT_NE(error(Kernel::from(&pass), {Value(tensor_with({K::CUDA}))}).find("NoKernel"),
            std::string::npos);
  const auto leaves = [](auto body) { return Kernel::boxed(body); };
  EXPECT_NE(error(leaves([](const Operator&, DispatchKeySet, Stack& stack) { stack.drop(1); }), {x})
                .find("left 0 results"),
            std::string::npos);
  EXPECT_NE(error(leaves([](const Operator&, DispatchKeySet, Stack& stack) {
                    stack.drop(1);
                    stack.push(Value("text"));
                  }),
                  {x})
                .find("as result 0"),
            std::string::npos);
}

TEST(RegisterCall, AnOperatorThatIsGoneOrAmbiguousRaisesAsABoxedCallDoes) {
  std::optional<Served> served;
  served.emplace("(Tensor x) -> Tensor", Kernel::from(&pass));
  const Operator& op = registry().require("t::f");
  const std::vector<Value> arguments = {Value(tensor_with({K::CPU}))};
  EXPECT_EQ(from_registers(op, arguments), boxed(op, arguments));
  served.reset();
  const Outcome gone = boxed(op, arguments);
  EXPECT_EQ(gone.error.substr(0, 12), "OperatorGone");
  EXPECT_EQ(from_registers(op, arguments), gone);
}

TEST(RegisterCall, LayersFallbacksAndFallthroughsAreWhatABoxedCallMeets) {
  const Value x = tensor_with({K::CPU, K::AutogradCPU});
  const Served served("(Tensor x) -> Tensor", Kernel::from(&pass));
  const auto below = [](K key) { return DispatchKeySet(DispatchKeySet::FULL_AFTER, key); };
  {
    const Registration layer =
        implement("t::f", K::AutogradCPU, Kernel::from([&](DispatchKeySet keys, const Tensor& y) {
                    last_ran = "layer";
                    const auto op = registry().require("t::f").typed<Tensor(const Tensor&)>();
                    return op.redispatch(keys & below(K::AutogradCPU), y);
                  }));
    last_ran = "";
    EXPECT_TRUE(both_ways("t::f", {x}).results[0].identical(x));
    EXPECT_EQ(last_ran, "layer");
  }
  const Registration through = implement("t::f", K::AutogradCPU, Kernel::fallthrough());
  both_ways("t::f", {x});
  const Registration fallback = registry().implement_fallback(
      K::Tracer, Kernel::boxed([](const Operator& op, DispatchKeySet keys, Stack& stack) {
        last_ran = "fallback";
        op.redispatch_boxed(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, K::Tracer), stack);
      }),
      "a fallback", nullptr);
  const IncludeDispatchKeyGuard include(K::Tracer);
  last_ran = "";
  EXPECT_TRUE(both_ways("t::f", {x}).results[0].identical(x));
  EXPECT_EQ(last_ran, "fallback");
}

TEST(RegisterCall, TheKeysOfEveryArgumentCount) {
  const Served served("(int n, Tensor? x, Tensor[] y) -> int",
                      Kernel::from([](std::int64_t, const std::optional<Tensor>&,
                                      const std::vector<Tensor>&) -> std::int64_t { return 1; }));
  const Registration cuda =
      implement("t::f", K::CUDA,
                Kernel::from([](std::int64_t, const std::optional<Tensor>&,
                                const std::vector<Tensor>&) -> std::int64_t { return 2; }));
  const Value cpu = tensor_with({K::CPU});
  const Value gpu = tensor_with({K::CUDA});
  EXPECT_EQ(both_ways("t::f", {Value(0), cpu, Value::list({cpu})}).results[0], Value(1));
  EXPECT_EQ(both_ways("t::f", {Value(0), Value(), Value::list({cpu, gpu})}).results[0], Value(2));
  EXPECT_EQ(both_ways("t::f", {Value(0), gpu, Value::list({cpu})}).results[0], Value(2));
}

TEST(RegisterCall, ArgumentsPastTheSixtyFourthCountAsWell) {
  std::string schema = "(int a0";
  std::vector<Value> arguments = {Value(0)};
  for (int i = 1; i < 70; ++i) {
    schema += (i == 66 ? ", Tensor a" : ", int a") + std::to_string(i);
    arguments.push_back(i == 66 ? Value(tensor_with({K::CPU})) : Value(i));
  }
  const Served served(schema + ") -> int",
                      Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) {
                        stack.replace(70, Value(stack.top(70)[69].to_int() + 1));
                      }));
  EXPECT_EQ(from_registers(registry().require("t::f"), arguments).results[0], Value(70));
}

TEST(RegisterCall, ObserversAndTheDispatchLogSeeTheCall) {
  struct Counting : Observer {
    bool wants = false;
    int entered = 0;
    int threw = 0;
    int values = 0;
    bool wants_values() const noexcept override { return wants; }
    void on_enter(const Operator&, DispatchKeySet, const Stack* arguments) noexcept override {
      ++entered;
      values += arguments != nullptr;
    }
    void on_exit(const Operator&, bool failed, const Stack*) noexcept override { threw += failed; }
  };
  const Value x = tensor_with({K::CPU});
  for (const bool wants : {false, true}) {
    Counting observer;
    observer.wants = wants;
    const ObserverGuard guard(observer);
    {
      const Served served("(Tensor x) -> Tensor", Kernel::from(&pass));
      EXPECT_TRUE(from_registers(registry().require("t::f"), {x}, 1).results[0].identical(x));
      EXPECT_EQ(observer.entered, 1);
      EXPECT_EQ(observer.values, wants ? 1 : 0);
      EXPECT_EQ(observer.threw, 0);
    }
    const Served served("(Tensor x) -> Tensor", Kernel::from(&fails));
    from_registers(registry().require("t::f"), {x});
    EXPECT_EQ(observer.threw, 1);
  }
  const Served served("(Tensor x) -> Tensor", Kernel::from(&pass));
  set_dispatch_log(true);
  testing::internal::CaptureStderr();
  const Outcome traced = from_registers(registry().require("t::f"), {x});
  set_dispatch_log(false);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), " [call] op=[t::f], key=[CPU]\n");
  EXPECT_TRUE(traced.results[0].identical(x));
}

TEST(RegisterCall, AThreadsFirstCallMayBeOne) {
  const Served served("(Tensor x) -> Tensor", Kernel::from(&pass));
  const Value x = tensor_with({K::CPU});
  std::thread([&] {
    EXPECT_TRUE(from_registers(registry().require("t::f"), {x}).results[0].identical(x));
  }).join();
}

TEST(RegisterCall, ACallAllocatesNothingAndCountsOnlyWhatTheKernelCounts) {
  const Served served("(Tensor x) -> Tensor", Kernel::from(&pass));
  Registers registers(registry().require("t::f"), {Value(tensor_with({K::CPU}))});
  registers.call();
  const TensorImpl& impl = *registers.values[0].to_tensor().impl();
  EXPECT_EQ(impl.owner_count(), 2u) << "argument and result";
  EXPECT_EQ(requests_of([&] { registers.call(); }), 0);
  EXPECT_EQ(impl.owner_count(), 2u);
  registers.call(1);
  EXPECT_EQ(impl.owner_count(), 1u) << "the result";
}

TEST(RegisterCall, AKernelThatTakesATensorGetsTheRegistersOwnIfItIsUsedALastTime) {
  static std::uint64_t owners;
  const Served served("(Tensor x, Tensor y) -> ()", Kernel::from([](Tensor x, const Tensor&) {
                        owners = x.impl()->owner_count();
                      }));
  const Operator& op = registry().require("t::f");
  Registers kept(op, {Value(tensor_with({K::CPU})), Value(tensor_with({K::CPU}))});
  kept.call();
  EXPECT_EQ(owners, 2u) << "the register's and the kernel's";
  kept.call(0b01);
  EXPECT_EQ(owners, 1u) << "the kernel's";
  // The same register twice: it is still there for the second argument.
  Value x = tensor_with({K::CPU});
  const Value* const twice[] = {&x, &x};
  op.call_from_registers({twice, nullptr, 0b11});
  EXPECT_EQ(owners, 2u);
  EXPECT_TRUE(x.is_none());
}

TEST(RegisterCall, AResultMayGoWhereAnArgumentWas) {
  const Value x = tensor_with({K::CPU});
  const Value y = tensor_with({K::CPU});
  for (const bool is_boxed : {false, true}) {
    const Served served("(Tensor(a) x, Tensor(b) y) -> (Tensor(b), Tensor(a))",
                        is_boxed ? Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) {
                          std::swap(stack.peek(0), stack.peek(1));
                        })
                                 : Kernel::from([](const Tensor& a, const Tensor& b) {
                                     return std::tuple<Tensor, Tensor>(b, a);
                                   }));
    for (const std::uint64_t last_uses : {0b00, 0b01, 0b11}) {
      Value first = x;
      Value second = y;
      const Value* const arguments[] = {&first, &second};
      Value* const results[] = {&first, &second};
      registry().require("t::f").call_from_registers({arguments, results, last_uses});
      EXPECT_TRUE(first.identical(y));
      EXPECT_TRUE(second.identical(x));
    }
  }
  EXPECT_EQ(x.to_tensor().impl()->owner_count(), 1u);
}

TEST(RegisterCall, ABoxedKernelMayLeaveAnArgumentAsItsResult) {
  const Served served("(Tensor x) -> Tensor",
                      Kernel::boxed([](const Operator&, DispatchKeySet, Stack&) {}));
  Registers registers(registry().require("t::f"), {Value(tensor_with({K::CPU}))});
  const TensorImpl* const impl = registers.values[0].to_tensor().impl().get();
  registers.call(1);  // the register was the only owner
  EXPECT_EQ(registers.values[1].to_tensor().impl().get(), impl);
  EXPECT_EQ(impl->owner_count(), 1u);
}

TEST(RegisterCall, AKernelThatChangesItsHandleDoesNotChangeTheRegister) {
  const Served served("(Tensor(a!) x) -> Tensor", Kernel::from(&changes_its_handle));
  Registers registers(registry().require("t::f"), {Value(tensor_with({K::CPU}))});
  registers.call();
  EXPECT_TRUE(registers.values[0].to_tensor().defined());
  EXPECT_FALSE(registers.values[1].tensor_unchecked().defined());
}

TEST(RegisterCall, ACallThatThrowsWritesNoResult) {
  const Served served("(Tensor x) -> Tensor", Kernel::from(&fails));
  Registers registers(registry().require("t::f"), {Value(tensor_with({K::CPU}))});
  registers.values[1] = Value("what was there");
  EXPECT_THROW(registers.call(), Error);
  EXPECT_EQ(registers.values[1], Value("what was there"));
}

TEST(RegisterCall, ASchemaWithAnOpenNumberOfResultsIsRefused) {
  const Served served("(Tensor x) -> ...",
                      Kernel::boxed([](const Operator&, DispatchKeySet, Stack&) {}));
  Registers registers(registry().require("t::f"), {Value(tensor_with({K::CPU}))});
  EXPECT_THROWN(registers.call(), Unsupported,
                "t::f cannot be called from registers, since its schema leaves the number of "
                "arguments or results open; call it with a stack.\n"
                "Declaration: t::f(Tensor x) -> ...");
}

}  // namespace
}  // namespace opyard::test_register_call
