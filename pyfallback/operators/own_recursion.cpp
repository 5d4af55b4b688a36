// operators/own_recursion.cpp: a RecursionError of a kernel in Python that calls its own operator.
//
// The exception carries the kernel that it came out of last, as a number under a name of ours: two
// kernels that call each other give no note of this kind.
#include "operators/own_recursion.h"

#include <fmt/format.h>

#include "opyard/detail/python/clear.h"
#include "runtime/error_type.h"

namespace opyard::python {
namespace {

constexpr const char* kLastKernel = "__opyard_kernel__";

// Whether the exception came out of this kernel the last time; from now on it has come out of it.
bool came_out_of(PyObject* exception, const Record& record) noexcept {
  const Owned now = Owned::steal(PyLong_FromVoidPtr(const_cast<Record*>(&record)));
  const Owned former = Owned::steal(PyObject_GetAttrString(exception, kLastKernel));
  if (!former) clear_or_report(PyExc_AttributeError, exception);
  if (now) PyObject_SetAttrString(exception, kLastKernel, now.get());
  const bool same = now && former && PyLong_Check(former.get()) &&
                    PyLong_AsVoidPtr(former.get()) == static_cast<const void*>(&record);
  clear_or_report(PyExc_Exception, exception);
  return same;
}

}  // namespace

void note_own_recursion(const Record& record, const Operator& op) noexcept {
  if (PyErr_ExceptionMatches(PyExc_RecursionError) == 0) return;
  PyObject* const exception = take_exception();
  const bool is_own = came_out_of(exception, record);
  restore_exception(exception);
  if (!is_own) return;
  add_note(fmt::format(
      "{0}: the Python kernel {1} calls {0}, and so itself, without end; registered with "
      "with_next=True it gets a function that calls the kernel below it",
      to_string(op.name()), record.provenance.str()));
}

}  // namespace opyard::python
