// objects/convert/convert.cpp: the table of conversions to values, one row a type.
#include "objects/convert/convert.h"

#include <array>

#include "objects/arrays/foreign_array.h"
#include "objects/convert/conversions.h"
#include "objects/convert/future.h"
#include "objects/tensor/tensor.h"
#include "objects/values/capsule.h"
#include "objects/values/generator.h"
#include "objects/values/value_protocol.h"

namespace opyard::python {
namespace conversion {
namespace {

bool to_tensor(Runtime& runtime, const Type&, PyObject* object, Value& value,
               ForeignArguments* arrays) {
  if (!is_tensor(runtime, object) && object != Py_None) {
    return to_foreign_tensor(runtime, object, arrays, value);
  }
  value = object == Py_None ? Value(Tensor()) : Value(tensor_unchecked(object));
  return true;
}

// A text that has no form in UTF-8 is to blame as an element is.
bool to_text_of_type(Runtime& runtime, const Type& type, PyObject* object, Value& value,
                     ForeignArguments*) {
  try {
    return to_string(runtime, object, value);
  } catch (const NamesNothing&) {
    throw WrongElement{"", "str with half a surrogate pair", to_string(type)};
  }
}

bool to_none(Runtime&, PyObject* object, Value& value) {
  value = Value();
  return object == Py_None;
}

bool to_capsule_value(Runtime& runtime, PyObject* object, Value& value) {
  if (!PyCapsule_CheckExact(object)) return false;
  value = from_capsule(runtime, object);
  return true;
}

bool to_future(Runtime& runtime, const Type& type, PyObject* object, Value& value,
               ForeignArguments*) {
  if (!is_future(runtime, object)) return false;
  value = Value(future_of(object));
  return accepts(type, value);
}

bool to_generator(Runtime&, PyObject* object, Value& value) {
  CountedPtr<Generator> generator = find_generator(object);
  if (!generator) return false;
  value = Value(std::move(generator));
  return true;
}

// For types without a natural object in Python.
bool to_nothing(Runtime&, PyObject*, Value&) { return false; }

template <Plain* convert>
bool without_type(Runtime& runtime, const Type&, PyObject* object, Value& value,
                  ForeignArguments*) {
  return convert(runtime, object, value);
}

struct Row {
  TypeKind kind;
  Typed* from_python;
  Changes* changes = nullptr;  // null if every object that is accepted stays of its kind
};

constexpr Row kRows[] = {
    {TypeKind::Tensor, to_tensor},
    {TypeKind::Int, without_type<to_int>, changes_to_int},
    {TypeKind::Float, without_type<to_float>, changes_to_float},
    {TypeKind::Bool, without_type<to_bool>, changes_to_other_number},
    {TypeKind::Complex, without_type<to_complex>, changes_to_complex},
    {TypeKind::Str, to_text_of_type},
    {TypeKind::Scalar, without_type<to_scalar>, changes_to_other_number},
    {TypeKind::SymInt, without_type<to_sym_int>, changes_to_int},
    {TypeKind::SymFloat, without_type<to_sym_float>, changes_to_sym_float},
    {TypeKind::SymBool, without_type<to_sym_bool>, changes_to_other_number},
    {TypeKind::Device, without_type<to_device>},
    {TypeKind::DeviceIndex, without_type<to_int>},
    {TypeKind::ScalarType, without_type<to_dtype>},
    {TypeKind::Layout, without_type<to_int>},
    {TypeKind::MemoryFormat, without_type<to_int>},
    {TypeKind::QScheme, without_type<to_int>},
    {TypeKind::Dimname, to_text_of_type},
    {TypeKind::Generator, without_type<to_generator>},
    {TypeKind::Storage, without_type<to_nothing>},
    {TypeKind::Stream, without_type<to_nothing>},
    {TypeKind::Any, without_type<to_any>},
    {TypeKind::AnyClass, without_type<to_nothing>},
    {TypeKind::AnyEnum, without_type<to_nothing>},
    {TypeKind::None, without_type<to_none>},
    {TypeKind::Capsule, without_type<to_capsule_value>},
    {TypeKind::List, to_list, changes_to_list},
    {TypeKind::Optional, to_optional, changes_to_optional},
    {TypeKind::Tuple, to_tuple},
    {TypeKind::Dict, to_dict},
    {TypeKind::Future, to_future},
    {TypeKind::RRef, without_type<to_nothing>},
    {TypeKind::Await, without_type<to_nothing>},
    {TypeKind::Union, to_union},
    {TypeKind::Variable, without_type<to_any>},
    {TypeKind::Class, without_type<to_nothing>},
};

// In the order of the enumeration, without a gap: a row is found by its place.
constexpr bool lists_every_kind() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].kind != TypeKind(i)) return false;
  }
  return std::size(kRows) == std::size_t(TypeKind::Class) + 1;
}
static_assert(lists_every_kind(), "a kind of schema/types.def or schema/type.h has no row here");

const Row& row_of(const Type& type) noexcept { return kRows[std::size_t(type.kind())]; }

}  // namespace

bool convert_itself(Runtime& runtime, const Type& type, PyObject* object, Value& value,
                    ForeignArguments* arrays) {
  return row_of(type).from_python(runtime, type, object, value, arrays);
}

Changes* find_changes(const Type& type) noexcept { return row_of(type).changes; }

}  // namespace conversion

bool to_value(Runtime& runtime, const Type& type, PyObject* object, Value& value,
              ForeignArguments* arrays) {
  using conversion::convert_itself;
  if (__builtin_expect(convert_itself(runtime, type, object, value, arrays), 1)) return true;
  const Owned meant = value_by_protocol(object);
  if (!meant) return false;
  if (convert_itself(runtime, type, meant.get(), value, arrays)) return true;
  throw WrongElement{".__opyard_value__()", Py_TYPE(meant.get())->tp_name, to_string(type)};
}

}  // namespace opyard::python
