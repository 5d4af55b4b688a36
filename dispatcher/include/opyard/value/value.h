// opyard/value/value.h: Value: any argument or result of any operator, in 16 bytes.
//
//   byte 0      1      2          8                15
//        ┌──────┬──────┬──────────┬────────────────┐
//        │ kind │ hold │ zero     │ payload        │  kind < 32: payload is the value
//        └──────┴──────┴──────────┴────────────────┘  kind >= 32: payload is a counted pointer
//
// `hold` says who counts the pointer: no one (no pointer there), this value, or somebody else
// who outlives it ("borrowed"). A borrowed value is passed down a call without counting. Copying or
// moving it makes an owner, so that nothing borrowed can escape from the stack it was put on.
//
// Three ways out: is_int() asks, to_int() takes exactly this kind or raises BadArgument
// ("expected Int but got Tensor"), int_unchecked() trusts the caller. to<T>() converts to
// vectors, optionals, lists and more: value/cast.h.
//
// Lists and dicts are shared, so one can be put into itself. Nothing here loops or runs out of
// stack over such a value, but its memory is never given back: break the cycle by hand.
//
// A SymInt, SymFloat or SymBool (value/sym.h) that is plain is an Int, Double or Bool.
//
// Depends on: tensor/tensor.h, value/heap_values.h, value/object.h, value/generator.h, value/sym.h.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/tensor/stream.h"
#include "opyard/tensor/tensor.h"
#include "opyard/value/generator.h"
#include "opyard/value/heap_values.h"
#include "opyard/value/object.h"
#include "opyard/value/sym.h"

namespace opyard {

class DictObject;
class FutureObject;

// Its tag in a value; those from 32 on are counted objects.
enum class Kind : std::uint8_t {
#define OPYARD_VALUE_KIND(tag, name, printed) name = tag,
#include "opyard/value/kinds.def"
};

constexpr bool is_heap(Kind kind) { return int(kind) >= 32; }
OPYARD_API const char* name_of(Kind kind) noexcept;
// The kind with this tag. Raises Unsupported for a tag that is reserved for a later kind, and
// BadValue for any other.
OPYARD_API Kind require_kind(std::int64_t tag);

class OPYARD_API Value {
 public:
  Value() noexcept : Value(Kind::None) {}
  // Exactly a bool: a pointer would turn into one without a word.
  template <std::same_as<bool> Bool>
  Value(Bool value) noexcept : Value(Kind::Bool) {  // NOLINT
    payload_.boolean = value;
  }
  Value(std::int64_t value) noexcept : Value(Kind::Int) { payload_.integer = value; }  // NOLINT
  Value(int value) noexcept : Value(std::int64_t{value}) {}                            // NOLINT
  Value(double value) noexcept : Value(Kind::Double) { payload_.real = value; }        // NOLINT
  // Member by member: there is a byte between them, which identical() compares, and which copying
  // the whole may take from anywhere. The C API reads them where they are.
  Value(Device value) noexcept : Value(Kind::Device) {  // NOLINT
    payload_.device.backend = value.backend;
    payload_.device.index = value.index;
  }
  Value(Tensor value) noexcept : Value(Kind::Tensor) { own(value.release_impl()); }  // NOLINT
  Value(std::string_view text);                                                      // NOLINT
  Value(const char* text) : Value(std::string_view(text)) {}                         // NOLINT
  Value(CountedPtr<ForeignObject> object) noexcept : Value(Kind::PyObject) {         // NOLINT
    own(object.release());
  }
  Value(SymInt number);               // NOLINT
  Value(SymFloat number);             // NOLINT
  Value(SymBool truth);               // NOLINT
  Value(std::complex<double> value);  // NOLINT
  Value(Stream value);                // NOLINT
  Value(EnumValue value);             // NOLINT
  // These raise BadArgument for a null pointer. An object also raises BadRegistration if its
  // class is not registered.
  Value(CountedPtr<Storage> storage);        // NOLINT
  Value(CountedPtr<Generator> generator);    // NOLINT
  Value(CountedPtr<CapsuleObject> capsule);  // NOLINT
  Value(CountedPtr<DictObject> dict);        // NOLINT
  Value(CountedPtr<FutureObject> future);    // NOLINT
  Value(CountedPtr<Object> object);          // NOLINT
  template <std::derived_from<Generator> T>
  Value(CountedPtr<T> generator)  // NOLINT
      : Value(CountedPtr<Generator>(std::move(generator))) {}
  template <std::derived_from<Object> T>
  Value(CountedPtr<T> object)  // NOLINT
      : Value(CountedPtr<Object>(std::move(object))) {}
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  // Shares the list. The pointer is not null.
  static Value shared_list(CountedPtr<ListObject> list) noexcept {
    Value value(Kind::List);
    value.own(list.release());
    return value;
  }
  // Entries in this order; of those with equal keys the last one's value. Raises BadArgument for
  // what cannot be a key; see value/dict_object.h.
  static Value dict(std::vector<std::pair<Value, Value>> entries);
  // What value/cast.h makes of a C++ value: a list of a vector, None of an empty optional.
  template <typename T>
  static Value of(T&& value);
  // The tensor without counting it: `tensor` outlives the value and the call it is borrowed for.
  static Value borrow(const Tensor& tensor) noexcept {
    Value value(Kind::Tensor);
    value.payload_.object = tensor.impl().get();
    value.set_hold(tensor.defined() ? Hold::Borrowed : Hold::Nothing);
    return value;
  }
  // The same of any value.
  static Value borrow(const Value& other) noexcept {
    Value value(Kind::None);
    value.head_ = other.head_;
    value.payload_.integer = other.payload_.integer;
    if (other.hold() != Hold::Nothing) value.set_hold(Hold::Borrowed);
    return value;
  }

