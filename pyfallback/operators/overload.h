// operators/overload.h: one operator as a Python callable, ops.ns.name.overload.
//
// Instances have vectorcall; they hold the Operator, which lives for ever, and the plan that
// was compiled from its schema. An operator belongs to its name and schema, and its packet keeps
// one object for it, so `is` compares operators also when definitions come and go:
//
//   ops.ns.name.default is handle   calling the handle
//   while it is defined             True                            runs it
//   after it was unregistered         AttributeError: no such         RuntimeError: it is gone
//   defined anew, same schema       True                            runs it
//   defined anew, another schema    False: that is another one      RuntimeError: it is gone
//
// Depends on: operators/call_plan.h.
#pragma once

#include "runtime/runtime.h"

#include "operators/call_plan.h"

namespace opyard::python {

struct OverloadObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Runtime* runtime;
  CallPlan* plan;  // owned
  PyObject* weak_references;
  // Dictionaries, or null: rules for classes of modes and tensors (kernels/handlers.h), and what
  // the Python dispatcher found (kernels/python_dispatcher.h).
  PyObject* class_rules;
  PyObject* dispatch_cache;
};

// A new overload object.
Owned make_overload(Runtime& runtime, const Operator& op);

inline bool is_overload(const Runtime& runtime, PyObject* object) noexcept {
  return Py_TYPE(object) == runtime.overload_type;
}
inline OverloadObject& overload_object_of(PyObject* overload) noexcept {
  return *reinterpret_cast<OverloadObject*>(overload);
}
inline const CallPlan& plan_of(PyObject* overload) noexcept {
  return *reinterpret_cast<OverloadObject*>(overload)->plan;
}

void add_overload_type(Runtime& runtime, PyObject* module);

}  // namespace opyard::python
