// kernels/handlers.cpp: calling handlers in order until one answers.
//
// [Order] Modes are asked first, the innermost first. A mode is hidden while its handler runs, and
// so are those inside of it, which have answered NotImplemented. Then come the classes of the
// tensors, a subclass before its superclass, else from left to right; the modes are there again for
// them, since what a class unwraps may be what a mode was waiting for. If all answer
// NotImplemented the call raises TypeError.
//
// Functions are aligned for the reason in operators/direct_call.cpp, [Places].
//
// A handler is looked up on the type, as Python does with its own double-underscore methods.
#include "kernels/handlers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kernels/aliased_results.h"
#include "kernels/call_arguments.h"
#include "kernels/results.h"
#include "objects/tensor/tensor.h"
#include "operators/kernel_notes.h"
#include "operators/overload.h"
#include "operators/packet.h"
#include "opyard/detail/base/small_vector.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/look_up.h"
#include "opyard/detail/schema/declared_writes.h"
#include "opyard/detail/thread/key_snapshot.h"
#include "opyard/registry/handlers.h"
#include "opyard/thread/modes.h"
#include "runtime/enter_python.h"
#include "runtime/hooks.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// What every handler of one call gets.
struct HandlerCall {
  Runtime& runtime;
  const Operator& op;
  PyObject* op_object;  // borrowed
  Owned types;
  Owned args;
  Owned kwargs;  // null if there are none
};

// Who is asked: a mode, or a class of tensors.
struct Asked {
  PyObject* receiver;  // the mode, or the class; borrowed
  PyTypeObject* type;  // of the mode, or the class itself
  bool is_mode;
};

std::string describe_handler(const void* who) {
  const HandlerAnswer& answer = *static_cast<const HandlerAnswer*>(who);
  return fmt::format("__opyard_dispatch__ of the {} {}", answer.of_mode ? "mode" : "class",
                     reinterpret_cast<PyTypeObject*>(answer.type.get())->tp_name);
}

// No keyword arguments, as an empty dictionary that no one else holds: the one of the calls before,
// unless a handler cached it or wrote to it. A dictionary for each call would cost more (bench row
// subclass).
Owned no_kwargs(Runtime& runtime) {
  PyObject*& cached = runtime.empty_kwargs;
  if (cached == nullptr || Py_REFCNT(cached) != 1 || PyDict_GET_SIZE(cached) != 0) {
    PyObject* const fresh = require(runtime, PyDict_New()).release();
    Py_XSETREF(cached, fresh);
  }
  return Owned::share(cached);
}

