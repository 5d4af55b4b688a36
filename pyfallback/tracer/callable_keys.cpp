// tracer/callable_keys.cpp: names of callables of C.
#include "tracer/callable_keys.h"

#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "opyard/profiler/names.h"
#include "runtime/clear.h"
#include "tracer/text.h"

namespace opyard::python {
namespace {

using profiler::SpanKind;

// The type in whose dictionary a method of C is, so that `[].append` and `list.append` have one
// name.
PyTypeObject* defining_type(PyTypeObject* type, const PyMethodDef* definition) {
  PyObject* const name = PyUnicode_FromString(definition->ml_name);
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
// not: pybind11 binds its functions to records of its own, whose type says nothing and which own
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
// instance is not, and its type keeps the definition.
PyObject* holder_of(PyObject* callable) {
  if (!PyCFunction_Check(callable)) return callable;
  const auto* const function = reinterpret_cast<PyCFunctionObject*>(callable);
  if (!is_bound_to_instance(*function)) return callable;
  return reinterpret_cast<PyObject*>(Py_TYPE(function->m_self));
}

CallEffect effect_of(PyObject* callable) {
  const auto* const object = reinterpret_cast<PyCFunctionObject*>(callable);
  const std::string_view name = object->m_ml->ml_name;
  if (name == "setprofile" && text_of(object->m_module) == "sys") return CallEffect::TakesPlace;
  if ((name == "start_new_thread" || name == "start_new") &&
      text_of(object->m_module) == "_thread") {
    return CallEffect::StartsThread;
  }
  if ((name != "enable" && name != "disable") || object->m_self == nullptr) return CallEffect::None;
  for (const PyTypeObject* type = Py_TYPE(object->m_self); type != nullptr; type = type->tp_base) {
    if (std::string_view(type->tp_name) == "_lsprof.Profiler") return CallEffect::TakesPlace;
  }
  return CallEffect::None;
}

// The name of an object of a type of C that has one, such as a ufunc or a slot wrapper.
std::string name_of_static(PyObject* callable) {
  PyTypeObject* const type = Py_TYPE(callable);
  if (Py_IS_TYPE(callable, &PyWrapperDescr_Type)) {
    const auto* const descriptor = reinterpret_cast<PyDescrObject*>(callable);
    return class_name(descriptor->d_type) + "." + text_of(descriptor->d_name);
  }
  PyObject* const name = PyObject_GetAttrString(callable, "__name__");
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

void CallableKeys::forget() noexcept {
  for (Entry& entry : entries_) entry = Entry();
  std::vector<PyObject*> held;
  held.swap(held_);
  for (PyObject* const object : held) Py_DECREF(object);
}

CallableKey CallableKeys::add(const void* what, const void* text, const void* owner,
                              PyObject* callable) noexcept {
  try {
    CallableKey found;
    bool is_hidden = false;
    if (PyCFunction_Check(callable)) {
      const auto* const definition = static_cast<const PyMethodDef*>(what);
      for (const PyMethodDef* at = hidden_; at != nullptr && at->ml_name != nullptr; ++at) {
        is_hidden |= at == definition;
      }
      if (!is_hidden) found.key = key_of_name(name_of_function(callable));
      found.effect = effect_of(callable);
    } else {
      const auto* const descriptor = reinterpret_cast<PyDescrObject*>(callable);
      found.key = key_of_name(class_name(descriptor->d_type) + "." + text_of(descriptor->d_name));
    }
    hold(holder_of(callable));
    entries_[slot_of(what, owner)] = {what, text, owner, found};
    return found;
  } catch (const std::bad_alloc&) {
    return {};
  }
}

// A class goes by its address and the tag that CPython gives it, which from 3.11 on is never given
// again (before 3.12 nothing tells of calls of classes); it is not held, since classes come and go.
// An object of a type of C goes by itself, and is held; any other by its class.
CallableKey CallableKeys::other(PyObject* callable) noexcept {
  const bool is_type = PyType_Check(callable);
  PyTypeObject* const type =
      is_type ? reinterpret_cast<PyTypeObject*>(callable) : Py_TYPE(callable);
  const bool is_static = !is_type && !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
  const void* const what = is_static ? static_cast<const void*>(callable) : type;
  const std::uintptr_t version = tag_of_type(type);
  const void* const text = reinterpret_cast<const void*>(is_type ? version : ~version);
  Entry& entry = entries_[slot_of(what, type)];
  if (version != 0 && entry.what == what && entry.text == text && entry.owner == type) {
    return entry.found;
  }
  try {
    const std::string name = is_static ? name_of_static(callable)
                             : is_type ? class_name(type)
                                       : class_name(type) + " object";
    const CallableKey found{key_of_name(name), SpanKind::Callable};
    if (is_static) hold(callable);
    if (version != 0) entry = {what, text, type, found};
    return found;
  } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace opyard::python
