// base/shared_library.h: opening a shared library, as its file is now.
//
// Depends on: base/error.h.
#pragma once

#include <string>

namespace opyard {

// The handle of the library at a path, for dlsym(); a name without a slash that is no file here is
// looked for where the system looks. Nothing is ever unmapped: a file that has changed since it was
// opened is opened anew, beside its former self. Any thread. Raises BadPlugin, std::bad_alloc.
void* open_shared_library(const std::string& path);

}  // namespace opyard
