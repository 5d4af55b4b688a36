// operators/kernel_notes.cpp: notes on exceptions of kernels and handlers in Python.
//
// For [Own recursion] the exception carries under a name of ours which two it came out of last, the
// name of the latter's operator, and how often it has come out of the same two by turns. Both are
// one where a kernel calls itself.
#include "operators/kernel_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "opyard/detail/python/clear.h"
#include "opyard/registry/next.h"
#include "runtime/error_type.h"

namespace opyard::python {
namespace {

constexpr const char* kLastCallee = "__opyard_kernel__";

// So often it has to come out of one at a stretch to be called its own.
constexpr long kLeast = 8;

// The other one of two that call each other, in words; nothing for one that calls itself.
using OtherCallee = std::string;

// What the exception carries.
struct Recursion {
  void* last = nullptr;
  void* before = nullptr;
  long times = 0;
  std::string text;  // of `last`

  static Recursion of(PyObject* exception) {
    Recursion found;
    const Owned carried = Owned::steal(PyObject_GetAttrString(exception, kLastCallee));
    if (!carried) clear_or_report(PyExc_AttributeError, exception);
    if (!carried || !PyTuple_Check(carried.get()) || PyTuple_GET_SIZE(carried.get()) != 4) {
      return found;
    }
    found.last = PyLong_AsVoidPtr(PyTuple_GET_ITEM(carried.get(), 0));
    found.before = PyLong_AsVoidPtr(PyTuple_GET_ITEM(carried.get(), 1));
    found.times = PyLong_AsLong(PyTuple_GET_ITEM(carried.get(), 2));
    const char* const text = PyUnicode_AsUTF8(PyTuple_GET_ITEM(carried.get(), 3));
    if (text != nullptr) found.text = text;
    return found;
  }

  void put_on(PyObject* exception) const noexcept {
    const Owned one = Owned::steal(PyLong_FromVoidPtr(last));
    const Owned other = Owned::steal(PyLong_FromVoidPtr(before));
    const Owned carried = Owned::steal(
        one && other ? Py_BuildValue("OOls", one.get(), other.get(), times, text.c_str())
                     : nullptr);
    if (carried) PyObject_SetAttrString(exception, kLastCallee, carried.get());
    clear_or_report(PyExc_Exception, exception);
  }
};

// Whether the exception that is set is a RecursionError that has just come out of it so often, and
// out of no one but it and one other: then that one, which is called itself by what `describe`
// gives for it.
template <typename Describe>
std::optional<OtherCallee> find_recursion(const void* callee, const Describe& describe) noexcept {
  if (PyErr_ExceptionMatches(PyExc_RecursionError) == 0) return std::nullopt;
  PyObject* const exception = take_exception();
  std::optional<OtherCallee> found;
  try {
    const Recursion former = Recursion::of(exception);
    Recursion now;
    now.last = const_cast<void*>(callee);
    now.before = former.last;
    now.times = former.before == callee ? former.times + 1 : 1;
    if (former.last != callee || former.text.empty()) {
      now.text = describe();
    } else {
      now.text = former.text;
    }
    now.put_on(exception);
    if (now.times == kLeast) found = former.last == callee ? OtherCallee() : former.text;
  } catch (...) {
    clear_or_report(PyExc_Exception, exception);  // without memory there is no note
  }
  restore_exception(exception);
  return found;
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
  const auto describe = [&] {
    return fmt::format("the Python kernel of {} {}", name, record.provenance.str());
  };
  if (const std::optional<OtherCallee> other = find_recursion(&record, describe)) {
    if (!other->empty()) {
      add_note(
          fmt::format("{}: the Python kernel {} and {} call each other without end; "
                      "registered with with_next=True one of them gets a function that calls "
                      "the kernel below it",
                      name, record.provenance.str(), *other));
      return;
    }
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
  const auto describe = [&] {
    return fmt::format("__opyard_dispatch__ of {}, asked for {},", type->tp_name,
                       to_string(op.name()));
  };
  const std::optional<OtherCallee> other = find_recursion(type, describe);
  if (!other) return;
  if (!other->empty()) {
    add_note(fmt::format("{}: __opyard_dispatch__ of the {} {} and {} call each other without end",
                         to_string(op.name()), is_mode ? "mode" : "class", type->tp_name, *other));
    return;
  }
  add_note(fmt::format(
      "{0}: __opyard_dispatch__ of the {1} {2} calls {0}, and so itself, without end; {3}",
      to_string(op.name()), is_mode ? "mode" : "class", type->tp_name,
      is_mode ? "within it the mode is off, unless it is entered again"
              : "super().__opyard_dispatch__(op, types, args, kwargs) goes on below it, and a "
                "wrapper calls the operator with what it wraps"));
}

}  // namespace opyard::python
