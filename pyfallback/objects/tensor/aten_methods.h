// objects/tensor/aten_methods.h: the aten operators that are methods of Tensor, found fast.
//
// `t.relu` is looked for on the class first, and then here. What was found is cached until the
// registry changes, so an operator that is defined or unregistered shows at once.
//
// [Near] Looking on the class and in a dictionary takes longer than many an operator. So what a
// class has not and aten has is cached a second time, by the addresses of class and name. It holds
// while the class has the same version and the registry is as it was.
//
// Depends on: objects/tensor/aten.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/registry/registry.h"

namespace opyard::python {

// Of one runtime, for the state of the registry that Runtime::aten_methods_generation says.
struct AtenMethods {
  struct Near {
    PyObject* name;  // owned, a plain string
    PyObject* found;
    PyTypeObject* type;  // borrowed: no other type has its version
    TypeVersion version;
  };
  static constexpr std::size_t kNear = 64;

  PyObject_HEAD PyObject* by_name;  // a dictionary, or null
  Near near[kNear];

  Near& near_of(PyObject* text) noexcept {
    constexpr std::uintptr_t kTextSize = 64;  // short texts are about so far apart
    return near[reinterpret_cast<std::uintptr_t>(text) / kTextSize % kNear];
  }
};

// What a method of this name leads to: a packet, or a function that is made of others; null if
// there is none. For a name that the class has not. Throws PythonErrorSet.
Owned find_aten_method(Runtime& runtime, PyObject* name);
// The same, kept for find_near_method().
Owned find_aten_method(Runtime& runtime, PyTypeObject* type, PyObject* name);

// Keeps a method of the class for find_near_method(). Throws PythonErrorSet.
void keep_near_method(Runtime& runtime, PyTypeObject* type, PyObject* name, PyObject* method);

// See [Near]: what find_aten_method() gave for this class and name, borrowed; null if it is to be
// asked.
inline PyObject* find_near_method(Runtime& runtime, PyTypeObject* type, PyObject* name) noexcept {
  auto* const methods = reinterpret_cast<AtenMethods*>(runtime.aten_methods);
  if (methods == nullptr) return nullptr;
  const AtenMethods::Near& near = methods->near_of(name);
  const bool holds = near.name == name && near.type == type &&
                     near.version == type_version(runtime, type) &&
                     runtime.aten_methods_generation == Registry::generation();
  return holds ? near.found : nullptr;
}

}  // namespace opyard::python
