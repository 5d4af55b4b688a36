// tracer/callable_keys.h: keys of C callables.
//
//   a function in C      by its definition (PyMethodDef), its name, and the type of self
//   a type, a ufunc, …   by itself, or by its type
//
// The definition's address alone is no key: it can be freed, and another be made there. So the text
// of its name is compared, too, and functions of modules and types are held until the profile
// stops. Instances are not, nor are methods that are bound to them.
//
// Two small tables answer nearly every call. What is held is found by its address alone, since
// nothing else can be there; anything else by the three above.
//
// Threads: with the GIL held. Depends on: python/python.h, opyard/profiler/event.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "opyard/profiler/event.h"
#include "tracer/filter.h"

namespace opyard::python {

// What a call does besides, which needs a look at each.
enum class CallEffect : std::uint8_t {
  None,
  TakesPlace,    // puts another one there, or none: sys.setprofile, begin and end of a cProfile
  StartsThread,  // of _thread
  RunsCode  // exec: not captured if a frame calls it that is not, such as one that starts a program
};

// What a call is captured as. Key 0: not at all.
struct CallableKey {
  std::uint32_t key = 0;
  profiler::SpanKind kind = profiler::SpanKind::C;
  CallEffect effect = CallEffect::None;
};

class CallableKeys {
 public:
  ~CallableKeys() { forget(); }

  // Of what CALL, C_RETURN and C_RAISE name, by the same answer. `first` is the first argument or
  // null. A bound method is what it is bound to with its object: CPython
  // may have unwrapped it once more when it tells of the end.
  CallableKey require(PyObject* callable, PyObject* first) noexcept {
    while (PyMethod_Check(callable)) {
      first = PyMethod_GET_SELF(callable);
      callable = PyMethod_GET_FUNCTION(callable);
    }
    if (PyFunction_Check(callable)) return {};
    if (PyCFunction_Check(callable)) return function(callable);
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type) && first != nullptr &&
        PyObject_TypeCheck(first, PyDescr_TYPE(callable)) != 0) {
      return descriptor(callable);
    }
    return other(callable);
  }
  // Whether a call with this first argument is a function's of C, unless it needs a look: a method
  // descriptor that is called with anything else raises TypeError, and is no such function yet.
  static bool is_function(PyObject* callable, PyObject* first) noexcept {
    return !Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(first, PyDescr_TYPE(callable));
  }
  // Of a built-in function, which is all that a profile function is told of.
  CallableKey function(PyObject* callable) noexcept {
    const auto* const object = reinterpret_cast<PyCFunctionObject*>(callable);
    const PyMethodDef* const definition = object->m_ml;
    PyTypeObject* const owner = object->m_self == nullptr ? nullptr : Py_TYPE(object->m_self);
    return of_definition(definition, owner, callable);
  }
  // A callable that is held, if it is captured and has no effect, and what its enter is; else null.
  // Only if is_function(), too.
  struct Held {
    const PyObject* callable = nullptr;
    profiler::EventHalf enter{};
  };
  const Held* find_held(PyObject* callable) const noexcept {
    const Held& held = held_here_[slot_of(callable)];
    return held.callable == callable ? &held : nullptr;
  }
  // Whether find_held() finds any.
  void use_held(bool use) noexcept;
  // The functions of this module of ours are not captured.
  void hide(const PyMethodDef* functions) noexcept { hidden_ = functions; }
  // Those that it leaves out are not captured. Before any is asked for.
  void set_filter(const Filter* filter) noexcept { filter_ = filter; }
  // Between profiles: what is held is given back. May run finalisers.
  void forget() noexcept;

 private:
  // What a callable goes by.
  struct Identity {
    const void* what = nullptr;
    const void* text = nullptr;
    const void* owner = nullptr;

    bool operator==(const Identity&) const noexcept = default;
    std::uintptr_t mixed() const noexcept {
      const auto bits = (reinterpret_cast<std::uintptr_t>(what) >> 5) ^
                        (reinterpret_cast<std::uintptr_t>(owner) >> 7);
      return bits ^ bits >> 10;
    }
  };
  struct Hash {
    std::size_t operator()(const Identity& identity) const noexcept {
      return identity.mixed() * 31 ^ reinterpret_cast<std::uintptr_t>(identity.text);
    }
  };
  struct Known {
    const PyObject* held = nullptr;  // the callable, if that is
    CallableKey found;
  };
  struct Entry {
    Identity identity;
    Known known;
  };
  static constexpr std::size_t kEntries = 1024;
  // CPython takes its objects from pools of 16 KiB, at addresses that 16 divides: those of one pool
  // have each a place of its own, without a product.
  static constexpr std::size_t kHeld = 1024;
  static std::size_t slot_of(const PyObject* callable) noexcept {
    return reinterpret_cast<std::uintptr_t>(callable) / 16 % kHeld;
  }

  CallableKey descriptor(PyObject* callable) noexcept {
    const auto* const object = reinterpret_cast<PyMethodDescrObject*>(callable);
    return of_definition(object->d_method, object->d_common.d_type, callable);
  }
  CallableKey of_definition(const PyMethodDef* definition, PyTypeObject* owner,
                            PyObject* callable) noexcept {
    const Identity identity{definition, definition->ml_name, owner};
    const Entry& entry = entries_[identity.mixed() % kEntries];
    const Known known = entry.identity == identity ? entry.known : require(identity, callable);
    if (uses_held_ && known.held == callable) put_held(callable, known.found);
    return known.found;
  }
  Known require(const Identity& identity, PyObject* callable) noexcept;
  CallableKey other(PyObject* callable) noexcept;
  const Known* find(const Identity& identity) noexcept;
  const Known& keep(const Identity& identity, Known known);
  void put_held(PyObject* callable, CallableKey found) noexcept;
  void hold(PyObject* object);
  std::uint32_t key_of_name(std::string text);

  Entry entries_[kEntries];  // the last ones of `known_`
  std::unordered_map<Identity, Known, Hash> known_;
  Held held_here_[kHeld];
  bool uses_held_ = false;
  std::vector<PyObject*> held_;
  const PyMethodDef* hidden_ = nullptr;
  const Filter* filter_ = nullptr;
};

}  // namespace opyard::python
