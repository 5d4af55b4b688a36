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

  PyObject* exception() const noexcept { return exception_; }

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

Error to_error(Runtime& runtime, Owned exception) {
  std::string text = describe(exception.get());
  auto carried = make_counted<PythonException>(runtime, exception.get());
  static_cast<void>(exception.release());
  return Error(ErrorKind::Python, std::move(text), std::move(carried));
}

PyObject* find_exception(const CarriedException& carried) noexcept {
  const auto* const ours = dynamic_cast<const PythonException*>(&carried);
  return ours == nullptr ? nullptr : ours->exception();
}

void throw_python_error(Runtime& runtime) {
  PyObject* const exception = take_exception();
  if (exception == nullptr) {
    fail(ErrorKind::BadReturn, "a Python function reported an error without setting an exception");
  }
  throw to_error(runtime, Owned::steal(exception));
}

}  // namespace opyard::python
