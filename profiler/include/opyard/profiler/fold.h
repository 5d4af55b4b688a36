// opyard/profiler/fold.h: folding: profiles without the calls inside of libraries.
//
// A folded profile has the program's own functions, what they call, operators and ranges. Left out
// is what a library does inside of a call of it: the time of `json.dumps` is its own, with that of
// the encoder. A function of the program that a library calls is shown inside that call. Internal
// operators, whose namespace is `opyard`, are part of the operator that calls them. Frames of
// runpy are left out if nothing of the program is around them.
//
// No time is lost but that of runpy: what is left out counts as that of what is around it.
//
// Depends on: profiler/profile.h, profiler/names.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opyard/profiler/names.h"
#include "opyard/profiler/profile.h"

namespace opyard::profiler {

// Whose a function of Python is.
enum class Origin : std::uint8_t { Own, Library, Launcher };

// Beginnings of file names. Whatever is said here, frozen modules and what is in a folder
// `site-packages` or `dist-packages` is of a library, unless it is `own`.
struct FoldRules {
  std::vector<std::string> libraries;
  std::vector<std::string> own;
};

// Whose code it is, by the rules of folding.
OPYARD_API Origin origin_of(const Name& name, const FoldRules& rules);

// Whether anything is left out. Throws std::bad_alloc.
OPYARD_API bool folds_any(const Profile& profile, const FoldRules& rules);
// Spans that are kept have their times, kinds and keys. Throws std::bad_alloc.
OPYARD_API Profile fold(const Profile& profile, const FoldRules& rules);

}  // namespace opyard::profiler
