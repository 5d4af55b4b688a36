// tracer/code_keys.h: which key a code object has, kept in the code object itself.
//
// The word in its extra slot holds the key and what the tracer must do for it. Nothing is looked up, nothing is
// kept alive, and a new code object at an old address has no word yet: a name is never another's.
//
// Threads: with the GIL held. Depends on: runtime/traced_python.h.
#pragma once

#include "runtime/traced_python.h"

#include <cstdint>

#include "opyard/profiler/event.h"

namespace opyard::python {

// Bits above the key.
enum class CodeFlag : std::uint64_t {
  Hidden = std::uint64_t{1} << 32,     // the profiler's own: not recorded
  Module = std::uint64_t{1} << 33,     // its first argument is shown by instance
  Optimizer = std::uint64_t{1} << 34,  // likewise
};

struct CodeWord {
  std::uint64_t bits = 0;

  std::uint32_t key() const noexcept { return std::uint32_t(bits); }
  bool has(CodeFlag flag) const noexcept { return (bits & std::uint64_t(flag)) != 0; }
  bool is_plain() const noexcept { return bits >> 32 == 0; }
};

class CodeKeys {
 public:
  // Takes an index of the interpreter, the same for ever. Throws PythonErrorSet, as the others do.
  void prepare();

  CodeWord find(PyObject* code) noexcept { return {code_word(code, index_)}; }
  // Key 0 if there is no memory for one.
  CodeWord require(PyObject* code) noexcept {
    const CodeWord word = find(code);
    return __builtin_expect(word.bits != 0, 1) ? word : add(code);
  }
  void set_flag(PyObject* code, CodeFlag flag);

 private:
  CodeWord add(PyObject* code) noexcept;

  Py_ssize_t index_ = -1;
};

}  // namespace opyard::python
