// protocol/handlers.cpp: asking handlers in turn, until one answers.
//
// [Order] Modes are asked first, the innermost first. A mode is hidden while its handler runs, and so
// are those inside of it, which have answered NotImplemented. Then come the classes of the tensors, a
// subclass before its superclass, else from left to right; the modes are there again for them, since
// what a class unwraps may be what a mode was waiting for. Where all answer NotImplemented the call
// raises TypeError.
//
// A handler is looked up on the type, as Python does with its own double-underscore methods.
#include "protocol/handlers.h"

#include <fmt/format.h>

#include <algorithm>

#include "objects/overload.h"
#include "objects/packet.h"
#include "objects/tensor.h"
#include "opyard/base/small_vector.h"
#include "opyard/registry/handlers.h"
#include "opyard/slot/modes.h"
#include "protocol/call_arguments.h"
#include "protocol/results.h"
#include "runtime/errors.h"
#include "runtime/gil.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// What every handler of one call gets.
struct HandlerCall {
  Runtime& runtime;
  const Operator& op;
  Owned op_object;
  Owned types;
  Owned args;
  Owned kwargs;  // null where there are none
};

// Who is asked: a mode, or a class of tensors.
struct Asked {
  PyObject* receiver;  // the mode, or the class; borrowed
  PyTypeObject* type;  // of the mode, or the class itself
  bool is_mode;
};

std::string describe_handler(const void* who) {
  const Asked& asked = *static_cast<const Asked*>(who);
  return fmt::format("__opyard_dispatch__ of the {} {}", asked.is_mode ? "mode" : "class",
                     asked.type->tp_name);
}

// Whether a handler, which gets itself or its class first, has to be given `kwargs`.
bool needs_kwargs(PyObject* function) {
  constexpr int kWithKwargs = 5;
  const auto* const code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  PyObject* const defaults = PyFunction_GET_DEFAULTS(function);
  return code->co_argcount < kWithKwargs || defaults == nullptr ||
         code->co_argcount - PyTuple_GET_SIZE(defaults) >= kWithKwargs;
}

// Calls a handler as it lies on the type of a mode, or the function of a class's handler.
Owned ask(HandlerCall& call, const Asked& asked, PyObject* function) {
  Runtime& runtime = call.runtime;
  const bool plain = PyFunction_Check(function);
  const Owned called =
      plain ? Owned::share(function)
            : require(runtime, PyObject_GetAttr(asked.receiver, runtime.handler_name));
  if (!call.kwargs && (!plain || needs_kwargs(function))) {
    call.kwargs = require(runtime, PyDict_New());
  }
  PyObject* all[] = {nullptr,          asked.receiver,  call.op_object.get(),
                     call.types.get(), call.args.get(), call.kwargs.get()};
  // What is no Python function is bound to its receiver already.
  PyObject** const first = plain ? all + 1 : all + 2;
  const std::size_t count = std::size_t(std::end(all) - first) - (call.kwargs ? 0 : 1);
  return require(runtime, in_python([&] {
                   return PyObject_Vectorcall(called.get(), first,
                                              count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
                 }));
}

// [Kept] What was found out about the handler of a class is kept in the class, as a tuple under a name
// of ours: the attribute as it lies on the type, the function that is called with the class first, and
// the tuple (class,). A subclass finds that of its superclass, and a changed class an old one; both
// differ in one of the items, and then it is made anew.
enum Kept { kRaw, kFunction, kTypes };

PyObject* kept_item(PyObject* kept, Kept item) { return PyTuple_GET_ITEM(kept, item); }

Owned make_kept(Runtime& runtime, PyTypeObject* type, PyObject* raw) {
  auto* const cls = reinterpret_cast<PyObject*>(type);
  Owned function = Owned::share(raw);
  if (Py_TYPE(raw) == &PyClassMethod_Type) {
    function = require(runtime, PyObject_GetAttrString(raw, "__func__"));
    if (!PyFunction_Check(function.get())) function = Owned::share(raw);
  } else if (PyFunction_Check(raw)) {
    fail(ErrorKind::BadArgument,
         fmt::format("__opyard_dispatch__ of the class {} has to be a class method: it is called "
                     "with the class, and not with a tensor",
                     type->tp_name));
  }
  const Owned types = require(runtime, PyTuple_Pack(1, cls));
  Owned kept = require(runtime, PyTuple_Pack(3, raw, function.get(), types.get()));
  if (PyObject_SetAttr(cls, runtime.kept_name, kept.get()) < 0) throw_python_error(runtime);
  return kept;
}

// What is kept of a class with a handler; null where it has none, or switched it off.
Owned handler_of(Runtime& runtime, PyTypeObject* type) {
  if (type == runtime.tensor_type) return {};
  PyObject* const raw = lookup_on_type(type, runtime.handler_name);
  if (raw == nullptr || raw == runtime.disabled_dispatch) return {};
  PyObject* const kept = lookup_on_type(type, runtime.kept_name);
  if (kept != nullptr && kept_item(kept, kRaw) == raw &&
      PyTuple_GET_ITEM(kept_item(kept, kTypes), 0) == reinterpret_cast<PyObject*>(type)) {
    return Owned::share(kept);
  }
  return make_kept(runtime, type, raw);
}

// The classes that are asked, in order.
using Classes = SmallVector<PyTypeObject*, 4>;

void add_class(Runtime& runtime, PyTypeObject* type, Classes& classes) {
  for (PyTypeObject* const known : classes) {
    if (known == type) return;
  }
  if (!handler_of(runtime, type)) return;
  classes.push_back(type);
  for (std::size_t i = 0; i + 1 < classes.size(); ++i) {
    if (PyType_IsSubtype(type, classes[i]) == 0) continue;
    std::rotate(classes.begin() + i, classes.end() - 1, classes.end());
    return;
  }
}

void add_class_of(Runtime& runtime, const Tensor& tensor, Classes& classes) {
  if (!tensor.keys().has(DispatchKey::Python)) return;
  add_class(runtime, Py_TYPE(wrap(runtime, tensor).get()), classes);
}

Classes find_classes(Runtime& runtime, std::span<const Value> arguments) {
  Classes classes;
  for (const Value& value : arguments) {
    if (value.is_tensor()) {
      add_class_of(runtime, value.tensor_unchecked(), classes);
    } else if (value.is_list()) {
      for (const Value& item : value.items_unchecked()) {
        if (item.is_tensor()) add_class_of(runtime, item.tensor_unchecked(), classes);
      }
    }
  }
  return classes;
}

Owned tuple_of(Runtime& runtime, const Classes& classes) {
  if (classes.size() == 1) {
    const Owned kept = handler_of(runtime, classes[0]);
    if (kept) return Owned::share(kept_item(kept.get(), kTypes));
  }
  Owned tuple = require(runtime, PyTuple_New(Py_ssize_t(classes.size())));
  for (std::size_t i = 0; i < classes.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i),
                     Owned::share(reinterpret_cast<PyObject*>(classes[i])).release());
  }
  return tuple;
}

