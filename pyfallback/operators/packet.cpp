// operators/packet.cpp: overload resolution of a packet.
#include "operators/packet.h"

#include <fmt/format.h>

#include <cxxabi.h>
#include <structmember.h>

#include <optional>
#include <span>
#include <vector>

#include "operators/named_refusal.h"
#include "operators/no_overload.h"
#include "operators/overload.h"
#include "opyard/detail/base/small_vector.h"
#include "opyard/detail/text/near_names.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/registry.h"
#include "opyard/schema/choose_overload.h"
#include "runtime/gil.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

struct PacketObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Runtime* runtime;
  std::string* name;          // owned; "ns::name"
  std::vector<Owned>* known;  // owned; every overload object that was made
  PyObject* overloads;        // a tuple of those that are defined, in order of definition
  PyObject* attributes;       // a dictionary of the same, by the name of the overload
  std::uint64_t generation;   // of the registry when `overloads` was looked up
  PyObject*
      near_name;  // that was asked for last, and what it led to in `attributes`, borrowed: good
  PyObject* near_value;  // for this generation
  PyObject* weak_references;
};

PacketObject& packet_of(PyObject* self) { return *reinterpret_cast<PacketObject*>(self); }

Owned packet_overload(PacketObject& packet, const Operator& op) {
  for (const Owned& known : *packet.known) {
    if (&plan_of(known.get()).op() == &op) return Owned::share(known.get());
  }
  Owned fresh = make_overload(*packet.runtime, op);
  packet.known->push_back(Owned::share(fresh.get()));
  return fresh;
}

// Brings `overloads` up to date, by a new tuple: code that walks over the former one holds it.
void refresh(PacketObject& packet) {
  const std::uint64_t generation = Registry::generation();
  if (packet.generation == generation) return;
  Registry& registry = Registry::instance();
  std::vector<const Operator*> defined;
  for (const std::string& overload : inspect::overloads(*packet.name)) {
    const Operator* const op = registry.find({*packet.name, overload});
    if (op != nullptr) defined.push_back(op);  // else unregistered a moment ago
  }
  Owned fresh = checked(PyTuple_New(Py_ssize_t(defined.size())));
  Owned attributes = checked(PyDict_New());
  for (std::size_t i = 0; i < defined.size(); ++i) {
    const Owned overload = packet_overload(packet, *defined[i]);
    const std::string& name = defined[i]->name().overload;
    const Owned attribute =
        checked(PyUnicode_InternFromString(name.empty() ? "default" : name.c_str()));
    if (PyDict_SetItem(attributes.get(), attribute.get(), overload.get()) < 0) {
      throw PythonErrorSet();
    }
    PyTuple_SET_ITEM(fresh.get(), Py_ssize_t(i), Owned::share(overload.get()).release());
  }
  Py_CLEAR(packet.near_name);
  Py_XSETREF(packet.overloads, fresh.release());
  Py_XSETREF(packet.attributes, attributes.release());
  packet.generation = generation;
}

// The overloads that are defined now.
Owned current_overloads(PyObject* self) {
  refresh(packet_of(self));
  return Owned::share(packet_of(self).overloads);
}

std::span<PyObject* const> items_of(const Owned& tuple) {
  return {PySequence_Fast_ITEMS(tuple.get()), std::size_t(PyTuple_GET_SIZE(tuple.get()))};
}

[[noreturn]] OPYARD_COLD void refuse_gone(const PacketObject& packet) {
  fail(ErrorKind::OperatorGone,
       *packet.name + " is gone: the library that defined it has ended, or was never loaded");
}

// The overload that takes the arguments, which are then on the call's stack. Converting an argument
// may run Python code that makes the packet look again, so those that are tried are held.
[[gnu::noinline]] Owned choose(PyObject* self, PythonCall& call) {
  const Owned held = current_overloads(self);
  const std::span<PyObject* const> overloads = items_of(held);
  if (overloads.empty()) refuse_gone(packet_of(self));
  if (overloads.size() == 1) {
    plan_of(overloads[0]).require(call);
    return Owned::share(overloads[0]);
  }
  SmallVector<ArgumentMismatch, 4> mismatches;
  for (std::size_t i = 0; i < overloads.size(); ++i) mismatches.push_back({});
  const std::optional<std::size_t> chosen = choose_overload(
      overloads.size(),
      [&](std::size_t i) {
        return plan_of(overloads[i]).needs_conversion(call.runtime, call.given());
      },
      [&](std::size_t i) {
        return plan_of(overloads[i]).bind(call, CallPlan::kAsTheyAre, mismatches[i]);
      });
  if (chosen) return Owned::share(overloads[*chosen]);
  for (const CallPlan::Ways way : {CallPlan::kSpread, CallPlan::kNumbers}) {
    for (PyObject* const overload : overloads) {
      const CallPlan& plan = plan_of(overload);
      ArgumentMismatch unused;
      if (plan.may_fit(call, way) && plan.bind(call, way | CallPlan::kOnlyCandidate, unused)) {
        return Owned::share(overload);
      }
    }
  }
  refuse_all(overloads, mismatches, call.given());
}

