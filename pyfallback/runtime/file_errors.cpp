// runtime/file_errors.cpp: file errors of C++ raised as OSError.
#include "runtime/file_errors.h"

#include <cerrno>

#include "runtime/errors.h"
#include "runtime/gil.h"

namespace opyard::python {
namespace {

Owned to_name(const std::string& path) {
  return Owned::steal(PyUnicode_DecodeFSDefaultAndSize(path.data(), Py_ssize_t(path.size())));
}

// Left out if that is not possible: the exception itself matters more.
void note_text(const std::string& text) noexcept {
  PyObject* const current = take_exception();
  const Owned notes = Owned::steal(PyList_New(0));
  const Owned note =
      Owned::steal(PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "backslashreplace"));
  if (notes && note && PyList_Append(notes.get(), note.get()) == 0) {
    PyObject_SetAttrString(current, "__notes__", notes.get());
  }
  clear_or_report(PyExc_Exception, current);
  restore_exception(current);
}

}  // namespace

bool raise_file_error(const FileError& error) noexcept {
  const Runtime* const runtime = find_runtime();
  if (runtime == nullptr || !holds_gil(*runtime)) return false;
  const Owned name = to_name(error.path());
  if (!name) return true;  // MemoryError is set
  errno = error.number();
  PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, name.get());
  note_text(error.text());
  return true;
}

}  // namespace opyard::python
