// opyard/interpreter/interpreter_exception.h: a carried exception of an interpreter, and its type.
//
// An Error may carry an exception object of another language (base/error.h). One of this class says
// whose it is, so that a program that knows that language, too, can take it out again.
//
// Depends on: base/error.h.
#pragma once

#include <optional>
#include <string_view>

#include "opyard/base/error.h"

namespace opyard {

class OPYARD_API InterpreterException : public CarriedException {
 public:
  // An address that is the interpreter's alone: of its tag, if it has one.
  virtual const void* interpreter() const noexcept = 0;
  // The exception in its language. Borrowed.
  virtual void* object() const noexcept = 0;
  // The text that the Error had when it was made; what it has beyond that is context, which was
  // added on the way. Empty if that is not known.
  virtual std::string_view text() const noexcept;
  // The name of its class of errors, see interpreter/error_class.h; empty for none.
  virtual std::string_view class_name() const noexcept;
  // The kind of the Error that it was made of when that left C++; nothing if it began in its
  // language.
  virtual std::optional<ErrorKind> kind() const noexcept;

 protected:
  ~InterpreterException() override;
};

}  // namespace opyard
