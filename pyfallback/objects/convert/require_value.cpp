// objects/convert/require_value.cpp: conversion of a required value, or its error.
#include "objects/convert/require_value.h"

#include "objects/convert/convert.h"

namespace opyard::python {

Value require_value(Runtime& runtime, const Type& type, PyObject* object, const char* what,
                    ForeignArguments* arrays) {
  const auto refuse = [&](const std::string& came) {
    fail(ErrorKind::BadArgument,
         std::string(what) + " must be of type " + to_string(type) + ", not " + came);
  };
  Value value;
  try {
    if (!to_value(runtime, type, object, value, arrays)) refuse(Py_TYPE(object)->tp_name);
  } catch (const RefusedArray& refused) {
    const std::string& type_name = refused.type.empty() ? Py_TYPE(object)->tp_name : refused.type;
    fail(refused.kind(), std::string(what) + refused.place + " cannot be an object of type '" +
                             type_name + "': " + refused.what());
  } catch (const PastRange& past) {
    refuse(std::string("a number outside of ") + past.accepted +
           (past.place.empty() ? "" : " at ") + past.place);
  } catch (const WrongElement& element) {
    refuse(element.place.empty() ? "a " + element.found
                                 : "one with a " + element.found + " at " + element.place);
  }
  return value;
}

}  // namespace opyard::python
