// objects/packet.cpp: choosing an overload.
#include "objects/packet.h"

#include <structmember.h>

#include <vector>

#include "objects/overload.h"
#include "opyard/registry/registry.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

struct PacketObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Runtime* runtime;
  std::string* name;              // owned; "ns::name"
  std::vector<Owned>* overloads;  // owned; in order of definition
  std::uint64_t generation;       // of the registry when `overloads` was looked up
  PyObject* weak_references;
};

PacketObject& packet_of(PyObject* self) { return *reinterpret_cast<PacketObject*>(self); }

// Brings the overload objects up to date; those whose operator is the same are kept.
void refresh(PacketObject& packet) {
  Registry& registry = Registry::instance();
  const std::uint64_t generation = registry.generation();
  if (packet.generation == generation) return;
  std::vector<Owned> fresh;
  for (const std::string& overload : registry.overloads(*packet.name)) {
    const Operator* const op = registry.find({*packet.name, overload});
    if (op == nullptr) continue;  // taken back a moment ago
    Owned kept;
    for (const Owned& known : *packet.overloads) {
      if (&plan_of(known.get()).op() == op) kept = Owned::share(known.get());
    }
    fresh.push_back(kept ? std::move(kept) : make_overload(*packet.runtime, *op));
  }
  packet.overloads->swap(fresh);
  packet.generation = generation;
}

[[noreturn]] void refuse_gone(const PacketObject& packet) {
  fail(ErrorKind::OperatorGone,
       *packet.name + " is gone: the library that defined it was taken back, or was never loaded");
}

// No overload takes the arguments: every candidate says why.
[[noreturn]] void refuse_all(const PacketObject& packet, PyObject* const* args, Py_ssize_t count,
                             PyObject* names) {
  std::string text = "Overloaded operator invoked from Python failed to match any schema:\n";
  for (std::size_t i = 0; i < packet.overloads->size(); ++i) {
    const Owned overload = Owned::share((*packet.overloads)[i].get());
    CallStack stack;
    std::string why;
    plan_of(overload.get()).bind(*packet.runtime, args, count, names, stack, &why);
    text += why + "\n\n";
  }
  fail(ErrorKind::BadArgument, std::move(text));
}

// The overload that takes the arguments, which are then on the stack. Converting an argument
// may run Python code that makes the packet look again, so each candidate is held while it is
// asked.
Owned choose(PacketObject& packet, PyObject* const* args, Py_ssize_t count, PyObject* names,
             Stack& stack) {
  refresh(packet);
  if (packet.overloads->empty()) refuse_gone(packet);
  if (packet.overloads->size() == 1) {
    Owned only = Owned::share(packet.overloads->front().get());
    plan_of(only.get()).require(*packet.runtime, args, count, names, stack);
    return only;
  }
  for (std::size_t i = 0; i < packet.overloads->size(); ++i) {
    Owned overload = Owned::share((*packet.overloads)[i].get());
    if (plan_of(overload.get()).bind(*packet.runtime, args, count, names, stack, nullptr)) {
      return overload;
    }
  }
  refuse_all(packet, args, count, names);
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* names) {
  return entry_from_python([&] {
    PacketObject& packet = packet_of(self);
    Runtime& runtime = *packet.runtime;
    if (__builtin_expect(runtime.drops.pending(), 0)) runtime.drops.drain_with_gil_held();
    CallStack stack;
    const Owned overload = choose(packet, args, PyVectorcall_NARGS(flags), names, stack);
    const CallPlan& plan = plan_of(overload.get());
    plan.op().call_boxed_unchecked(stack);
    return plan.take_results(runtime, stack);
  });
}

// packet._resolve(*args, **kwargs): the overload a call would take.
PyObject* resolve(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return entry_from_python([&] {
    CallStack stack;
    return choose(packet_of(self), args, count, names, stack).release();
  });
}

PyObject* list_overloads(PyObject* self, PyObject*) {
  return entry_from_python([&] {
    refresh(packet_of(self));
    Owned list = checked(PyList_New(0));
    for (const Owned& overload : *packet_of(self).overloads) {
      const std::string& name = plan_of(overload.get()).op().name().overload;
      if (PyList_Append(list.get(), to_text(name.empty() ? "default" : name).get()) < 0) {
        throw PythonErrorSet();
      }
    }
    return list.release();
  });
}

