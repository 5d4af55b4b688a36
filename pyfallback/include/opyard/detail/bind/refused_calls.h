// opyard/detail/bind/refused_calls.h: errors of calls that pybind11 refuses, in our words.
//
// pybind11 refuses such a call with a text of its own, which lists its signatures and the values of
// all arguments, and does not say which one is wrong. name_refusals() puts a function in front of
// pybind11's, in the method definition of each function, method and property of a module; it does
// nothing but call that one, and say the error anew where it is of this kind:
//
//   parse_ir(): argument 'text' is a str that is no text of UTF-8: it has '\udc80' at place 3
//   profile(): argument 'names' is a list[str], and a tuple was given
//
// Once, when the module is made, with the GIL held. A module's functions are called as
// Python calls them, so what is in front costs one call of a function pointer.
//
// Depends on: bind/signatures.h, python/python.h.
#pragma once

#include "opyard/detail/bind/signatures.h"

#include <initializer_list>
#include <string>
#include <string_view>

#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/python.h"

namespace opyard::python {

inline constexpr std::string_view kRefusedCall = "(): incompatible ";

struct RefusedParameter {
  std::string_view name;
  std::string_view type;
  bool has_default;
};

// "text: str", "names: list[str] = []".
inline RefusedParameter refused_parameter(std::string_view part) {
  const std::size_t equals = part.rfind(" = ");
  const std::string_view declared = part.substr(0, equals);
  const std::size_t colon = declared.find(": ");
  return {declared.substr(0, colon),
          colon == std::string_view::npos ? "object" : declared.substr(colon + 2),
          equals != std::string_view::npos};
}

// The place of the first letter that UTF-8 has no bytes for; below 0 if there is none.
inline Py_ssize_t place_of_surrogate(PyObject* text) {
  const Py_ssize_t length = PyUnicode_GetLength(text);
  for (Py_ssize_t i = 0; i < length; ++i) {
    const Py_UCS4 letter = PyUnicode_ReadChar(text, i);
    if (letter >= 0xd800 && letter <= 0xdfff) return i;
  }
  return -1;
}

// "Value" of "opyard._graphs.Value".
inline std::string_view last_name(std::string_view type) {
  return type.substr(type.rfind('.') + 1);
}

// The same of a list or tuple: which item it is.
inline std::string refusal_of_items(const std::string& argument, std::string_view inner,
                                    PyObject* given) {
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(given);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const std::string_view type = Py_TYPE(PySequence_Fast_GET_ITEM(given, i))->tp_name;
    if (last_name(type) == last_name(inner)) continue;
    return argument + "several of type " + std::string(last_name(inner)) +
           ", and an object of type " + std::string(last_name(type)) + " is at place " +
           std::to_string(i);
  }
  return "";
}

// What is wrong with one argument, or nothing if that cannot be told from its type.
inline std::string refusal_of(const RefusedParameter& parameter, PyObject* given) {
  const std::string argument = "argument '" + std::string(parameter.name) + "' is ";
  std::string_view type = parameter.type;
  if (type.ends_with(" | None")) {
    if (given == Py_None) return "";
    type.remove_suffix(std::string_view(" | None").size());
  }
  if (type == "str" && PyUnicode_Check(given) != 0) {
    const Py_ssize_t place = place_of_surrogate(given);
    if (place < 0) return "";
    return argument + "a str that is no text of UTF-8: it has a surrogate at place " +
           std::to_string(place);
  }
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (type == name || type.ends_with("." + std::string(name))) return true;
    }
    return false;
  };
  const std::size_t bracket = type.find('[');
  if (bracket != std::string_view::npos && type.ends_with(']') &&
      (PyList_Check(given) != 0 || PyTuple_Check(given) != 0)) {
    return refusal_of_items(argument, type.substr(bracket + 1, type.size() - bracket - 2), given);
  }
  const bool is_integer = is_one_of({"SupportsInt", "int", "SupportsInt | SupportsIndex"});
  if (is_integer && PyLong_Check(given) != 0) return argument + "an int out of its range";
  const std::string_view given_type = Py_TYPE(given)->tp_name;
  if (type == "object" || last_name(given_type) == last_name(type)) return "";
  return argument + "of type " + std::string(is_integer ? "int" : type) +
         ", and an object of type " + std::string(given_type) + " was given";
}

// The arguments of a call, as Python passed them.
struct RefusedArguments {
  PyObject* const* positional;
  Py_ssize_t count;
  PyObject* names;  // a tuple of keywords, or null

  PyObject* find(std::string_view name) const {
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
      const char* const text = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
      if (text != nullptr && text == name) return positional[count + i];
      if (text == nullptr) clear_or_report(PyExc_UnicodeError);
    }
    return nullptr;
  }
};

