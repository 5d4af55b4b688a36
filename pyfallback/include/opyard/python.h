// opyard/python.h: tensors, errors and the GIL for extension modules of CPython.
//
// An extension module that shows graphs, gradients or profiles has Python objects to make of
// tensors and values, exceptions to carry both ways, and threads that call Python. What does all
// that is in opyard._C and only there: the note "this thread holds the GIL" belongs to one module,
// and so do the types. _C gives each interpreter one table of C functions, in a capsule; an
// extension compiles nothing else of the plugin in.
//
//   const PythonTable* table;                                  // of the module's state: one per interpreter
//   int execute(PyObject* module) {
//     table = import_python_table();                           // null: an exception is set
//     return table == nullptr ? -1 : 0;
//   }
//   PyObject* twice(PyObject*, PyObject* object) {             // what Python calls
//     return called_from_python(*table, [&] {
//       return to_object(*table, require_tensor(*table, object) + …);
//     });
//   }
//   void tell(const Tensor& tensor) {                          // what C++ calls, on any thread
//     const HoldPython python(*table);
//     require_object(*table, PyObject_CallOneArg(callback, to_object(*table, tensor)));
//   }
//
// The struct is the promise: functions are added at its end and `bytes` grows; whatever else would
// change raises kPythonTableVersion, and import_python_table() refuses the module. No function of
// the table lets a C++ exception out. C++ objects pass by pointer, so the module has to be built
// for this minor version of Opyard. docs/guides/extensions.md is the guide.
//
// Depends on: Python.h, base/error.h, registry/operator.h, schema/type.h, tensor/tensor.h,
// value/value.h.
#pragma once

#include <Python.h>

#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "opyard/base/error.h"
#include "opyard/interpreter/interpreter.h"
#include "opyard/keys/dispatch_key_set.h"
#include "opyard/registry/operator.h"
#include "opyard/schema/type.h"
#include "opyard/tensor/tensor.h"
#include "opyard/value/value.h"
#include "opyard/version.h"

namespace opyard {

// Of the table that a module is compiled with.
inline constexpr std::uint32_t kPythonTableVersion = 2;

// What a call from Python runs that is no operator, such as a graph: see PythonTable::call_run.
// Made by the caller; everything that it points to outlives the call.
struct PythonRun {
  const char* name;             // what runs, in messages
  const TypePtr* inputs;        // their types, in order,
  const char* const* names;     // what they are called in messages,
  const std::uint8_t* written;  // and whether the run writes to them; null: to none
  std::size_t input_count;
  bool outlives_call;  // whether it may use inputs on other threads once it has returned
  const TypePtr* outputs;
  std::size_t output_count;
  // Runs it: `inputs` are borrowed, `outputs` has room for output_count values. As many inputs as
  // Python gave, those past input_count None: so it can refuse another number in its own words. May
  // throw.
  void (*run)(void* context, std::span<const Value> inputs, std::span<Value> outputs);
  void* context;
};

// Memory for a scope of the table, on the stack of the thread that the scope is on.
struct PythonScope {
  void* words[4];
};

struct PythonTable {
  std::uint32_t version;  // kPythonTableVersion of the _C that made it
  std::uint32_t bytes;    // sizeof(PythonTable) there
  std::uint32_t major;    // the Opyard that _C belongs to
  std::uint32_t minor;
  Interpreter* interpreter;  // the tag, for ever

  // ---- Objects. With the GIL held. A null, or -1, says that a Python exception is set.

