// opyard/value/value.h: any argument or result of any operator, in 16 bytes.
//
//   byte 0      1      2          8                15
//        ┌──────┬──────┬──────────┬────────────────┐
//        │ kind │ hold │ zero     │ payload        │  kind < 32: payload is the value
//        └──────┴──────┴──────────┴────────────────┘  kind >= 32: payload is a counted pointer
//
// `hold` says who counts the pointer: nobody (no pointer there), this value, or somebody else
// who outlives it ("lent"). A lent value is passed down a call without counting. Copying or
// moving it makes an owner, so that nothing lent can escape from the stack it was lent to.
//
// Three ways out: is_int() asks, to_int() takes exactly this kind or raises BadArgument
// ("expected Int but got Tensor"), int_unchecked() trusts the caller.
//
// Depends on: tensor/tensor.h, base/counted.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/tensor/tensor.h"

namespace opyard {

class Value;

enum class Kind : std::uint8_t {
#define OPYARD_VALUE_KIND(tag, name, printed) name = tag,
#include "opyard/value/kinds.def"
#undef OPYARD_VALUE_KIND
};

constexpr bool is_heap(Kind kind) { return int(kind) >= 32; }
OPYARD_API const char* name_of(Kind kind) noexcept;

// Text behind a value. Immutable.
class OPYARD_API StringObject final : public Counted {
 public:
  explicit StringObject(std::string_view text) : text(text) {}
  const std::string text;
};

// The elements of a list or tuple. A list is shared: whoever changes it, changes it for all.
// A tuple is never changed once made. Not synchronised.
class OPYARD_API ListObject final : public Counted {
 public:
  explicit ListObject(std::vector<Value> values);
  // Nested lists are taken apart one after another, so depth costs no stack.
  ~ListObject() override;
  std::vector<Value> items;
};

// An object of an interpreter, owned through its tag; see slot/interpreter.h.
class OPYARD_API ForeignObject final : public Counted {
 public:
  // Takes over an owner of `object`.
  ForeignObject(Interpreter* interpreter, void* object) noexcept
      : interpreter(interpreter), object(object) {}
  ~ForeignObject() override { (*interpreter)->decref(object); }
  Interpreter* const interpreter;
  void* const object;
};

class OPYARD_API Value {
 public:
  Value() noexcept : kind_(Kind::None), hold_(Hold::Nothing) { payload_.integer = 0; }
  // Exactly a bool: a pointer would turn into one without a word.
  template <std::same_as<bool> Bool>
  Value(Bool value) noexcept : Value(Kind::Bool) {  // NOLINT
    payload_.boolean = value;
  }
  Value(std::int64_t value) noexcept : Value(Kind::Int) { payload_.integer = value; }  // NOLINT
  Value(int value) noexcept : Value(std::int64_t{value}) {}                            // NOLINT
  Value(double value) noexcept : Value(Kind::Double) { payload_.real = value; }        // NOLINT
  Value(Device value) noexcept : Value(Kind::Device) { payload_.device = value; }      // NOLINT
  Value(Tensor value) noexcept : Value(Kind::Tensor) { own(value.release_impl()); }    // NOLINT
  Value(std::string_view text);                                                        // NOLINT
  Value(const char* text) : Value(std::string_view(text)) {}                           // NOLINT
  Value(CountedPtr<ForeignObject> object) noexcept : Value(Kind::PyObject) {           // NOLINT
    own(object.release());
  }
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  // The tensor without counting it: `tensor` outlives the value and the call it is lent to.
  static Value lend(const Tensor& tensor) noexcept {
    Value value(Kind::Tensor);
    value.payload_.object = tensor.impl().get();
    value.hold_ = tensor.defined() ? Hold::Lent : Hold::Nothing;
    return value;
  }

  Value(const Value& other) noexcept { copy(other); }
  Value(Value&& other) noexcept { take(other); }
  ~Value() {
    if (hold_ == Hold::Owned) CountedAccess::release(payload_.object);
  }
  // The old content dies last: `other` may be an element of it.
  Value& operator=(const Value& other) noexcept {
    Value fresh(other);
    exchange_with(fresh);
    return *this;
  }
  Value& operator=(Value&& other) noexcept {
    Value fresh(std::move(other));
    exchange_with(fresh);
    return *this;
  }

  Kind kind() const noexcept { return kind_; }
  bool is_none() const noexcept { return kind_ == Kind::None; }
  bool is_tensor() const noexcept { return kind_ == Kind::Tensor; }
  bool is_int() const noexcept { return kind_ == Kind::Int; }
  bool is_double() const noexcept { return kind_ == Kind::Double; }
  bool is_bool() const noexcept { return kind_ == Kind::Bool; }
  bool is_device() const noexcept { return kind_ == Kind::Device; }
  bool is_string() const noexcept { return kind_ == Kind::String; }
  bool is_list() const noexcept { return kind_ == Kind::List; }
  bool is_tuple() const noexcept { return kind_ == Kind::Tuple; }
  bool is_foreign() const noexcept { return kind_ == Kind::PyObject; }

