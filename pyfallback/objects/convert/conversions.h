// objects/convert/conversions.h: conversions of Python objects to values, by type.
//
// Each gives false for an object that its types do not accept, and throws as to_value() does. None
// asks an object for __opyard_value__(). With the GIL held.
//
// Depends on: runtime/runtime.h, schema/type.h, value/value.h.
#pragma once

#include "runtime/runtime.h"

#include "opyard/schema/type.h"
#include "opyard/value/value.h"

namespace opyard::python {

class ForeignArguments;

namespace conversion {

// To a value of one type, and of a type that says more, as the elements of a list.
using Plain = bool(Runtime& runtime, PyObject* object, Value& value);
using Typed = bool(Runtime& runtime, const Type& type, PyObject* object, Value& value,
                   ForeignArguments* arrays);
// Whether an object that a type accepts would become another kind; see needs_conversion() of
// objects/convert/convert.h. Runs no code of Python's.
using Changes = bool(const Runtime& runtime, const Type& type, PyObject* object) noexcept;

// convert.cpp: by the row of the type.
Typed convert_itself;

// numbers.cpp
Plain to_int, to_float, to_bool, to_complex, to_scalar, to_sym_int, to_sym_float, to_sym_bool;
// An int of Python's in 64 bits. Throws PastRange.
std::int64_t int_of(PyObject* integer);
// For an object whose code may call the operator again that it is converted for.
void require_stack_for(Runtime& runtime);

// names.cpp
Plain to_string, to_device, to_dtype;

// containers.cpp
Typed to_optional, to_list, to_tuple, to_dict, to_union;

// any.cpp
Plain to_any;

// needs_conversion.cpp
Changes changes_to_int, changes_to_float, changes_to_complex, changes_to_other_number,
    changes_to_sym_float, changes_to_optional, changes_to_list;
// By the row of the type; null if it changes none.
Changes* find_changes(const Type& type) noexcept;

}  // namespace conversion
}  // namespace opyard::python