  // The Tensor of a tensor, None for the undefined one; a new reference.
  PyObject* (*wrap_tensor)(const PythonTable* self, const Tensor* tensor);
  // The tensor of a Tensor or of an instance of a subclass; as long as the object. TypeError.
  const Tensor* (*unwrap_tensor)(const PythonTable* self, PyObject* object);
  // Assigns the value of this schema type that an object stands for, as an operator's argument is
  // converted; arrays of other libraries become tensors. 0, or -1: `what` names the object in the
  // message.
  int (*to_value)(const PythonTable* self, const Type* type, PyObject* object, const char* what,
                  Value* value);
  // The object for a value of this type, which may be null for any; a new reference.
  PyObject* (*from_value)(const PythonTable* self, const Type* type, const Value* value);
  // The OpOverload of an operator, a new reference; the operator of an OpOverload. TypeError.
  PyObject* (*wrap_operator)(const PythonTable* self, const Operator* op);
  const Operator* (*unwrap_operator)(const PythonTable* self, PyObject* object);
  // A DispatchKeySet of these bits; the bits of one, or of what its class takes. 0, or -1.
  PyObject* (*wrap_keys)(const PythonTable* self, std::uint64_t keys);
  int (*unwrap_keys)(const PythonTable* self, PyObject* object, std::uint64_t* keys);

  // ---- The GIL. Scopes are on one thread, and end in the opposite order.

  // enter: from any thread, holding the GIL or not; holds it until leave. Gives an opyard::Status:
  // if it is not Ok (the interpreter has ended, or the thread is in another one) the reason is in
  // take_error(), and nothing is to be left.
  int (*enter)(const PythonTable* self, PythonScope* scope);
  void (*leave)(const PythonTable* self, PythonScope* scope);
  // With the GIL held: releases it until acquire_gil.
  void (*release_gil)(const PythonTable* self, PythonScope* scope);
  void (*acquire_gil)(const PythonTable* self, PythonScope* scope);
  // Around what Python calls, with the GIL held, in one function: `enter` inside of it finds the
  // GIL by a comparison, and warnings of C++ code wait until the call ends.
  void (*begin_call)(const PythonTable* self, PythonScope* scope);
  // Ends it, and does what C++ code left to be done with the GIL (references, warnings). 0, or -1
  // with an exception set: the one that was set before, which no warning hides, else the one that a
  // filter makes of a warning.
  int (*end_call)(const PythonTable* self, PythonScope* scope);

  // ---- Errors and references

  // Sets the Python exception of an Error: the very object that it carries, else one of its kind.
  // With the GIL held.
  void (*raise)(const PythonTable* self, const Error* error);
  // Takes the exception that is set; assigns an Error that carries it. 0, or -1: none was set. With
  // the GIL held.
  int (*take_exception)(const PythonTable* self, std::optional<Error>* error);
  // Gives back a reference that C++ held, on any thread, with the GIL or without.
  void (*drop)(const PythonTable* self, PyObject* object);

  // ---- Calls. With the GIL held.

  // Converts positional arguments by the types of the inputs as an operator's are, runs, and gives
  // the outputs: None, the one, or a tuple of them. Arrays of other libraries among the arguments
  // are given back, and give their kind to the outputs, as in an operator's call. A whole call from
  // Python, so begin_call is not needed. Null with an exception set.
  PyObject* (*call_run)(const PythonTable* self, const PythonRun* run, PyObject* const* args,
                        std::size_t count);
};

// The table of this interpreter, which stays valid for ever. Imports opyard. Null with an
// ImportError set if the versions do not fit. With the GIL held.
inline const PythonTable* import_python_table() {
  // PyCapsule_Import() would put an ImportError in the place of whatever importing raised.
  PyObject* const module = PyImport_ImportModule("opyard._C");
  if (module == nullptr) return nullptr;
  PyObject* const capsule = PyObject_GetAttrString(module, "python_table");
  Py_DECREF(module);
  if (capsule == nullptr) return nullptr;
  // The table stays as long as the process does; the capsule only leads to it.
  const auto* const table =
      static_cast<const PythonTable*>(PyCapsule_GetPointer(capsule, "opyard._C.python_table"));
  Py_DECREF(capsule);
  if (table == nullptr) return nullptr;
  if (table->version == kPythonTableVersion && table->bytes >= sizeof(PythonTable) &&
      table->major == OPYARD_VERSION_MAJOR && table->minor == OPYARD_VERSION_MINOR) {
    return table;
  }
  PyErr_Format(
      PyExc_ImportError,
      "this extension module was built for Opyard %d.%d (table %d, %d bytes), and opyard is "
      "%d.%d (table %d, %d bytes); build it again for the opyard that is installed",
      OPYARD_VERSION_MAJOR, OPYARD_VERSION_MINOR, int(kPythonTableVersion),
      int(sizeof(PythonTable)), int(table->major), int(table->minor), int(table->version),
      int(table->bytes));
  return nullptr;
}

// ---- The same for C++: exceptions in place of results that say failure.

// The GIL for a scope, on any thread. Throws InterpreterGone.
class HoldPython {
 public:
  explicit HoldPython(const PythonTable& table) : table_(table) {
    if (table.enter(&table, &scope_) != int(Status::Ok)) throw *take_error();
  }
  HoldPython(const HoldPython&) = delete;
  HoldPython& operator=(const HoldPython&) = delete;
  ~HoldPython() { table_.leave(&table_, &scope_); }

