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

}  // namespace

bool raise_file_error(const FileError& error) noexcept {
  const Runtime* const runtime = find_runtime();
  if (runtime == nullptr || !holds_gil(*runtime)) return false;
  const Owned name = to_name(error.path());
  if (!name) return true;  // MemoryError is set
  errno = error.number();
  PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, name.get());
  add_note(error.text());
  return true;
}

}  // namespace opyard::python
