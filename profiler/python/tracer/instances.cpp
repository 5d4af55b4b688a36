// tracer/instances.cpp: module and optimizer calls, named by instance.
#include "tracer/instances.h"

#include <atomic>
#include <new>
#include <utility>

#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/traced_python.h"
#include "opyard/profiler/names.h"
#include "tracer/text.h"

namespace opyard::python {
namespace {

// Tells instances of one class apart, of all interpreters.
std::atomic<std::uint64_t> last_instance{0};

// What the describer says, or nothing: it is code of a user, and its failure is not the program's.
std::string description(PyObject* describe, PyObject* self) {
  if (describe == nullptr) return {};
  PyObject* const said = PyObject_CallOneArg(describe, self);
  if (said == nullptr) clear_or_report(PyExc_Exception);
  std::string text = text_of(said);
  Py_XDECREF(said);
  return text;
}

bool is_alive(PyObject* weak, PyObject* self) {
  return weak == nullptr || referent_of(weak) == self;
}

}  // namespace

Instances::~Instances() {
  // The interpreter may be gone; what is still here is of a profile that never stopped.
}

void Instances::show(std::uint32_t code_key, std::string label, PyObject* describe) {
  Shown& shown = shown_[code_key];
  shown.label = std::move(label);
  PyObject* const former = std::exchange(shown.describe, describe == Py_None ? nullptr : describe);
  Py_XINCREF(shown.describe);
  Py_XDECREF(former);
}

std::uint32_t Instances::require(std::uint32_t code_key, PyObject* self) noexcept {
  try {
    const auto seen = seen_.find(self);
    if (seen != seen_.end()) {
      if (is_alive(seen->second.weak, self)) return seen->second.key;
      Py_XDECREF(seen->second.weak);
      seen_.erase(seen);
    }
    const auto shown = shown_.find(code_key);
    return shown == shown_.end() ? 0 : add(shown->second, self);
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

std::uint32_t Instances::add(const Shown& shown, PyObject* self) {
  profiler::Name name;
  name.kind = "instance";
  name.text = shown.label + ": " + type_text(Py_TYPE(self), "__name__");
  name.qualified = class_name(Py_TYPE(self));
  name.identity = ++last_instance;
  name.extra = description(shown.describe, self);
  const std::uint32_t key = profiler::add_name(std::move(name));
  PyObject* const weak = PyWeakref_NewRef(self, nullptr);
  if (weak == nullptr) clear_or_report(PyExc_Exception);
  seen_[self] = {weak, key};
  return key;
}

void Instances::forget() noexcept {
  std::unordered_map<PyObject*, Seen> seen;
  seen.swap(seen_);
  for (const auto& [self, one] : seen) Py_XDECREF(one.weak);
}

}  // namespace opyard::python
