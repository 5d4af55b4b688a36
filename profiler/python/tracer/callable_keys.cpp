// tracer/callable_keys.cpp: names of callables of C.
#include "tracer/callable_keys.h"

#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "opyard/detail/python/clear.h"
#include "opyard/profiler/names.h"
#include "tracer/attributes.h"
#include "tracer/text.h"

namespace opyard::python {
namespace {

using profiler::SpanKind;

// The type in whose dictionary a method of C is, so that `[].append` and `list.append` have one
// name.
PyTypeObject* defining_type(PyTypeObject* type, const PyMethodDef* definition) {
  PyObject* const name = PyUnicode_InternFromString(definition->ml_name);
  if (name == nullptr) {
    clear_or_report(PyExc_Exception);
    return type;
  }
  PyObject* const found = lookup_on_type(type, name);
  Py_DECREF(name);
  if (found == nullptr || !Py_IS_TYPE(found, &PyMethodDescr_Type)) return type;
  auto* const descriptor = reinterpret_cast<PyMethodDescrObject*>(found);
  return descriptor->d_method == definition ? descriptor->d_common.d_type : type;
}

// Whether a function is a method of the instance that it is bound to. One that names a module is
// not: pybind11 binds its functions to captures of its own, whose type says nothing and which own
// the definition.
bool is_bound_to_instance(const PyCFunctionObject& function) {
  PyObject* const self = function.m_self;
  return self != nullptr && !PyModule_Check(self) && !PyType_Check(self) &&
         !PyCapsule_CheckExact(self) && text_of(function.m_module).empty();
}

std::string name_of_function(PyObject* callable) {
  const auto* const object = reinterpret_cast<PyCFunctionObject*>(callable);
  const std::string name = object->m_ml->ml_name;
  PyObject* const self = object->m_self;
  if (self != nullptr && PyType_Check(self)) {
    return class_name(reinterpret_cast<PyTypeObject*>(self)) + "." + name;
  }
  if (is_bound_to_instance(*object)) {
    return class_name(defining_type(Py_TYPE(self), object->m_ml)) + "." + name;
  }
  const std::string module = text_of(object->m_module);
  return module.empty() ? name : module + "." + name;
}

// A function that lasts, or would be made again at the same place, is held; what is bound to an
// instance is not: the type that has the definition keeps it.
PyObject* holder_of(PyObject* callable) {
  if (!PyCFunction_Check(callable)) return callable;
  const auto* const function = reinterpret_cast<PyCFunctionObject*>(callable);
  if (!is_bound_to_instance(*function)) return callable;
  return reinterpret_cast<PyObject*>(defining_type(Py_TYPE(function->m_self), function->m_ml));
}

CallEffect effect_of(PyObject* callable) {
  const auto* const object = reinterpret_cast<PyCFunctionObject*>(callable);
  const std::string_view name = object->m_ml->ml_name;
  if (name == "setprofile" && text_of(object->m_module) == "sys") return CallEffect::TakesPlace;
  if ((name == "start_new_thread" || name == "start_new") &&
      text_of(object->m_module) == "_thread") {
    return CallEffect::StartsThread;
  }
  if (name == "exec" && text_of(object->m_module) == "builtins") return CallEffect::RunsCode;
  if ((name != "enable" && name != "disable") || object->m_self == nullptr) return CallEffect::None;
  for (const PyTypeObject* type = Py_TYPE(object->m_self); type != nullptr; type = type->tp_base) {
    if (std::string_view(type->tp_name) == "_lsprof.Profiler") return CallEffect::TakesPlace;
  }
  return CallEffect::None;
}

// Whether an object of a type of C is one of a kind, such as a ufunc or a slot wrapper: its name is
// told by its type, without code of the program's, and it is bound to nothing. A weak reference has
// no name, a proxy asks its object for it, and a bound slot wrapper would keep what it is bound to.
bool has_name_of_its_own(PyObject* callable) {
  PyTypeObject* const type = Py_TYPE(callable);
  if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return false;
  if (type->tp_getattro != PyObject_GenericGetAttr) return false;
  const auto has = [&](const char* text) {
    PyObject* const name = PyUnicode_InternFromString(text);
    if (name == nullptr) clear_or_report(PyExc_Exception);
    const bool found = name != nullptr && lookup_on_type(type, name) != nullptr;
    Py_XDECREF(name);
    return found;
  };
  return has("__name__") && !has("__self__");
}

std::string name_of_its_own(PyObject* callable) {
  PyTypeObject* const type = Py_TYPE(callable);
  if (Py_IS_TYPE(callable, &PyWrapperDescr_Type)) {
    const auto* const descriptor = reinterpret_cast<PyDescrObject*>(callable);
    return class_name(descriptor->d_type) + "." + text_of(descriptor->d_name);
  }
  PyObject* const name = attribute_of(callable, "__name__");
  if (name == nullptr) clear_or_report(PyExc_Exception);
  const std::string text = text_of(name);
  Py_XDECREF(name);
  const std::string of = class_name(type);
  return text.empty() ? of : of + " " + text;
}

}  // namespace

// 0 if it is left out.
std::uint32_t CallableKeys::key_of_name(std::string text) {
  if (filter_ != nullptr && filter_->leaves_out_callable(text)) return 0;
  profiler::Name name;
  name.text = std::move(text);
  name.kind = "c";
  return profiler::add_name(std::move(name));
}

void CallableKeys::hold(PyObject* object) {
  held_.push_back(object);
  Py_INCREF(object);
}

void CallableKeys::use_held(bool use) noexcept {
  uses_held_ = use;
  for (Held& held : held_here_) held = Held();
}

void CallableKeys::put_held(PyObject* callable, CallableKey found) noexcept {
  if (found.key == 0 || found.effect != CallEffect::None) return;
  // The mark of no argument is an object, too: is_function() would take it for one.
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type) && PyDescr_TYPE(callable) == &PyBaseObject_Type) {
    return;
  }
  held_here_[slot_of(callable)] = {callable, half_of(profiler::enter_of(found.kind), found.key)};
}

