// c_api/errors.cpp: the C API of error objects and carried exceptions.
#include <fmt/format.h>

#include "base/thread_error.h"
#include "base/versioned_struct.h"
#include "c_api/pointers.h"
#include "opyard/base/warning.h"
#include "opyard/interpreter/interpreter_exception.h"

namespace opyard::c_api {
namespace {

struct ErrorObject final : Counted {
  explicit ErrorObject(Error e) noexcept : error(std::move(e)) {}
  const Error error;
};

const Error& error_of(const opyard_error* error) {
  const auto* const counted = reinterpret_cast<const Counted*>(require(error, "an error"));
  return static_cast<const ErrorObject*>(counted)->error;
}

// An exception that a C program hands over.
class CException final : public InterpreterException {
 public:
  explicit CException(const opyard_exception& exception) noexcept : exception_(exception) {}
  ~CException() override {
    if (exception_.release != nullptr) exception_.release(exception_.object);
  }
  bool restore_with_lock_held() const noexcept override {
    return exception_.restore != nullptr && exception_.restore(exception_.object) != 0;
  }
  const void* interpreter() const noexcept override { return exception_.interpreter; }
  void* object() const noexcept override { return exception_.object; }

 private:
  const opyard_exception exception_;
};

ErrorKind error_kind_of(int status) {
  return status == OPYARD_OK                           ? ErrorKind::Internal
         : status < 0 || status >= OPYARD_STATUS_COUNT ? ErrorKind::Foreign
                                                       : ErrorKind(status - 1);
}

}  // namespace

void refuse_null(const char* what) {
  fail(ErrorKind::BadArgument, fmt::format("a null pointer was given in place of {}", what));
}

}  // namespace opyard::c_api

using namespace opyard;         // NOLINT
using namespace opyard::c_api;  // NOLINT

extern "C" {

opyard_error* opyard_take_error(void) {
  if (!detail::thread_has_failed) return nullptr;
  opyard_error* taken = nullptr;
  const Status status = guarded([&] {
    const std::optional<Error> error = take_error();
    auto object =
        make_counted<ErrorObject>(error ? *error : Error(ErrorKind::OutOfMemory, "out of memory"));
    taken = reinterpret_cast<opyard_error*>(static_cast<Counted*>(object.release()));
  });
  if (status != Status::Ok) take_error();
  return taken;
}

int opyard_restore_error(const opyard_error* error) {
  return border([&] { throw error_of(error); });
}

int opyard_error_status(const opyard_error* error) {
  int status = OPYARD_OK;
  const int failed = border([&] { status = int(status_of(error_of(error).kind())); });
  return failed != OPYARD_OK ? failed : status;
}

const char* opyard_error_text(const opyard_error* error) {
  const char* text = "";
  static_cast<void>(border([&] { text = error_of(error).what(); }));
  return text;
}

int opyard_error_exception(const opyard_error* error, opyard_exception* exception) {
  return border([&] {
    const auto* const carried =
        dynamic_cast<const InterpreterException*>(error_of(error).carried().get());
    if (carried == nullptr) {
      fail(ErrorKind::NotFound, "the error carries no exception of an interpreter");
    }
    opyard_exception known{};
    known.interpreter = carried->interpreter();
    known.object = carried->object();
    write_sized(exception, known, "opyard_exception");
  });
}

int opyard_set_exception(int status, const char* message, const opyard_exception* exception) {
  const int failed = border([&] {
    const opyard_exception known = read_sized(exception, "opyard_exception");
    CountedPtr<CarriedException> carried;
    try {
      carried = make_counted<CException>(known);
    } catch (...) {
      if (known.release != nullptr) known.release(known.object);
      throw;
    }
    throw Error(error_kind_of(status), message == nullptr ? "" : message, std::move(carried));
  });
  return failed == int(status_of(error_kind_of(status))) ? status : failed;
}

int opyard_warn(const char* message) {
  return border([&] { warn(require(message, "the text of a warning")); });
}

}  // extern "C"
