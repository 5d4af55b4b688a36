// objects/values/symbolic.cpp: symbolic nodes between Python and C++.
//
// [Both ways] A PythonNode owns a Python object and calls its methods. A _C.SymNode owns a node of
// C++ and has these methods. Neither is ever wrapped in the other: what goes out is what came in.
#include "objects/values/symbolic.h"

#include <new>

#include "opyard/detail/python/clear.h"
#include "opyard/interpreter/interpreter_object.h"
#include "runtime/enter_python.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

struct NodeObject {
  PyObject_HEAD SymNodePtr node;
};

bool is_node_object(const Runtime& runtime, PyObject* object) noexcept {
  return Py_TYPE(object) == runtime.sym_node_type;
}
const SymNode& node_unchecked(PyObject* object) noexcept {
  return *reinterpret_cast<NodeObject*>(object)->node;
}

// See [Both ways]. Its methods are called on any thread; an exception of theirs leaves as itself.
class PythonNode final : public SymNode {
 public:
  // With the GIL held. Throws PythonErrorSet.
  PythonNode(Runtime& runtime, PyObject* node)
      : runtime_(runtime),
        kind_(kind_of(node)),
        node_(InterpreterObject::steal(runtime.tag, Owned::share(node).release())) {}

  PyObject* object() const noexcept { return static_cast<PyObject*>(node_.address()); }

  SymKind kind() const override { return kind_; }
  SymNodePtr wrap_int(std::int64_t number) const override {
    return made([&] { return call("wrap_int", "L", static_cast<long long>(number)); });
  }
  SymNodePtr wrap_float(double number) const override {
    return made([&] { return call("wrap_float", "d", number); });
  }
  SymNodePtr wrap_bool(bool truth) const override {
    return made([&] { return call("wrap_bool", "(O)", truth ? Py_True : Py_False); });
  }
  SymNodePtr apply(SymBinary op, const SymNode& right) const override {
    return made([&] {
      const auto* const other = dynamic_cast<const PythonNode*>(&right);
      if (other == nullptr) {
        fail(ErrorKind::Unsupported, std::string(name_of(op)) +
                                         ": the operands are symbolic numbers of two reasoners, " +
                                         text() + " and " + right.text());
      }
      return call(name_of(op), "(O)", other->object());
    });
  }
  SymNodePtr apply(SymUnary op) const override {
    return made([&] { return call(name_of(op), nullptr); });
  }

  std::int64_t guard_int(const char* file, int line) const override {
    return entered([&] { return to_int(call("guard_int", "si", file, line), "guard_int"); });
  }
  double guard_float(const char* file, int line) const override {
    return entered([&] { return to_float(call("guard_float", "si", file, line)); });
  }
  bool guard_bool(const char* file, int line) const override {
    return entered([&] { return to_truth(call("guard_bool", "si", file, line)); });
  }

  std::optional<std::int64_t> maybe_as_int() const override {
    return maybe<std::int64_t>(
        "maybe_as_int", [](Owned known) { return to_int(std::move(known), "maybe_as_int"); });
  }
  std::optional<double> maybe_as_float() const override {
    return maybe<double>("maybe_as_float", to_float);
  }
  std::optional<bool> maybe_as_bool() const override {
    return maybe<bool>("maybe_as_bool", to_truth);
  }

  std::string text() const override {
    return entered([&] {
      const Owned text = checked(PyObject_Str(object()));
      return std::string(require_text(text.get(), "the text of a node"));
    });
  }

