// opyard/plugin/plugin.h: loading operator libraries at run time, and taking them back.
//
// A plugin is a shared library with OPYARD_LIBRARY blocks. Loading it runs the blocks;
// unloading takes all that they registered back, and never unmaps code, since a thread may be
// in the middle of it. Loading again runs the blocks again, those of the new file where it was
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
// Raises BadPlugin where the file cannot be opened, is no plugin, or was built with another
// minor version of Opyard; and what a block throws, with nothing left registered.
OPYARD_API void load_library(const std::string& path);

// Takes back what the plugin registered. Gives the number of records that calls still under
// way keep alive. Raises NotFound where no plugin of that path is loaded.
OPYARD_API std::size_t unload_library(const std::string& path);

// The paths of the loaded plugins, in order of loading, made absolute.
OPYARD_API std::vector<std::string> loaded_libraries();

// The failures of blocks that ran at once because their library was linked in or opened with
// plain dlopen: nobody could be told then. Also written to the standard error stream.
OPYARD_API std::vector<std::string> linked_library_errors();

}  // namespace opyard
