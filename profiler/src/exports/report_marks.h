// exports/report_marks.h: selection of marks for the HTML report.
//
// A page has room for a number of them. Rare ones are all shown; of each frequent one there is the
// first in each of equal parts of the time that it covers, so that a page looks as it would with
// all of them. Changes of memory are no marks there, but curves.
//
// Depends on: profiler/profile.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "opyard/profiler/profile.h"

namespace opyard::profiler {

struct ShownMarks {
  std::vector<std::vector<std::uint32_t>> tracks;  // of each track, places in its `marks`
  std::size_t left_out = 0;
};

// Marks of one track that have a name in common are of one kind; each track's are in the order of
// time.
ShownMarks choose_marks(const Profile& profile, std::size_t most);

}  // namespace opyard::profiler
