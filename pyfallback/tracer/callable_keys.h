// tracer/callable_keys.h: which key a callable of C has.
//
//   a function in C      by its definition (PyMethodDef), its name, and the type of self
//   a type, a ufunc, …   by itself, or by its type
//
// The definition's address alone is no key: it can be freed, and another be made there. So the text
// of its name is compared, too, and functions of modules and types are held until the profile
// stops. Instances are not.
//
// A small table in front answers nearly every call.
//
// Threads: with the GIL held. Depends on: runtime/python.h, opyard/profiler/event.h.
#pragma once

#include "runtime/python.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "opyard/profiler/event.h"
#include "tracer/filter.h"

namespace opyard::python {

// What a function does to whose profile function is in the place of a thread.
enum class CallEffect : std::uint8_t {
  None,
  TakesPlace,   // puts another one there, or none: sys.setprofile, begin and end of a cProfile
  StartsThread  // of _thread
};

// What a call is recorded as. Key 0: not at all.
struct CallableKey {
  std::uint32_t key = 0;
  profiler::SpanKind kind = profiler::SpanKind::C;
  CallEffect effect = CallEffect::None;
};

class CallableKeys {
 public:
  ~CallableKeys() { forget(); }

  // Of what CALL, C_RETURN and C_RAISE name, by the same answer. `first` is the first argument or
  // null.
  CallableKey require(PyObject* callable, PyObject* first) noexcept {
    if (PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
    if (PyFunction_Check(callable)) return {};
    if (PyCFunction_Check(callable)) return function(callable);
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type) && first != nullptr) return descriptor(callable);
    return other(callable);
  }
  // Of a built-in function, which is all that a profile function is told of.
  CallableKey function(PyObject* callable) noexcept {
    const auto* const object = reinterpret_cast<PyCFunctionObject*>(callable);
    const PyMethodDef* const definition = object->m_ml;
    PyTypeObject* const owner = object->m_self == nullptr ? nullptr : Py_TYPE(object->m_self);
    const Entry& entry = entries_[slot_of(definition, owner)];
    if (entry.what == definition && entry.text == definition->ml_name && entry.owner == owner) {
      return entry.found;
    }
    return add(definition, definition->ml_name, owner, callable);
  }
  // The functions of this module of ours are not recorded.
  void hide(const PyMethodDef* functions) noexcept { hidden_ = functions; }
  // Those that it leaves out are not recorded. Before any is asked for.
  void set_filter(const Filter* filter) noexcept { filter_ = filter; }
  // Between profiles: what is held is given back. May run finalisers.
  void forget() noexcept;

 private:
  struct Entry {
    const void* what = nullptr;
    const void* text = nullptr;
    const void* owner = nullptr;
    CallableKey found;
  };
  static constexpr std::size_t kEntries = 1024;
  static std::size_t slot_of(const void* what, const void* owner) noexcept {
    const auto bits = (reinterpret_cast<std::uintptr_t>(what) >> 5) ^
                      (reinterpret_cast<std::uintptr_t>(owner) >> 7);
    return (bits ^ bits >> 10) % kEntries;
  }

  CallableKey descriptor(PyObject* callable) noexcept {
    const auto* const object = reinterpret_cast<PyMethodDescrObject*>(callable);
    const PyMethodDef* const definition = object->d_method;
    const Entry& entry = entries_[slot_of(definition, object->d_common.d_type)];
    if (entry.what == definition && entry.text == definition->ml_name &&
        entry.owner == object->d_common.d_type) {
      return entry.found;
    }
    return add(definition, definition->ml_name, object->d_common.d_type, callable);
  }
  CallableKey other(PyObject* callable) noexcept;
  CallableKey add(const void* what, const void* text, const void* owner,
                  PyObject* callable) noexcept;
  void hold(PyObject* object);
  std::uint32_t key_of_name(std::string text);

  Entry entries_[kEntries];
  std::vector<PyObject*> held_;
  const PyMethodDef* hidden_ = nullptr;
  const Filter* filter_ = nullptr;
};

}  // namespace opyard::python
