// opyard/value/cast.h: conversion of values to C++ types and back: Value::to<T>() and Value::of(x).
//
//   T                                             from a value of kind
//   bool, std::int64_t, double                    Bool, Int, Double
//   std::complex<double>                          ComplexDouble
//   Scalar                                        Bool, Int, Double or ComplexDouble
//   SymInt, SymFloat, SymBool                     Int or SymInt, Double or SymFloat, Bool or SymBool
//   std::string, std::string_view (borrowed)      String
//   Tensor, Device, Stream, Value                 Tensor, Device, Stream, any
//   DType, Layout, MemoryFormat                   Int, the number of one
//   EnumValue, an enum E of register_enum<E>()    Enum
//   CountedPtr<Storage>, CountedPtr<Generator>,   Storage, Generator,
//   CountedPtr<CapsuleObject>                     Capsule
//   CountedPtr<FutureObject>                      Future
//   CountedPtr<T> of register_class<T>()          Object, of exactly this class
//   std::optional<T>                              None, or that of T
//   std::vector<T>, std::array<T, N>              GenericList, of N elements
//   std::pair<A, B>, std::tuple<A, …>             Tuple, of as many elements
//   std::map<K, V>, std::unordered_map<K, V>      GenericDict
//
// Nothing is converted: an int is no float. List<T>, Dict<K, V> and Future<T> are in value/list.h,
// value/dict.h and value/future.h. A wrong kind raises BadArgument ("expected Double but got Int").
//
// Depends on: value/dict_object.h, value/future_object.h, value/scalar.h.
#pragma once

#include <array>
#include <tuple>
#include <type_traits>

#include "opyard/detail/value/dict_object.h"
#include "opyard/detail/value/future_object.h"
#include "opyard/value/scalar.h"

namespace opyard {

namespace detail {

[[noreturn]] OPYARD_API OPYARD_COLD void refuse_length(Kind kind, std::size_t wanted,
                                                       std::size_t given);
[[noreturn]] OPYARD_API OPYARD_COLD void refuse_user_type(const UserType& wanted,
                                                          const UserType& given);

inline const std::vector<Value>& require_length(const std::vector<Value>& items, Kind kind,
                                                std::size_t wanted) {
  if (__builtin_expect(items.size() != wanted, 0)) refuse_length(kind, wanted, items.size());
  return items;
}

}  // namespace detail

// from(value) gives the T, to(object) the value.
template <typename T>
struct ValueCast {
  static_assert(!std::is_same_v<T, T>,
                "no value is read as this type; opyard/value/cast.h lists the types that are");
};

#define OPYARD_VALUE_CAST(type, expression)                           \
  template <>                                                         \
  struct ValueCast<type> {                                            \
    static type from(const Value& value) { return expression; }       \
    static Value to(type object) { return Value(std::move(object)); } \
  };
OPYARD_VALUE_CAST(bool, value.to_bool())
OPYARD_VALUE_CAST(std::int64_t, value.to_int())
OPYARD_VALUE_CAST(double, value.to_double())
OPYARD_VALUE_CAST(std::complex<double>, value.to_complex())
OPYARD_VALUE_CAST(SymInt, value.to_sym_int())
OPYARD_VALUE_CAST(SymFloat, value.to_sym_float())
OPYARD_VALUE_CAST(SymBool, value.to_sym_bool())
OPYARD_VALUE_CAST(std::string_view, value.to_string_view())
OPYARD_VALUE_CAST(std::string, std::string(value.to_string_view()))
OPYARD_VALUE_CAST(Tensor, value.to_tensor())
OPYARD_VALUE_CAST(Device, value.to_device())
OPYARD_VALUE_CAST(Stream, value.to_stream())
OPYARD_VALUE_CAST(EnumValue, value.to_enum())
OPYARD_VALUE_CAST(Value, value)
OPYARD_VALUE_CAST(CountedPtr<Storage>, CountedPtr<Storage>::share(&value.to_storage()))
OPYARD_VALUE_CAST(CountedPtr<Generator>, CountedPtr<Generator>::share(&value.to_generator()))
OPYARD_VALUE_CAST(CountedPtr<FutureObject>, CountedPtr<FutureObject>::share(&value.to_future()))
#undef OPYARD_VALUE_CAST

template <>
struct ValueCast<CountedPtr<CapsuleObject>> {
  static CountedPtr<CapsuleObject> from(const Value& value) {
    value.to_capsule();
    return CountedPtr<CapsuleObject>::share(static_cast<CapsuleObject*>(value.object_unchecked()));
  }
  static Value to(CountedPtr<CapsuleObject> capsule) { return Value(std::move(capsule)); }
};

template <>
struct ValueCast<Scalar> {
  static Scalar from(const Value& value) { return Scalar(value); }
  static Value to(const Scalar& scalar) { return scalar.value(); }
};

#define OPYARD_NUMBERED_CAST(type, require)                                  \
  template <>                                                                \
  struct ValueCast<type> {                                                   \
    static type from(const Value& value) { return require(value.to_int()); } \
    static Value to(type object) { return Value(std::int64_t(object)); }     \
  };
OPYARD_NUMBERED_CAST(DType, require_dtype)
OPYARD_NUMBERED_CAST(Layout, require_layout)
OPYARD_NUMBERED_CAST(MemoryFormat, require_memory_format)
#undef OPYARD_NUMBERED_CAST

template <typename E>
  requires std::is_enum_v<E>
struct ValueCast<E> {
  static E from(const Value& value) {
    const EnumValue member = value.to_enum();
    const UserType& type = user_type_of<E>();
    if (__builtin_expect(member.type != &type, 0)) detail::refuse_user_type(type, *member.type);
    return E(member.number());
  }
  // Raises BadValue for a number that is no member.
  static Value to(E object) { return require_number(user_type_of<E>(), std::int64_t(object)); }
};

template <std::derived_from<Object> T>
struct ValueCast<CountedPtr<T>> {
  static CountedPtr<T> from(const Value& value) {
    Object& object = value.to_object();
    const UserType& type = user_type_of<T>();
    if (__builtin_expect(&object.type() != &type, 0)) detail::refuse_user_type(type, object.type());
    return CountedPtr<T>::share(static_cast<T*>(&object));
  }
  static Value to(CountedPtr<T> object) { return Value(std::move(object)); }
};

template <typename T>
struct ValueCast<std::optional<T>> {
  static std::optional<T> from(const Value& value) { return value.to_optional<T>(); }
  static Value to(std::optional<T> object) {
    return object ? ValueCast<T>::to(*std::move(object)) : Value();
  }
};

template <typename T>
struct ValueCast<std::vector<T>> {
  static std::vector<T> from(const Value& value) {
    const std::vector<Value>& items = value.to_list();
    std::vector<T> out;
    out.reserve(items.size());
    for (const Value& item : items) out.push_back(ValueCast<T>::from(item));
    return out;
  }
  static Value to(std::vector<T> items) {
    std::vector<Value> values;
    values.reserve(items.size());
    for (auto&& item : items) values.push_back(ValueCast<T>::to(std::move(item)));
    return Value::list(std::move(values));
  }
};

template <typename T, std::size_t N>
struct ValueCast<std::array<T, N>> {
  static std::array<T, N> from(const Value& value) {
    const auto& items = detail::require_length(value.to_list(), Kind::List, N);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<T, N>{ValueCast<T>::from(items[I])...};
    }(std::make_index_sequence<N>());
  }
  static Value to(const std::array<T, N>& items) {
    std::vector<Value> values;
    values.reserve(N);
    for (const T& item : items) values.push_back(ValueCast<T>::to(item));
    return Value::list(std::move(values));
  }
};