// Whether the overload that is asked first would convert an argument, so that others go before it.
[[gnu::noinline]] bool first_would_convert(PyObject* self, PyObject* const* args, std::size_t flags,
                                           PyObject* names) {
  const PacketObject& packet = packet_of(self);
  return plan_of(PyTuple_GET_ITEM(packet.overloads, 0))
      .needs_conversion(*packet.runtime, {args, PyVectorcall_NARGS(flags), names});
}

// The overload that is asked first, if it takes the arguments as they are.
PyObject* try_first(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* names) {
  refresh(packet_of(self));
  PyObject* const overloads = packet_of(self).overloads;
  if (PyTuple_GET_SIZE(overloads) == 0) return nullptr;
  if (PyTuple_GET_SIZE(overloads) > 1 && first_would_convert(self, args, flags, names)) {
    return nullptr;
  }
  const Owned first = Owned::share(PyTuple_GET_ITEM(overloads, 0));
  return plan_of(first.get())
      .direct()
      .try_call(*packet_of(self).runtime, first.get(), args, flags, names);
}

// The same for the first of the others, if those before it are given a number for a Tensor:
// add(x, 1) is add.Scalar, which is defined behind add.Tensor.
[[gnu::noinline]] PyObject* try_behind_first(PyObject* self, PyObject* const* args,
                                             std::size_t flags, PyObject* names) {
  const Runtime& known = *packet_of(self).runtime;
  const GivenArguments given{args, PyVectorcall_NARGS(flags), names};
  const Owned held = Owned::share(packet_of(self).overloads);
  const std::span<PyObject* const> overloads = items_of(held);
  std::size_t i = 0;
  while (i < overloads.size() && plan_of(overloads[i]).has_number_for_tensor(given)) ++i;
  if (i == 0 || i == overloads.size()) return nullptr;
  const CallPlan& plan = plan_of(overloads[i]);
  if (plan.needs_conversion(known, given)) return nullptr;
  return plan.direct().try_call(*packet_of(self).runtime, overloads[i], args, flags, names);
}

// With a frame of its own: calls without a stack of values take no C stack for it (test_depth.py).
[[gnu::noinline]] PyObject* call_packet_through_stack(PyObject* self, PyObject* const* args,
                                                      Py_ssize_t count, PyObject* names) {
  Runtime& runtime = *packet_of(self).runtime;
  const CalledFromPython called(runtime);
  PythonCall call(runtime, {args, count, names});
  const Owned overload = choose(self, call);
  return plan_of(overload.get()).call(call);
}

// Looks again which overload the arguments led to: calls that succeed need not hold it.
[[noreturn]] OPYARD_COLD void refuse_named(PyObject* self, const Error& error,
                                           PyObject* const* args, Py_ssize_t count,
                                           PyObject* names) {
  if (!is_unnamed_refusal(error)) rethrow_with_caller(*packet_of(self).name, error);
  PythonCall call(*packet_of(self).runtime, {args, count, names});
  const Owned overload = choose(self, call);
  rethrow_named(plan_of(overload.get()).op(), error, call.given());
}

PyObject* call_packet(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* names) {
  return enter_from_python([&]() OPYARD_CATCHES_FORCED_UNWIND {
    try {
      if (PyObject* const result = try_first(self, args, flags, names)) return result;
      if (PyObject* const result = try_behind_first(self, args, flags, names)) return result;
      return call_packet_through_stack(self, args, PyVectorcall_NARGS(flags), names);
    } catch (const Error& error) {
      refuse_named(self, error, args, PyVectorcall_NARGS(flags), names);
    } catch (abi::__forced_unwind&) {
      throw;
    } catch (const PythonErrorSet&) {
      throw;
    } catch (...) {
      rethrow_foreign(*packet_of(self).name);
    }
  });
}

// packet._resolve(*args, **kwargs): the overload a call would take.
PyObject* resolve(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return enter_from_python([&] {
    PythonCall call(*packet_of(self).runtime, {args, count, names});
    return choose(self, call).release();
  });
}

