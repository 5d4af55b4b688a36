// objects/values/capsule.cpp: wrapping capsules, and unwrapping those that we wrapped.
#include "objects/values/capsule.h"

#include <string>

namespace opyard::python {
namespace {

// The context of a PyCapsule of ours is its CapsuleObject, counted.
void release_ours(PyObject* object) {
  CountedAccess::release(static_cast<CapsuleObject*>(PyCapsule_GetContext(object)));
}

void release_theirs(void* context) { CountedAccess::release(static_cast<ForeignObject*>(context)); }

const char* python_name(const CapsuleObject& capsule) noexcept {
  return capsule.name.empty() ? nullptr : capsule.name.c_str();
}

}  // namespace

Value from_capsule(Runtime& runtime, PyObject* object) {
  if (PyCapsule_GetDestructor(object) == &release_ours) {
    return Value(CountedPtr<CapsuleObject>::share(
        static_cast<CapsuleObject*>(PyCapsule_GetContext(object))));
  }
  const char* const name = PyCapsule_GetName(object);
  void* const pointer = PyCapsule_GetPointer(object, name);
  if (pointer == nullptr) throw_python_error(runtime);
  Py_INCREF(object);
  CountedPtr<ForeignObject> keeper = make_counted<ForeignObject>(runtime.tag, object);
  return Value(CapsuleObject::adopt(pointer, name == nullptr ? "" : name, keeper.release(),
                                    &release_theirs));
}

Owned to_capsule(Runtime& runtime, const Value& value) {
  const CapsuleObject& capsule = value.to_capsule();
  OPYARD_CHECK(capsule.pointer != nullptr, BadValue,
               "the capsule " + capsule.name + " holds a null pointer, which no PyCapsule can");
  Owned object = require(runtime, PyCapsule_New(capsule.pointer, python_name(capsule), nullptr));
  CountedAccess::retain(&capsule);
  PyCapsule_SetContext(object.get(), const_cast<CapsuleObject*>(&capsule));
  PyCapsule_SetDestructor(object.get(), &release_ours);
  return object;
}

}  // namespace opyard::python
