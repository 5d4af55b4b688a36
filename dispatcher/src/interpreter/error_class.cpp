// interpreter/error_class.cpp: names of user-defined error classes.
#include "opyard/interpreter/error_class.h"

#include <fmt/format.h>

#include <atomic>

#include "opyard/interpreter/interpreter_exception.h"

namespace opyard {
namespace {

constinit std::atomic<NamedError::Raise> current_raise{nullptr};

}  // namespace

NamedError::~NamedError() = default;

NamedError::Raise NamedError::set_raise(Raise raise) noexcept {
  return current_raise.exchange(raise, std::memory_order_acq_rel);
}

bool NamedError::raise_with_lock_held(std::string_view text) const noexcept {
  const Raise raise = current_raise.load(std::memory_order_acquire);
  if (raise == nullptr) return false;
  // The class says the name.
  if (text.starts_with(name_) && text.substr(name_.size()).starts_with(": ")) {
    text.remove_prefix(name_.size() + 2);
  }
  return raise(name_, text);
}

bool NamedError::restore_with_lock_held() const noexcept { return raise_with_lock_held({}); }

void fail_as(std::string class_name, std::string_view message) {
  std::string text = fmt::format("{}: {}", class_name, message);
  throw Error(ErrorKind::Foreign, std::move(text), make_counted<NamedError>(std::move(class_name)));
}

std::string_view class_name_of(const Error& error) noexcept {
  const CarriedException* const carried = error.carried().get();
  if (const auto* const named = dynamic_cast<const NamedError*>(carried)) return named->name();
  if (const auto* const exception = dynamic_cast<const InterpreterException*>(carried)) {
    return exception->class_name();
  }
  return {};
}

ErrorKind original_kind(const Error& error) noexcept {
  const CarriedException* const carried = error.carried().get();
  const auto* const exception = dynamic_cast<const InterpreterException*>(carried);
  return exception == nullptr ? error.kind() : exception->kind().value_or(error.kind());
}

}  // namespace opyard
