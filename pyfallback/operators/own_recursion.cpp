// operators/own_recursion.cpp: a RecursionError of a kernel in Python that calls its own operator.
//
// The exception carries the kernel that it came out of last, and how often at a stretch, under a
// name of ours: two kernels that call each other give no note of this kind.
#include "operators/own_recursion.h"

#include <fmt/format.h>

#include "opyard/detail/python/clear.h"
#include "runtime/error_type.h"

namespace opyard::python {
namespace {

constexpr const char* kLastKernel = "__opyard_kernel__";

// So often it has to come out of one kernel at a stretch to be called its own.
constexpr long kLeast = 8;

// How often the exception has come out of this kernel at a stretch, now included.
long times_out_of(PyObject* exception, const Record& record) noexcept {
  const Owned former = Owned::steal(PyObject_GetAttrString(exception, kLastKernel));
  if (!former) clear_or_report(PyExc_AttributeError, exception);
  void* last = nullptr;
  long times = 0;
  if (former && PyTuple_Check(former.get()) && PyTuple_GET_SIZE(former.get()) == 2) {
    last = PyLong_AsVoidPtr(PyTuple_GET_ITEM(former.get(), 0));
    times = PyLong_AsLong(PyTuple_GET_ITEM(former.get(), 1));
  }
  times = last == static_cast<const void*>(&record) ? times + 1 : 1;
  const Owned pointer = Owned::steal(PyLong_FromVoidPtr(const_cast<Record*>(&record)));
  const Owned now = Owned::steal(pointer ? Py_BuildValue("Ol", pointer.get(), times) : nullptr);
  if (now) PyObject_SetAttrString(exception, kLastKernel, now.get());
  clear_or_report(PyExc_Exception, exception);
  return times;
}

}  // namespace

void note_own_recursion(const Record& record, const Operator& op) noexcept {
  if (PyErr_ExceptionMatches(PyExc_RecursionError) == 0) return;
  PyObject* const exception = take_exception();
  const bool is_own = times_out_of(exception, record) == kLeast;
  restore_exception(exception);
  if (!is_own) return;
  add_note(fmt::format(
      "{0}: the Python kernel {1} calls {0}, and so itself, without end; registered with "
      "with_next=True it gets a function that calls the kernel below it",
      to_string(op.name()), record.provenance.str()));
}

}  // namespace opyard::python
