// runtime/errors.cpp: carrying Python exceptions through C++, and naming C++ ones in Python.
#include "runtime/errors.h"

#include "opyard/slot/interpreter_exception.h"
#include "runtime/gil.h"

namespace opyard::python {
namespace {

// A Python exception object on its way through C++. Dropped through the tag, so that it may
// die on any thread.
class PythonException final : public InterpreterException {
 public:
  PythonException(Runtime& runtime, PyObject* exception) noexcept
      : runtime_(runtime), exception_(exception) {}
  ~PythonException() override { (*runtime_.tag)->decref(exception_); }

  bool restore_with_lock_held() const noexcept override {
    if (!holds_gil()) return false;
    Py_INCREF(exception_);
    restore_exception(exception_);
    return true;
  }
  const void* interpreter() const noexcept override { return runtime_.tag; }
  void* object() const noexcept override { return exception_; }

 private:
  Runtime& runtime_;
  PyObject* const exception_;
};

// "ValueError: text", for C++ callers that only see what().
std::string describe(PyObject* exception) {
  std::string text = Py_TYPE(exception)->tp_name;
  const Owned message = Owned::steal(PyObject_Str(exception));
  const char* const utf8 = message ? PyUnicode_AsUTF8(message.get()) : nullptr;
  if (utf8 == nullptr) {
    PyErr_Clear();  // an exception whose __str__ raises still has its type's name
  } else if (*utf8 != '\0') {
    text += ": ";
    text += utf8;
  }
  return text;
}

}  // namespace

void throw_python_error(Runtime& runtime) {
  PyObject* const exception = take_exception();
  if (exception == nullptr) {
    fail(ErrorKind::BadReturn, "a Python function reported an error without setting an exception");
  }
  std::string text = describe(exception);
  throw Error(ErrorKind::Python, std::move(text),
              make_counted<PythonException>(runtime, exception));
}

}  // namespace opyard::python
