// runtime/warnings.cpp: warnings of a call, stored and then issued in Python.
//
// [Border] Whether a call came from Python by one of our border functions is read off the stack,
// since a mark would cost each call something: going outwards from warn(), a frame of this module
// comes before one of the interpreter. The unwinder also gives the place of that frame, by which an
// outer call's warnings are told from those of the calls that its kernel makes. A frame of another
// module is known by its place, which it has left in a ForeignBorder.
#include "runtime/warnings.h"

#include <dlfcn.h>
#include <unwind.h>

#include <string>
#include <vector>

#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/look_up.h"
#include "runtime/deferred_work.h"
#include "runtime/errors.h"
#include "runtime/gil.h"

// Put there by the linker: where this shared library begins and its code ends.
extern "C" {
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char etext __attribute__((visibility("hidden")));
}

namespace opyard::python {
namespace {

struct Waiting {
  WarningKind kind;
  std::string message;
  std::uintptr_t frame;  // of the border function, or of one that it called
};
thread_local std::vector<Waiting> waiting;

bool is_ours(_Unwind_Ptr address) noexcept {
  return address >= reinterpret_cast<_Unwind_Ptr>(&__ehdr_start) &&
         address < reinterpret_cast<_Unwind_Ptr>(&etext);
}

const void* file_of(const void* address) noexcept {
  Dl_info found{};
  return dladdr(address, &found) == 0 ? nullptr : found.dli_fbase;
}

struct Search {
  const void* interpreter;     // the file of its functions
  const void* return_address;  // looked for, or null for the nearest border
  std::uintptr_t foreign;      // the nearest border of another module, or 0
  bool inside;                 // still among the frames of this file that warn
  std::uintptr_t frame;        // 0 if there is none
};

_Unwind_Reason_Code look_at(_Unwind_Context* context, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  const _Unwind_Ptr address = _Unwind_GetIP(context);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): that is how the unwinder gives it
  const void* const place = reinterpret_cast<const void*>(address);
  const bool ours = is_ours(address);
  search.inside = search.inside && ours;
  // The unwinder's place is the one that a frame's stack ends at: the places grow outwards.
  const std::uintptr_t end = _Unwind_GetCFA(context);
  if (search.foreign != 0 && end >= search.foreign) {
    search.frame = search.foreign;
    return _URC_END_OF_STACK;
  }
  const bool found =
      search.return_address == nullptr ? ours && !search.inside : place == search.return_address;
  if (found) search.frame = end;
  return found || (!ours && file_of(place) == search.interpreter) ? _URC_END_OF_STACK
                                                                  : _URC_NO_REASON;
}

// The frame that is returned to at this address, or that of the nearest border function; 0 for
// none. See [Border].
std::uintptr_t find_frame(const void* return_address) noexcept {
  Search search{file_of(reinterpret_cast<const void*>(&PyObject_Vectorcall)), return_address,
                return_address == nullptr ? ForeignBorder::current() : 0, true, 0};
  _Unwind_Backtrace(look_at, &search);
  return search.frame;
}

bool is_package(PyObject* frame) noexcept {
  const Owned globals = Owned::steal(PyObject_GetAttrString(frame, "f_globals"));
  PyObject* const name =
      globals && PyDict_Check(globals.get()) ? find_item(globals.get(), "__name__") : nullptr;
  const char* const text =
      name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  const std::string_view module = text == nullptr ? "" : text;
  return module == "opyard" || module.starts_with("opyard.");
}

// The level of the nearest caller outside the package, as PyErr_WarnEx() counts.
Py_ssize_t level_of_caller() noexcept {
  Py_ssize_t level = 1;
  Owned frame = Owned::share(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame && is_package(frame.get())) {
    ++level;
    frame = Owned::steal(PyObject_GetAttrString(frame.get(), "f_back"));
    if (frame && frame.get() == Py_None) break;
  }
  clear_or_report(PyExc_Exception);
  return level;
}

// False with an exception set.
bool issue_warning(WarningKind kind, const std::string& message) noexcept {
  // A text that names a file need not be UTF-8.
  const Owned text = Owned::steal(
      PyUnicode_DecodeUTF8(message.data(), Py_ssize_t(message.size()), "backslashreplace"));
  return text && in_python([&] {
           return PyErr_WarnFormat(warning_category(kind), level_of_caller(), "%U", text.get()) ==
                  0;
         });
}

// With the GIL held.
void say_now(Runtime& runtime, const Warning& warning) {
  PyObject* const former = take_exception();
  const bool said = issue_warning(warning.kind, warning.message);
  if (former != nullptr) {
    if (!said) clear_or_report(PyExc_Warning);
    restore_exception(former);
  } else if (!said) {
    throw_python_error(runtime);
  }
}

}  // namespace

PyObject* warning_category(WarningKind kind) noexcept {
  switch (kind) {
#define OPYARD_WARNING_KIND(name, python, meaning) \
  case WarningKind::name:                          \
    return PyExc_##python;
#include "opyard/base/warning_kinds.def"
#undef OPYARD_WARNING_KIND
  }
  return PyExc_UserWarning;
}

void warn_in_python(const Warning& warning) {
  Runtime* const runtime = find_runtime();
  if (runtime == nullptr) return;
  if (!warning.at_once) {
    if (const std::uintptr_t frame = find_frame(nullptr)) {
      waiting.push_back({warning.kind, warning.message, frame});
      deferred_work.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  const HoldGil gil(*runtime);
  say_now(*runtime, warning);
}

std::uintptr_t find_border_frame(const void* return_address) noexcept {
  return waiting.empty() ? 0 : find_frame(return_address);
}

bool say_waiting_warnings(std::uintptr_t frame) noexcept {
  PyObject* error = nullptr;
  for (std::size_t i = 0; i < waiting.size();) {
    if (frame != 0 && waiting[i].frame > frame) {
      ++i;  // an outer call's
      continue;
    }
    const Waiting next = std::move(waiting[i]);
    waiting.erase(waiting.begin() + std::ptrdiff_t(i));
    deferred_work.fetch_sub(1, std::memory_order_relaxed);
    if (issue_warning(next.kind, next.message)) continue;
    PyObject* const raised = take_exception();
    if (error == nullptr) {
      error = raised;
    } else {
      Py_XDECREF(raised);  // one call fails with one error: the first
    }
  }
  if (error == nullptr) return true;
  restore_exception(error);
  return false;
}

}  // namespace opyard::python
