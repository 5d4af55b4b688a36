// tracer/interrupted.cpp: threads that a profile finds within a function of another tool.
#include "tracer/interrupted.h"

#include <algorithm>

#include "opyard/profiler/stream.h"

namespace opyard::python {

void Interrupted::record_ends(PyFrameObject* frame, std::uint32_t key, bool begins) noexcept {
  const std::uint64_t id = PyThreadState_Get()->id;
  const auto found = std::find_if(threads_.begin(), threads_.end(),
                                  [&](const auto& thread) { return thread.first == id; });
  if (found == threads_.end()) return;
  const std::uint32_t depth = depth_of(frame);
  const auto is_known = [&](const Frame& one) {
    return begins && one.depth == depth && one.has_run_nothing && one.key == key;
  };
  const std::vector<Frame>& frames = found->second;
  for (std::size_t n = frames.size(); n-- > 0;) {
    if (is_known(frames[n])) {
      profiler::record(event_of(profiler::MarkKind::KnownCall), key);
      break;
    }
    if (frames[n].depth < depth || (frames[n].depth == depth && !begins)) break;
    profiler::record(profiler::exit_of(frames[n].kind), frames[n].key);
  }
  threads_.erase(found);
}

}  // namespace opyard::python
