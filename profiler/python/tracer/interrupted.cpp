// tracer/interrupted.cpp: threads inside another tool's callback when a profile begins.
#include "tracer/interrupted.h"

#include <algorithm>
#include <memory>

#include "opyard/detail/python/clear.h"
#include "opyard/profiler/stream.h"
#include "tracer/border.h"

namespace opyard::python {
namespace {

// Of the code of each frame that a thread has open, from the outermost on. None of a thread that is
// not there any more.
std::vector<std::uint32_t> open_keys(CodeKeys& codes, std::uint64_t id) {
  PyThreadState* state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
  while (state != nullptr && state->id != id) state = PyThreadState_Next(state);
  std::vector<std::uint32_t> keys;
  HeldFrame frame(state == nullptr ? nullptr : PyThreadState_GetFrame(state));
  for (; frame != nullptr; frame.reset(PyFrame_GetBack(frame.get()))) {
    keys.push_back(codes.require(code_of(frame.get())).key());
  }
  // The frame behind may be missing for want of memory.
  if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  std::reverse(keys.begin(), keys.end());
  return keys;
}

using Frames = std::vector<Interrupted::Frame>;

// How many of the frames may still be open at an event of this depth: those around it, and, but at
// the begin of a call, the one at its depth.
std::size_t around(const Frames& frames, std::uint32_t depth, bool begins) noexcept {
  const std::uint32_t most = begins ? depth - 1 : depth;
  std::size_t n = frames.size();
  while (n > 0 && frames[n - 1].depth > most) --n;
  return n;
}

// See [Replaced]: how many of the first `n` frames are still open, as far as their codes tell.
std::size_t still_open(const Frames& frames, std::size_t n, CodeKeys& codes, PyFrameObject* frame,
                       std::uint32_t depth) noexcept {
  std::size_t open = n;
  HeldFrame now(reinterpret_cast<PyFrameObject*>(Py_NewRef(frame)));
  for (; n > 0 && now != nullptr; now.reset(PyFrame_GetBack(now.get())), --depth) {
    if (frames[n - 1].depth != depth) continue;
    --n;
    if (frames[n].key != codes.require(code_of(now.get())).key()) open = n;
  }
  clear_or_report(PyExc_MemoryError);  // what could not be looked at counts as open
  return open;
}

}  // namespace

void Interrupted::capture_ends(CodeKeys& codes, PyFrameObject* frame, std::uint32_t key,
                               bool begins) noexcept {
  const std::uint64_t id = PyThreadState_Get()->id;
  const auto found = std::find_if(threads_.begin(), threads_.end(),
                                  [&](const Thread& thread) { return thread.id == id; });
  if (found == threads_.end()) return;
  const std::uint32_t depth = depth_of(frame);
  const auto is_known = [&](const Frame& one) {
    return begins && one.depth == depth && one.has_run_nothing && one.key == key;
  };
  const Frames& frames = found->frames;
  std::size_t open = around(frames, depth, begins);
  if (found->is_replaced) open = still_open(frames, open, codes, frame, depth);
  for (std::size_t n = frames.size(); n-- > open;) {
    if (is_known(frames[n])) {
      profiler::append_event(event_of(profiler::MarkKind::KnownCall), key);
      break;
    }
    profiler::append_event(profiler::exit_of(frames[n].kind), frames[n].key);
  }
  threads_.erase(found);
}

void Interrupted::note_lost_ends(CodeKeys& codes, profiler::SourceReport& report) const {
  for (const Thread& thread : threads_) {
    const std::vector<std::uint32_t> open = open_keys(codes, thread.id);
    const auto is_gone = [&](const Frame& one) {
      return one.depth > open.size() || open[one.depth - 1] != one.key;
    };
    const auto first = std::find_if(thread.frames.begin(), thread.frames.end(), is_gone);
    const auto gone = std::uint32_t(thread.frames.end() - first);
    if (gone != 0) report.lost_ends.push_back({thread.handle, thread.native_id, gone});
  }
}

}  // namespace opyard::python
