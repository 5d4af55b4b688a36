// tracer/code_keys.h: keys of code objects, stored in the code objects.
//
// The word in its extra slot holds the key and what the tracer must do for it. Nothing is looked
// up, nothing is held, and a new code object at an old address has no word yet: a name is
// never another's.
//
// Threads: with the GIL held. Depends on: python/traced_python.h.
#pragma once

#include "opyard/detail/python/traced_python.h"

#include <cstdint>

#include "opyard/profiler/event.h"

namespace opyard::python {

// Bits above the key.
enum class CodeFlag : std::uint64_t {
  Hidden = std::uint64_t{1} << 32,      // the profiler's own: not captured
  Module = std::uint64_t{1} << 33,      // its first argument is shown by instance
  Optimizer = std::uint64_t{1} << 34,   // likewise
  Coroutine = std::uint64_t{1} << 35,   // an `async def`: which one it is belongs to its events
  ThreadBody = std::uint64_t{1} << 36,  // threading's: its first argument is the thread
  AtEntry = std::uint64_t{1} << 37,     // of a frame in tracer/at_entry.h
  Greenlets = std::uint64_t{1} << 39,   // the package's: at its end there may be some
  Known = std::uint64_t{1} << 38,       // has a key: so a word of a new code object is no other's
  Lines = std::uint64_t{1} << 40,       // its lines are timed, see tracer/lines/lines.h
  Excluded = std::uint64_t{1} << 41,    // left out by the filter of the profile that is named above
};
// The filter that decided about the code, from bit 42 on; 0 if none did.
inline constexpr int kFilterShift = 42;
inline constexpr std::uint64_t kFilterBits = ~std::uint64_t{0} << (kFilterShift - 1);

struct CodeWord {
  std::uint64_t bits = 0;

  std::uint32_t key() const noexcept { return std::uint32_t(bits); }
  bool has(CodeFlag flag) const noexcept { return (bits & std::uint64_t(flag)) != 0; }
  // What is above the key.
  std::uint32_t upper() const noexcept { return std::uint32_t(bits >> 32); }
  std::uint32_t filter() const noexcept { return std::uint32_t(bits >> kFilterShift); }
};

class CodeKeys {
 public:
  // Takes an index of the interpreter, the same for ever. Throws PythonErrorSet, as the others do.
  void prepare();

  Py_ssize_t index() const noexcept { return index_; }

  CodeWord find(PyObject* code) noexcept { return {code_word_unchecked(code, index_)}; }
  // Key 0 if there is no memory for one.
  CodeWord require(PyObject* code) noexcept {
    const CodeWord word = find(code);
    return __builtin_expect(word.bits != 0, 1) ? word : add(code);
  }
  void set_flag(PyObject* code, CodeFlag flag);
  void clear_flag(PyObject* code, CodeFlag flag) noexcept;
  // What a filter decided. Returns the new word, which is not stored if there is no memory.
  CodeWord set_filter(PyObject* code, CodeWord word, std::uint32_t filter, bool excluded) noexcept;

 private:
  CodeWord add(PyObject* code) noexcept;

  Py_ssize_t index_ = -1;
};

}  // namespace opyard::python