template <typename Names>
std::string joined(const Names& names) {
  return fmt::format("[{}]", fmt::join(names, ", "));
}

[[noreturn]] OPYARD_COLD void refuse(const Operator& op, const Classes& classes) {
  std::vector<std::string> names;
  for (const PyTypeObject* const type : classes) names.emplace_back(type->tp_name);
  std::string text = fmt::format(
      "no implementation found for '{}' on types that implement __opyard_dispatch__: {}",
      to_string(op.name()), joined(names));
  names.clear();
  for (const ModePtr& mode : thread_modes()) {
    names.emplace_back(Py_TYPE(static_cast<PyObject*>(mode->handler().address()))->tp_name);
  }
  if (!names.empty()) text += fmt::format(", nor in the active modes: {}", joined(names));
  fail(ErrorKind::BadArgument,
       text + "; each of them returned NotImplemented.\nDeclaration: " + op.declaration());
}

// Asks in turn; gives the answer, and who gave it. See [Order].
Owned ask_all(HandlerCall& call, const Classes& classes, Asked& asked) {
  Runtime& runtime = call.runtime;
  for (std::size_t i = thread_modes().size(); i-- > 0;) {
    const ModePtr mode = thread_modes()[i];
    auto* const receiver = static_cast<PyObject*>(mode->handler().object(runtime.tag));
    const HideModes hide(i);
    asked = {receiver, Py_TYPE(receiver), true};
    PyObject* const raw = lookup_on_type(asked.type, runtime.handler_name);
    if (raw == nullptr) {
      fail(ErrorKind::BadArgument,
           fmt::format("a {} is no mode: it has no __opyard_dispatch__", asked.type->tp_name));
    }
    Owned answer = ask(call, asked, raw);
    if (answer.get() != Py_NotImplemented) return answer;
  }
  for (PyTypeObject* const type : classes) {
    asked = {reinterpret_cast<PyObject*>(type), type, false};
    const Owned kept = handler_of(runtime, type);
    if (!kept) continue;  // an earlier handler took it away
    Owned answer = ask(call, asked, kept_item(kept.get(), kFunction));
    if (answer.get() != Py_NotImplemented) return answer;
  }
  refuse(call.op, classes);
}