 private:
  template <typename Body>
  auto entered(const Body& body) const -> decltype(body()) {
    return enter_python(runtime_, body);
  }
  template <typename Body>
  SymNodePtr made(const Body& body) const {
    return entered([&] { return node_of(runtime_, body().get()); });
  }
  // A node need not have the methods that say what is known.
  template <typename T, typename Convert>
  std::optional<T> maybe(const char* name, const Convert& convert) const {
    return entered([&]() -> std::optional<T> {
      const Owned method = Owned::steal(PyObject_GetAttrString(object(), name));
      if (!method) {
        if (!clear_if(PyExc_AttributeError)) throw PythonErrorSet();
        return std::nullopt;
      }
      Owned known = checked(in_python([&] { return PyObject_CallNoArgs(method.get()); }));
      if (known.get() == Py_None) return std::nullopt;
      return convert(std::move(known));
    });
  }
  template <typename... T>
  Owned call(const char* name, const char* format, T... arguments) const {
    return checked(
        in_python([&] { return PyObject_CallMethod(object(), name, format, arguments...); }));
  }

  static std::int64_t to_int(Owned number, const char* method) {
    if (!PyLong_Check(number.get())) {
      fail(ErrorKind::BadReturn, std::string(method) + "() of a node gave a " +
                                     Py_TYPE(number.get())->tp_name + "; an int is expected");
    }
    const long long value = PyLong_AsLongLong(number.get());
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonErrorSet();
    return value;
  }
  static double to_float(Owned number) {
    const double value = PyFloat_AsDouble(number.get());
    if (value == -1.0 && PyErr_Occurred() != nullptr) throw PythonErrorSet();
    return value;
  }
  static bool to_truth(Owned truth) {
    const int value = in_python([&] { return PyObject_IsTrue(truth.get()); });
    if (value < 0) throw PythonErrorSet();
    return value != 0;
  }

  static bool is(PyObject* node, const char* name) {
    return to_truth(checked(in_python([&] { return PyObject_CallMethod(node, name, nullptr); })));
  }
  static SymKind kind_of(PyObject* node) {
    if (is(node, "is_int")) return SymKind::Int;
    if (is(node, "is_float")) return SymKind::Float;
    if (is(node, "is_bool")) return SymKind::Bool;
    fail(ErrorKind::BadArgument, std::string("a node of the class ") + Py_TYPE(node)->tp_name +
                                     " says that it is no int, no float and no bool");
  }

  Runtime& runtime_;
  const SymKind kind_;
  const InterpreterObject node_;
};

// A node of Python's, or of C++'s, from its wrapper in Python.
SymNodePtr to_node(Runtime& runtime, PyObject* object) {
  if (is_node_object(runtime, object)) return reinterpret_cast<NodeObject*>(object)->node;
  return make_counted<PythonNode>(runtime, object);
}

Owned symbolic_to_object(Runtime& runtime, const SymNodePtr& node) {
  if (const auto* const ours = dynamic_cast<const PythonNode*>(node.get())) {
    return Owned::share(ours->object());
  }
  Owned object = checked(runtime.sym_node_type->tp_alloc(runtime.sym_node_type, 0));
  new (&reinterpret_cast<NodeObject*>(object.get())->node) SymNodePtr(node);
  return object;
}

Owned to_number(Runtime& runtime, SymKind kind, const SymNodePtr& node) {
  const Owned object = symbolic_to_object(runtime, node);
  PyObject* const make = require_hook(runtime, name_of(kind));
  return checked(PyObject_CallOneArg(make, object.get()));
}

// ---- _C.SymNode

Runtime& runtime_of_node(PyObject* self) noexcept { return runtime_of(Py_TYPE(self)); }

template <SymBinary op>
PyObject* symbolic_binary(PyObject* self, PyObject* other) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_node(self);
    if (!is_node_object(runtime, other)) {
      fail(ErrorKind::BadArgument,
           std::string(name_of(op)) + "() takes a SymNode, not a " + Py_TYPE(other)->tp_name);
    }
    return symbolic_to_object(runtime, node_unchecked(self).apply(op, node_unchecked(other)))
        .release();
  });
}

template <SymUnary op>
PyObject* symbolic_unary(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    return symbolic_to_object(runtime_of_node(self), node_unchecked(self).apply(op)).release();
  });
}

template <SymKind kind>
PyObject* is_kind(PyObject* self, PyObject*) {
  return PyBool_FromLong(node_unchecked(self).kind() == kind ? 1 : 0);
}