 private:
  const PythonTable& table_;
  PythonScope scope_;
};

// Without the GIL for a scope, in code that holds it.
class WithoutPython {
 public:
  explicit WithoutPython(const PythonTable& table) : table_(table) {
    table.release_gil(&table, &scope_);
  }
  WithoutPython(const WithoutPython&) = delete;
  WithoutPython& operator=(const WithoutPython&) = delete;
  ~WithoutPython() { table_.acquire_gil(&table_, &scope_); }

 private:
  const PythonTable& table_;
  PythonScope scope_;
};

// Throws the Python exception that is set, as an Error that carries it. With the GIL held.
[[noreturn]] inline void throw_python_exception(const PythonTable& table) {
  std::optional<Error> error;
  if (table.take_exception(&table, &error) != 0) {
    fail(ErrorKind::Internal, "a Python function failed without an exception");
  }
  throw Error(*error);
}

// A result of Python's C API that must not be null. With the GIL held.
inline PyObject* require_object(const PythonTable& table, PyObject* object) {
  if (object == nullptr) throw_python_exception(table);
  return object;
}

// Conversions begin with it: without the GIL they would write what other threads are writing.
// Once a process has had several interpreters CPython knows no answer, and this checks nothing.
inline void require_gil() {
  if (__builtin_expect(PyGILState_Check() != 0, 1)) return;
  fail(ErrorKind::Internal,
       "a conversion between C++ and Python was called on a thread that does not hold the GIL; "
       "HoldPython takes it for a scope");
}

// New references. With the GIL held.
inline PyObject* to_object(const PythonTable& table, const Tensor& tensor) {
  require_gil();
  return require_object(table, table.wrap_tensor(&table, &tensor));
}
inline PyObject* to_object(const PythonTable& table, const Type& type, const Value& value) {
  require_gil();
  return require_object(table, table.from_value(&table, &type, &value));
}
inline PyObject* to_object(const PythonTable& table, const Operator& op) {
  require_gil();
  return require_object(table, table.wrap_operator(&table, &op));
}

inline const Tensor& require_tensor(const PythonTable& table, PyObject* object) {
  require_gil();
  const Tensor* const tensor = table.unwrap_tensor(&table, object);
  if (tensor == nullptr) throw_python_exception(table);
  return *tensor;
}
inline Value require_value(const PythonTable& table, const Type& type, PyObject* object,
                           const char* what) {
  require_gil();
  Value value;
  if (table.to_value(&table, &type, object, what, &value) != 0) throw_python_exception(table);
  return value;
}

// The body of a function that Python calls, with the GIL held: its result, or null with the
// exception set that it threw or left. A warning of the body is said when it has ended; if a filter
// makes an error of it, that is the call's error unless the body has failed. The forced unwinding
// of a thread passes through.
template <typename Body>
OPYARD_CATCHES_FORCED_UNWIND PyObject* called_from_python(const PythonTable& table, Body&& body) {
  PythonScope scope;
  table.begin_call(&table, &scope);
  PyObject* result = nullptr;
  const Status status = guarded([&] { result = std::forward<Body>(body)(); });
  if (status != Status::Ok) {
    const std::optional<Error> error = take_error();
    table.raise(&table, &*error);
    result = nullptr;
  }
  if (table.end_call(&table, &scope) == 0) return result;
  Py_XDECREF(result);
  return nullptr;
}

}  // namespace opyard
