// tracer/start_stacks.cpp: the frames that were open when a profile began.
#include "runtime/python.h"

#include <algorithm>

#include "tracer/tracer.h"

namespace opyard::python {
namespace {

constexpr std::size_t kMostFrames = 128;  // the innermost

profiler::StartStack stack_of(Tracer& tracer, PyThreadState* state) {
  profiler::StartStack stack;
  stack.handle = std::uint64_t(state->thread_id);
  stack.native_id = native_id_of(state);
  PyFrameObject* frame = PyThreadState_GetFrame(state);
  while (frame != nullptr && stack.keys.size() < kMostFrames) {
    PyCodeObject* const code = PyFrame_GetCode(frame);
    const CodeWord word = tracer.word(reinterpret_cast<PyObject*>(code));
    Py_DECREF(code);
    if (!word.has(CodeFlag::Hidden)) {
      stack.keys.push_back(word.key());
      stack.kinds.push_back(profiler::SpanKind::Python);
    }
    PyFrameObject* const outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  Py_XDECREF(frame);
  std::reverse(stack.keys.begin(), stack.keys.end());
  std::reverse(stack.kinds.begin(), stack.kinds.end());
  return stack;
}

}  // namespace

void add_start_stacks(Tracer& tracer, profiler::Window& window) {
  const PauseCollector pause;  // its finalisers could let another thread change the list of states
  PyInterpreterState* const interpreter = PyInterpreterState_Get();
  for (PyThreadState* state = PyInterpreterState_ThreadHead(interpreter); state != nullptr;
       state = PyThreadState_Next(state)) {
    window.add_start_stack(stack_of(tracer, state));
  }
}

}  // namespace opyard::python