PyObject* wrap_int(PyObject* self, PyObject* number) {
  return enter_from_python([&] {
    const long long value = PyLong_AsLongLong(number);
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonErrorSet();
    return symbolic_to_object(runtime_of_node(self), node_unchecked(self).wrap_int(value))
        .release();
  });
}
PyObject* wrap_float(PyObject* self, PyObject* number) {
  return enter_from_python([&] {
    const double value = PyFloat_AsDouble(number);
    if (value == -1.0 && PyErr_Occurred() != nullptr) throw PythonErrorSet();
    return symbolic_to_object(runtime_of_node(self), node_unchecked(self).wrap_float(value))
        .release();
  });
}
PyObject* wrap_bool(PyObject* self, PyObject* truth) {
  return enter_from_python([&] {
    const int value = PyObject_IsTrue(truth);
    if (value < 0) throw PythonErrorSet();
    return symbolic_to_object(runtime_of_node(self), node_unchecked(self).wrap_bool(value != 0))
        .release();
  });
}

template <typename Guard>
PyObject* guard(PyObject* args, const Guard& ask) {
  return enter_from_python([&]() -> PyObject* {
    const char* file = nullptr;
    int line = 0;
    if (PyArg_ParseTuple(args, "si", &file, &line) == 0) throw PythonErrorSet();
    return ask(file, line);
  });
}
PyObject* guard_int(PyObject* self, PyObject* args) {
  return guard(args, [&](const char* file, int line) {
    return PyLong_FromLongLong(node_unchecked(self).guard_int(file, line));
  });
}
PyObject* guard_float(PyObject* self, PyObject* args) {
  return guard(args, [&](const char* file, int line) {
    return PyFloat_FromDouble(node_unchecked(self).guard_float(file, line));
  });
}
PyObject* guard_bool(PyObject* self, PyObject* args) {
  return guard(args, [&](const char* file, int line) {
    return PyBool_FromLong(node_unchecked(self).guard_bool(file, line) ? 1 : 0);
  });
}

PyObject* maybe_as_int(PyObject* self, PyObject*) {
  return enter_from_python([&]() -> PyObject* {
    if (const auto known = node_unchecked(self).maybe_as_int()) return PyLong_FromLongLong(*known);
    Py_RETURN_NONE;
  });
}
PyObject* maybe_as_float(PyObject* self, PyObject*) {
  return enter_from_python([&]() -> PyObject* {
    if (const auto known = node_unchecked(self).maybe_as_float()) return PyFloat_FromDouble(*known);
    Py_RETURN_NONE;
  });
}
PyObject* maybe_as_bool(PyObject* self, PyObject*) {
  return enter_from_python([&]() -> PyObject* {
    if (const auto known = node_unchecked(self).maybe_as_bool()) {
      return PyBool_FromLong(*known ? 1 : 0);
    }
    Py_RETURN_NONE;
  });
}

PyObject* symbolic_str(PyObject* self) {
  return enter_from_python([&] { return to_text(node_unchecked(self).text()).release(); });
}

void deallocate_symbolic(PyObject* self) {
  reinterpret_cast<NodeObject*>(self)->node.~CountedPtr();
  free_object(self);
}

