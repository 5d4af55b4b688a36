// tracer/special.cpp: events of code objects that are shown otherwise than by their own name.
#include "runtime/python.h"

#include "opyard/profiler/stream.h"
#include "tracer/tracer.h"

namespace opyard::python {

// Enter and exit carry the key of the code, so that they fit each other whatever the function does to its first
// argument; the enter has the instance behind it, which the span is shown by.
void Tracer::record_special(CodeWord word, PyFrameObject* frame, bool is_exit) noexcept {
  using profiler::SpanKind;
  if (word.has(CodeFlag::Hidden)) return;
  const SpanKind kind = !by_instance                    ? SpanKind::Python
                        : word.has(CodeFlag::Optimizer) ? SpanKind::Optimizer
                                                        : SpanKind::Module;
  if (is_exit) return profiler::record(profiler::exit_of(kind), word.key());
  PyObject* const self = by_instance && frame != nullptr ? first_argument_of(frame) : nullptr;
  if (self == nullptr) return profiler::record(profiler::enter_of(kind), word.key());
  const profiler::Payload instance{instances.require(word.key(), self), 0};
  Py_DECREF(self);
  if (profiler::Stream* const stream = profiler::Stream::current()) {
    stream->append(profiler::enter_of(kind), word.key(), 0, &instance, 1);
  }
}

}  // namespace opyard::python
