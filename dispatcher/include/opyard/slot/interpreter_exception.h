// opyard/slot/interpreter_exception.h: a carried exception that can be looked at.
//
// An Error may carry an exception object of another language (base/error.h). One of this class says
// whose it is, so that a program that knows that language, too, can take it out again.
//
// Depends on: base/error.h.
#pragma once

#include "opyard/base/error.h"

namespace opyard {

class OPYARD_API InterpreterException : public CarriedException {
 public:
  // An address that is the interpreter's alone: of its tag, where it has one.
  virtual const void* interpreter() const noexcept = 0;
  // The exception in its language. Lent.
  virtual void* object() const noexcept = 0;

 protected:
  ~InterpreterException() override;
};

}  // namespace opyard