  // Each raises BadArgument where the value is of another kind.
  bool to_bool() const { return require(Kind::Bool).payload_.boolean; }
  std::int64_t to_int() const { return require(Kind::Int).payload_.integer; }
  double to_double() const { return require(Kind::Double).payload_.real; }
  Device to_device() const { return require(Kind::Device).payload_.device; }
  const Tensor& to_tensor() const { return require(Kind::Tensor).payload_.tensor; }
  std::string_view to_string_view() const {
    return static_cast<const StringObject*>(require(Kind::String).payload_.object)->text;
  }
  const std::vector<Value>& to_list() const {
    return static_cast<const ListObject*>(require(Kind::List).payload_.object)->items;
  }
  const std::vector<Value>& to_tuple() const {
    return static_cast<const ListObject*>(require(Kind::Tuple).payload_.object)->items;
  }
  const ForeignObject& to_foreign() const {
    return *static_cast<const ForeignObject*>(require(Kind::PyObject).payload_.object);
  }
  // Moves the tensor out without counting where this value owns it; the value becomes None.
  Tensor take_tensor();

  // For callers that have seen kind() already.
  bool bool_unchecked() const noexcept { return payload_.boolean; }
  std::int64_t int_unchecked() const noexcept { return payload_.integer; }
  double double_unchecked() const noexcept { return payload_.real; }
  Device device_unchecked() const noexcept { return payload_.device; }
  const Tensor& tensor_unchecked() const noexcept { return payload_.tensor; }
  const std::vector<Value>& items_unchecked() const noexcept {
    return static_cast<const ListObject*>(payload_.object)->items;
  }

  // The same object, or the same bits: 0.0 is not -0.0 here.
  bool identical(const Value& other) const noexcept {
    return kind_ == other.kind_ && payload_.integer == other.payload_.integer;
  }
  // Equal in kind and content, lists and tuples by element. Tensors and objects of an
  // interpreter only where they are the same one; floats as numbers, so NaN equals nothing.
  bool operator==(const Value& other) const;

 private:
  enum class Hold : std::uint8_t { Nothing = 0, Owned = 1, Lent = 2 };

  union Payload {
    Payload() noexcept {}
    ~Payload() {}
    bool boolean;
    std::int64_t integer;
    double real;
    Device device;
    Counted* object;
    Tensor tensor;  // the same pointer, seen as a handle
  };

  explicit Value(Kind kind) noexcept : kind_(kind), hold_(Hold::Nothing) { payload_.integer = 0; }

  void own(Counted* object) noexcept {
    payload_.object = object;
    hold_ = object != nullptr ? Hold::Owned : Hold::Nothing;
  }
  void copy(const Value& other) noexcept {
    kind_ = other.kind_;
    hold_ = other.hold_;
    payload_.integer = other.payload_.integer;
    if (hold_ != Hold::Nothing) {
      CountedAccess::retain(payload_.object);
      hold_ = Hold::Owned;
    }
  }
  void take(Value& other) noexcept {
    kind_ = other.kind_;
    hold_ = other.hold_;
    payload_.integer = other.payload_.integer;
    if (__builtin_expect(hold_ == Hold::Lent, 0)) {
      CountedAccess::retain(payload_.object);
      hold_ = Hold::Owned;
      return;
    }
    other.kind_ = Kind::None;
    other.hold_ = Hold::Nothing;
    other.payload_.integer = 0;
  }
  void exchange_with(Value& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(hold_, other.hold_);
    std::swap(payload_.integer, other.payload_.integer);
  }
  const Value& require(Kind kind) const {
    if (__builtin_expect(kind_ != kind, 0)) refuse(kind);
    return *this;
  }
  [[noreturn]] OPYARD_COLD void refuse(Kind wanted) const;

  friend class ListObject;  // takes nested lists apart without recursion

  Kind kind_;
  Hold hold_;
  std::uint8_t zero_[6] = {};
  Payload payload_;
};

static_assert(sizeof(Value) == 16 && alignof(Value) == 8);

// As a person would write it: 2., True, None, (1, 2.5), [1, 2], text without quotes,
// "float32[2, 3]" for a tensor, "[ Tensor (undefined) ]" for one that is not there. Lists
// that lie deeper than 64 levels are printed as [...].
OPYARD_API std::string to_string(const Value& value);

// The shortest decimal text that reads back as the same number, with a point or an exponent
// so that it cannot be taken for an integer: "1.", "0.5", "1e-05", "-inf", "nan".
OPYARD_API std::string float_text(double value);

}  // namespace opyard