template <typename... T>
struct ValueCast<std::tuple<T...>> {
  static std::tuple<T...> from(const Value& value) {
    const auto& items = detail::require_length(value.to_tuple(), Kind::Tuple, sizeof...(T));
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<T...>{ValueCast<T>::from(items[I])...};
    }(std::index_sequence_for<T...>());
  }
  static Value to(std::tuple<T...> items) {
    return std::apply(
        [](T&... item) { return Value::tuple({ValueCast<T>::to(std::move(item))...}); }, items);
  }
};

template <typename A, typename B>
struct ValueCast<std::pair<A, B>> {
  static std::pair<A, B> from(const Value& value) {
    const auto& items = detail::require_length(value.to_tuple(), Kind::Tuple, 2);
    return {ValueCast<A>::from(items[0]), ValueCast<B>::from(items[1])};
  }
  static Value to(std::pair<A, B> both) {
    return Value::tuple(
        {ValueCast<A>::to(std::move(both.first)), ValueCast<B>::to(std::move(both.second))});
  }
};

// A map of the standard library or like one. The order of the dict is lost.
template <typename M>
  requires requires {
    typename M::key_type;
    typename M::mapped_type;
  }
struct ValueCast<M> {
  using K = typename M::key_type;
  using V = typename M::mapped_type;
  static M from(const Value& value) {
    const DictObject& dict = value.to_dict();
    M out;
    for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
      out.emplace(ValueCast<K>::from(dict.key_at(at)), ValueCast<V>::from(dict.value_at(at)));
    }
    return out;
  }
  static Value to(const M& map) {
    auto dict = make_counted<DictObject>();
    for (const auto& [key, value] : map) {
      dict->insert_or_assign(ValueCast<K>::to(key), ValueCast<V>::to(value));
    }
    return Value(std::move(dict));
  }
};

template <typename T>
T Value::to() const {
  return ValueCast<T>::from(*this);
}

template <typename T>
Value Value::of(T&& value) {
  if constexpr (std::is_constructible_v<Value, T&&>) {
    return Value(std::forward<T>(value));
  } else {
    return ValueCast<std::remove_cvref_t<T>>::to(std::forward<T>(value));
  }
}

}  // namespace opyard
