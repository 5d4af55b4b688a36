// tracer/code_keys.cpp: assigning keys to code objects.
#include "tracer/code_keys.h"

#include <new>

#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/look_up.h"
#include "opyard/profiler/names.h"
#include "tracer/border.h"
#include "tracer/text.h"

namespace opyard::python {
namespace {

constexpr const char* kIndexName = "opyard.tracer.code_index";

// Where a thread of `threading` ends. Known by its name, since a program may import that module at
// any time.
bool is_thread_body(const profiler::Name& name) {
  return name.text == "_bootstrap_inner" && name.file.ends_with("/threading.py");
}

// Where the package greenlet is imported.
bool is_greenlet_module(const profiler::Name& name) {
  return name.text == "<module>" && name.file.ends_with("/greenlet/__init__.py");
}

CodeWord make_word(PyCodeObject* code) {
  profiler::Name name;
  name.text = text_of(code->co_name);
  name.qualified = text_of(qualified_name_of(code));
  name.file = text_of(code->co_filename);
  if (name.file.empty()) name.file = "<unknown>";
  name.line = code->co_firstlineno;
  name.kind = "code";
  const bool is_async = (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
  std::uint64_t flags = std::uint64_t(CodeFlag::Known);
  if (is_async) flags |= std::uint64_t(CodeFlag::Coroutine);
  if (is_thread_body(name)) flags |= std::uint64_t(CodeFlag::ThreadBody);
  if (is_greenlet_module(name)) flags |= std::uint64_t(CodeFlag::Greenlets);
  return {profiler::add_name(std::move(name)) | flags};
}

}  // namespace

void CodeKeys::prepare() {
  PyObject* const dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  if (dict == nullptr) throw std::bad_alloc();
  if (PyObject* const former = find_item(dict, kIndexName)) {
    index_ = PyLong_AsSsize_t(former);
    return;
  }
  if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  const Py_ssize_t index = new_code_word_index();
  if (index < 0) {
    PyErr_SetString(PyExc_RuntimeError,
                    "the interpreter has no slot left in which the profiler could keep the names "
                    "of code objects: other tools have taken all 255");
    throw PythonErrorSet();
  }
  if (!has_known_code_words(index)) {
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    PyErr_SetString(PyExc_RuntimeError,
                    "this CPython stores words in code objects in another way than those that "
                    "the profiler knows: use CPython 3.10 to 3.13");
    throw PythonErrorSet();
  }
  PyObject* const number = PyLong_FromSsize_t(index);
  const bool stored = number != nullptr && PyDict_SetItemString(dict, kIndexName, number) == 0;
  Py_XDECREF(number);
  if (!stored) throw PythonErrorSet();
  index_ = index;
}

CodeWord CodeKeys::add(PyObject* code) noexcept {
  try {
    const CodeWord word = make_word(reinterpret_cast<PyCodeObject*>(code));
    if (!set_code_word(code, index_, word.bits)) clear_or_report(PyExc_Exception);
    return word;
  } catch (const std::bad_alloc&) {
    return {};
  }
}

void CodeKeys::set_flag(PyObject* code, CodeFlag flag) {
  const CodeWord word = require(code);
  if (word.bits == 0) throw std::bad_alloc();
  if (!set_code_word(code, index_, word.bits | std::uint64_t(flag))) throw PythonErrorSet();
}

void CodeKeys::clear_flag(PyObject* code, CodeFlag flag) noexcept {
  const std::uint64_t bits = find(code).bits & ~std::uint64_t(flag);
  if (!set_code_word(code, index_, bits)) clear_or_report(PyExc_Exception);
}

CodeWord CodeKeys::set_filter(PyObject* code, CodeWord word, std::uint32_t filter,
                              bool excluded) noexcept {
  const CodeWord decided{(word.bits & ~kFilterBits) | std::uint64_t{filter} << kFilterShift |
                         (excluded ? std::uint64_t(CodeFlag::Excluded) : 0)};
  if (!set_code_word(code, index_, decided.bits)) clear_or_report(PyExc_Exception);
  return decided;
}

}  // namespace opyard::python
