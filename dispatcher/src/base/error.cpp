// base/error.cpp: the error object, the kinds' names, and the error kept per thread.
#include "opyard/base/error.h"

#include <fmt/format.h>

#include "base/thread_error.h"

namespace opyard {
namespace {

// The error of the last failed border call on this thread. Only border functions write it.
std::optional<Error>& thread_error() {
  thread_local std::optional<Error> error;
  return error;
}

}  // namespace

struct Error::State final : Counted {
  State(ErrorKind k, std::string text, CountedPtr<CarriedException> exception)
      : kind(k), message(std::move(text)), carried(std::move(exception)) {}
  const ErrorKind kind;
  const std::string message;
  const CountedPtr<CarriedException> carried;
};

Error::Error(ErrorKind kind, std::string message, CountedPtr<CarriedException> carried)
    : state_(make_counted<State>(kind, std::move(message), std::move(carried))) {}

Error::Error(const Error& other) noexcept = default;
Error& Error::operator=(const Error& other) noexcept = default;
Error::~Error() = default;

ErrorKind Error::kind() const noexcept { return state_->kind; }
const char* Error::what() const noexcept { return state_->message.c_str(); }
const CountedPtr<CarriedException>& Error::carried() const noexcept { return state_->carried; }

Error Error::with_context(std::string_view line) const {
  return Error(kind(), fmt::format("{}\n{}", what(), line), carried());
}

const char* name_of(ErrorKind kind) noexcept {
  static constexpr const char* kNames[] = {
#define OPYARD_ERROR_KIND(kind, python, meaning) #kind,
#include "opyard/base/error_kinds.def"
#undef OPYARD_ERROR_KIND
  };
  return kNames[int(kind)];
}

void fail(ErrorKind kind, std::string message) { throw Error(kind, std::move(message)); }
void fail(ErrorKind kind, const char* message) { throw Error(kind, message); }

std::optional<Error> take_error() {
  detail::thread_has_failed = false;
  return std::exchange(thread_error(), std::nullopt);
}

namespace detail {

__thread bool thread_has_failed = false;

const Error* thread_error_unchecked() noexcept {
  const std::optional<Error>& error = thread_error();
  return error ? &*error : nullptr;
}

Status remember_error(const Error& error) noexcept {
  thread_error() = error;
  thread_has_failed = true;
  return status_of(error.kind());
}

Status remember_error(ErrorKind kind, const char* message) noexcept {
  thread_has_failed = true;
  try {
    thread_error() = Error(kind, message);
  } catch (...) {
    thread_error().reset();  // no memory for the text: the status alone has to say it
  }
  return status_of(kind);
}

void assertion_failed(const char* condition, const char* file, int line) {
  fail(ErrorKind::Internal,
       fmt::format("{}:{}: '{}' does not hold. This is a defect of Opyard; please report it.", file,
                   line, condition));
}

}  // namespace detail
}  // namespace opyard
