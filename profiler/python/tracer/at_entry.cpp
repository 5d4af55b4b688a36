// tracer/at_entry.cpp: frames at their first instruction when a profile begins.
#include "tracer/at_entry.h"

#include <algorithm>

namespace opyard::python {

void AtEntry::add(CodeKeys& codes, PyFrameObject* frame) {
  frames_.reserve(frames_.size() + 1);
  auto* const code = reinterpret_cast<PyObject*>(PyFrame_GetCode(frame));
  frames_.push_back({frame, code});
  codes.set_flag(code, CodeFlag::AtEntry);
}

bool AtEntry::take(CodeKeys& codes, const PyFrameObject* frame) noexcept {
  const auto found = std::find_if(frames_.begin(), frames_.end(),
                                  [&](const Found& one) { return one.frame == frame; });
  if (found == frames_.end()) return false;
  PyObject* const code = found->code;
  frames_.erase(found);
  const bool has_more = std::any_of(frames_.begin(), frames_.end(),
                                    [&](const Found& one) { return one.code == code; });
  if (!has_more) codes.clear_flag(code, CodeFlag::AtEntry);
  Py_DECREF(code);
  return true;
}

void AtEntry::forget(CodeKeys& codes) noexcept {
  while (!frames_.empty()) take(codes, frames_.back().frame);
}

}  // namespace opyard::python
