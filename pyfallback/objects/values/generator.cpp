// objects/values/generator.cpp: capsules that own generators.
#include "objects/values/generator.h"

#include <utility>

#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

constexpr const char* kGeneratorName = "opyard.Generator";

void release(PyObject* capsule) {
  static_cast<void>(CountedPtr<Generator>::steal(
      static_cast<Generator*>(PyCapsule_GetPointer(capsule, kGeneratorName))));
}

}  // namespace

CountedPtr<Generator> find_generator(PyObject* object) noexcept {
  if (PyCapsule_IsValid(object, kGeneratorName) == 0) return {};
  return CountedPtr<Generator>::share(
      static_cast<Generator*>(PyCapsule_GetPointer(object, kGeneratorName)));
}

Owned wrap(Runtime& runtime, CountedPtr<Generator> generator) {
  const Owned capsule = require(runtime, PyCapsule_New(generator.get(), kGeneratorName, release));
  static_cast<void>(generator.release());
  PyObject* const hook = require_hook(runtime, hook::generator);
  return require(runtime, PyObject_CallOneArg(hook, capsule.get()));
}

}  // namespace opyard::python
