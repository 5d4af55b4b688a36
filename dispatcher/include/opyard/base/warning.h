// opyard/base/warning.h: something a person should know, where the call goes on.
//
// A host decides where warnings go: Python's filters when the plugin is loaded, else the
// standard error stream. warn() holds no lock while the handler runs, and what the handler
// throws comes out of warn(), so that a filter can turn a warning into an error.
//
// Depends on: base/export.h.
#pragma once

#include <string>

#include "opyard/base/export.h"

namespace opyard {

using WarningHandler = void (*)(const std::string& message);

// Puts a handler in and returns the former one; null is the standard error stream.
OPYARD_API WarningHandler set_warning_handler(WarningHandler handler) noexcept;

OPYARD_API void warn(const std::string& message);

}  // namespace opyard
