// test_c_api_errors.cpp: protects failures on their way through C: whatever was thrown comes out as a
// status, and an exception of another language as itself.
// Suspect dispatcher/src/c_api/errors.cpp and dispatcher/src/ffi/c_error.cpp.
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "../registering.h"
#include "opyard/c_api.h"
#include "opyard/ffi/c_function.h"
#include "opyard/interpreter/interpreter_exception.h"
#include "opyard/library.h"

namespace opyard::test_c_api_errors {
namespace {

std::string left() {
  const std::optional<Error> error = take_error();
  return error ? std::string(name_of(error->kind())) + ": " + error->what() : "nothing";
}

// Registers a C kernel for an operator of one int, for the life of the object.
struct Registered {
  Registered(const char* name, opyard_kernel_function function, void* context = nullptr)
      : library(LibraryKind::Fragment, "c_errors", std::nullopt, "demo.c", 3) {
    auto* const handle = reinterpret_cast<opyard_library*>(&library);
    const opyard_kernel kernel = {sizeof(kernel), function, context, nullptr, 0};
    const std::string schema = std::string(name) + "(int n) -> int";
    EXPECT_EQ(opyard_define(handle, schema.c_str(), nullptr), OPYARD_OK) << left();
    EXPECT_EQ(opyard_implement(handle, name, nullptr, &kernel), OPYARD_OK) << left();
  }
  Library library;
};

int call(const char* name) {
  opyard_stack* stack = nullptr;
  const opyard_operator* op = nullptr;
  int status = opyard_stack_create(&stack);
  if (status == OPYARD_OK) status = opyard_find_operator(name, &op);
  if (status == OPYARD_OK) status = opyard_push_int(stack, 1);
  if (status == OPYARD_OK) status = opyard_call(op, stack);
  EXPECT_EQ(opyard_stack_size(stack), status == OPYARD_OK ? 1u : 0u);
  opyard_stack_destroy(stack);
  return status;
}

// A kernel in C that calls the operator `context` names and gives on what that says.
int pass_on(void* context, const opyard_operator*, std::uint64_t, opyard_stack* stack) {
  const opyard_operator* op = nullptr;
  int status = opyard_find_operator(static_cast<const char*>(context), &op);
  if (status == OPYARD_OK) status = opyard_push_int(stack, 1);
  if (status == OPYARD_OK) status = opyard_call(op, stack);
  return status;
}

// What an exception object of another language is, without the language.
struct FakeException final : InterpreterException {
  explicit FakeException(int& gone) : gone_(gone) {}
  ~FakeException() override { ++gone_; }
  bool restore_with_lock_held() const noexcept override { return true; }
  const void* interpreter() const noexcept override { return &gone_; }
  void* object() const noexcept override { return &gone_; }
  int& gone_;
};

TEST(CApiErrors, WhateverACxxKernelThrowsIsAStatusInC) {
  Library library(LibraryKind::Fragment, "c_errors");
  library.def("number(int n) -> int", [](std::int64_t) -> std::int64_t { throw 42; });
  library.def("standard(int n) -> int",
              [](std::int64_t) -> std::int64_t { throw std::runtime_error("no luck"); });
  library.def("memory(int n) -> int", [](std::int64_t) -> std::int64_t { throw std::bad_alloc(); });
  library.def("own(int n) -> int",
              [](std::int64_t) -> std::int64_t { fail(ErrorKind::BadShape, "too long"); });
  EXPECT_EQ(call("c_errors::number"), OPYARD_ERROR_Foreign);
  EXPECT_EQ(left(), "Foreign: something was thrown that is no std::exception");
  EXPECT_EQ(call("c_errors::standard"), OPYARD_ERROR_Foreign);
  EXPECT_EQ(left(), "Foreign: no luck");
  EXPECT_EQ(call("c_errors::memory"), OPYARD_ERROR_OutOfMemory);
  EXPECT_EQ(left(), "OutOfMemory: out of memory");
  EXPECT_EQ(call("c_errors::own"), OPYARD_ERROR_BadShape);
  EXPECT_EQ(left(), "BadShape: too long");
}

TEST(CApiErrors, AKernelThatIsCxxAfterAllMayThrow) {
  const Registered number("thrower", [](auto*, auto*, auto, auto*) -> int { throw 42; });
  EXPECT_EQ(call("c_errors::thrower"), OPYARD_ERROR_Foreign);
  EXPECT_EQ(left(),
            "Foreign: something was thrown that is no std::exception\nin c_errors::thrower, whose "
            "kernel in C was registered at demo.c:3");
}

TEST(CApiErrors, AFailureWithoutATextIsNamedByItsOperator) {
  const Registered known("quiet",
                         [](auto*, auto*, auto, auto*) { return int(OPYARD_ERROR_BadIndex); });
  EXPECT_EQ(call("c_errors::quiet"), OPYARD_ERROR_BadIndex);
  EXPECT_EQ(left(),
            "BadIndex: c_errors::quiet: the kernel in C, registered at demo.c:3, failed with "
            "status 7 (BadIndex) and left no text");
}

TEST(CApiErrors, AStatusThatIsNoneIsABadReturn) {
  const Registered odd("odd", [](auto*, auto*, auto, auto*) { return -5; });
  EXPECT_EQ(call("c_errors::odd"), OPYARD_ERROR_BadReturn);
  EXPECT_EQ(left(),
            "BadReturn: c_errors::odd: the kernel in C, registered at demo.c:3, failed with status "
            "-5 (which is none) and left no text");
}

TEST(CApiErrors, NoStackHasNoSize) { EXPECT_EQ(opyard_stack_size(nullptr), 0u); }

TEST(CApiErrors, AnEarlierErrorIsNotTheKernels) {
  const Registered fine("fine", [](auto*, auto*, auto, opyard_stack* stack) {
    EXPECT_EQ(opyard_last_error(), nullptr) << "it is set aside";
    opyard_set_error(OPYARD_ERROR_BadValue, "one that the kernel did not mind");
    return opyard_push_int(stack, 7);
  });
  opyard_set_error(OPYARD_ERROR_BadShape, "of an earlier failure");
  EXPECT_EQ(call("c_errors::fine"), OPYARD_OK);
  EXPECT_EQ(left(), "BadShape: of an earlier failure");
}

TEST(CApiErrors, ACarriedExceptionComesOutOfCAsItself) {
  int gone = 0;
  {
    const auto carried = make_counted<FakeException>(gone);
    Library library(LibraryKind::Fragment, "c_errors");
    library.def("raises(int n) -> int", [carried](std::int64_t) -> std::int64_t {
      throw Error(ErrorKind::Python, "KeyError: 'x'", carried);
    });
    char raises[] = "c_errors::raises";
    const Registered outer("outer", pass_on, raises);
    char outer_name[] = "c_errors::outer";
    const Registered outermost("outermost", pass_on, outer_name);
    try {
      require_operator("c_errors::outermost").typed<std::int64_t(std::int64_t)>().call(1);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Python);
      EXPECT_EQ(error.carried().get(), carried.get());
    }
    // C sees whose it is, and keeps it as long as it likes.
    EXPECT_EQ(call("c_errors::outermost"), OPYARD_ERROR_Python);
    opyard_error* const error = opyard_take_error();
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(opyard_last_error(), nullptr);
    opyard_exception exception{};
    exception.bytes = sizeof(exception);
    ASSERT_EQ(opyard_error_exception(error, &exception), OPYARD_OK);
    EXPECT_EQ(exception.object, &gone);
    EXPECT_EQ(exception.interpreter, &gone);
    EXPECT_EQ(exception.release, nullptr) << "it is borrowed";
    // On another thread it is the same.
    std::thread([&] {
      EXPECT_EQ(opyard_restore_error(error), OPYARD_ERROR_Python);
      EXPECT_EQ(take_error().value().carried().get(), carried.get());
    }).join();
    opyard_release(error);
  }
  EXPECT_EQ(gone, 1);
}

TEST(CApiErrors, AnExceptionOfACProgramIsCarriedAndLetGoOnce) {
  static int released;
  static int restored;
  released = restored = 0;
  int object = 0;
  opyard_exception exception = {sizeof(exception), &released, &object, [](void*) { ++released; },
                                [](void*) { return ++restored; }};
  EXPECT_EQ(opyard_set_exception(OPYARD_ERROR_BadValue, "raised in Lua", &exception),
            OPYARD_ERROR_BadValue);
  {
    const Error error = take_error().value();
    EXPECT_STREQ(error.what(), "raised in Lua");
    ASSERT_TRUE(error.carried());
    EXPECT_TRUE(error.carried()->restore_with_lock_held());
    EXPECT_EQ(restored, 1);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_EQ(opyard_set_exception(OPYARD_ERROR_BadValue, "raised", nullptr),
            OPYARD_ERROR_BadArgument);
  opyard_error* const error = opyard_take_error();
  EXPECT_EQ(opyard_error_status(error), OPYARD_ERROR_BadArgument);
  EXPECT_STREQ(opyard_error_text(error),
               "a null pointer was given in place of an opyard_exception");
  EXPECT_EQ(opyard_error_exception(error, &exception), OPYARD_ERROR_NotFound);
  opyard_release(error);
  EXPECT_EQ(left(), "NotFound: the error carries no exception of an interpreter");
  EXPECT_EQ(opyard_take_error(), nullptr);
}

// An operator as a C function, of libffi or of an entry point: nothing leaves it either.
TEST(CApiErrors, WhatAnOperatorThrowsStaysInsideItsCFunction) {
  Library library(LibraryKind::Fragment, "c_errors");
  library.def("jump(int n) -> int", [](std::int64_t) -> std::int64_t { throw 42; });
  const CFunction function = c_function(require_operator("c_errors::jump"));
  EXPECT_EQ(function.as<std::int64_t(std::int64_t)>()(1), 0);
  EXPECT_EQ(left(), "Foreign: something was thrown that is no std::exception");
  library.def("jump_status(int n) -> str", [](std::int64_t) -> std::string { throw 42; });
  const CFunction other = c_function(require_operator("c_errors::jump_status"));
  char* text = nullptr;
  EXPECT_EQ(other.as<int(std::int64_t, char**)>()(1, &text), OPYARD_ERROR_Foreign);
  EXPECT_EQ(text, nullptr);
  take_error();
}

}  // namespace
}  // namespace opyard::test_c_api_errors