PyMethodDef symbolic_methods[] = {
#define OPYARD_SYM_BINARY(name, sign) {#name, symbolic_binary<SymBinary::name>, METH_O, nullptr},
#define OPYARD_SYM_UNARY(name) {#name, symbolic_unary<SymUnary::name>, METH_NOARGS, nullptr},
#include "opyard/value/sym_ops.def"
    {"is_int", is_kind<SymKind::Int>, METH_NOARGS, nullptr},
    {"is_float", is_kind<SymKind::Float>, METH_NOARGS, nullptr},
    {"is_bool", is_kind<SymKind::Bool>, METH_NOARGS, nullptr},
    {"wrap_int", wrap_int, METH_O, nullptr},
    {"wrap_float", wrap_float, METH_O, nullptr},
    {"wrap_bool", wrap_bool, METH_O, nullptr},
    {"guard_int", guard_int, METH_VARARGS, nullptr},
    {"guard_float", guard_float, METH_VARARGS, nullptr},
    {"guard_bool", guard_bool, METH_VARARGS, nullptr},
    {"maybe_as_int", maybe_as_int, METH_NOARGS, nullptr},
    {"maybe_as_float", maybe_as_float, METH_NOARGS, nullptr},
    {"maybe_as_bool", maybe_as_bool, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot node_slots[] = {
    {Py_tp_doc, const_cast<char*>("A symbolic number that C++ code reasons about.")},
    {Py_tp_dealloc, slot(deallocate_symbolic)},
    {Py_tp_str, slot(symbolic_str)},
    {Py_tp_repr, slot(symbolic_str)},
    {Py_tp_methods, symbolic_methods},
    {0, nullptr}};

PyType_Spec node_spec = {"opyard._C.SymNode", sizeof(NodeObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};

// set_sym_types(SymInt, SymFloat, SymBool): the classes for symbolic numbers.
PyObject* set_sym_types(PyObject* module, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    PyObject* types[3] = {};
    if (PyArg_ParseTuple(args, "O!O!O!", &PyType_Type, &types[0], &PyType_Type, &types[1],
                         &PyType_Type, &types[2]) == 0) {
      throw PythonErrorSet();
    }
    Runtime& runtime = runtime_of_module(module);
    for (int i = 0; i < 3; ++i) {
      Py_INCREF(types[i]);
      Py_XSETREF(runtime.sym_types[i], types[i]);
    }
    Py_RETURN_NONE;
  });
}

}  // namespace

Owned wrap(Runtime& runtime, const SymInt& number) {
  if (number.is_symbolic()) return to_number(runtime, SymKind::Int, number.node());
  return checked(PyLong_FromLongLong(number.expect_int()));
}
Owned wrap(Runtime& runtime, const SymFloat& number) {
  if (number.is_symbolic()) return to_number(runtime, SymKind::Float, number.node());
  return checked(PyFloat_FromDouble(number.plain_unchecked()));
}
Owned wrap(Runtime& runtime, const SymBool& truth) {
  if (truth.is_symbolic()) return to_number(runtime, SymKind::Bool, truth.node());
  return Owned::share(truth.plain_unchecked() ? Py_True : Py_False);
}

bool is_symbolic(const Runtime& runtime, PyObject* object, SymKind kind) noexcept {
  PyObject* const type = runtime.sym_types[std::size_t(kind)];
  return type != nullptr && PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(type));
}

SymNodePtr node_of(Runtime& runtime, PyObject* object) {
  for (const SymKind kind : {SymKind::Int, SymKind::Float, SymKind::Bool}) {
    if (!is_symbolic(runtime, object, kind)) continue;
    const Owned node = checked(PyObject_GetAttrString(object, "node"));
    return to_node(runtime, node.get());
  }
  return to_node(runtime, object);
}

bool to_symbolic(Runtime& runtime, PyObject* object, SymKind kind, Value& value) {
  if (!is_symbolic(runtime, object, kind)) return false;
  SymNodePtr node = node_of(runtime, object);
  switch (kind) {
    case SymKind::Int:
      value = Value(SymInt(std::move(node)));
      break;
    case SymKind::Float:
      value = Value(SymFloat(std::move(node)));
      break;
    case SymKind::Bool:
      value = Value(SymBool(std::move(node)));
      break;
  }
  return true;
}

void add_sym_node_type(Runtime& runtime, PyObject* module) {
  add_type(module, node_spec, runtime.sym_node_type);
}

PyMethodDef symbolic_functions[] = {
    {"set_sym_types", set_sym_types, METH_VARARGS, "set_sym_types(SymInt, SymFloat, SymBool)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace opyard::python
