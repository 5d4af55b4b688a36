// opyard/embed.h: Python in a C++ program, in one interpreter or in several.
//
//   opyard::embed::Python python({.library = "libpython3.12.so.1.0"});   // or the one that runs already
//   opyard::embed::Interpreter worker(python);                            // with a GIL of its own
//   worker.run("import kernels");                                         // raises Error with the traceback
//   {
//     const opyard::embed::Inside inside(worker);                         // this thread is in it for a scope
//     op.call(x);                                                         // its Python kernels
//   }
//
// A program links libopyard_embed and no libpython: a Python that is loaded already is used, else
// the one that is named is opened, with its symbols for all, and started. Each interpreter imports
// opyard as it begins.
//
// Threads: everything here may be used by any thread that is in no interpreter, and raises
// BadRegistration on one that is in one: beginning or ending an interpreter waits for Python.
// Several threads may be inside one interpreter; they take turns by its GIL. Interpreters with a
// GIL of their own run at once; they need CPython 3.12. A tensor that one of them was shown is that
// one's: give each an alias().
//
// Depends on: base/error.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "opyard/base/error.h"
#include "opyard/base/export.h"

namespace opyard::embed {

struct Options {
  // The libpython to open if none is loaded: a path or a name. Empty: the environment variable
  // OPYARD_LIBPYTHON, else the newest one from 3.15 to 3.10 that the system finds.
  std::string library = "";
  // A python program, such as that of a virtual environment, whose packages are used. Empty: the
  // library's own.
  std::string executable = "";
  // Folders that each interpreter looks into first when it imports: where opyard is, and one's
  // own modules.
  std::vector<std::string> path = {};
};

namespace detail {
class EmbeddedInterpreter;
}

// The Python of this process, and its main interpreter. At most one at a time.
class OPYARD_API Python {
 public:
  // Raises BadPlugin if no libpython can be opened, or it is none of 3.10 to 3.15;
  // BadRegistration if there is a Python object already; and what `import opyard` raises, as
  // Error of the kind Python.
  explicit Python(const Options& options = {});
  Python(const Python&) = delete;
  Python& operator=(const Python&) = delete;
  // As end(); from inside an interpreter it does nothing but say so, since a destructor raises
  // nothing.
  ~Python();

  // Ends Python, if this object started it. Raises BadRegistration while an Interpreter lives.
  void end();

  // Runs a text in the module __main__ of the main interpreter.
  void run(const std::string& text);

  std::string version() const;  // "3.12.1"
  bool can_isolate() const;     // from 3.12 on

 private:
  friend class Inside;
  friend class Interpreter;
  std::unique_ptr<detail::EmbeddedInterpreter> embedded_;
};

enum class Gil {
  Own,     // runs at the same time as all others; from CPython 3.12 on
  Shared,  // takes turns with the main interpreter
};

// One more interpreter.
class OPYARD_API Interpreter {
 public:
  // Raises Unsupported for a GIL of its own before CPython 3.12, and what Python() raises.
  explicit Interpreter(Python& python, Gil gil = Gil::Own);
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  ~Interpreter();  // as that of Python

  // Raises BadRegistration while a thread is inside.
  void end();

  // Runs a text in the module __main__ of the interpreter, on this thread. Raises Error of the kind
  // Python with the traceback as its text.
  void run(const std::string& text);

  // By which Python and error messages call it.
  std::int64_t number() const;

 private:
  friend class Inside;
  std::unique_ptr<detail::EmbeddedInterpreter> embedded_;
};

// This thread is in an interpreter, with its GIL, for a scope. Not to be moved to another thread.
class OPYARD_API Inside {
 public:
  // Raises BadRegistration if this thread is in an interpreter already, InterpreterGone for one
  // that has ended.
  explicit Inside(Python& python);
  explicit Inside(Interpreter& interpreter);
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside();

 private:
  explicit Inside(detail::EmbeddedInterpreter* embedded);

  detail::EmbeddedInterpreter& embedded_;
  void* state_;
};

}  // namespace opyard::embed
