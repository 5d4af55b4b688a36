// opyard/detail/profiler/links.h: links from backward functions to their calls.
//
// A call that made a function of gradients, and the span in which a backward ran that function, are
// the ends of a link, on whichever threads they are.
//
// Depends on: profiler/profile.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "opyard/profiler/profile.h"

namespace opyard::profiler {

struct LinkEnd {
  std::uint32_t track;
  std::uint32_t span;
  std::uint64_t sequence;  // the function's number, among those that its thread made
  std::uint64_t link;  // from 1, of a profile; 0 if the function was made and not run, or run alone
  bool is_run;
};

class OPYARD_API Links {
 public:
  explicit Links(const Profile& profile);
  // Of a track, in the order of its spans.
  std::span<const LinkEnd> of(std::size_t track) const noexcept;
  // A call may have made several functions.
  std::span<const LinkEnd> of(std::size_t track, std::size_t span) const noexcept;
  // On which the call of a link was made; kNoSpan for the link 0.
  std::uint32_t track_of_call(std::uint64_t link) const noexcept {
    return link == 0 ? kNoSpan : tracks_of_calls_[std::size_t(link - 1)];
  }

 private:
  std::vector<LinkEnd> ends_;  // by track and span
  std::vector<std::uint32_t> tracks_of_calls_;
};

}  // namespace opyard::profiler
