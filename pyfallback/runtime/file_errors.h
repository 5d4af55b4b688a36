// runtime/file_errors.h: file errors of C++ as OSError.
//
// Depends on: base/file_error.h.
#pragma once

#include "opyard/detail/python/python.h"

#include "opyard/base/file_error.h"

namespace opyard::python {

// A handler for FileError::set_raise(): sets the class of its number, FileNotFoundError for ENOENT,
// with `filename`; the error's text is a note of it.
bool raise_file_error(const FileError& error) noexcept;

}  // namespace opyard::python