  Value(const Value& other) noexcept { copy(other); }
  Value(Value&& other) noexcept { take(other); }
  ~Value() {
    if (hold() == Hold::Owned) CountedAccess::release(payload_.object);
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

  // Becomes None. The old content dies last: its end may lead back to this value.
  void reset() noexcept {
    Counted* const old = hold() == Hold::Owned ? payload_.object : nullptr;
    head_ = 0;
    payload_.integer = 0;
    if (old != nullptr) CountedAccess::release(old);
  }

  Kind kind() const noexcept { return Kind(head_ & 0xff); }
  bool is_none() const noexcept { return kind() == Kind::None; }
  bool is_tensor() const noexcept { return kind() == Kind::Tensor; }
  bool is_int() const noexcept { return kind() == Kind::Int; }
  bool is_double() const noexcept { return kind() == Kind::Double; }
  bool is_bool() const noexcept { return kind() == Kind::Bool; }
  bool is_device() const noexcept { return kind() == Kind::Device; }
  bool is_string() const noexcept { return kind() == Kind::String; }
  bool is_list() const noexcept { return kind() == Kind::List; }
  bool is_tuple() const noexcept { return kind() == Kind::Tuple; }
  bool is_dict() const noexcept { return kind() == Kind::Dict; }
  bool is_foreign() const noexcept { return kind() == Kind::PyObject; }
  bool is_complex() const noexcept { return kind() == Kind::Complex; }
  bool is_storage() const noexcept { return kind() == Kind::Storage; }
  bool is_generator() const noexcept { return kind() == Kind::Generator; }
  bool is_capsule() const noexcept { return kind() == Kind::Capsule; }
  bool is_stream() const noexcept { return kind() == Kind::Stream; }
  bool is_enum() const noexcept { return kind() == Kind::Enum; }
  bool is_object() const noexcept { return kind() == Kind::Object; }
  bool is_future() const noexcept { return kind() == Kind::Future; }
  bool is_sym_int() const noexcept { return kind() == Kind::SymInt; }
  bool is_sym_float() const noexcept { return kind() == Kind::SymFloat; }
  bool is_sym_bool() const noexcept { return kind() == Kind::SymBool; }

  // Each raises BadArgument if the value is of another kind.
  bool to_bool() const { return require(Kind::Bool).payload_.boolean; }
  std::int64_t to_int() const { return require(Kind::Int).payload_.integer; }
  double to_double() const { return require(Kind::Double).payload_.real; }
  Device to_device() const { return require(Kind::Device).payload_.device; }
  const Tensor& to_tensor() const { return require(Kind::Tensor).payload_.tensor; }
  std::string_view to_string_view() const { return as<StringObject>(Kind::String).text; }
  const std::vector<Value>& to_list() const { return as<ListObject>(Kind::List).items; }
  const std::vector<Value>& to_tuple() const { return as<ListObject>(Kind::Tuple).items; }
  const ForeignObject& to_foreign() const { return as<ForeignObject>(Kind::PyObject); }
  std::complex<double> to_complex() const { return as<ComplexObject>(Kind::Complex).number; }
  Stream to_stream() const { return as<StreamObject>(Kind::Stream).stream; }
  EnumValue to_enum() const { return as<EnumObject>(Kind::Enum).value; }
  const CapsuleObject& to_capsule() const { return as<CapsuleObject>(Kind::Capsule); }
  Storage& to_storage() const { return as<Storage>(Kind::Storage); }
  Generator& to_generator() const { return as<Generator>(Kind::Generator); }
  Object& to_object() const { return as<Object>(Kind::Object); }
  const DictObject& to_dict() const;
  FutureObject& to_future() const;
  // Plain or symbolic.
  SymInt to_sym_int() const;
  SymFloat to_sym_float() const;
  SymBool to_sym_bool() const;
  // What value/cast.h lists: to<std::vector<double>>(), to<CountedPtr<Counter>>(), …
  template <typename T>
  T to() const;
  // Nothing for None.
  template <typename T>
  std::optional<T> to_optional() const {
    return is_none() ? std::nullopt : std::optional<T>(to<T>());
  }
  // Moves the tensor out without counting if this value owns it; the value becomes None.
  Tensor take_tensor() {
    require(Kind::Tensor);
    Tensor taken = hold() == Hold::Borrowed ? Tensor(payload_.tensor) : std::move(payload_.tensor);
    head_ = 0;
    payload_.integer = 0;
    return taken;
  }

  // For callers that have seen kind() already.
  bool bool_unchecked() const noexcept { return payload_.boolean; }
  std::int64_t int_unchecked() const noexcept { return payload_.integer; }
  double double_unchecked() const noexcept { return payload_.real; }
  Device device_unchecked() const noexcept { return payload_.device; }
  const Tensor& tensor_unchecked() const noexcept { return payload_.tensor; }
  const std::vector<Value>& items_unchecked() const noexcept {
    return static_cast<const ListObject*>(payload_.object)->items;
  }

  // Of a heap kind; null for the undefined tensor.
  Counted* object_unchecked() const noexcept { return payload_.object; }

  // The same object, or the same bits: 0.0 is not -0.0 here.
  bool identical(const Value& other) const noexcept {
    return kind() == other.kind() && payload_.integer == other.payload_.integer;
  }
  // Equal in kind and content: lists and tuples by element, dicts by entry in any order, numbers
  // as numbers, so NaN equals nothing. Tensors, storages, generators, capsules, futures, and
  // objects of users and interpreters equal only themselves. Two containers that are each inside
  // itself are equal if no difference can be reached.
  bool operator==(const Value& other) const;

 private:
  enum class Hold : std::uint8_t { Nothing = 0, Owned = 1, Borrowed = 2 };

  union Payload {
    Payload() noexcept {}
    ~Payload() {}
    bool boolean;
    std::int64_t integer;
    double real;
    Device device;
    Counted* object;
    Tensor tensor;  // the same pointer, seen as its owner
  };

  explicit Value(Kind kind) noexcept : head_(std::uint64_t(kind)) { payload_.integer = 0; }

  Hold hold() const noexcept { return Hold(head_ >> 8 & 0xff); }
  void set_hold(Hold hold) noexcept { head_ = (head_ & 0xff) | std::uint64_t(hold) << 8; }

  void own(Counted* object) noexcept {
    payload_.object = object;
    set_hold(object != nullptr ? Hold::Owned : Hold::Nothing);
  }
  void copy(const Value& other) noexcept {
    head_ = other.head_;
    payload_.integer = other.payload_.integer;
    if (hold() != Hold::Nothing) {
      CountedAccess::retain(payload_.object);
      set_hold(Hold::Owned);
    }
  }
  void take(Value& other) noexcept {
    head_ = other.head_;
    payload_.integer = other.payload_.integer;
    if (__builtin_expect(hold() == Hold::Borrowed, 0)) {
      CountedAccess::retain(payload_.object);
      set_hold(Hold::Owned);
      return;
    }
    other.head_ = 0;
    other.payload_.integer = 0;
  }
  void exchange_with(Value& other) noexcept {
    std::swap(head_, other.head_);
    std::swap(payload_.integer, other.payload_.integer);
  }
  const Value& require(Kind kind) const {
    if (__builtin_expect(this->kind() != kind, 0)) refuse(kind);
    return *this;
  }
  template <typename T>
  T& as(Kind kind) const {
    return *static_cast<T*>(require(kind).payload_.object);
  }
  [[noreturn]] OPYARD_COLD void refuse(Kind wanted) const;

  friend class WeakValue;  // makes an owner of what it watches

  // Kind, hold and zeros in one word, since they are written and copied together.
  std::uint64_t head_;
  Payload payload_;
};

static_assert(sizeof(Value) == 16 && alignof(Value) == 8);

// As a person would write it: 2., 1.+2.j, True, None, (1, 2.5), [1, 2], {a: 1}, text without
// quotes, "float32[2, 3]" for a tensor, "[ Tensor (undefined) ]" for one that is not there. A
// container inside itself, and what is deeper than 64 levels, is printed as [...], (...) or
// {...}; so is the rest after a million elements.
OPYARD_API std::string to_string(const Value& value);
// The same with texts in double quotes, escaped as in a schema.
OPYARD_API std::string repr(const Value& value);

// The shortest decimal text that reads back as the same number, with a point or an exponent
// so that it cannot be taken for an integer: "1.", "0.5", "1e-05", "-inf", "nan".
OPYARD_API std::string float_text(double value);
// "1.+2.j", "-0.-infj"
OPYARD_API std::string complex_text(std::complex<double> value);
// The text in double quotes, with \" \\ \n \t \r, and \x and two digits for other control bytes.
OPYARD_API std::string quoted_text(std::string_view text);

}  // namespace opyard