std::string dotted(const PacketObject& packet) {
  std::string text = *packet.name;
  const std::size_t colons = text.find("::");
  return colons == std::string::npos ? text : text.replace(colons, 2, ".");
}

// Overloads first: packet.default, packet.Tensor; then what every object has.
PyObject* get_attribute(PyObject* self, PyObject* name) {
  return entry_from_python([&]() -> PyObject* {
    PacketObject& packet = packet_of(self);
    const std::string_view text = require_text(name, "an attribute's name");
    if (!text.starts_with("__")) {
      refresh(packet);
      for (const Owned& overload : *packet.overloads) {
        const std::string& known = plan_of(overload.get()).op().name().overload;
        if (known.empty() ? text == "default" : text == known) {
          return Owned::share(overload.get()).release();
        }
      }
    }
    PyObject* const found = PyObject_GenericGetAttr(self, name);
    if (found == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError) != 0) {
      PyErr_Format(PyExc_AttributeError, "The underlying op of '%s' has no overload name '%U'",
                   dotted(packet).c_str(), name);
    }
    return found;
  });
}

PyObject* show(PyObject* self) {
  return entry_from_python([&] { return to_text(dotted(packet_of(self))).release(); });
}
PyObject* represent(PyObject* self) {
  return entry_from_python([&] {
    return to_text("<OpOverloadPacket(op='" + dotted(packet_of(self)) + "')>").release();
  });
}
PyObject* get_name(PyObject* self, void*) {
  return entry_from_python([&] { return to_text(*packet_of(self).name).release(); });
}
PyObject* reduce(PyObject* self, PyObject*) {
  return entry_from_python([&] {
    PyObject* const find = require_hook(*packet_of(self).runtime, "packet");
    return checked(Py_BuildValue("O(s)", find, packet_of(self).name->c_str())).release();
  });
}
PyObject* same(PyObject* self, PyObject*) { return Owned::share(self).release(); }

void deallocate(PyObject* self) {
  PacketObject& packet = packet_of(self);
  if (packet.weak_references != nullptr) PyObject_ClearWeakRefs(self);
  delete packet.overloads;
  delete packet.name;
  free_object(self);
}

PyMethodDef methods[] = {
    {"overloads", list_overloads, METH_NOARGS, "overloads(): names, in order of definition"},
    {"_resolve", method(resolve), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__copy__", same, METH_NOARGS, nullptr},
    {"__deepcopy__", same, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {{"qualified_name", get_name, nullptr, "'ns::name'", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PacketObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PacketObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_doc,
     const_cast<char*>("An operator with all its overloads: opyard.ops.<namespace>.<name>.")},
    {Py_tp_call, slot(PyVectorcall_Call)},
    {Py_tp_dealloc, slot(deallocate)},
    {Py_tp_getattro, slot(get_attribute)},
    {Py_tp_str, slot(show)},
    {Py_tp_repr, slot(represent)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_members, members},
    {0, nullptr}};

PyType_Spec spec = {
    "opyard.OpOverloadPacket", sizeof(PacketObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

Owned make_packet(Runtime& runtime, const std::string& name) {
  auto kept_name = std::make_unique<std::string>(name);
  auto overloads = std::make_unique<std::vector<Owned>>();
  Owned object = require(runtime, runtime.packet_type->tp_alloc(runtime.packet_type, 0));
  PacketObject& packet = packet_of(object.get());
  packet.vectorcall = call;
  packet.runtime = &runtime;
  packet.name = kept_name.release();
  packet.overloads = overloads.release();
  refresh(packet);
  return object;
}

Owned overload_object(Runtime& runtime, const Operator& op) {
  const Owned packet = require(
      runtime, PyObject_CallFunction(require_hook(runtime, "packet"), "s", op.name().name.c_str()));
  if (Py_TYPE(packet.get()) == runtime.packet_type) {
    refresh(packet_of(packet.get()));
    for (const Owned& overload : *packet_of(packet.get()).overloads) {
      if (&plan_of(overload.get()).op() == &op) return Owned::share(overload.get());
    }
  }
  return make_overload(runtime, op);  // its definition was taken back meanwhile
}

void add_packet_type(Runtime& runtime, PyObject* module) {
  runtime.packet_type = add_type(module, spec);
}

}  // namespace opyard::python
