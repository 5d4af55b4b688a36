// slot/interpreter_exception.cpp: where the type information of these exceptions lives.
#include "opyard/slot/interpreter_exception.h"

namespace opyard {

InterpreterException::~InterpreterException() = default;

}  // namespace opyard
