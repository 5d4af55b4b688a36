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

// What a destructor has to say. The handler neither waits, nor throws, nor runs code of a user where
// it cannot be sure that this is the place: it says the message later.
using LateWarningHandler = void (*)(const std::string& message) noexcept;
OPYARD_API LateWarningHandler set_late_warning_handler(LateWarningHandler handler) noexcept;

OPYARD_API void warn_late(const std::string& message) noexcept;

}  // namespace opyard