// Calls a handler as it is stored on the type of a mode, or the function of a class's handler. A
// rule of an operator is called with the receiver first, whatever it is. The caller keeps it alive.
[[gnu::aligned(64)]] Owned ask_handler(HandlerCall& call, const Asked& asked, PyObject* function,
                                       bool is_rule = false) {
  Runtime& runtime = call.runtime;
  const bool plain = PyFunction_Check(function) || is_rule;
  Owned bound;
  if (!plain) bound = require(runtime, PyObject_GetAttr(asked.receiver, runtime.handler_name));
  if (!call.kwargs) call.kwargs = no_kwargs(runtime);
  alignas(kPairBytes)
      PyObject* all[7];  // from the third on: what is before the first is the callee's
  put_pair(all + 2, asked.receiver, call.op_object);
  put_pair(all + 4, call.types.get(), call.args.get());
  all[6] = call.kwargs.get();
  // What is no Python function is bound to its receiver already.
  PyObject** const first = plain ? all + 2 : all + 3;
  const auto count = std::size_t(std::end(all) - first);
  const HideKeySnapshot anew;
  return require(runtime, noting_failure(asked.type, asked.is_mode, call.op, in_python([&] {
                                           return call_function(
                                               plain ? function : bound.get(), first,
                                               count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
                                         })));
}

// [Cache] What was found out about the handler of a class is cached in the class, as a tuple under
// a name of ours: the attribute as it is stored on the type, the function that is called with the
// class first, and the tuple (class,). A subclass finds that of its superclass, and a changed class
// an old one; both differ in one of the items, and then it is made anew.
enum CachedItem { kRaw, kFunction, kTypes };

PyObject* cached_item(PyObject* cached, CachedItem item) { return PyTuple_GET_ITEM(cached, item); }

// Whether an attribute under that name is a tuple as make_cached() makes them: code that writes the
// class can put anything there, such as what was copied from another class.
bool is_cached(PyObject* attribute) {
  if (!PyTuple_CheckExact(attribute) || PyTuple_GET_SIZE(attribute) != 3) return false;
  PyObject* const types = cached_item(attribute, kTypes);
  return PyTuple_CheckExact(types) && PyTuple_GET_SIZE(types) == 1 &&
         PyType_Check(PyTuple_GET_ITEM(types, 0));
}

Owned make_cached(Runtime& runtime, PyTypeObject* type, PyObject* raw) {
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
  return require(runtime, PyTuple_Pack(3, raw, function.get(), types.get()));
}

// If the class takes no attributes, it is made anew each time.
void cache(Runtime& runtime, PyTypeObject* type, const Owned& cached) {
  auto* const cls = reinterpret_cast<PyObject*>(type);
  if (PyObject_SetAttr(cls, runtime.cached_handler_name, cached.get()) == 0) return;
  if (!clear_if(PyExc_Exception)) throw_python_error(runtime);
}

OPYARD_COLD Owned find_handler(Runtime& runtime, PyTypeObject* type) {
  PyObject* const raw = lookup_on_type(type, runtime.handler_name);
  if (raw == nullptr || raw == runtime.disabled_dispatch) return {};
  PyObject* const former = lookup_on_type(type, runtime.cached_handler_name);
  const bool is_ours = former != nullptr && is_cached(former);
  if (is_ours && cached_item(former, kRaw) == raw &&
      PyTuple_GET_ITEM(cached_item(former, kTypes), 0) == reinterpret_cast<PyObject*>(type)) {
    return Owned::share(former);
  }
  const bool is_free = former == nullptr || is_ours;  // else it is someone else's attribute
  Owned cached = make_cached(runtime, type, raw);
  if (is_free) cache(runtime, type, cached);
  return cached;
}

// What is cached of a class with a handler; null if it has none, or switched it off.
[[gnu::aligned(64)]] Owned handler_of(Runtime& runtime, PyTypeObject* type) {
  if (type == runtime.tensor_type) return {};
  constexpr std::size_t kTypeSize = 1024;  // types are about so far apart
  Runtime::CachedHandler& near = runtime.cached_handlers[reinterpret_cast<std::uintptr_t>(type) /
                                                         kTypeSize % Runtime::kCachedHandlers];
  const TypeVersion version = type_version(runtime, type);
  if (__builtin_expect(near.type == type && near.version == version && version != 0, 1)) {
    return Owned::share(near.cached);
  }
  Owned cached = find_handler(runtime, type);
  // What was just made changed the class; then it is remembered the next time. A class that takes
  // no attributes does not hold it, so that it dies with this call.
  if (cached && version != 0 && version == type_version(runtime, type) &&
      lookup_on_type(type, runtime.cached_handler_name) == cached.get()) {
    near = {type, version, cached.get()};
  }
  return cached;
}

// The classes that are asked, in order, each with what is cached of it.
class Classes {
 public:
  struct Item {
    PyTypeObject* type;
    PyObject* cached;  // owned
  };
  Classes() noexcept = default;
  Classes(const Classes&) = delete;
  Classes& operator=(const Classes&) = delete;
  ~Classes() {
    for (const Item& item : items_) drop_reference(item.cached);
  }

  // If it has a handler and is not there yet: before the first of its superclasses, else at the
  // end.
  void add(Runtime& runtime, PyTypeObject* type) {
    for (const Item& known : items_) {
      if (known.type == type) return;
    }
    Owned cached = handler_of(runtime, type);
    if (!cached) return;
    items_.push_back({type, cached.release()});
    for (std::size_t i = 0; i + 1 < items_.size(); ++i) {
      if (PyType_IsSubtype(type, items_[i].type) == 0) continue;
      std::rotate(items_.begin() + i, items_.end() - 1, items_.end());
      return;
    }
  }
  std::size_t size() const noexcept { return items_.size(); }
  bool empty() const noexcept { return items_.empty(); }
  const Item& operator[](std::size_t i) const noexcept { return items_[i]; }
  const Item* begin() const noexcept { return items_.begin(); }
  const Item* end() const noexcept { return items_.end(); }

 private:
  SmallVector<Item, 4> items_;
};

void add_class_of(Runtime& runtime, const Tensor& tensor, Classes& classes) {
  if (!tensor.keys().has(DispatchKey::Python)) return;
  classes.add(runtime, Py_TYPE(wrap(runtime, tensor).get()));
}

void find_classes(Runtime& runtime, std::span<const Value> arguments, Classes& classes) {
  for (const Value& value : arguments) {
    if (value.is_tensor()) {
      add_class_of(runtime, value.tensor_unchecked(), classes);
    } else if (value.is_list()) {
      for (const Value& item : value.items_unchecked()) {
        if (item.is_tensor()) add_class_of(runtime, item.tensor_unchecked(), classes);
      }
    }
  }
}

Owned tuple_of(Runtime& runtime, const Classes& classes) {
  if (classes.size() == 1) return Owned::share(cached_item(classes[0].cached, kTypes));
  Owned tuple = require(runtime, PyTuple_New(Py_ssize_t(classes.size())));
  for (std::size_t i = 0; i < classes.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i),
                     Owned::share(reinterpret_cast<PyObject*>(classes[i].type)).release());
  }
  return tuple;
}

