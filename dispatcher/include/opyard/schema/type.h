// opyard/schema/type.h: the types of arguments and results.
//
// A type is immutable and shared. Base types come from types.def and exist once; compound
// types (T[], T?, (A, B), Dict(K, V), Future(T), Union(A, B)) are made as they are parsed.
// Types are equal by structure, so compare with equal(), not by address.
//
// Depends on: base/counted.h, value/value.h, schema/types.def.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "opyard/base/counted.h"
#include "opyard/value/value.h"

namespace opyard {

class Type;
using TypePtr = CountedPtr<const Type>;

enum class TypeKind : std::uint8_t {
#define OPYARD_BASE_TYPE(name, text, ...) name,
#include "opyard/schema/types.def"
#undef OPYARD_BASE_TYPE
  List,      // one element type; maybe a size hint, as in int[3]
  Optional,  // one element type
  Tuple,     // any number of element types
  Dict,      // key and value
  Future,    // one element type
  RRef,      // one element type
  Await,     // one element type
  Union,     // two or more members, in canonical order
  Variable,  // a type variable such as t or t1, by name
  Class,     // a class or enum registered by its user, by name; see value/user_type.h
};

// A layer above may derive one that knows more of a base type's values; here it is that base type.
class OPYARD_API Type : public Counted {
 public:
  TypeKind kind() const noexcept { return kind_; }
  std::span<const TypePtr> elements() const noexcept { return elements_; }
  // The only element of a list, optional, future, RRef or Await.
  const Type& element() const noexcept { return *elements_.front(); }
  // The N of T[N], or 0.
  std::int64_t size_hint() const noexcept { return size_hint_; }
  // The name of a type variable or class.
  const std::string& name() const noexcept { return name_; }

  // Only for the make functions below.
  Type(TypeKind kind, std::vector<TypePtr> elements, std::string name, std::int64_t size_hint)
      : kind_(kind),
        size_hint_(size_hint),
        elements_(std::move(elements)),
        name_(std::move(name)) {}

 private:
  const TypeKind kind_;
  const std::int64_t size_hint_;
  const std::vector<TypePtr> elements_;
  const std::string name_;
};

// The one object of a base type. Raises Internal for a compound kind.
OPYARD_API TypePtr base_type(TypeKind kind);
OPYARD_API TypePtr list_of(TypePtr element, std::int64_t size_hint = 0);
// An optional of an optional is that optional.
OPYARD_API TypePtr optional_of(TypePtr element);
// A Tuple, Dict, Future, RRef, Await or Union. The members of a union are flattened, sorted and
// made unique, so that equal unions print alike. Raises Internal for a wrong number of
// elements (a union of fewer than two different ones among them) and for other kinds.
OPYARD_API TypePtr compound_type(TypeKind kind, std::vector<TypePtr> elements);
// A Variable or Class. Raises Internal for other kinds.
OPYARD_API TypePtr named_type(TypeKind kind, std::string name);

// Equal by structure; size hints count.
OPYARD_API bool equal(const Type& a, const Type& b);

// As written in a schema: "Tensor", "int[3]", "Tensor?[]", "Dict(str, int)".
OPYARD_API std::string to_string(const Type& type);

// What becomes of SymInt, SymFloat and SymBool where a kernel's types are asked for: most
// kernels take int, float and bool in their place; one of the symbolic kind takes them as such.
enum class Symbolic { AsPlain, AsSymbolic };

// The type a kernel sees at run time: ScalarType is int, SymInt[] is int[], size hints go.
OPYARD_API TypePtr runtime_type(const Type& type, Symbolic symbolic = Symbolic::AsPlain);

// The name of that type: "int" for ScalarType, "int[]" for SymInt[2], "number" for Scalar.
OPYARD_API std::string runtime_text(const Type& type);

// Whether a value may be an argument of this type on a boxed call. None is accepted
// for an optional, and for a Tensor as the undefined one (not as an element of a Tensor[]). A
// Scalar is a bool, int, float or complex number; nothing else is converted: an int is no float. A
// type variable and Any accept every value. A class or enum is known by its registered name. Types
// that no kind of value exists for accept none.
OPYARD_API bool accepts(const Type& type, const Value& value);

// Whether dispatch looks for keys in arguments of this type: Tensor, Tensor[], Tensor?,
// Tensor?[], Tensor[]?, Generator, Generator?.
OPYARD_API bool carries_keys(const Type& type);
// The kinds of value that a type accepts whatever the value is, a bit each (1 << kind). What is not
// among them has to be looked at with accepts().
OPYARD_API std::uint64_t accepted_kinds(const Type& type);

}  // namespace opyard
