// sampler/sampler_module.cpp: the sampler's functions of opyard._tracer.
#include "sampler/sampler_module.h"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "opyard/detail/python/traced_python.h"
#include "sampler/own_memory.h"
#include "sampler/sampled_stacks.h"
#include "sampler/sampler.h"
#include "tracer/border.h"
#include "tracer/code_keys.h"
#include "tracer/profile_object.h"

namespace opyard::python {
namespace {

// The stack that begins at a frame, a new reference, as CPython itself tells it.
std::vector<profiler::SampledFrame> stack_of_frame(CodeKeys& codes, PyFrameObject* frame) {
  std::vector<profiler::SampledFrame> stack;
  while (frame != nullptr) {
    const CodeWord word = codes.require(code_of(frame));
    if (!word.has(CodeFlag::Hidden)) {
      stack.push_back({word.key(), profiler::SpanKind::Python, PyFrame_GetLineNumber(frame)});
    }
    PyFrameObject* const outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  std::reverse(stack.begin(), stack.end());
  return stack;
}

// Whether stacks that are read by copies are those that CPython tells: of this thread.
bool reads_as_python_does(CodeKeys& codes) {
  SampledStacks stacks(PyInterpreterState_Get(), codes.index());
  std::vector<SampledThread> threads;
  if (!stacks.find_threads(threads)) return false;
  const std::uint64_t own = PyThread_get_thread_ident();
  const auto found = std::find_if(threads.begin(), threads.end(),
                                  [&](const SampledThread& one) { return one.ident == own; });
  if (found == threads.end() || found->native_id != std::int64_t(gettid())) return false;
  std::vector<profiler::SampledFrame> read;
  StackPlace place;
  if (stacks.read(*found, place, read) != SampledStacks::Result::Whole) return false;
  auto* const frame = PyThreadState_GetFrame(PyThreadState_Get());
  return read == stack_of_frame(codes, frame);
}

// why_unreadable() -> str: why stacks cannot be read without the GIL here; empty if they can.
PyObject* why_unreadable(PyObject*, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    std::string why = why_memory_is_unreadable();
    CodeKeys codes;
    codes.prepare();
    if (why.empty() && !reads_as_python_does(codes)) {
      why = "this CPython keeps its frames in another way than the one that Opyard was built with";
    }
    return PyUnicode_FromStringAndSize(why.data(), Py_ssize_t(why.size()));
  });
}

// start_sampling(period_ns, slices, with_gil)
PyObject* start_sampling(PyObject*, PyObject* args) {
  return enter_tracer([&]() -> PyObject* {
    long long period = 0;
    Py_ssize_t slices = 0;
    int with_gil = 0;
    if (PyArg_ParseTuple(args, "Lnp", &period, &slices, &with_gil) == 0) throw PythonErrorSet();
    OPYARD_CHECK(period > 0 && slices > 0, BadValue,
                 "start_sampling() takes a period and a number of slices of at least 1");
    CodeKeys codes;
    codes.prepare();
    SamplerOptions options;
    options.period_ns = period;
    options.with_gil = with_gil != 0;
    options.bounds.slices = std::size_t(slices);
    if (slices == 1) options.bounds.first_slice_ns = std::int64_t{1} << 62;
    start_sampler(options, codes.index());
    Py_RETURN_NONE;
  });
}

// sample_now({ident: frame}): one sample, for start_sampling() with the GIL.
PyObject* sample_now(PyObject*, PyObject* frames) {
  return enter_tracer([&]() -> PyObject* {
    if (!PyDict_Check(frames)) {
      PyErr_Format(PyExc_TypeError, "sample_now() takes a dict of frames, not %s",
                   Py_TYPE(frames)->tp_name);
      throw PythonErrorSet();
    }
    CodeKeys codes;
    codes.prepare();
    std::vector<KnownStack> stacks;
    PyObject* ident = nullptr;
    PyObject* frame = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(frames, &at, &ident, &frame) != 0;) {
      KnownStack& known = stacks.emplace_back();
      known.ident = PyLong_AsUnsignedLongLong(ident);
      if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
      if (!PyFrame_Check(frame)) {
        PyErr_Format(PyExc_TypeError, "sample_now() takes frames, not %s", Py_TYPE(frame)->tp_name);
        throw PythonErrorSet();
      }
      Py_INCREF(frame);
      known.frames = stack_of_frame(codes, reinterpret_cast<PyFrameObject*>(frame));
    }
    sample_with_gil(stacks);
    Py_RETURN_NONE;
  });
}

// stop_sampling() -> Profile
PyObject* stop_sampling(PyObject* module, PyObject*) {
  return enter_tracer([&]() -> PyObject* {
    const HeldObject type(checked_new(PyObject_GetAttrString(module, "Profile")));
    return make_profile(reinterpret_cast<PyTypeObject*>(type.get()), stop_sampler());
  });
}

// is_sampling() -> bool, sampler_bytes() -> int: of this process.
PyObject* is_sampling(PyObject*, PyObject*) { return PyBool_FromLong(has_sampler() ? 1 : 0); }
PyObject* sampler_bytes(PyObject*, PyObject*) { return PyLong_FromSize_t(bytes_of_sampler()); }

PyObject* is_main_interpreter(PyObject*, PyObject*) {
  return PyBool_FromLong(PyInterpreterState_Get() == PyInterpreterState_Main() ? 1 : 0);
}

}  // namespace

PyMethodDef sampler_functions[] = {
    {"why_unreadable", why_unreadable, METH_NOARGS, "why_unreadable() -> str"},
    {"start_sampling", start_sampling, METH_VARARGS,
     "start_sampling(period_ns, slices, with_gil): begins to sample"},
    {"sample_now", sample_now, METH_O, "sample_now({ident: frame}): takes one sample"},
    {"stop_sampling", stop_sampling, METH_NOARGS, "stop_sampling() -> Profile"},
    {"is_sampling", is_sampling, METH_NOARGS, "is_sampling() -> bool"},
    {"sampler_bytes", sampler_bytes, METH_NOARGS, "sampler_bytes() -> int"},
    {"is_main_interpreter", is_main_interpreter, METH_NOARGS, "is_main_interpreter() -> bool"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace opyard::python
