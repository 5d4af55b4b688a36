// tracer/start_stacks.cpp: the frames that were open when a profile began.
//
// They are asked of sys._current_frames(), under whose lock no thread state is half made: one that
// a native thread makes meanwhile, without the GIL, is in the list of states before it can be asked
// for its frame.
#include "opyard/detail/python/python.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tracer/attributes.h"
#include "tracer/border.h"
#include "tracer/tracer.h"

namespace opyard::python {
namespace {

constexpr std::size_t kMostFrames = 128;  // the innermost

// The innermost frame of a thread, a new reference, or null.
PyFrameObject* frame_of(PyObject* frames, std::uint64_t thread) {
  const HeldObject key(checked_new(PyLong_FromUnsignedLongLong(thread)));
  PyObject* const frame = PyDict_GetItemWithError(frames, key.get());
  if (frame == nullptr && PyErr_Occurred() != nullptr) throw PythonErrorSet();
  Py_XINCREF(frame);
  return reinterpret_cast<PyFrameObject*>(frame);
}

profiler::StartStack stack_of(Tracer& tracer, PyThreadState* state, PyObject* frames, bool begins) {
  profiler::StartStack stack;
  stack.handle = std::uint64_t(state->thread_id);
  stack.native_id = native_id_of(state);
  const bool is_interrupted = begins && is_told_of_nothing(state);
  std::vector<Interrupted::Frame> found;  // from the innermost on
  PyFrameObject* frame = frame_of(frames, stack.handle);
  std::uint32_t depth = is_interrupted ? depth_of(frame) : 0;
  bool is_innermost = !is_interrupted;
  while (frame != nullptr && found.size() < kMostFrames) {
    PyObject* const code = code_of(frame);
    CodeWord word = tracer.word(code);
    if (!tracer.is_left_out(word, code)) {
      if (begins && is_innermost && is_at_entry(frame)) tracer.at_entry.add(tracer.codes, frame);
      const bool has_run = !is_interrupted || !has_run_nothing(frame);
      found.push_back({depth, !has_run, word.key(), tracer.kind_of(word)});
    }
    if (is_interrupted) --depth;
    is_innermost = false;
    PyFrameObject* const outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  Py_XDECREF(frame);
  // The frame behind may be missing for want of memory.
  if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  std::reverse(found.begin(), found.end());
  for (const Interrupted::Frame& one : found) {
    stack.keys.push_back(one.key);
    stack.kinds.push_back(one.kind);
  }
  if (is_interrupted) {
    tracer.interrupted.add({state->id, stack.handle, stack.native_id, std::move(found)});
  }
  return stack;
}

}  // namespace

void add_start_stacks(Tracer& tracer, profiler::Window& window, bool begins) {
  const PauseCollector pause;  // its finalisers could let another thread change the list of states
  // Not by PySys_GetObject(), which takes a want of memory for a missing name.
  const HeldObject sys(checked_new(PyImport_ImportModule("sys")));
  PyObject* const ask = attribute_of(sys.get(), "_current_frames");
  if (ask == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError) != 0) {
    PyErr_SetString(
        PyExc_RuntimeError,
        "sys._current_frames is gone, which a profile asks for the frames that are open");
  }
  const HeldObject held(checked_new(ask));
  const HeldObject frames(checked_new(PyObject_CallNoArgs(ask)));
  PyInterpreterState* const interpreter = PyInterpreterState_Get();
  for (PyThreadState* state = PyInterpreterState_ThreadHead(interpreter); state != nullptr;
       state = PyThreadState_Next(state)) {
    window.add_start_stack(stack_of(tracer, state, frames.get(), begins));
  }
}

}  // namespace opyard::python