template <typename Names>
std::string joined(const Names& names) {
  return fmt::format("[{}]", fmt::join(names, ", "));
}

[[noreturn]] OPYARD_COLD void refuse(const Operator& op, const Classes& classes) {
  std::vector<std::string> names;
  for (const Classes::Item& item : classes) names.emplace_back(item.type->tp_name);
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

[[noreturn]] OPYARD_COLD void refuse_one(Runtime& runtime, const Operator& op, PyTypeObject* type) {
  Classes classes;
  classes.add(runtime, type);
  refuse(op, classes);
}

// The rule that an operator has for exactly this class; null if it has none.
Owned rule_of(PyObject* op_object, PyTypeObject* type) {
  PyObject* const rules = overload_object_of(op_object).class_rules;
  if (__builtin_expect(rules == nullptr, 1)) return {};
  Owned rule = Owned::share(PyDict_GetItemWithError(rules, reinterpret_cast<PyObject*>(type)));
  if (!rule && PyErr_Occurred() != nullptr) throw PythonErrorSet();
  return rule;
}

// Asks that rule, if there is one; null else. It goes before the handler of the class itself.
Owned ask_rule(HandlerCall& call, const Asked& asked) {
  const Owned rule = rule_of(call.op_object, asked.type);
  if (!rule) return {};
  Owned answer = ask_handler(call, asked, rule.get(), true);
  return answer.get() == Py_NotImplemented ? Owned() : std::move(answer);
}

HandlerAnswer answer_of(const Asked& asked, Owned object) {
  return {std::move(object), Owned::share(reinterpret_cast<PyObject*>(asked.type)), asked.is_mode};
}

// Without an object if the class answered NotImplemented.
[[gnu::aligned(64)]] HandlerAnswer ask_class(HandlerCall& call, PyTypeObject* type,
                                             PyObject* cached) {
  const Asked asked{reinterpret_cast<PyObject*>(type), type, false};
  if (Owned answer = ask_rule(call, asked)) return answer_of(asked, std::move(answer));
  Owned answer = ask_handler(call, asked, cached_item(cached, kFunction));
  if (answer.get() == Py_NotImplemented) return {};
  return answer_of(asked, std::move(answer));
}

[[noreturn]] OPYARD_COLD void refuse_mode(const PyTypeObject* type) {
  fail(ErrorKind::BadArgument,
       fmt::format("a {} is no mode: it has no __opyard_dispatch__", type->tp_name));
}

// Asks in turn. See [Order].
HandlerAnswer ask_all(HandlerCall& call, const Classes& classes) {
  Runtime& runtime = call.runtime;
  for (std::size_t i = thread_modes().size(); i-- > 0;) {
    if (i >= thread_modes().size()) continue;  // an earlier handler took it away
    const HideModes hide(i);
    // Hidden, it lives until the handler is done.
    auto* const receiver = static_cast<PyObject*>(hide.outermost().handler().object(runtime.tag));
    const Asked asked{receiver, Py_TYPE(receiver), true};
    const Owned raw = Owned::share(lookup_on_type(asked.type, runtime.handler_name));
    if (!raw) refuse_mode(asked.type);
    if (Owned answer = ask_rule(call, asked)) return answer_of(asked, std::move(answer));
    Owned answer = ask_handler(call, asked, raw.get());
    if (answer.get() != Py_NotImplemented) return answer_of(asked, std::move(answer));
  }
  for (const Classes::Item& item : classes) {
    HandlerAnswer answer = ask_class(call, item.type, item.cached);
    if (answer.object) return answer;
  }
  refuse(call.op, classes);
}

// With the GIL held.
void dispatch_with_gil(Runtime& runtime, const Operator& op, Stack& stack) {
  const Schema& schema = op.schema();
  const std::span<Value> values = stack.top(schema.arguments.size());
  Classes classes;
  find_classes(runtime, values, classes);
  if (classes.empty() && thread_modes().empty()) {
    // The tensor that led here is of a class without a handler: the call goes on below.
    const ExcludeDispatchKeyGuard below(DispatchKey::Python);
    return op.call_boxed_unchecked(stack);
  }
  const Owned overload = overload_object(runtime, op);
  HandlerCall call{runtime,
                   op,
                   overload.get(),
                   tuple_of(runtime, classes),
                   args_of(runtime, schema, values),
                   kwargs_of(runtime, schema, values)};
  DeclaredWrites counted(schema, values);
  ReturnedArguments returned(op, values);
  const ViewedArguments viewed(op, values);
  const HandlerAnswer answer = counted.unless_raised([&] { return ask_all(call, classes); });
  stack.drop(values.size());
  push_results(runtime, {describe_handler, &answer, true}, op, answer.object.get(), stack);
  returned.put(stack);
  viewed.share(stack);
}

Owned tuple_of_args(PyObject* const* args, std::size_t count) {
  Owned tuple = checked(PyTuple_New(Py_ssize_t(count)));
  for (std::size_t i = 0; i < count; ++i) {
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), Owned::share(args[i]).release());
  }
  return tuple;
}

