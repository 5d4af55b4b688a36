// runtime/errors.cpp: Python exceptions through C++, and C++ exceptions in Python.
#include "runtime/errors.h"

#include <optional>

#include "opyard/detail/python/clear.h"
#include "opyard/interpreter/interpreter_exception.h"
#include "runtime/gil.h"

namespace opyard::python {
namespace {

// A Python exception object on its way through C++. Dropped through the tag, so that it may
// die on any thread.
class PythonException final : public InterpreterException {
 public:
  PythonException(Runtime& runtime, PyObject* exception, std::string text, std::string class_name,
                  std::optional<ErrorKind> kind)
      : runtime_(runtime),
        exception_(exception),
        text_(std::move(text)),
        class_name_(std::move(class_name)),
        kind_(kind) {}
  ~PythonException() override { runtime_.tag->decref(exception_, false); }

  bool restore_with_lock_held() const noexcept override {
    if (!holds_gil(runtime_)) return false;
    Py_INCREF(exception_);
    restore_exception(exception_);
    return true;
  }
  const void* interpreter() const noexcept override { return runtime_.tag; }
  void* object() const noexcept override { return exception_; }
  std::string_view text() const noexcept override { return text_; }
  std::string_view class_name() const noexcept override { return class_name_; }
  std::optional<ErrorKind> kind() const noexcept override { return kind_; }

  PyObject* exception() const noexcept { return exception_; }

 private:
  Runtime& runtime_;
  PyObject* const exception_;
  const std::string text_;
  const std::string class_name_;
  const std::optional<ErrorKind> kind_;
};

// "ValueError: text", for C++ callers that only see what().
std::string describe(PyObject* exception) {
  std::string text = Py_TYPE(exception)->tp_name;
  const Owned message = Owned::steal(PyObject_Str(exception));
  const char* const utf8 = message ? PyUnicode_AsUTF8(message.get()) : nullptr;
  if (utf8 == nullptr) {
    clear_or_report(PyExc_Exception,
                    exception);  // an exception whose __str__ raises still has its type's name
  } else if (*utf8 != '\0') {
    text += ": ";
    text += utf8;
  }
  return text;
}

// The name under which the exception's class, or the nearest class above it, was registered.
std::string name_of_class(const Runtime& runtime, PyObject* exception) {
  if (runtime.error_names == nullptr) return {};
  PyObject* const classes = Py_TYPE(exception)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i) {
    PyObject* const name =
        PyDict_GetItemWithError(runtime.error_names, PyTuple_GET_ITEM(classes, i));
    const char* const text = name == nullptr ? nullptr : PyUnicode_AsUTF8(name);
    if (text != nullptr) return text;
    clear_or_report(PyExc_Exception, exception);
  }
  return {};
}

// What note_kind() said. Whatever else a program has put there is no kind.
std::optional<ErrorKind> kind_said_on(PyObject* exception) {
  const Owned said = Owned::steal(PyObject_GetAttrString(exception, kErrorKindAttribute));
  const char* const name =
      said && PyUnicode_Check(said.get()) != 0 ? PyUnicode_AsUTF8(said.get()) : nullptr;
  if (name == nullptr) clear_or_report(PyExc_Exception, exception);
  const std::string_view text = name == nullptr ? "" : name;
#define OPYARD_ERROR_KIND(kind, python, meaning) \
  if (text == #kind) return ErrorKind::kind;
#include "opyard/base/error_kinds.def"
#undef OPYARD_ERROR_KIND
  return std::nullopt;
}

}  // namespace

void put_error_class(Runtime& runtime, PyObject* name, PyObject* type) {
  if (PyExceptionClass_Check(type) == 0) {
    fail(ErrorKind::BadArgument,
         std::string("register_error: expected a class of exceptions, not ") +
             (PyType_Check(type) ? "the class " : "an object of type ") +
             reinterpret_cast<PyTypeObject*>(PyType_Check(type) ? type : (PyObject*)Py_TYPE(type))
                 ->tp_name);
  }
  for (PyObject** const table : {&runtime.error_classes, &runtime.error_names}) {
    if (*table == nullptr) *table = require(runtime, PyDict_New()).release();
  }
  PyObject* const former = PyDict_GetItemWithError(runtime.error_classes, name);
  if (former == nullptr && PyErr_Occurred() != nullptr) throw PythonErrorSet();
  if (former != nullptr && former != type) {
    fail(ErrorKind::BadRegistration, std::string("register_error: the name '") +
                                         PyUnicode_AsUTF8(name) + "' is taken by the class " +
                                         reinterpret_cast<PyTypeObject*>(former)->tp_name +
                                         "; choose another one");
  }
  if (PyDict_SetItem(runtime.error_classes, name, type) < 0 ||
      PyDict_SetItem(runtime.error_names, type, name) < 0) {
    throw PythonErrorSet();
  }
}

bool raise_named_error(const std::string& name, std::string_view message) noexcept {
  const Runtime* const runtime = find_runtime();
  if (runtime == nullptr || !holds_gil(*runtime) || runtime->error_classes == nullptr) return false;
  const Owned key = Owned::steal(PyUnicode_FromStringAndSize(name.data(), Py_ssize_t(name.size())));
  PyObject* const type = key ? PyDict_GetItemWithError(runtime->error_classes, key.get()) : nullptr;
  if (type == nullptr) {
    clear_or_report(PyExc_Exception);
    return false;
  }
  set_exception(type, message);
  return true;
}

Error to_error(Runtime& runtime, Owned exception) {
  const std::string text = describe(exception.get());
  auto carried = make_counted<PythonException>(runtime, exception.get(), text,
                                               name_of_class(runtime, exception.get()),
                                               kind_said_on(exception.get()));
  static_cast<void>(exception.release());
  return Error(ErrorKind::Python, text, std::move(carried));
}

PyObject* find_exception(const CarriedException& carried) noexcept {
  const auto* const ours = dynamic_cast<const PythonException*>(&carried);
  return ours == nullptr ? nullptr : ours->exception();
}

void set_memory_error(const std::bad_alloc& error) noexcept {
  // A plain one, of a kernel's vector for instance, says nothing but its own name. If there is
  // no memory for the text either, Python sets a MemoryError without one.
  const bool is_plain = typeid(error) == typeid(std::bad_alloc);
  PyErr_SetString(PyExc_MemoryError,
                  is_plain ? "out of memory: C++ could not allocate what it needs for this call "
                             "(std::bad_alloc, which does not say how many bytes)"
                           : error.what());
}

void throw_python_error(Runtime& runtime) {
  PyObject* const exception = take_exception();
  if (exception == nullptr) {
    fail(ErrorKind::BadReturn, "a Python function reported an error without setting an exception");
  }
  throw to_error(runtime, Owned::steal(exception));
}

}  // namespace opyard::python