// With the GIL held.
void dispatch_with_gil(Runtime& runtime, const Operator& op, Stack& stack) {
  const Schema& schema = op.schema();
  const std::span<Value> values = stack.top(schema.arguments.size());
  const Classes classes = find_classes(runtime, values);
  if (classes.empty() && thread_modes().empty()) {
    // The tensor that led here is of a class without a handler: the call goes on below.
    const ExcludeDispatchKeyGuard below(DispatchKey::Python);
    return op.call_boxed_unchecked(stack);
  }
  HandlerCall call{runtime,
                   op,
                   overload_object(runtime, op),
                   tuple_of(runtime, classes),
                   args_of(runtime, schema, values),
                   kwargs_of(runtime, schema, values)};
  Asked asked{};
  const Owned answer = ask_all(call, classes, asked);
  stack.drop(values.size());
  push_results(runtime, {describe_handler, &asked}, op, answer.get(), stack);
}

// The result of Class.__opyard_dispatch__(aten.detach, …) for one tensor. With the GIL held.
Owned detach_by_class(Runtime& runtime, const Owned& object, const Owned& kept) {
  const Owned packet =
      require(runtime, PyObject_CallFunction(require_hook(runtime, "aten"), "s", "detach"));
  const Owned op = require(runtime, PyObject_GetAttrString(packet.get(), "default"));
  HandlerCall call{runtime,
                   plan_of(op.get()).op(),
                   Owned::share(op.get()),
                   Owned::share(kept_item(kept.get(), kTypes)),
                   require(runtime, PyTuple_Pack(1, object.get())),
                   {}};
  PyTypeObject* const type = Py_TYPE(object.get());
  const ExcludeDispatchKeyGuard below(kLayersAboveHandlers);
  return ask(call, {reinterpret_cast<PyObject*>(type), type, false},
             kept_item(kept.get(), kFunction));
}

// disabled_dispatch(op, types, args=(), kwargs=None): what a class takes for its handler that wants
// none. Called by hand, it runs the operator without handlers.
PyObject* disabled_dispatch(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return entry_from_python([&] {
    if (count < 2 || count > 4) {
      fail(ErrorKind::BadArgument, "disabled_dispatch() takes (op, types, args=(), kwargs=None)");
    }
    const ExcludeDispatchKeyGuard below(DispatchKey::Python);
    const Owned positional = count > 2 ? Owned::share(args[2]) : checked(PyTuple_New(0));
    return PyObject_Call(args[0], positional.get(),
                         count > 3 && args[3] != Py_None ? args[3] : nullptr);
  });
}

}  // namespace

void dispatch_to_handlers(Runtime& runtime, const Operator& op, Stack& stack) {
  const HoldGil gil(runtime);
  try {
    dispatch_with_gil(runtime, op, stack);
  } catch (const PythonErrorSet&) {
    throw_python_error(runtime);  // the caller may be C++, which must not see the other
  }
}

Tensor detach_by_handler(Runtime& runtime, const Tensor& self) {
  const HoldGil gil(runtime);
  try {
    const Owned object = wrap(runtime, self);
    const Owned kept = handler_of(runtime, Py_TYPE(object.get()));
    if (!kept) {
      const Owned plain = make_instance(runtime, Py_TYPE(object.get()), self);
      return tensor_unchecked(plain.get());
    }
    const Owned result = detach_by_class(runtime, object, kept);
    if (!is_tensor(runtime, result.get())) {
      fail(ErrorKind::BadReturn, fmt::format("detach returned invalid type {}, expected Tensor",
                                             Py_TYPE(result.get())->tp_name));
    }
    return tensor_unchecked(result.get());
  } catch (const PythonErrorSet&) {
    throw_python_error(runtime);
  }
}

PyMethodDef handler_functions[] = {
    {"disabled_dispatch", method(disabled_dispatch), METH_FASTCALL,
     "disabled_dispatch(op, types, args=(), kwargs=None): the handler of a class that wants none"},
    {nullptr, nullptr, 0, nullptr}};

void prepare_handlers(Runtime& runtime, PyObject* module) {
  constexpr const char* kDisabled = "disabled_dispatch";
  // A module that is imported once more has that of the first, which classes have taken.
  if (runtime.disabled_dispatch != nullptr) {
    if (PyModule_AddObjectRef(module, kDisabled, runtime.disabled_dispatch) < 0) {
      throw PythonErrorSet();
    }
    return;
  }
  runtime.handler_name = checked(PyUnicode_InternFromString("__opyard_dispatch__")).release();
  runtime.disabled_dispatch = checked(PyObject_GetAttrString(module, kDisabled)).release();
  runtime.kept_name = checked(PyUnicode_InternFromString("__opyard_handler__")).release();
  // For super().__opyard_dispatch__(op, types, args, kwargs).
  if (PyObject_SetAttr(reinterpret_cast<PyObject*>(runtime.tensor_type), runtime.handler_name,
                       runtime.disabled_dispatch) < 0) {
    throw PythonErrorSet();
  }
}

}  // namespace opyard::python
