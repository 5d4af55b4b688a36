// kernels/common/builds.h: the loops of the build that fits this processor.
//
// [Choice] The builds are beside opyard_kernels.so. The first look at loops(), which is made while
// the plugin is loaded, opens the baseline's and the best that the processor runs, or the one that
// the variable OPYARD_CPU names: baseline, v3 or v4.
//
// Depends on: loops/table.h, opyard/library.h.
#pragma once

#include <opyard/library.h>

#include <source_location>
#include <string>

#include "loops/table.h"

namespace opyard::kernels {

// Raises BadPlugin if a build's file is missing or is another version's, BadValue for an
// OPYARD_CPU that names no build or one that cannot run here.
const LoopTable& loops();

// "v4", and all that this processor runs, the best last.
const char* build_name();
std::string known_builds();

// Says in explain() which build the kernels run that are registered after this.
void name_build(Library& library, std::source_location at = std::source_location::current());

}  // namespace opyard::kernels
