// interpreter/interpreter_exception.cpp: type information of interpreter exceptions.
#include "opyard/interpreter/interpreter_exception.h"

namespace opyard {

InterpreterException::~InterpreterException() = default;
std::string_view InterpreterException::text() const noexcept { return {}; }
std::string_view InterpreterException::class_name() const noexcept { return {}; }
std::optional<ErrorKind> InterpreterException::kind() const noexcept { return {}; }

}  // namespace opyard