PyObject* list_overloads(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    const Owned overloads = current_overloads(self);
    Owned list = checked(PyList_New(0));
    for (PyObject* const overload : items_of(overloads)) {
      const std::string& name = plan_of(overload).op().name().overload;
      if (PyList_Append(list.get(), to_text(name.empty() ? "default" : name).get()) < 0) {
        throw PythonErrorSet();
      }
    }
    return list.release();
  });
}

std::string packet_path(const PacketObject& packet) {
  std::string text = *packet.name;
  const std::size_t colons = text.find("::");
  return colons == std::string::npos ? text : text.replace(colons, 2, ".");
}

// __name__ and its like: what Python asks of every object, and no overload's name.
bool is_dunder(PyObject* name) noexcept {
  if (!PyUnicode_Check(name)) return false;
  const Py_ssize_t length = PyUnicode_GET_LENGTH(name);
  if (length < 5) return false;
  return PyUnicode_READ_CHAR(name, 0) == '_' && PyUnicode_READ_CHAR(name, 1) == '_' &&
         PyUnicode_READ_CHAR(name, length - 1) == '_' &&
         PyUnicode_READ_CHAR(name, length - 2) == '_';
}

// What to say of a name that no overload has: that it has kernels, or which is like it; else "".
std::string advice_for_overload(const PacketObject& packet, PyObject* attributes,
                                PyObject* overload) {
  Py_ssize_t length = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(overload, &length);
  if (text == nullptr) return "";  // the error that is raised takes the place of this one
  OperatorName name{*packet.name, std::string(text, std::size_t(length))};
  std::vector<std::string_view> known;
  PyObject* key = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(attributes, &at, &key, nullptr) != 0;) {
    known.push_back(require_text(key, "an overload's name"));
  }
  const std::string_view meant = detail::near_name(name.overload, known);
  if (name.overload == "default") name.overload.clear();
  if (inspect::has_kernel(name)) {
    return ": kernels are registered for " + to_string(name) +
           ", but no definition; is a define() missing, or the library that has it?";
  }
  return meant.empty() ? "" : fmt::format("; '{}' may be meant", meant);
}

// Overloads first: packet.default, packet.Tensor; then what every object has.
PyObject* packet_attribute(PyObject* self, PyObject* name) {
  PacketObject& packet = packet_of(self);
  if (is_dunder(name)) return PyObject_GenericGetAttr(self, name);
  if (packet.near_name == name && packet.generation == Registry::generation()) {
    return Py_NewRef(packet.near_value);
  }
  return enter_from_python([&]() -> PyObject* {
    refresh(packet);
    // A name that is no plain string runs code of its own while it is compared.
    const Owned attributes = Owned::share(packet.attributes);
    if (PyObject* const overload = PyDict_GetItemWithError(attributes.get(), name)) {
      if (PyUnicode_CheckExact(name)) {
        packet.near_value = overload;
        Py_XSETREF(packet.near_name, Py_NewRef(name));
      }
      return Py_NewRef(overload);
    }
    if (PyErr_Occurred() != nullptr) return nullptr;
    PyObject* const found = PyObject_GenericGetAttr(self, name);
    if (found == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError) != 0) {
      PyErr_Format(PyExc_AttributeError, "The underlying op of '%s' has no overload name '%U'%s",
                   packet_path(packet).c_str(), name,
                   advice_for_overload(packet, attributes.get(), name).c_str());
    }
    return found;
  });
}

PyObject* packet_str(PyObject* self) {
  return enter_from_python([&] { return to_text(packet_path(packet_of(self))).release(); });
}
PyObject* represent_packet(PyObject* self) {
  return enter_from_python([&] {
    return to_text("<OpOverloadPacket(op='" + packet_path(packet_of(self)) + "')>").release();
  });
}
PyObject* packet_name(PyObject* self, void*) {
  return enter_from_python([&] { return to_text(*packet_of(self).name).release(); });
}
PyObject* get_base_name(PyObject* self, void*) {
  return enter_from_python([&] {
    const std::string& name = *packet_of(self).name;
    return to_text(name.substr(name.find("::") == std::string::npos ? 0 : name.find("::") + 2))
        .release();
  });
}
PyObject* packet_module(PyObject* self, void*) {
  return enter_from_python([&] {
    const std::string& name = *packet_of(self).name;
    return to_text("opyard.ops." + name.substr(0, name.find("::"))).release();
  });
}
PyObject* list_attributes(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    refresh(packet_of(self));
    const Owned attributes = Owned::share(packet_of(self).attributes);
    const Owned names = checked(PyObject_Dir(reinterpret_cast<PyObject*>(Py_TYPE(self))));
    const Owned overloads = checked(PyDict_Keys(attributes.get()));
    return checked(PySequence_InPlaceConcat(names.get(), overloads.get())).release();
  });
}
PyObject* reduce_packet(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    PyObject* const find = require_hook(*packet_of(self).runtime, hook::packet);
    return checked(Py_BuildValue("O(s)", find, packet_of(self).name->c_str())).release();
  });
}
PyObject* packet_from_hook(PyObject* self, void* hook) {
  return enter_from_python([&] {
    return PyObject_CallOneArg(
        require_hook(*packet_of(self).runtime, static_cast<const char*>(hook)), self);
  });
}
PyObject* same_packet(PyObject* self, PyObject*) { return Owned::share(self).release(); }

