// value/value.cpp: Value: construction of heap kinds, access, errors.
#include "opyard/value/value.h"

#include <fmt/format.h>

#include "opyard/detail/value/dict_object.h"
#include "opyard/detail/value/future_object.h"

namespace opyard {
namespace {

template <typename T>
T* require_counted(CountedPtr<T>& pointer) {
  OPYARD_CHECK(pointer, BadArgument, "a null pointer is no value; None is opyard::Value()");
  return pointer.release();
}

}  // namespace

const char* name_of(Kind kind) noexcept {
  switch (kind) {
#define OPYARD_VALUE_KIND(tag, name, printed) \
  case Kind::name:                            \
    return #printed;
#include "opyard/value/kinds.def"
  }
  return "unknown kind";
}

Kind require_kind(std::int64_t tag) {
  switch (tag) {
#define OPYARD_VALUE_KIND(tag, name, printed) \
  case tag:                                   \
    return Kind::name;
#include "opyard/value/kinds.def"
  }
  fail(ErrorKind::BadValue, fmt::format("{} is no tag of a kind of value", tag));
}

Value::Value(std::string_view text) : Value(Kind::String) {
  own(make_counted<StringObject>(text).release());
}

Value::Value(std::complex<double> value) : Value(Kind::Complex) {
  own(make_counted<ComplexObject>(value).release());
}

Value::Value(Stream value) : Value(Kind::Stream) {
  own(make_counted<StreamObject>(value).release());
}

Value::Value(EnumValue value) : Value(Kind::Enum) {
  OPYARD_CHECK(value.type != nullptr && value.member < value.type->members().size(), BadArgument,
               "an enum value without a type or member is no value; require_member() makes one");
  own(make_counted<EnumObject>(value).release());
}

Value::Value(CountedPtr<Storage> storage) : Value(Kind::Storage) { own(require_counted(storage)); }

Value::Value(CountedPtr<Generator> generator) : Value(Kind::Generator) {
  own(require_counted(generator));
}

Value::Value(CountedPtr<CapsuleObject> capsule) : Value(Kind::Capsule) {
  own(require_counted(capsule));
}

Value::Value(CountedPtr<DictObject> dict) : Value(Kind::Dict) { own(require_counted(dict)); }

Value::Value(CountedPtr<FutureObject> future) : Value(Kind::Future) {
  own(require_counted(future));
}

Value::Value(CountedPtr<Object> object) : Value(Kind::Object) {
  if (object) object->type();  // raises if the class is not registered
  own(require_counted(object));
}

Value Value::list(std::vector<Value> items) {
  Value value(Kind::List);
  value.own(make_counted<ListObject>(std::move(items)).release());
  return value;
}

Value Value::tuple(std::vector<Value> items) {
  Value value(Kind::Tuple);
  value.own(make_counted<ListObject>(std::move(items)).release());
  return value;
}

Value Value::dict(std::vector<std::pair<Value, Value>> entries) {
  auto dict = make_counted<DictObject>();
  dict->reserve(entries.size());
  for (auto& [key, value] : entries) dict->insert_or_assign(std::move(key), std::move(value));
  return Value(std::move(dict));
}

// A constant node is a plain number; whatever else a node knows of its value, it stays symbolic
// here.
Value::Value(SymInt number) : Value(Kind::Int) {
  if (number.is_symbolic()) {
    head_ = std::uint64_t(Kind::SymInt);
    own(const_cast<SymNode*>(number.node().release()));
  } else {
    payload_.integer = number.expect_int();
  }
}

Value::Value(SymFloat number) : Value(Kind::Double) {
  if (number.is_symbolic()) {
    head_ = std::uint64_t(Kind::SymFloat);
    own(const_cast<SymNode*>(number.node().release()));
  } else {
    payload_.real = number.plain_unchecked();
  }
}

Value::Value(SymBool truth) : Value(Kind::Bool) {
  if (truth.is_symbolic()) {
    head_ = std::uint64_t(Kind::SymBool);
    own(const_cast<SymNode*>(truth.node().release()));
  } else {
    payload_.boolean = truth.plain_unchecked();
  }
}

SymInt Value::to_sym_int() const {
  return is_int() ? SymInt(int_unchecked()) : SymInt(SymNodePtr::share(&as<SymNode>(Kind::SymInt)));
}

SymFloat Value::to_sym_float() const {
  return is_double() ? SymFloat(double_unchecked())
                     : SymFloat(SymNodePtr::share(&as<SymNode>(Kind::SymFloat)));
}

SymBool Value::to_sym_bool() const {
  return is_bool() ? SymBool(bool_unchecked())
                   : SymBool(SymNodePtr::share(&as<SymNode>(Kind::SymBool)));
}

const DictObject& Value::to_dict() const { return as<DictObject>(Kind::Dict); }

FutureObject& Value::to_future() const { return as<FutureObject>(Kind::Future); }

void Value::refuse(Kind wanted) const {
  if (wanted == Kind::Int && is_sym_int()) {
    fail(ErrorKind::BadArgument,
         fmt::format("expected Int but got SymInt {}, a number that is not known here; a size "
                     "of this kind is taken by empty, zeros, full, new_* and views on meta",
                     to_string(to_sym_int())));
  }
  fail(ErrorKind::BadArgument,
       fmt::format("expected {} but got {}", name_of(wanted), name_of(kind())));
}

}  // namespace opyard
