// runtime/enter_python.h: entering Python from C++ on any thread.
//
// Depends on: runtime/{gil,errors,stack_end}.h.
#pragma once

#include "runtime/gil.h"

#include <utility>

#include "opyard/detail/python/stack_end.h"
#include "runtime/errors.h"

namespace opyard::python {

// Whether the end of the C stack is looked for at once, or by what the body calls first.
enum class LooksForStackEnd : bool { AtOnce, Later };

// Runs a body that calls Python, with the GIL. What it leaves as a Python exception that is set
// becomes an Error that carries it, since the caller may be C++, which must not see PythonErrorSet.
// Raises InterpreterGone once the interpreter has ended.
template <LooksForStackEnd look = LooksForStackEnd::AtOnce, typename Body>
decltype(auto) enter_python(Runtime& runtime, Body&& body) {
  const HoldGil gil(runtime);
  try {
    if (look == LooksForStackEnd::AtOnce && is_stack_at_its_end()) throw PythonErrorSet();
    return std::forward<Body>(body)();
  } catch (const PythonErrorSet&) {
    throw_python_error(runtime);
  }
}

}  // namespace opyard::python