// Of one signature, "(text: str, n: int = 0) -> Graph".
inline std::string refusal_of(std::string_view signature, const RefusedArguments& given) {
  const std::size_t close = signature.rfind(") -> ");
  if (!signature.starts_with('(') || close == std::string_view::npos) return "";
  Py_ssize_t taken = 0;
  bool has_unknown = false;
  std::string missing;
  std::string wrong;
  for (const std::string_view part : split_parameters(signature.substr(1, close - 1))) {
    if (part.starts_with('*')) {
      has_unknown = true;
      continue;
    }
    const RefusedParameter parameter = refused_parameter(part);
    PyObject* const argument =
        taken < given.count ? given.positional[taken] : given.find(parameter.name);
    ++taken;
    if (argument == nullptr) {
      if (missing.empty() && !parameter.has_default)
        missing = "argument '" + std::string(parameter.name) + "' is not given";
    } else if (wrong.empty()) {
      wrong = refusal_of(parameter, argument);
    }
  }
  if (!wrong.empty()) return wrong;
  if (!missing.empty()) return missing;
  if (!has_unknown && given.count > taken) {
    return "at most " + std::to_string(taken) + " arguments are taken, and " +
           std::to_string(given.count) + " were given";
  }
  return "";
}

// Says the error that is set anew, if it is pybind11's refusal.
inline void name_refusal(const RefusedArguments& given) {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return;
  PyObject* const error = take_exception();
  PyObject* const shown = PyObject_Str(error);
  const char* const utf8 = shown == nullptr ? nullptr : PyUnicode_AsUTF8(shown);
  const std::string_view text = utf8 == nullptr ? "" : utf8;
  const std::size_t at = text.find(kRefusedCall);
  if (at == std::string_view::npos || text.find('\n') < at) {
    clear_or_report(PyExc_UnicodeError);
    restore_exception(error);
    Py_XDECREF(shown);
    return;
  }
  std::string said(text.substr(0, at));
  std::string signatures;
  std::string reason;
  for (int number = 1;; ++number) {
    const std::string mark = "\n    " + std::to_string(number) + ". ";
    const std::size_t begin = text.find(mark);
    if (begin == std::string_view::npos) break;
    const std::size_t first = begin + mark.size();
    const std::string_view signature = text.substr(first, text.find('\n', first) - first);
    if (number == 1) reason = refusal_of(signature, given);
    if (number == 2) reason.clear();  // which one was meant is not known
    signatures += (number == 1 ? "" : " or ") + std::string(signature);
  }
  if (reason.empty()) {
    reason = "it takes " + signatures + ", and (";
    for (Py_ssize_t i = 0; i < given.count; ++i) {
      if (i > 0) reason += ", ";
      reason += Py_TYPE(given.positional[i])->tp_name;
    }
    reason += ") was given";
  }
  said += "(): " + reason;
  Py_XDECREF(shown);
  Py_XDECREF(error);
  PyErr_SetString(PyExc_TypeError, said.c_str());
}

using CallWithKeywords = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

// pybind11's own, the same of all functions of a module.
inline CallWithKeywords& refusing_call() {
  static CallWithKeywords call = nullptr;
  return call;
}

inline PyObject* call_and_name_refusal(PyObject* self, PyObject* const* positional,
                                       Py_ssize_t count, PyObject* names) {
  PyObject* const result = refusing_call()(self, positional, count, names);
  if (__builtin_expect(result == nullptr, 0)) name_refusal({positional, count, names});
  return result;
}

inline void name_refusals_of(PyObject* object) {
  if (PyInstanceMethod_Check(object)) object = PyInstanceMethod_GET_FUNCTION(object);
  if (PyCFunction_Check(object) == 0) return;
  PyMethodDef& method = *reinterpret_cast<PyCFunctionObject*>(object)->m_ml;
  // A pybind11 that is called in another way is left alone.
  if (method.ml_flags != (METH_FASTCALL | METH_KEYWORDS)) return;
  const auto call =
      reinterpret_cast<CallWithKeywords>(reinterpret_cast<void (*)()>(method.ml_meth));
  if (call == &call_and_name_refusal) return;
  if (refusing_call() == nullptr) refusing_call() = call;
  if (call != refusing_call()) return;
  method.ml_meth =
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call_and_name_refusal));
}

inline void name_refusals(pybind11::module_& module) {
  namespace py = pybind11;
  for (const auto& [name, item] : py::dict(module.attr("__dict__"))) {
    name_refusals_of(item.ptr());
    if (PyType_Check(item.ptr()) == 0) continue;
    for (const auto& [method, function] : py::dict(item.attr("__dict__"))) {
      if (Py_TYPE(function.ptr()) == &PyStaticMethod_Type) {
        name_refusals_of(py::object(function.attr("__func__")).ptr());
      } else if (Py_TYPE(function.ptr()) == &PyProperty_Type) {
        name_refusals_of(py::object(function.attr("fget")).ptr());
        name_refusals_of(py::object(function.attr("fset")).ptr());
      } else {
        name_refusals_of(function.ptr());
      }
    }
  }
}

}  // namespace opyard::python