void CallableKeys::forget() noexcept {
  use_held(false);
  for (Entry& entry : entries_) entry = Entry();
  known_.clear();
  std::vector<PyObject*> held;
  held.swap(held_);
  for (PyObject* const object : held) Py_DECREF(object);
}

const CallableKeys::Known* CallableKeys::find(const Identity& identity) noexcept {
  Entry& entry = entries_[identity.mixed() % kEntries];
  if (entry.identity == identity) return &entry.known;
  const auto found = known_.find(identity);
  if (found == known_.end()) return nullptr;
  entry = {identity, found->second};
  return &entry.known;
}

const CallableKeys::Known& CallableKeys::keep(const Identity& identity, Known known) {
  known_.emplace(identity, known);
  Entry& entry = entries_[identity.mixed() % kEntries];
  entry = {identity, known};
  return entry.known;
}

// Of a function or a method descriptor.
CallableKeys::Known CallableKeys::require(const Identity& identity, PyObject* callable) noexcept {
  if (const Known* const known = find(identity); known != nullptr) return *known;
  try {
    CallableKey found;
    bool is_hidden = false;
    if (PyCFunction_Check(callable)) {
      for (const PyMethodDef* at = hidden_; at != nullptr && at->ml_name != nullptr; ++at) {
        is_hidden |= at == identity.what;
      }
      if (!is_hidden) found.key = key_of_name(name_of_function(callable));
      found.effect = effect_of(callable);
    } else {
      const auto* const descriptor = reinterpret_cast<PyDescrObject*>(callable);
      found.key = key_of_name(class_name(descriptor->d_type) + "." + text_of(descriptor->d_name));
    }
    PyObject* const holder = holder_of(callable);
    hold(holder);
    return keep(identity, {holder == callable ? callable : nullptr, found});
  } catch (const std::bad_alloc&) {
    return {};
  }
}

// A class goes by its address and the tag that CPython gives it, which from 3.11 on is never given
// again (before 3.12 nothing tells of calls of classes); it is not held, since classes come and go.
// An object of a type of C that has a name of its own goes by itself, and is held; any other by its
// class.
CallableKey CallableKeys::other(PyObject* callable) noexcept {
  const bool is_type = PyType_Check(callable);
  PyTypeObject* const type =
      is_type ? reinterpret_cast<PyTypeObject*>(callable) : Py_TYPE(callable);
  const std::uintptr_t version = tag_of_type(type);
  const auto* const text = reinterpret_cast<const void*>(is_type ? version : ~version);
  const Identity itself{callable, text, type};
  const Identity of_class{type, text, type};
  if (version != 0) {
    const Known* known = find(itself);
    if (known == nullptr && !is_type) known = find(of_class);
    // What calls of a method descriptor are depends on their arguments.
    const bool may_be_held = uses_held_ && known != nullptr && known->held == callable &&
                             !Py_IS_TYPE(callable, &PyMethodDescr_Type);
    if (may_be_held) put_held(callable, known->found);
    if (known != nullptr) return known->found;
  }
  try {
    const bool goes_by_itself = !is_type && has_name_of_its_own(callable);
    const std::string name = goes_by_itself ? name_of_its_own(callable)
                             : is_type      ? class_name(type)
                                            : class_name(type) + " object";
    const CallableKey found{key_of_name(name), SpanKind::Callable};
    if (goes_by_itself) hold(callable);
    const bool stays = goes_by_itself || (is_type && !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE));
    if (version != 0) {
      keep(goes_by_itself ? itself : of_class, {stays ? callable : nullptr, found});
    }
    return found;
  } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace opyard::python