Owned dictionary_of(PyObject* const* values, PyObject* names) {
  if (names == nullptr || PyTuple_GET_SIZE(names) == 0) return {};
  Owned dictionary = checked(PyDict_New());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    if (PyDict_SetItem(dictionary.get(), PyTuple_GET_ITEM(names, i), values[i]) < 0) {
      throw PythonErrorSet();
    }
  }
  return dictionary;
}

// The result of Class.__opyard_dispatch__(aten.detach, …) for one tensor. With the GIL held.
Owned detach_by_class(Runtime& runtime, const Owned& object, const Owned& cached) {
  const Owned packet =
      require(runtime, PyObject_CallFunction(require_hook(runtime, hook::aten), "s", "detach"));
  const Owned op = require(runtime, PyObject_GetAttrString(packet.get(), "default"));
  HandlerCall call{runtime,
                   plan_of(op.get()).op(),
                   op.get(),
                   Owned::share(cached_item(cached.get(), kTypes)),
                   require(runtime, PyTuple_Pack(1, object.get())),
                   {}};
  PyTypeObject* const type = Py_TYPE(object.get());
  const ExcludeDispatchKeyGuard below(kLayersAboveHandlers);
  return ask_handler(call, {reinterpret_cast<PyObject*>(type), type, false},
                     cached_item(cached.get(), kFunction));
}

// set_class_rule(op, class, function or None) -> the former one, or None
PyObject* set_class_rule(PyObject* module, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    PyObject* op = nullptr;
    PyObject* type = nullptr;
    PyObject* function = nullptr;
    if (PyArg_ParseTuple(args, "OO!O", &op, &PyType_Type, &type, &function) == 0) {
      throw PythonErrorSet();
    }
    if (!is_overload(runtime_of_module(module), op)) {
      fail(ErrorKind::BadArgument,
           std::string("expected an operator, not ") + Py_TYPE(op)->tp_name);
    }
    PyObject*& rules = overload_object_of(op).class_rules;
    if (rules == nullptr) rules = checked(PyDict_New()).release();
    Owned former = Owned::share(PyDict_GetItemWithError(rules, type));
    if (!former) former = Owned::share(Py_None);
    const int failed = function != Py_None                 ? PyDict_SetItem(rules, type, function)
                       : PyDict_Contains(rules, type) == 1 ? PyDict_DelItem(rules, type)
                                                           : 0;
    if (failed < 0 || PyErr_Occurred() != nullptr) throw PythonErrorSet();
    return former.release();
  });
}

