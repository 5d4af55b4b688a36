// table_extension.cpp: an extension module that has the Python plugin by its table alone, opyard/python.h.
//
// It compiles nothing of pyfallback/ in. test_python_table.py calls each function of the table
// through it.
#include "opyard/python.h"

#include <string>
#include <thread>

#include "opyard/base/warning.h"
#include "opyard/registry/registry.h"
#include "opyard/schema/parse.h"

namespace opyard {
namespace {

struct State {
  const PythonTable* table;
};

const PythonTable& table_of(PyObject* module) {
  return *static_cast<State*>(PyModule_GetState(module))->table;
}

// facts() -> (version, bytes, the address of the tag)
PyObject* facts(PyObject* module, PyObject*) {
  const PythonTable& table = table_of(module);
  return Py_BuildValue("IIn", table.version, table.bytes,
                       reinterpret_cast<Py_ssize_t>(table.interpreter));
}

// imports() -> whether the table that is looked for again is the same
PyObject* imports(PyObject* module, PyObject*) {
  const PythonTable* const table = import_python_table();
  return table == nullptr ? nullptr : PyBool_FromLong(table == &table_of(module));
}

// tensor(object) -> what the tensor of an object is wrapped as
PyObject* tensor(PyObject* module, PyObject* object) {
  const PythonTable& table = table_of(module);
  return called_from_python(
      table, [&] { return to_object(table, Tensor(require_tensor(table, object))); });
}

PyObject* undefined(PyObject* module, PyObject*) {
  const PythonTable& table = table_of(module);
  return called_from_python(table, [&] { return to_object(table, Tensor()); });
}

// value(type, object, untyped) -> the object of the value that an object means
PyObject* value(PyObject* module, PyObject* args) {
  const PythonTable& table = table_of(module);
  return called_from_python(table, [&]() -> PyObject* {
    const char* text = nullptr;
    PyObject* object = nullptr;
    int untyped = 0;
    if (PyArg_ParseTuple(args, "sO|p", &text, &object, &untyped) == 0) return nullptr;
    const Schema schema = parse_schema("demo::f(" + std::string(text) + " x) -> ()");
    const Type& type = *schema.arguments[0].type;
    const Value made = require_value(table, type, object, "value(): 'object'");
    if (untyped != 0) return require_object(table, table.from_value(&table, nullptr, &made));
    return to_object(table, type, made);
  });
}

// op(object) -> (the declaration of an operator, the object of it)
PyObject* op(PyObject* module, PyObject* object) {
  const PythonTable& table = table_of(module);
  return called_from_python(table, [&] {
    const Operator* const found = table.unwrap_operator(&table, object);
    if (found == nullptr) throw_python_exception(table);
    return Py_BuildValue("sN", found->declaration().c_str(), to_object(table, *found));
  });
}

// keys(object) -> (the bits of a key set, the object of it)
PyObject* keys(PyObject* module, PyObject* object) {
  const PythonTable& table = table_of(module);
  return called_from_python(table, [&] {
    std::uint64_t bits = 0;
    if (table.unwrap_keys(&table, object, &bits) != 0) throw_python_exception(table);
    return Py_BuildValue("KN", static_cast<unsigned long long>(bits),
                         require_object(table, table.wrap_keys(&table, bits)));
  });
}

// on_thread(function): its result, from a thread that enters Python twice; what it raises is raised
// here.
PyObject* on_thread(PyObject* module, PyObject* function) {
  const PythonTable& table = table_of(module);
  return called_from_python(table, [&]() -> PyObject* {
    PyObject* result = nullptr;
    std::optional<Error> error;
    {
      const WithoutPython without(table);
      std::thread([&] {
        try {
          const HoldPython outer(table);
          const HoldPython inner(table);
          result = require_object(table, PyObject_CallNoArgs(function));
        } catch (const Error& failed) {
          error = failed;
        }
      }).join();
    }
    if (error) throw Error(*error);
    return result;
  });
}

// without_gil(object): what the conversions say on a thread that does not hold the GIL.
PyObject* without_gil(PyObject* module, PyObject* object) {
  const PythonTable& table = table_of(module);
  return called_from_python(table, [&]() -> PyObject* {
    const Tensor tensor = require_tensor(table, object);
    const Operator& op = require_operator("aten::neg");
    const Type& type = *op.schema().arguments[0].type;
    std::string texts;
    const auto say = [&](auto convert) {
      try {
        convert();
        texts += "converted\n";
      } catch (const Error& error) {
        texts += std::string(name_of(error.kind())) + ": " + error.what() + "\n";
      }
    };
    {
      const WithoutPython without(table);
      std::thread([&] {
        say([&] { to_object(table, tensor); });
        say([&] { to_object(table, type, Value(tensor)); });
        say([&] { to_object(table, op); });
        say([&] { require_tensor(table, object); });
        say([&] { require_value(table, type, object, "x"); });
      }).join();
    }
    return PyUnicode_FromString(texts.c_str());
  });
}

// again(function): its result, called with a GIL that is held already.
PyObject* again(PyObject* module, PyObject* function) {
  const PythonTable& table = table_of(module);
  return called_from_python(table, [&] {
    const HoldPython python(table);
    return require_object(table, PyObject_CallNoArgs(function));
  });
}

// drop(list): the references of its only item, given back on a thread without the GIL; when the
// call ends, it is gone.
PyObject* drop(PyObject* module, PyObject* list) {
  const PythonTable& table = table_of(module);
  return called_from_python(table, [&]() -> PyObject* {
    PyObject* const object = Py_NewRef(PyList_GET_ITEM(list, 0));
    if (PyList_SetSlice(list, 0, 1, nullptr) < 0) return nullptr;
    std::thread([&] { table.drop(&table, object); }).join();
    return Py_NewRef(Py_None);
  });
}

// warn(text): by a kernel of C++, so when the call ends. The result is lost if a filter makes it an
// error.
PyObject* warn_later(PyObject* module, PyObject* text) {
  const PythonTable& table = table_of(module);
  return called_from_python(table, [&] {
    warn(PyUnicode_AsUTF8(text));
    return PyLong_FromLong(7);
  });
}

// warns_and_fails(text, what, released): C++ code warns, with the GIL or having released it, and
// fails: it throws ("Error"), or Python has an exception ("set"). Or calls what it is given.
PyObject* warns_and_fails(PyObject* module, PyObject* args) {
  const PythonTable& table = table_of(module);
  return called_from_python(table, [&]() -> PyObject* {
    const char* text = nullptr;
    PyObject* what = nullptr;
    int released = 0;
    if (PyArg_ParseTuple(args, "sO|p", &text, &what, &released) == 0) return nullptr;
    if (released != 0) {
      const WithoutPython without(table);
      warn(text);
    } else {
      warn(text);
    }
    if (PyUnicode_Check(what) == 0) return PyObject_CallNoArgs(what);
    if (std::string(PyUnicode_AsUTF8(what)) == "Error") fail(ErrorKind::BadValue, "the error");
    PyErr_SetString(PyExc_ValueError, "the error");
    return nullptr;
  });
}

// throws(what): what C++ throws, or Python has set.
PyObject* throws(PyObject* module, PyObject* what) {
  return called_from_python(table_of(module), [&]() -> PyObject* {
    const std::string text = PyUnicode_AsUTF8(what);
    if (text == "Error") fail(ErrorKind::BadIndex, "an Error");
    if (text == "bad_alloc") throw std::bad_alloc();
    if (text == "int") throw 42;
    if (text == "set") {
      PyErr_SetString(PyExc_KeyError, "set");
      return nullptr;
    }
    throw_python_exception(table_of(module));  // without one
  });
}

PyMethodDef functions[] = {{"facts", facts, METH_NOARGS, nullptr},
                           {"imports", imports, METH_NOARGS, nullptr},
                           {"tensor", tensor, METH_O, nullptr},
                           {"undefined", undefined, METH_NOARGS, nullptr},
                           {"value", value, METH_VARARGS, nullptr},
                           {"op", op, METH_O, nullptr},
                           {"keys", keys, METH_O, nullptr},
                           {"on_thread", on_thread, METH_O, nullptr},
                           {"again", again, METH_O, nullptr},
                           {"drop", drop, METH_O, nullptr},
                           {"warn", warn_later, METH_O, nullptr},
                           {"warns_and_fails", warns_and_fails, METH_VARARGS, nullptr},
                           {"throws", throws, METH_O, nullptr},
                           {"without_gil", without_gil, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

int execute(PyObject* module) {
  const PythonTable* const table = import_python_table();
  static_cast<State*>(PyModule_GetState(module))->table = table;
  return table == nullptr ? -1 : 0;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)},
#ifdef Py_mod_multiple_interpreters
                            {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
                            {0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "opyard_test_table",
                          nullptr,
                          sizeof(State),
                          functions,
                          slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace opyard

extern "C" __attribute__((visibility("default"))) PyObject* PyInit_opyard_test_table() {
  return PyModuleDef_Init(&opyard::definition);
}
