// test_future.cpp: protects futures: completion, waiting and continuations.
// Suspect dispatcher/src/value/future.cpp and future_collect.cpp.
#include "opyard/value/future.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "../fake_interpreter.h"
#include "../one_of_each.h"
#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/base/weak.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/keys/local.h"
#include "opyard/thread/modes.h"
#include "opyard/value/alias.h"
#include "opyard/value/future_collect.h"
#include "opyard/value/list.h"

namespace opyard::test_future {
namespace {

using FuturePtr = CountedPtr<FutureObject>;
using std::chrono::milliseconds;

FuturePtr pending() { return make_counted<FutureObject>(); }
const Error kBroken(ErrorKind::BadShape, "broken");

// What a destructor said, while it lives.
class LateWarnings {
 public:
  LateWarnings() : former_(set_late_warning_handler(&keep)) { texts.clear(); }
  ~LateWarnings() { set_late_warning_handler(former_); }
  static inline std::vector<std::string> texts;

 private:
  static void keep(const std::string& text) noexcept { texts.push_back(text); }
  const LateWarningHandler former_;
};

TEST(Future, K5_StatesAndWhatCanBeAskedInThem) {
  const FuturePtr future = pending();
  EXPECT_FALSE(future->completed() || future->has_value() || future->has_error());
  EXPECT_EQ(future->exception_ptr(), nullptr);
  EXPECT_EQ(future->error_message(), std::nullopt);
  EXPECT_THROWN(future->value(), BadFuture,
                "the future is not completed, so it has no value yet; wait() waits for it");
  future->set_value(3);
  EXPECT_TRUE(future->completed() && future->has_value());
  EXPECT_FALSE(future->has_error() || future->cancelled());
  EXPECT_EQ(future->value(), Value(3));
  EXPECT_EQ(future->wait(), Value(3));
  EXPECT_EQ(future->error_message(), std::nullopt);

  const FuturePtr failed = pending();
  failed->set_error(kBroken);
  EXPECT_TRUE(failed->completed() && failed->has_error());
  EXPECT_FALSE(failed->has_value() || failed->cancelled());
  EXPECT_THROWN(failed->wait(), BadShape, "broken");
  EXPECT_THROWN(failed->value(), BadShape, "broken");
  EXPECT_EQ(failed->error_message(), "broken");
  EXPECT_EQ(thrown_by([&] { std::rethrow_exception(failed->exception_ptr()); }).text, "broken");
}

TEST(Future, K1_AnythingCanBeTheValue) {
  for (const Value& value : one_of_each(FakeA::create())) {
    const FuturePtr future = pending();
    future->set_value(value);
    EXPECT_TRUE(future->value().identical(value)) << name_of(value.kind());
  }
}

TEST(Future, K5_AForeignExceptionComesOutAsItWentIn) {
  const FuturePtr future = pending();
  future->set_error(std::make_exception_ptr(std::out_of_range("far")));
  EXPECT_THROW(future->wait(), std::out_of_range);
  EXPECT_EQ(future->error_message(), "far");
  EXPECT_EQ(future->error(), std::nullopt);

  const FuturePtr odd = pending();
  odd->set_error(std::make_exception_ptr(42));
  EXPECT_THROW(odd->value(), int);
  EXPECT_EQ(odd->error_message(), "something was thrown that is no std::exception");
  EXPECT_THROWN(pending()->set_error(std::exception_ptr()), BadArgument,
                "a null std::exception_ptr is no error to complete a future with");
}

TEST(Future, K6_CompletingTwiceIsRefusedAndChangesNothing) {
  const char* const again =
      "the future is completed already, and a future is completed only once; ask done(), or in C++ "
      "use set_value_if_needed() and set_error_if_needed(), which leave it as it is";
  const FuturePtr future = pending();
  future->set_value(1);
  EXPECT_THROWN(future->set_value(2), BadFuture, again);
  EXPECT_THROWN(future->set_error(kBroken), BadFuture, again);
  EXPECT_FALSE(future->set_value_if_needed(2));
  EXPECT_FALSE(future->set_error_if_needed(kBroken));
  EXPECT_FALSE(future->cancel());
  EXPECT_EQ(future->value(), Value(1));

  const FuturePtr other = pending();
  EXPECT_TRUE(other->set_error_if_needed(kBroken));
  EXPECT_THROWN(other->set_value(2), BadFuture, again);
  EXPECT_EQ(other->error_message(), "broken");
}

TEST(Future, K5_AWaitOnAnotherThreadEndsWithTheValue) {
  const FuturePtr future = pending();
  std::thread producer([&] {
    std::this_thread::sleep_for(milliseconds(20));
    future->set_value("there");
  });
  EXPECT_EQ(future->wait(), Value("there"));
  producer.join();
}

TEST(Future, X26_AWaitHasAnEnd) {
  const FuturePtr future = pending();
  const auto before = std::chrono::steady_clock::now();
  EXPECT_THROWN(future->wait(milliseconds(20)), TimedOut,
                "the future was not completed within 0.02 seconds");
  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(20));
  EXPECT_THROWN(future->wait(milliseconds(0)), TimedOut,
                "the future was not completed within 0 seconds");
  EXPECT_FALSE(future->wait_until_completed(milliseconds(-1)));
  future->set_value(1);
  EXPECT_EQ(future->wait(milliseconds(0)), Value(1));
  EXPECT_EQ(future->wait(FutureObject::Duration::max()), Value(1));
}

TEST(Future, K7_CallbacksRunInOrderOnTheCompletingThreadAndLaterOnesAtOnce) {
  const FuturePtr future = pending();
  std::vector<std::pair<int, std::thread::id>> ran;
  const auto note = [&](int number) {
    return [&ran, number](FutureObject& completed) {
      EXPECT_EQ(completed.value(), Value(7));
      ran.emplace_back(number, std::this_thread::get_id());
    };
  };
  for (int i = 0; i < 3; ++i) future->add_callback(note(i));
  EXPECT_TRUE(ran.empty());
  std::thread producer([&] { future->set_value(7); });
  const std::thread::id theirs = producer.get_id();
  producer.join();
  future->add_callback(note(3));
  const std::thread::id ours = std::this_thread::get_id();
  EXPECT_EQ(ran, (decltype(ran){{0, theirs}, {1, theirs}, {2, theirs}, {3, ours}}));
  EXPECT_THROWN(future->add_callback(nullptr), BadArgument,
                "an empty function is no callback of a future");
  EXPECT_THROWN(future->then(nullptr), BadArgument, "an empty function is no callback of a future");
}

TEST(Future, K7_ACallbackHasTheKeysOfWhoAddedIt) {
  const FuturePtr future = pending();
  LocalKeys seen{};
  LocalKeys mine{};
  {
    const IncludeDispatchKeyGuard include(DispatchKeySet{DispatchKey::Tracer});
    const ExcludeDispatchKeyGuard exclude(DispatchKeySet{DispatchKey::ADInplaceOrView});
    mine = local_keys();
    future->add_callback([&](FutureObject&) { seen = local_keys(); });
  }
  const LocalKeys before = local_keys();
  ASSERT_NE(mine, before);
  future->set_value();
  EXPECT_EQ(seen, mine);
  EXPECT_EQ(local_keys(), before);
}

TEST(Future, K7_ACallbackHasTheGradientModeAndTheModesOfWhoAddedIt) {
  static char object;
  const FuturePtr future = pending();
  GradientMode mode{};
  std::vector<ModePtr> modes;
  bool leads_to_modes = false;
  {
    const GradientModeGuard guard(GradientMode::Inference);
    push_mode(
        make_counted<Mode>(InterpreterObject::steal(FakeA::create(), &object), ModePlace::User));
    future->add_callback([&](FutureObject&) {
      mode = gradient_mode();
      modes = thread_modes();
      leads_to_modes = local_keys().include.has(DispatchKey::Python);
    });
  }
  const ModePtr own = pop_mode();
  std::thread([&] {
    const LocalKeys before = local_keys();
    future->set_value();
    EXPECT_EQ(local_keys(), before);
    EXPECT_EQ(gradient_mode(), GradientMode::Gradients);
    EXPECT_TRUE(thread_modes().empty());
  }).join();
  EXPECT_EQ(mode, GradientMode::Inference);
  ASSERT_EQ(modes.size(), 1U);
  EXPECT_EQ(modes[0], own);
  EXPECT_TRUE(leads_to_modes);

  const FuturePtr plain = pending();
  plain->add_callback([&](FutureObject&) { mode = gradient_mode(); });
  const GradientModeGuard guard(GradientMode::Inference);
  plain->set_value();
  EXPECT_EQ(mode, GradientMode::Gradients);
  EXPECT_TRUE(is_inference());
}

TEST(Future, K9_ACallbackThatThrowsIsReportedAndTheOthersRun) {
  const CaughtWarnings warnings;
  const FuturePtr future = pending();
  bool ran = false;
  future->add_callback([](FutureObject&) { throw kBroken; });
  future->add_callback([&](FutureObject&) { ran = true; });
  future->set_value(1);
  EXPECT_TRUE(ran);
  future->add_callback([](FutureObject&) { throw 42; });
  EXPECT_EQ(warnings.texts(),
            (std::vector<std::string>{"a callback of a future failed: broken",
                                      "a callback of a future failed: something was thrown that is "
                                      "no std::exception"}));
}

TEST(Future, K9_AWarningThatIsRaisedStopsNothing) {
  const WarningHandler former =
      set_warning_handler([](const Warning& each) { fail(ErrorKind::BadValue, each.message); });
  const FuturePtr future = pending();
  bool ran = false;
  future->add_callback([](FutureObject&) { throw kBroken; });
  future->add_callback([&](FutureObject&) { ran = true; });
  EXPECT_NO_THROW(future->set_value(1));
  EXPECT_TRUE(ran);
  set_warning_handler(former);
}

TEST(Future, K10_ThenIsCalledForFailuresTooAndPassesOnWhatItThrows) {
  const FuturePtr first = pending();
  const FuturePtr second = first->then([](FutureObject& done) { return done.value(); });
  const FuturePtr third = second->then([](FutureObject& done) {
    return Value(done.has_error() ? "saw " + *done.error_message() : std::string("nothing"));
  });
  first->set_error(kBroken);
  EXPECT_THROWN(second->value(), BadShape, "broken");
  EXPECT_EQ(third->value(), Value("saw broken"));
  const FuturePtr odd = third->then([](FutureObject&) -> Value { throw std::out_of_range("far"); });
  EXPECT_THROW(odd->wait(), std::out_of_range);
}

TEST(Future, K10_ALongChainNeedsNoStack) {
  constexpr int kLength = 200'000;
  const FuturePtr first = pending();
  FuturePtr last = first;
  for (int i = 0; i < kLength; ++i) {
    last = last->then([](FutureObject& done) { return Value(done.value().to_int() + 1); });
  }
  first->set_value(0);
  EXPECT_EQ(last->value(), Value(kLength));
}

TEST(Future, K10_LongChainsDieWithoutStack) {
  FuturePtr first = pending();
  FuturePtr last = first;
  for (int i = 0; i < 200'000; ++i) {
    last = last->then([](FutureObject& done) { return done.value(); });
  }
  const WeakPtr<FutureObject> end(last);
  last.reset();
  first.reset();
  EXPECT_TRUE(end.expired());

  FuturePtr outermost = pending();
  FuturePtr inner_one = outermost;
  for (int i = 0; i < 200'000; ++i) {
    const FuturePtr next = pending();
    inner_one->set_value(i % 2 == 0 ? Value(next) : Value::tuple({Value(next)}));
    inner_one = next;
  }
  const WeakPtr<FutureObject> inner(inner_one);
  inner_one.reset();
  outermost.reset();
  EXPECT_TRUE(inner.expired());
}

TEST(Future, K7_CallbacksOfACallbacksFutureComeAfterItAndBeforeItsWait) {
  const FuturePtr outer = pending();
  const FuturePtr inner = pending();
  std::vector<std::string> ran;
  outer->add_callback([&](FutureObject&) {
    inner->set_value(1);
    ran.push_back("completed inner");
  });
  outer->add_callback([&](FutureObject&) { ran.push_back("second of outer"); });
  inner->add_callback([&](FutureObject&) { ran.push_back("inner"); });
  outer->set_value();
  EXPECT_EQ(ran, (decltype(ran){"completed inner", "second of outer", "inner"}));

  const FuturePtr start = pending();
  FuturePtr late;
  std::optional<Value> got;
  start->add_callback([&](FutureObject&) { got = late->wait(milliseconds(10'000)); });
  late = start->then([](FutureObject&) { return Value("in time"); });
  start->set_value();
  EXPECT_EQ(got, Value("in time"));
}

TEST(Future, X26_WaitingForWhatOneCompletesOneselfIsTold) {
  const FuturePtr start = pending();
  FuturePtr next;
  Thrown thrown;
  next = start->then([&](FutureObject&) {
    thrown = thrown_by([&] { next->wait(); });
    return Value();
  });
  start->set_value();
  EXPECT_STREQ(name_of(thrown.kind), "BadFuture");
  EXPECT_EQ(thrown.text,
            "the callback that completes this future waits for it, on the same thread, so neither "
            "would ever go on");
  EXPECT_TRUE(next->has_value());
}

TEST(Future, K5_CallbacksAreReleasedOnceTheyHaveRun) {
  FuturePtr future = pending();
  const WeakPtr<FutureObject> weak(future);
  future->add_callback([future](FutureObject&) {});
  future->set_value(1);
  EXPECT_EQ(future->owner_count(), 1u);
  future.reset();
  EXPECT_TRUE(weak.expired());

  const auto token = make_counted<CountingGenerator>();
  pending()->add_callback([token](FutureObject&) {});
  EXPECT_EQ(token->owner_count(), 1u) << "those of a future that dies are released, too";
}

TEST(Future, K5_AFutureCannotHoldItself) {
  const char* const text =
      "a future cannot be completed with a value that holds it: neither would ever be given back";
  const FuturePtr future = pending();
  EXPECT_THROWN(future->set_value(Value(future)), BadValue, text);
  EXPECT_THROWN(future->set_value(Value::list({Value(future)})), BadValue, text);
  const FuturePtr other = pending();
  other->set_value(Value::list({Value(future)}));
  EXPECT_THROWN(future->set_value(Value(other)), BadValue, text);
  future->set_value(1);
}

TEST(Future, K11_AllOfThem) {
  EXPECT_EQ(collect_all({})->value(), Value::list({}));
  const std::vector<FuturePtr> futures = {pending(), pending(), pending()};
  const FuturePtr all = collect_all(futures);
  futures[2]->set_value(2);
  futures[0]->set_value(0);
  EXPECT_FALSE(all->completed());
  futures[1]->set_value(1);
  EXPECT_EQ(all->wait(), Value::list({Value(futures[0]), Value(futures[1]), Value(futures[2])}));
  EXPECT_THROWN(collect_all({nullptr}), BadArgument, "a null pointer is no future to wait for");
}

TEST(Future, K11_TheFirstErrorWins) {
  const std::vector<FuturePtr> futures = {pending(), pending(), pending()};
  const FuturePtr all = collect_all(futures);
  futures[1]->set_error(kBroken);
  EXPECT_THROWN(all->value(), BadShape, "broken");
  futures[0]->set_error(Error(ErrorKind::BadValue, "late"));
  futures[2]->set_error(std::make_exception_ptr(std::out_of_range("later")));
  EXPECT_EQ(all->error_message(), "broken");
  EXPECT_EQ(futures[0]->error_message(), "late");
  EXPECT_EQ(futures[2]->error_message(), "later");

  const FuturePtr foreign = pending();
  const FuturePtr one = collect_all({foreign});
  foreign->set_error(std::make_exception_ptr(std::out_of_range("far")));
  EXPECT_THROW(one->value(), std::out_of_range);
}

TEST(Future, K11_AnyOfThem) {
  EXPECT_TRUE(collect_any({})->value().is_none());
  const std::vector<FuturePtr> futures = {pending(), pending()};
  const FuturePtr any = collect_any(futures);
  const FuturePtr failing = collect_any({pending(), futures[1]});
  EXPECT_FALSE(any->completed());
  futures[1]->set_value(1);
  EXPECT_EQ(any->value(), Value(1));
  EXPECT_EQ(failing->value(), Value(1));
  futures[0]->set_value(0);
  EXPECT_EQ(any->value(), Value(1));
  const FuturePtr broken = pending();
  const FuturePtr first = collect_any({broken, pending()});
  broken->set_error(kBroken);
  EXPECT_THROWN(first->value(), BadShape, "broken");
}

TEST(Future, K11_CollectingKeepsNothingAliveThatNobodyCompletes) {
  FuturePtr lost = pending();
  const WeakPtr<FutureObject> weak(lost);
  FuturePtr all = collect_all({lost, pending()});
  FuturePtr any = collect_any({lost});
  const WeakPtr<FutureObject> weak_all(all);
  all.reset();
  any.reset();
  lost.reset();
  EXPECT_TRUE(weak.expired());
  EXPECT_TRUE(weak_all.expired());
}

TEST(Future, K12_OnlyAllowedDevices) {
  using Devices = std::vector<Device>;
  EXPECT_THROWN(make_counted<FutureObject>(nullptr, Devices{Device{}}), BadValue,
                "the devices of a future need an index, as in 'cpu:0', but one of them is 'cpu'");
  EXPECT_THROWN(make_counted<FutureObject>(nullptr, Devices{Device{Backend::CUDA, 0}}), Unsupported,
                "a future for cuda:0 would have to record an event there when it is completed, and "
                "no backend of this version records events; copy the value to the cpu before "
                "completing the future");
  const auto future = make_counted<FutureObject>(nullptr, Devices{Device{Backend::CPU, 0}});
  EXPECT_EQ(future->devices(), (Devices{Device{Backend::CPU, 0}}));
  EXPECT_EQ(future->then([](FutureObject&) { return Value(); })->devices(), future->devices());

  const std::int64_t one[] = {1};
  const Tensor remote(make_counted<TensorImpl>(
      Storage::adopt(nullptr, 4, Device{Backend::CUDA, 1}, nullptr, nullptr), DType::Float32, one,
      one, 0, DispatchKeySet{DispatchKey::CUDA}));
  const char* const text =
      "the value has a tensor on cuda:1, and this future allows none there; copy it to the cpu "
      "before completing the future";
  EXPECT_THROWN(future->set_value(Value(remote)), BadValue, text);
  EXPECT_THROWN(future->set_value(Value::dict({{Value("x"), Value::list({Value(remote)})}})),
                BadValue, text);
  EXPECT_FALSE(future->completed());
  future->set_value(Value::list({Value(Tensor::empty(one)), Value(Tensor())}));
}

TEST(Future, X26_CancellingTellsProducerAndWaiters) {
  const FuturePtr future = pending();
  int told = 0;
  future->add_callback([&](FutureObject& done) { told += done.cancelled() ? 1 : 0; });
  EXPECT_TRUE(future->cancel());
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(future->cancelled() && future->has_error());
  EXPECT_FALSE(future->cancel());
  EXPECT_THROWN(future->wait(), Cancelled, "the future was cancelled");
  EXPECT_THROWN(future->set_value(1), BadFuture,
                "the future was cancelled, so it takes no value and no error any more; a producer "
                "asks cancelled(), or in C++ uses set_value_if_needed() and set_error_if_needed()");
  EXPECT_FALSE(future->set_value_if_needed(1));

  const FuturePtr start = pending();
  bool called = false;
  const FuturePtr next = start->then([&](FutureObject&) {
    called = true;
    return Value();
  });
  next->cancel();
  start->set_value(1);
  EXPECT_FALSE(called) << "no one wants what it would give";
}

TEST(Future, X26_AnErrorThatNobodySawIsWarnedOf) {
  const LateWarnings warnings;
  pending()->set_error(kBroken);
  EXPECT_EQ(
      warnings.texts,
      (std::vector<std::string>{"a future failed, and no one has looked at its error: broken"}));
  pending()->set_error(std::make_exception_ptr(42));
  EXPECT_EQ(warnings.texts.size(), 2u);
  warnings.texts.clear();

  for (const auto& look : std::vector<std::function<void(FutureObject&)>>{
           [](FutureObject& f) { thrown_by([&] { f.wait(); }); },
           [](FutureObject& f) { thrown_by([&] { f.value(); }); },
           [](FutureObject& f) { static_cast<void>(f.error_message()); },
           [](FutureObject& f) { static_cast<void>(f.exception_ptr()); },
           [](FutureObject& f) { static_cast<void>(f.error()); }}) {
    const FuturePtr future = pending();
    future->set_error(kBroken);
    look(*future);
  }
  pending()->cancel();
  pending()->set_value(1);
  EXPECT_EQ(warnings.texts, std::vector<std::string>());
}

TEST(Future, K5_TheTypedHandle) {
  const Future<std::int64_t> length;
  const Future<double> half =
      length.then([](const Future<std::int64_t>& n) { return n.value() / 2.; });
  std::int64_t seen = 0;
  length.add_callback([&](const Future<std::int64_t>& n) { seen = n.value(); });
  const auto nothing = half.then([](const Future<double>&) {});
  static_assert(std::is_same_v<decltype(nothing), const Future<Value>>);
  length.set_value(42);
  EXPECT_EQ(seen, 42);
  EXPECT_EQ(half.wait(), 21.0);
  EXPECT_EQ(half.wait(milliseconds(1)), 21.0);
  EXPECT_TRUE(nothing.value().is_none());
  EXPECT_EQ(length.object()->owner_count(), 1u);

  const Value value = length;
  EXPECT_TRUE(value.to<Future<std::int64_t>>().identical(length));
  EXPECT_THROWN(Future<double>(value).value(), BadArgument, "expected Double but got Int");
  EXPECT_THROWN(Future<double>(Value(1)), BadArgument, "expected Future but got Int");
  const Future<double> failed;
  failed.set_error(kBroken);
  EXPECT_TRUE(failed.has_error());
  EXPECT_THROWN(failed.wait(), BadShape, "broken");
  const Future<double> gone;
  EXPECT_TRUE(gone.cancel());
  EXPECT_TRUE(gone.cancelled());
}

TEST(Future, D4_PrintsItsState) {
  const FuturePtr future = pending();
  EXPECT_EQ(to_string(Value(future)), "<future, pending>");
  future->set_value(1);
  EXPECT_EQ(to_string(Value(future)), "<future, completed>");
  const FuturePtr failed = pending();
  failed->set_error(kBroken);
  EXPECT_EQ(to_string(Value(failed)), "<future, failed>");
  EXPECT_TRUE(failed->error_message());
  const FuturePtr cancelled = pending();
  cancelled->cancel();
  EXPECT_EQ(to_string(Value(cancelled)), "<future, cancelled>");
}

TEST(Future, D4_ItsValueIsReachedThroughIt) {
  const FuturePtr future = pending();
  const Value list = Value::list({Value(1)});
  EXPECT_FALSE(overlaps(Value(future), list));
  future->set_value(list);
  EXPECT_TRUE(overlaps(Value(future), list));
}

TEST(Future, TheChildOfAForkCanUseFuturesAtOnce) {
  const FuturePtr future = pending();
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      const FuturePtr own = pending();
      own->add_callback([](FutureObject&) {});
      own->set_value(1);
    }
  });
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    future->set_value(3);
    const FuturePtr other = pending();
    const bool late = !other->wait_until_completed(milliseconds(5));
    _exit(late && future->wait() == Value(3) ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_FALSE(future->completed());
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace opyard::test_future