// The positional arguments that a handler hands on: a tuple, or any other sequence.
Owned positional_arguments(PyObject* args) {
  if (PyTuple_CheckExact(args)) return Owned::share(args);
  if (PySequence_Check(args) == 0 || PyUnicode_Check(args)) {
    fail(ErrorKind::BadArgument,
         fmt::format("disabled_dispatch(): args is a {}; accepted is a tuple or list of the "
                     "positional arguments, as the handler got it",
                     Py_TYPE(args)->tp_name));
  }
  return checked(PySequence_Tuple(args));
}

// Those by name: a dict, another mapping, or None; null if there are none.
Owned named_arguments(PyObject* kwargs) {
  if (kwargs == Py_None) return {};
  if (PyDict_CheckExact(kwargs)) return Owned::share(kwargs);
  const int has = has_attribute(kwargs, "keys");
  if (has < 0) throw PythonErrorSet();
  if (has == 0) {
    fail(ErrorKind::BadArgument,
         fmt::format("disabled_dispatch(): kwargs is a {}; accepted is a dict of the arguments by "
                     "name, or None",
                     Py_TYPE(kwargs)->tp_name));
  }
  Owned dictionary = checked(PyDict_New());
  if (PyDict_Update(dictionary.get(), kwargs) < 0) throw PythonErrorSet();
  return dictionary;
}

// disabled_dispatch(op, types, args=(), kwargs=None): what a class takes for its handler that wants
// none. Called by hand, it runs the operator without handlers.
PyObject* disabled_dispatch(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return enter_from_python([&] {
    if (count < 2 || count > 4) {
      fail(ErrorKind::BadArgument, "disabled_dispatch() takes (op, types, args=(), kwargs=None)");
    }
    const Owned positional = count > 2 ? positional_arguments(args[2]) : checked(PyTuple_New(0));
    const Owned named = count > 3 ? named_arguments(args[3]) : Owned();
    require_stack();
    const ExcludeDispatchKeyGuard below(DispatchKey::Python);
    return PyObject_Call(args[0], positional.get(), named.get());
  });
}

}  // namespace

void dispatch_to_handlers(Runtime& runtime, const Operator& op, Stack& stack) {
  enter_python(runtime, [&] { dispatch_with_gil(runtime, op, stack); });
}

Tensor detach_by_handler(Runtime& runtime, const Tensor& self) {
  return enter_python(runtime, [&] {
    const Owned object = wrap(runtime, self);
    const Owned cached = handler_of(runtime, Py_TYPE(object.get()));
    const Owned result = cached ? detach_by_class(runtime, object, cached)
                                : make_instance(runtime, Py_TYPE(object.get()), self);
    if (!is_tensor(runtime, result.get())) {
      fail(ErrorKind::BadReturn, fmt::format("detach returned invalid type {}, expected Tensor",
                                             Py_TYPE(result.get())->tp_name));
    }
    return Tensor(tensor_unchecked(result.get()));
  });
}

[[gnu::aligned(64)]] HandlerAnswer ask_handlers(Runtime& runtime, PyObject* overload,
                                                PyObject* const* args, std::size_t count,
                                                PyObject* names) {
  const std::size_t all = count + (names == nullptr ? 0 : std::size_t(PyTuple_GET_SIZE(names)));
  const Operator& op = plan_of(overload).op();
  const auto handled_class = [&](PyObject* object) -> PyTypeObject* {
    PyTypeObject* const type = Py_TYPE(object);
    if (type == runtime.tensor_type || !is_tensor(runtime, object)) return nullptr;
    return tensor_unchecked(object).keys().has(DispatchKey::Python) ? type : nullptr;
  };
  PyTypeObject* first = nullptr;
  bool several = !thread_modes().empty();
  for (std::size_t i = 0; i < all; ++i) {
    PyTypeObject* const type = handled_class(args[i]);
    if (type == nullptr || type == first) continue;
    several |= first != nullptr;
    first = type;
  }
  if (several) {
    Classes classes;
    for (std::size_t i = 0; i < all; ++i) {
      if (PyTypeObject* const type = handled_class(args[i])) classes.add(runtime, type);
    }
    if (classes.empty() && thread_modes().empty()) return {};
    HandlerCall call{runtime,
                     op,
                     overload,
                     tuple_of(runtime, classes),
                     tuple_of_args(args, count),
                     dictionary_of(args + count, names)};
    const ExcludeDispatchKeyGuard below(kLayersAboveHandlers);
    return ask_all(call, classes);
  }
  // One class and no mode, as most calls have: nothing is to be put in order.
  if (first == nullptr) return {};
  const Owned cached = handler_of(runtime, first);
  if (!cached) return {};
  HandlerCall call{runtime,
                   op,
                   overload,
                   Owned::share(cached_item(cached.get(), kTypes)),
                   tuple_of_args(args, count),
                   dictionary_of(args + count, names)};
  const ExcludeDispatchKeyGuard below(kLayersAboveHandlers);
  HandlerAnswer answer = ask_class(call, first, cached.get());
  if (answer.object) return answer;
  refuse_one(runtime, op, first);
}

