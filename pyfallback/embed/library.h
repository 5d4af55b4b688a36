// embed/library.h: the libpython of this process, found or opened.
//
// Depends on: embed/functions.def, base/error.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace opyard::embed {

// As CPython 3.12 to 3.15 lay them out.
struct PythonStatus {
  int type;  // 0: all went well
  const char* function;
  const char* message;
  int exit_code;
};
struct InterpreterConfig {
  int use_main_obmalloc;
  int allow_fork;
  int allow_exec;
  int allow_threads;
  int allow_daemon_threads;
  int check_multi_interp_extensions;
  int gil;  // 1: shared, 2: own
};

// The functions, by their names.
struct PythonLibrary {
#define OPYARD_PYTHON_FUNCTION(name, result, parameters) result(*name) parameters = nullptr;
#define OPYARD_LATER_PYTHON_FUNCTION OPYARD_PYTHON_FUNCTION
#include "embed/functions.def"
#undef OPYARD_PYTHON_FUNCTION
#undef OPYARD_LATER_PYTHON_FUNCTION

  int minor = 0;  // of 3.x
  std::string version;

  bool can_isolate() const noexcept { return minor >= 12; }
  // The thread state with which this thread holds a GIL, or null.
  void* attached_state() const noexcept;
};

// The one that is loaded, else the one of this name, which is opened. Raises BadPlugin.
const PythonLibrary& require_library(const std::string& name);

}  // namespace opyard::embed
