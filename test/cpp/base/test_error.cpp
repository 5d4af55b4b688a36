// test_error.cpp: protects the errors at a border: a status and a text, never an exception.
// Suspect dispatcher/src/base/error.cpp.
#include "opyard/base/error.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <set>
#include <stdexcept>
#include <thread>

#include "../failing_allocator.h"
#include "../thrown_by.h"

namespace opyard::test_error {
namespace {

struct KindRow {
  ErrorKind kind;
  const char* name;
  const char* python;
  const char* meaning;
};

constexpr KindRow kKinds[] = {
#define OPYARD_ERROR_KIND(kind, python, meaning) {ErrorKind::kind, #kind, #python, meaning},
#include "opyard/base/error_kinds.def"
#undef OPYARD_ERROR_KIND
};

TEST(ErrorKinds, J2_EachKindHasItsNameItsStatusAndComesThroughABorder) {
  std::set<int> statuses;
  for (const KindRow& row : kKinds) {
    EXPECT_STREQ(name_of(row.kind), row.name);
    EXPECT_STRNE(row.python, "");
    EXPECT_STRNE(row.meaning, "");
    const Status status = guarded([&] { fail(row.kind, std::string(row.meaning)); });
    EXPECT_EQ(status, status_of(row.kind));
    EXPECT_EQ(int(status), 1 + int(&row - kKinds)) << "the status is 1 + the line in the list";
    EXPECT_TRUE(statuses.insert(int(status)).second) << row.name;
    const std::optional<Error> error = take_error();
    ASSERT_TRUE(error.has_value()) << row.name;
    EXPECT_EQ(error->kind(), row.kind);
    EXPECT_STREQ(error->what(), row.meaning);
  }
}

TEST(ErrorKinds, NumbersAreFrozen) {
  EXPECT_EQ(int(status_of(ErrorKind::Internal)), 1);
  EXPECT_EQ(int(status_of(ErrorKind::NoKernel)), 3);
  EXPECT_EQ(int(status_of(ErrorKind::BadShape)), 6);
  EXPECT_EQ(int(status_of(ErrorKind::NotFound)), 10);
  EXPECT_EQ(int(status_of(ErrorKind::InterpreterGone)), 14);
  EXPECT_EQ(int(status_of(ErrorKind::Foreign)), 18);
  EXPECT_EQ(int(status_of(ErrorKind::TimedOut)), 21);
  EXPECT_EQ(int(status_of(ErrorKind::BadGraph)), 22);
}

TEST(Guarded, ABodyThatReturnsIsOk) {
  bool ran = false;
  EXPECT_EQ(guarded([&] { ran = true; }), Status::Ok);
  EXPECT_TRUE(ran);
  EXPECT_FALSE(take_error().has_value());
}

TEST(Guarded, AnExceptionOfAnyTypeBecomesAStatusAndAText) {
  struct Odd {};
  EXPECT_EQ(guarded([] { throw 42; }), status_of(ErrorKind::Foreign));
  EXPECT_STREQ(take_error()->what(), "something was thrown that is no std::exception");
  EXPECT_EQ(guarded([] { throw Odd(); }), status_of(ErrorKind::Foreign));
  EXPECT_STREQ(take_error()->what(), "something was thrown that is no std::exception");
  EXPECT_EQ(guarded([] { throw std::runtime_error("out of cheese"); }),
            status_of(ErrorKind::Foreign));
  EXPECT_STREQ(take_error()->what(), "out of cheese");
  EXPECT_EQ(guarded([] { throw std::bad_alloc(); }), status_of(ErrorKind::OutOfMemory));
  EXPECT_STREQ(take_error()->what(), "out of memory");
}

TEST(Guarded, TakingAnErrorClearsIt) {
  guarded([] { fail(ErrorKind::BadValue, "seven is too many"); });
  EXPECT_TRUE(take_error().has_value());
  EXPECT_FALSE(take_error().has_value());
}

TEST(Guarded, TheErrorStaysOnItsThread) {
  guarded([] { fail(ErrorKind::BadValue, "here"); });
  std::thread([] { EXPECT_FALSE(take_error().has_value()); }).join();
  EXPECT_TRUE(take_error().has_value());
}

TEST(Guarded, WithoutMemoryForTheTextTheStatusSaysIt) {
  const AllocationCount before = live_allocations();
  Status status = Status::Ok;
  {
    FailingAllocator allocator(0);
    status = guarded([] { throw 42; });
  }
  EXPECT_EQ(status, status_of(ErrorKind::Foreign));
  EXPECT_FALSE(take_error().has_value());
  EXPECT_EQ(live_allocations().blocks, before.blocks);
}

// pthread_exit unwinds the stack with an exception that may not be caught for good: a guarded()
// that swallowed it would end the process here.
TEST(Guarded, AThreadThatIsEndedIsUnwoundThroughIt) {
  struct Seen {
    bool destroyed = false;
    bool returned = false;
  } seen;
  struct Guard {
    Seen& seen;
    ~Guard() { seen.destroyed = true; }
  };
  pthread_t thread;
  const auto start = [](void* context) -> void* {
    auto& seen_by_thread = *static_cast<Seen*>(context);
    guarded([&] {
      Guard guard{seen_by_thread};
      pthread_exit(context);
    });
    seen_by_thread.returned = true;
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, start, &seen), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, &seen) << "the thread ended with what it gave to pthread_exit";
  EXPECT_TRUE(seen.destroyed) << "destructors ran on the way";
  EXPECT_FALSE(seen.returned) << "guarded() did not return";
}

struct Object final : CarriedException {
  bool restore_with_lock_held() const noexcept override { return false; }
  ~Object() override { ++destroyed; }
  static inline int destroyed = 0;
};

TEST(Error, ACarriedExceptionComesOutOfTheBorderItself) {
  CountedPtr<CarriedException> object = make_counted<Object>();
  guarded([&] { throw Error(ErrorKind::Python, "ValueError: no", object); });
  EXPECT_EQ(take_error()->carried(), object);
  EXPECT_EQ(object->owner_count(), 1u);
  object.reset();
  EXPECT_EQ(Object::destroyed, 1);
}

TEST(Error, J8_ContextIsAddedBelowAndKeepsKindAndObject) {
  CountedPtr<CarriedException> object = make_counted<Object>();
  const Error error(ErrorKind::BadShape, "sizes do not fit", object);
  const Error more = error.with_context("in demo::add");
  EXPECT_STREQ(more.what(), "sizes do not fit\nin demo::add");
  EXPECT_EQ(more.kind(), ErrorKind::BadShape);
  EXPECT_EQ(more.carried(), object);
  EXPECT_STREQ(error.what(), "sizes do not fit");
}

TEST(Error, CopiesShareTheText) {
  const Error error(ErrorKind::BadValue, "once");
  const Error copy = error;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.what(), error.what());
}

TEST(Error, J14_ACheckBuildsItsMessageOnlyWhenItFails) {
  int built = 0;
  const auto message = [&] {
    ++built;
    return std::string("three is odd");
  };
  OPYARD_CHECK(built == 0, BadValue, message());
  EXPECT_EQ(built, 0);
  EXPECT_THROWN(OPYARD_CHECK(built != 0, BadValue, message()), BadValue, "three is odd");
}

TEST(Error, J8_AFailedAssertionSaysWhoseDefectItIs) {
  EXPECT_THROWN(detail::assertion_failed("a == b", "a.cpp", 7), Internal,
                "a.cpp:7: 'a == b' does not hold. This is a defect of Opyard; please report it.");
}

}  // namespace
}  // namespace opyard::test_error
