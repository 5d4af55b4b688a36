// base/error.cpp: the error object, the kinds' names, and the error of each thread.
#include "opyard/base/error.h"

#include <fmt/format.h>

#include <cstddef>
#include <new>
#include <utility>

#include "base/backtrace_text.h"
#include "base/thread_error.h"

namespace opyard {
namespace {

// The error of the last failed border call on this thread. Only border functions write it. It has
// no destructor: C functions also fail at the end of the process, when the objects of its thread
// are gone.
struct ThreadError {
  bool present;
  alignas(Error) std::byte bytes[sizeof(Error)];

  Error& error() noexcept { return *std::launder(reinterpret_cast<Error*>(bytes)); }
  // What it held dies when nothing is left here: that may run code of anyone.
  std::optional<Error> take() noexcept {
    if (!std::exchange(present, false)) return std::nullopt;
    std::optional<Error> taken(error());
    error().~Error();
    return taken;
  }
};
constinit thread_local ThreadError thread_error{};

void keep(const Error& error) noexcept {
  static thread_local const struct AtThreadEnd {
    ~AtThreadEnd() { thread_error.take(); }
  } at_thread_end;
  static_cast<void>(at_thread_end);
  const std::optional<Error> former = thread_error.take();
  new (thread_error.bytes) Error(error);
  thread_error.present = true;
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
    : state_(make_counted<State>(
          kind, carried ? std::move(message) : detail::with_backtrace(std::move(message)),
          std::move(carried))) {}

Error::Error(const Error& other) noexcept = default;
Error& Error::operator=(const Error& other) noexcept = default;
Error::~Error() = default;

ErrorKind Error::kind() const noexcept { return state_->kind; }
const char* Error::what() const noexcept { return state_->message.c_str(); }
const CountedPtr<CarriedException>& Error::carried() const noexcept { return state_->carried; }

Error Error::with_context(std::string_view line) const {
  return Error(kind(), detail::add_line(what(), line), carried());
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
  return thread_error.take();
}

namespace detail {

__thread bool thread_has_failed = false;

const Error* thread_error_unchecked() noexcept {
  return thread_error.present ? &thread_error.error() : nullptr;
}

Status remember_error(const Error& error) noexcept {
  keep(error);
  thread_has_failed = true;
  return status_of(error.kind());
}

Status remember_error(ErrorKind kind, const char* message) noexcept {
  thread_has_failed = true;
  try {
    keep(Error(kind, message));
  } catch (...) {
    thread_error.take();  // no memory for the text: the status alone has to say it
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
