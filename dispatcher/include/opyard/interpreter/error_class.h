// opyard/interpreter/error_class.h: errors of classes that users name.
//
// The list of error kinds is Opyard's own. A library that wants its callers to tell its failures
// apart names them: "demo.QuotaError" in C++ is the class that Python registered under that name
// with opyard.register_error(), and an exception of that class has that name in C++.
//
//   fail_as("demo.QuotaError", "no room for 7 more");
//   catch (const Error& error) { if (class_name_of(error) == "demo.QuotaError") … }
//
// If no language knows the name, it begins the text of an error of kind Foreign.
//
// Depends on: base/error.h.
#pragma once

#include <string>
#include <string_view>

#include "opyard/base/error.h"

namespace opyard {

// Throws an Error of kind Foreign, whose text is "<class_name>: <message>".
[[noreturn]] OPYARD_API OPYARD_COLD void fail_as(std::string class_name, std::string_view message);

// The name of an error's class; empty if it has none. Lives as long as the error.
OPYARD_API std::string_view class_name_of(const Error& error) noexcept;

// The kind of an error, also if it was an exception of another language on its way: of an operator
// that found no kernel NoKernel, though a kernel in Python called it, where kind() is Python.
OPYARD_API ErrorKind original_kind(const Error& error) noexcept;

// What an error of fail_as() carries.
class OPYARD_API NamedError : public CarriedException {
 public:
  // Raises the exception in a language that has a class of this name, with its lock held; false
  // if there is none. Put in by the language's plugin. Gives the former one.
  using Raise = bool (*)(const std::string& name, std::string_view message) noexcept;
  static Raise set_raise(Raise raise) noexcept;

  explicit NamedError(std::string name) noexcept : name_(std::move(name)) {}

  const std::string& name() const noexcept { return name_; }
  // `text` is the Error's, with whatever context was added to it.
  bool raise_with_lock_held(std::string_view text) const noexcept;
  bool restore_with_lock_held() const noexcept override;

 protected:
  ~NamedError() override;

 private:
  const std::string name_;
};

}  // namespace opyard
