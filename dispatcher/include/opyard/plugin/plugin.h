// opyard/plugin/plugin.h: loading and unloading of operator libraries at run time.
//
// A plugin is a shared library with OPYARD_LIBRARY blocks. Loading it runs the blocks;
// unloading unregisters all that they registered, and never unmaps code, since a thread may be
// in the middle of it. Loading again runs the blocks again, those of the new file if it was
// rebuilt in the meantime.
//
// Depends on: base/error.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "opyard/base/export.h"

namespace opyard {

// Opens the shared library and runs its blocks. A second load of a loaded plugin does nothing; of
// one that was linked in or opened with plain dlopen, the blocks that ran then are taken over.
// Raises BadPlugin if the file cannot be opened, is no plugin, or was built with another
// minor version of Opyard; and what a block throws, with nothing left registered.
OPYARD_API void load_library(const std::string& path);

// Unregisters what the plugin registered. Gives the number of records that calls still under
// way keep alive. Raises NotFound if no plugin of that path is loaded.
OPYARD_API std::size_t unload_library(const std::string& path);

// Something that is left of a plugin. Its code stays, so all of it is safe to touch.
struct Survivor {
  enum class Kind {
    Call,    // a kernel of the plugin, which calls still under way may be running
    Handle,  // an operator of the plugin that typed handles were made of: they raise OperatorGone
    Registration,  // a kernel of another library for an operator that the plugin had defined
  };
  Kind kind = Kind::Call;
  std::string name;        // of the operator; empty for a Call
  std::string key;         // where a Registration is: "CPU", "Autograd[alias]"
  std::string provenance;  // "registered at demo.cpp:12"; empty for a Handle
};

struct UnloadReport {
  std::string path;
  std::size_t in_use = 0;  // as unload_library()
  std::vector<Survivor> survivors;
};

// A line that says whether anything is left, then a line each.
OPYARD_API std::string to_string(const UnloadReport& report);

// As unload_library(), and says what is left.
OPYARD_API UnloadReport unload_and_report(const std::string& path);

// Loads the plugins that OPYARD_LIBRARIES names, paths with colons between them, at the first call
// with the variable set; later ones do nothing. `import opyard` does this; a C++ program calls it
// if it wants that. One that cannot be loaded is skipped: gives its error, and warns of it.
// Programs that run with more rights than their user ignore the variable.
OPYARD_API std::vector<std::string> load_environment_libraries();

// The paths of the loaded plugins, in order of loading, made absolute.
OPYARD_API std::vector<std::string> loaded_libraries();

// The failures of blocks that ran at once because their library was linked in or opened with
// plain dlopen: no one could be told then. Also written to the standard error stream.
OPYARD_API std::vector<std::string> linked_library_errors();

}  // namespace opyard
