// objects/values/refusals.h: errors of objects that are no value of a type.
//
// to_value() (objects/convert/convert.h) throws these for an object that is of the right kind and
// still not accepted. It does not know which argument or result the object is; its caller does, and
// says so.
//
// Depends on: base/error.h.
#pragma once

#include <string>

#include "opyard/base/error.h"

namespace opyard::python {

// A number of the right kind that the type cannot hold.
struct PastRange {
  const char* accepted;  // "<lowest> to <highest>"
  std::string place{};   // of the number in the object, as "[1][0]"; empty for the object itself
};

// A container of the right kind with an element that is not, and a text that has no form in UTF-8.
struct WrongElement {
  std::string place;     // "[1][0]"; empty for the object itself
  std::string found;     // the name of the element's Python type
  std::string accepted;  // the schema type that it should have been of
};

// A text or a number of the right kind that names nothing, such as a device that does not exist. If
// another type may take the object, the search goes on.
struct NamesNothing : Error {
  explicit NamesNothing(const Error& error) noexcept : Error(error) {}
};

// A Tensor that requires a gradient, given for a number, which carries none.
struct LostGradient : NamesNothing {
  explicit LostGradient(const Error& error) noexcept : NamesNothing(error) {}
};

// An array of another library that no tensor can stand for.
struct RefusedArray : NamesNothing {
  explicit RefusedArray(const Error& error) noexcept : NamesNothing(error) {}
  std::string place{};  // of the array in the object, as "[1]"; empty for the object itself
  std::string type{};   // its type, if it is inside of the object
};

}  // namespace opyard::python
