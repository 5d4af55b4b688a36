// interpreter/interpreter_object.cpp: objects of another interpreter.
#include "opyard/interpreter/interpreter_object.h"

#include <fmt/format.h>

namespace opyard::detail {

void refuse_other_interpreter(Interpreter* us, Interpreter* other) {
  fail(ErrorKind::InterpreterGone,
       fmt::format("an object of interpreter {} cannot be used in interpreter {}", other->name(),
                   us->name()));
}

}  // namespace opyard::detail
