// operators/kernel_notes.cpp: notes on exceptions of kernels and handlers in Python.
//
// For [Own recursion] the exception carries who it came out of last, and how often at a stretch,
// under a name of ours: two kernels that call each other give no note of this kind.
#include "operators/kernel_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "opyard/detail/python/clear.h"
#include "opyard/registry/next.h"
#include "runtime/error_type.h"

namespace opyard::python {
namespace {

constexpr const char* kLastCallee = "__opyard_kernel__";

// So often it has to come out of one at a stretch to be called its own.
constexpr long kLeast = 8;

// How often the exception has come out of this one at a stretch, now included.
long times_out_of(PyObject* exception, const void* callee) noexcept {
  const Owned former = Owned::steal(PyObject_GetAttrString(exception, kLastCallee));
  if (!former) clear_or_report(PyExc_AttributeError, exception);
  void* last = nullptr;
  long times = 0;
  if (former && PyTuple_Check(former.get()) && PyTuple_GET_SIZE(former.get()) == 2) {
    last = PyLong_AsVoidPtr(PyTuple_GET_ITEM(former.get(), 0));
    times = PyLong_AsLong(PyTuple_GET_ITEM(former.get(), 1));
  }
  times = last == callee ? times + 1 : 1;
  const Owned pointer = Owned::steal(PyLong_FromVoidPtr(const_cast<void*>(callee)));
  const Owned now = Owned::steal(pointer ? Py_BuildValue("Ol", pointer.get(), times) : nullptr);
  if (now) PyObject_SetAttrString(exception, kLastCallee, now.get());
  clear_or_report(PyExc_Exception, exception);
  return times;
}

// Whether the exception that is set is a RecursionError that has just come out of it so often.
bool is_own_recursion(const void* callee) noexcept {
  if (PyErr_ExceptionMatches(PyExc_RecursionError) == 0) return false;
  PyObject* const exception = take_exception();
  const bool is_own = times_out_of(exception, callee) == kLeast;
  restore_exception(exception);
  return is_own;
}

// Whether a call that a kernel hands on would find one.
bool has_kernel_below(const Record& record, const Operator& op) noexcept {
  try {
    const detail::CallDepth depth;  // keeps the record that is found
    DispatchKeySet keys(record.key);
    const RecordRole role = next_record(op, place_of(record), keys).role;
    return role != RecordRole::Missing && role != RecordRole::Gone;
  } catch (...) {
    return false;
  }
}

// A TypeError that no code of Python has seen yet, of a function that is written in Python.
bool is_refused_call(PyObject* function) noexcept {
  if (!PyFunction_Check(function) && !PyMethod_Check(function)) return false;
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return false;
  PyObject* const exception = take_exception();
  const Owned traceback = Owned::steal(PyException_GetTraceback(exception));
  restore_exception(exception);
  return !traceback;
}

}  // namespace

void note_failed_kernel(const Record& record, const Operator& op, PyObject* function) noexcept {
  const std::string name = to_string(op.name());
  if (is_own_recursion(&record)) {
    add_note(fmt::format(
        "{0}: the Python kernel {1} calls {0}, and so itself, without end; {2}", name,
        record.provenance.str(),
        has_kernel_below(record, op)
            ? "registered with with_next=True it gets a function that calls the kernel below it"
            : "there is no other kernel of it at " + to_string(record.key) + " to call"));
    return;
  }
  if (!is_refused_call(function)) return;
  const auto& arguments = op.schema().arguments;
  const bool has_defaults = std::ranges::any_of(
      arguments, [](const Argument& argument) { return argument.default_value.has_value(); });
  add_note(
      fmt::format("{}: the Python kernel {} does not take what it was called with{}.\n"
                  "Declaration: {}",
                  name, record.provenance.str(),
                  has_defaults ? "; arguments that equal their default are left out of the "
                                 "call, so its parameters need defaults as well"
                               : "",
                  op.declaration()));
}

void note_failed_handler(const PyTypeObject* type, bool is_mode, const Operator& op) noexcept {
  if (!is_own_recursion(type)) return;
  add_note(fmt::format(
      "{0}: __opyard_dispatch__ of the {1} {2} calls {0}, and so itself, without end; {3}",
      to_string(op.name()), is_mode ? "mode" : "class", type->tp_name,
      is_mode ? "within it the mode is off, unless it is entered again"
              : "super().__opyard_dispatch__(op, types, args, kwargs) goes on below it, and a "
                "wrapper calls the operator with what it wraps"));
}

}  // namespace opyard::python