namespace {

Owned convert_answer(Runtime& runtime, const Operator& op, const HandlerAnswer& answer) {
  CallStack stack;
  push_results(runtime, {describe_handler, &answer, true}, op, answer.object.get(), stack);
  return Owned::steal(take_results(runtime, op, stack));
}

// asked_handlers(op, *args, **kwargs) -> who would be asked, in this order
PyObject* asked_handlers(PyObject* module, PyObject* const* args, Py_ssize_t count,
                         PyObject* names) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_module(module);
    if (count == 0 || !is_overload(runtime, args[0])) {
      fail(ErrorKind::BadArgument, "asked_handlers() takes an operator, and its arguments");
    }
    PythonCall call(runtime, {args + 1, count - 1, names});
    plan_of(args[0]).require(call);
    Classes classes;
    find_classes(runtime, call.stack.top(plan_of(args[0]).op().schema().arguments.size()), classes);
    const Owned asked = checked(PyList_New(0));
    const auto add = [&](PyObject* receiver, PyTypeObject* type, PyObject* is_mode) {
      const Owned rule = rule_of(args[0], type);
      const Owned row = checked(PyTuple_Pack(3, receiver, is_mode, rule ? rule.get() : Py_None));
      if (PyList_Append(asked.get(), row.get()) < 0) throw PythonErrorSet();
    };
    for (std::size_t i = thread_modes().size(); i-- > 0;) {
      auto* const mode = static_cast<PyObject*>(thread_modes()[i]->handler().object(runtime.tag));
      add(mode, Py_TYPE(mode), Py_True);
    }
    for (const Classes::Item& item : classes) {
      add(reinterpret_cast<PyObject*>(item.type), item.type, Py_False);
    }
    return Py_NewRef(asked.get());
  });
}

}  // namespace

const HandlerCalls handler_calls = {ask_handlers, convert_answer};

PyMethodDef handler_functions[] = {
    {"disabled_dispatch", method(disabled_dispatch), METH_FASTCALL,
     "disabled_dispatch(op, types, args=(), kwargs=None, /)\n--\n\nThe handler of a class that "
     "wants "
     "none."},
    {"set_class_rule", set_class_rule, METH_VARARGS,
     "set_class_rule(op, class, function or None) -> the former one"},
    {"asked_handlers", method(asked_handlers), METH_FASTCALL | METH_KEYWORDS,
     "asked_handlers(op, *args, **kwargs) -> [(mode or class, whether it is a mode, rule or "
     "None)]"},
    {nullptr, nullptr, 0, nullptr}};

void prepare_handlers(Runtime& runtime, PyObject* module) {
  constexpr const char* kDisabled = "disabled_dispatch";
  // A module that is imported again has that of the first, which classes have taken.
  if (runtime.disabled_dispatch != nullptr) {
    if (PyModule_AddObjectRef(module, kDisabled, runtime.disabled_dispatch) < 0) {
      throw PythonErrorSet();
    }
    return;
  }
  runtime.handler_name = checked(PyUnicode_InternFromString("__opyard_dispatch__")).release();
  runtime.disabled_dispatch = checked(PyObject_GetAttrString(module, kDisabled)).release();
  runtime.cached_handler_name = checked(PyUnicode_InternFromString("__opyard_handler__")).release();
  // For super().__opyard_dispatch__(op, types, args, kwargs).
  if (PyObject_SetAttr(reinterpret_cast<PyObject*>(runtime.tensor_type), runtime.handler_name,
                       runtime.disabled_dispatch) < 0) {
    throw PythonErrorSet();
  }
}

}  // namespace opyard::python