// Every circle goes through a dictionary or a type as well, which is taken apart.
int traverse_packet(PyObject* self, visitproc visit, void* arg) {
  const PacketObject& packet = packet_of(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(packet.overloads);
  Py_VISIT(packet.attributes);
  if (packet.known == nullptr) return 0;
  for (const Owned& overload : *packet.known) Py_VISIT(overload.get());
  return 0;
}

void deallocate_packet(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PacketObject& packet = packet_of(self);
  if (packet.weak_references != nullptr) PyObject_ClearWeakRefs(self);
  Py_XDECREF(packet.overloads);
  Py_XDECREF(packet.attributes);
  Py_XDECREF(packet.near_name);
  delete packet.known;
  delete packet.name;
  free_object(self);
}

PyMethodDef packet_methods[] = {
    {"overloads", list_overloads, METH_NOARGS,
     "overloads($self, /)\n--\n\nNames, in order of definition."},
    {"_resolve", method(resolve), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"__dir__", list_attributes, METH_NOARGS, nullptr},
    {"__reduce__", reduce_packet, METH_NOARGS, nullptr},
    {"__copy__", same_packet, METH_NOARGS, nullptr},
    {"__deepcopy__", same_packet, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef packet_properties[] = {
    {"qualified_name", packet_name, nullptr, "'ns::name'", nullptr},
    {"__name__", get_base_name, nullptr, "the name without namespace", nullptr},
    {"__qualname__", get_base_name, nullptr, "the same", nullptr},
    {"__module__", packet_module, nullptr, "'opyard.ops.ns'", nullptr},
    {"__signature__", packet_from_hook, nullptr, "for inspect.signature()",
     const_cast<char*>(hook::packet_signature)},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef packet_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PacketObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PacketObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot packet_slots[] = {
    {Py_tp_doc,
     const_cast<char*>("An operator with all its overloads: opyard.ops.<namespace>.<name>.")},
    {Py_tp_call, slot(PyVectorcall_Call)},
    {Py_tp_traverse, slot(traverse_packet)},
    {Py_tp_dealloc, slot(deallocate_packet)},
    {Py_tp_getattro, slot(packet_attribute)},
    {Py_tp_str, slot(packet_str)},
    {Py_tp_repr, slot(represent_packet)},
    {Py_tp_methods, packet_methods},
    {Py_tp_getset, packet_properties},
    {Py_tp_members, packet_members},
    {0, nullptr}};

PyType_Spec packet_spec = {"opyard.OpOverloadPacket", sizeof(PacketObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                               Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           packet_slots};

}  // namespace

Owned make_packet(Runtime& runtime, const std::string& name) {
  auto stored_name = std::make_unique<std::string>(name);
  auto known = std::make_unique<std::vector<Owned>>();
  Owned object = require(runtime, runtime.packet_type->tp_alloc(runtime.packet_type, 0));
  PacketObject& packet = packet_of(object.get());
  packet.vectorcall = call_packet;
  packet.runtime = &runtime;
  packet.name = stored_name.release();
  packet.known = known.release();
  refresh(packet);
  return object;
}

Owned overload_object(Runtime& runtime, const Operator& op) {
  const Owned packet = require(runtime, PyObject_CallFunction(require_hook(runtime, hook::packet),
                                                              "s", op.name().name.c_str()));
  if (Py_TYPE(packet.get()) != runtime.packet_type) return make_overload(runtime, op);
  return packet_overload(packet_of(packet.get()), op);
}

Owned packet_overloads(PyObject* packet) { return current_overloads(packet); }

void add_packet_type(Runtime& runtime, PyObject* module) {
  add_type(module, packet_spec, runtime.packet_type);
}

}  // namespace opyard::python
