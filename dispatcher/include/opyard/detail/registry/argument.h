// opyard/detail/registry/argument.h: arguments on the stack, by C++ type.
//
// For each C++ type T that a schema can express, ArgumentOf<T> says
//   type()         the schema type it stands for
//   unbox(value)   the argument as the kernel wants it, borrowed from the stack if it can be
//   keys(arg)      the dispatch keys it adds to a call (only if carries_keys)
//   box(stack, a)  the argument on a stack, borrowed if it can be
//   own(a)         the same as a value that owns it; may be left out
//
// Here are the types that hold one thing; registry/container_types.h has those made of others.
// Writers of kernels want the table in registry/types.h.
//
// Depends on: registry/refusals.h, value/scalar.h, value/stack.h, schema/type_of.h.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "opyard/detail/registry/refusals.h"
#include "opyard/schema/type_of.h"
#include "opyard/value/cast.h"
#include "opyard/value/scalar.h"
#include "opyard/value/stack.h"

namespace opyard {

// Any type that is not specialised below or in registry/container_types.h does not compile.
template <typename T>
struct ArgumentOf : detail::Refused<T> {};

namespace detail {

// Shared by the types that are copied out of a value and into one.
template <typename T>
struct CopiedArgument {
  static constexpr bool carries_keys = false;
  static void box(Stack& stack, const T& argument) { stack.push(Value(argument)); }
  static Value own(T&& argument) { return Value(std::move(argument)); }
};

// The same, and read as value/cast.h says.
template <typename T>
struct CastArgument {
  static constexpr bool carries_keys = false;
  static T unbox(const Value& value) { return ValueCast<T>::from(value); }
  static void box(Stack& stack, const T& argument) { stack.push(ValueCast<T>::to(argument)); }
  static Value own(T&& argument) { return ValueCast<T>::to(argument); }
};

// What a parameter of type P is looked up under: no const, no reference.
template <typename P>
using Bare = std::remove_cvref_t<P>;

template <typename P>
struct Argument : ArgumentOf<Bare<P>>, CheckedParameter<P> {};

}  // namespace detail

template <>
struct ArgumentOf<Tensor> {
  static constexpr bool carries_keys = true;
  static TypePtr type() { return base_type(TypeKind::Tensor); }
  // None is an undefined tensor, and its payload reads as one.
  static const Tensor& unbox(const Value& value) {
    return value.is_none() ? value.tensor_unchecked() : value.to_tensor();
  }
  static DispatchKeySet keys(const Tensor& tensor) noexcept { return tensor.keys(); }
  static void box(Stack& stack, const Tensor& tensor) { stack.borrow(tensor); }
  static Value own(Tensor&& tensor) { return Value(std::move(tensor)); }
};

template <>
struct ArgumentOf<std::int64_t> : detail::CopiedArgument<std::int64_t> {
  static TypePtr type() { return base_type(TypeKind::Int); }
  static std::int64_t unbox(const Value& value) { return value.to_int(); }
};

template <>
struct ArgumentOf<SymInt> : detail::CastArgument<SymInt> {
  static TypePtr type() { return base_type(TypeKind::SymInt); }
};

template <>
struct ArgumentOf<SymFloat> : detail::CastArgument<SymFloat> {
  static TypePtr type() { return base_type(TypeKind::SymFloat); }
};

template <>
struct ArgumentOf<SymBool> : detail::CastArgument<SymBool> {
  static TypePtr type() { return base_type(TypeKind::SymBool); }
};

template <>
struct ArgumentOf<double> : detail::CopiedArgument<double> {
  static TypePtr type() { return base_type(TypeKind::Float); }
  static double unbox(const Value& value) { return value.to_double(); }
};

template <>
struct ArgumentOf<bool> : detail::CopiedArgument<bool> {
  static TypePtr type() { return base_type(TypeKind::Bool); }
  static bool unbox(const Value& value) { return value.to_bool(); }
};

template <>
struct ArgumentOf<std::complex<double>> : detail::CastArgument<std::complex<double>> {
  static TypePtr type() { return base_type(TypeKind::Complex); }
};

template <>
struct ArgumentOf<std::string_view> : detail::CopiedArgument<std::string_view> {
  static TypePtr type() { return base_type(TypeKind::Str); }
  static std::string_view unbox(const Value& value) { return value.to_string_view(); }
};

template <>
struct ArgumentOf<std::string> : detail::CastArgument<std::string> {
  static TypePtr type() { return base_type(TypeKind::Str); }
  static void box(Stack& stack, const std::string& text) {
    stack.push(Value(std::string_view(text)));
  }
};

template <>
struct ArgumentOf<Scalar> : detail::CastArgument<Scalar> {
  static TypePtr type() { return base_type(TypeKind::Scalar); }
};

template <>
struct ArgumentOf<Device> : detail::CopiedArgument<Device> {
  static TypePtr type() { return base_type(TypeKind::Device); }
  static Device unbox(const Value& value) { return value.to_device(); }
};

template <>
struct ArgumentOf<Stream> : detail::CastArgument<Stream> {
  static TypePtr type() { return base_type(TypeKind::Stream); }
};

template <>
struct ArgumentOf<DType> : detail::CastArgument<DType> {
  static TypePtr type() { return base_type(TypeKind::ScalarType); }
};

template <>
struct ArgumentOf<Layout> : detail::CastArgument<Layout> {
  static TypePtr type() { return base_type(TypeKind::Layout); }
};

template <>
struct ArgumentOf<MemoryFormat> : detail::CastArgument<MemoryFormat> {
  static TypePtr type() { return base_type(TypeKind::MemoryFormat); }
};

template <>
struct ArgumentOf<Value> : detail::CopiedArgument<Value> {
  static TypePtr type() { return base_type(TypeKind::Any); }
  static const Value& unbox(const Value& value) { return value; }
};

template <>
struct ArgumentOf<CountedPtr<Storage>> : detail::CastArgument<CountedPtr<Storage>> {
  static TypePtr type() { return base_type(TypeKind::Storage); }
};

template <>
struct ArgumentOf<CountedPtr<CapsuleObject>> : detail::CastArgument<CountedPtr<CapsuleObject>> {
  static TypePtr type() { return base_type(TypeKind::Capsule); }
};

template <>
struct ArgumentOf<CountedPtr<FutureObject>> : detail::CastArgument<CountedPtr<FutureObject>> {
  static TypePtr type() { return compound_type(TypeKind::Future, {base_type(TypeKind::Any)}); }
};

// Adds its keys to a call, so that one without a tensor finds the generator's backend.
template <>
struct ArgumentOf<CountedPtr<Generator>> : detail::CastArgument<CountedPtr<Generator>> {
  static constexpr bool carries_keys = true;
  static TypePtr type() { return base_type(TypeKind::Generator); }
  static DispatchKeySet keys(const CountedPtr<Generator>& generator) noexcept {
    return generator ? generator->keys() : DispatchKeySet();
  }
};

// An object of a registered class. type() raises BadRegistration if it is not registered.
template <std::derived_from<Object> T>
struct ArgumentOf<CountedPtr<T>> : detail::CastArgument<CountedPtr<T>> {
  static TypePtr type() { return type_of(user_type_of<T>()); }
};

// A member of any enum that is registered.
template <>
struct ArgumentOf<EnumValue> : detail::CastArgument<EnumValue> {
  static TypePtr type() { return base_type(TypeKind::AnyEnum); }
};

// A member of this enum. type() raises BadRegistration if it is not registered.
template <typename E>
  requires std::is_enum_v<E>
struct ArgumentOf<E> : detail::CastArgument<E> {
  static TypePtr type() { return type_of(user_type_of<E>()); }
};

}  // namespace opyard
