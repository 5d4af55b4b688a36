// embed/library.cpp: finding the functions of a libpython.
#include "embed/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

#include "opyard/base/error.h"

namespace opyard::embed {
namespace {

constexpr int kOldest = 10;  // of 3.x
constexpr int kNewest = 15;

const std::string& known_versions() {
  static const std::string text =
      "CPython 3." + std::to_string(kOldest) + " to 3." + std::to_string(kNewest);
  return text;
}

// Opens it with its symbols for all, which extension modules need; they come later.
bool open(const std::string& name) {
  return dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
}

void open_chosen(const std::string& name) {
  const char* const named = std::getenv("OPYARD_LIBPYTHON");
  const std::string chosen = !name.empty() ? name : named != nullptr ? named : "";
  if (!chosen.empty()) {
    if (!open(chosen)) {
      fail(ErrorKind::BadPlugin, "this libpython cannot be opened: " + std::string(dlerror()));
    }
    return;
  }
  for (int minor = kNewest; minor >= kOldest; --minor) {
    if (open("libpython3." + std::to_string(minor) + ".so.1.0")) return;
  }
  fail(ErrorKind::BadPlugin, "no libpython of " + known_versions() +
                                 " was found; name one in Options::library or in the environment "
                                 "variable OPYARD_LIBPYTHON");
}

template <typename Function>
bool find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

PythonLibrary read_library() {
  PythonLibrary library;
#define OPYARD_PYTHON_FUNCTION(name, result, parameters)                                           \
  if (!find(#name, library.name)) {                                                                \
    fail(ErrorKind::BadPlugin, "the Python of this process lacks the function " #name ", which " + \
                                   known_versions() + " have");                                    \
  }
#define OPYARD_LATER_PYTHON_FUNCTION(name, result, parameters) find(#name, library.name);
#include "embed/functions.def"
#undef OPYARD_PYTHON_FUNCTION
#undef OPYARD_LATER_PYTHON_FUNCTION
  const std::string text = library.Py_GetVersion();
  library.version = text.substr(0, text.find(' '));
  const bool known = text.starts_with("3.");
  library.minor = known ? std::atoi(text.c_str() + 2) : 0;
  if (library.minor < kOldest || library.minor > kNewest) {
    fail(ErrorKind::BadPlugin, "the Python of this process is " + library.version +
                                   ", and Opyard knows " + known_versions());
  }
  return library;
}

}  // namespace

void* PythonLibrary::attached_state() const noexcept {
  if (Py_IsInitialized() == 0) return nullptr;
  void* const current = PyThreadState_GetUnchecked != nullptr ? PyThreadState_GetUnchecked()
                                                              : _PyThreadState_UncheckedGet();
  // Before 3.12 it may be another thread's.
  if (!can_isolate() && current != PyGILState_GetThisThreadState()) return nullptr;
  return current;
}

const PythonLibrary& require_library(const std::string& name) {
  static std::mutex mutex;
  static const PythonLibrary* known = nullptr;  // for ever: no libpython is ever closed
  const std::lock_guard lock(mutex);
  if (known != nullptr) return *known;
  if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") == nullptr) open_chosen(name);
  known = new PythonLibrary(read_library());
  return *known;
}

}  // namespace opyard::embed
