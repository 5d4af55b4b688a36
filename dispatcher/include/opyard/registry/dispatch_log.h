// opyard/registry/dispatch_log.h: the dispatch log: one line for each call of the process.
//
//   [call] op=[demo::scaled_add], key=[AutogradCPU]
//    [redispatch] op=[demo::scaled_add], key=[CPU]
//     [callBoxed] op=[demo::mul], key=[CPU]
//
// One line a kernel on the standard error stream, with as many spaces in front as calls it is deep.
// Keys that fall through do not show. The environment variable OPYARD_DISPATCH_LOG=1 does
// the same from the start; 0 is off, any other value is ignored with a warning.
//
// It is a watcher (registry/watch.h): off, it costs nothing.
//
// Depends on: base/export.h.
#pragma once

#include "opyard/base/export.h"

namespace opyard {

// Whether each call is written to standard error, with its keys.
OPYARD_API void set_dispatch_log(bool on);
OPYARD_API bool dispatch_log();

}  // namespace opyard
