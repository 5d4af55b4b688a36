// opyard/registry/types.h: which C++ types a kernel may use, and how they cross the stack.
//
// For each C++ type T that a schema can express, ArgumentOf<T> says
//   type()         the schema type it stands for
//   unbox(value)   the argument as the kernel wants it, borrowed from the stack where it can be
//   keys(arg)      the dispatch keys it adds to a call (only where carries_keys)
//   box(stack, a)  the argument on a stack, lent where it can be
// and ResultOf<R> says how what a kernel returns is put on a stack and taken from one.
//
//   schema          argument                         result
//   Tensor          const Tensor&, Tensor, Tensor&   Tensor, Tensor&, const Tensor&
//   int, SymInt     std::int64_t                     std::int64_t
//   float           double                           double
//   bool            bool                             bool
//   str             std::string_view, std::string    std::string
//   Scalar          const Scalar&, Scalar            Scalar
//   Device          Device                           Device
//   ScalarType      DType                            DType
//   Layout, …       Layout, MemoryFormat             -
//   T?              std::optional<T>                 std::optional<T>
//   int[], SymInt[] IntSpan, std::vector<int64_t>    std::vector<std::int64_t>
//   float[]         std::vector<double>              std::vector<double>
//   Tensor[]        const std::vector<Tensor>&       std::vector<Tensor>
//   Tensor?[]       const std::vector<std::optional<Tensor>>&
//   Any             const Value&, Value              Value
//   (A, B)          -                                std::tuple<A, B>, std::tuple<Tensor&, …>
//
// Any other type does not compile, and the error says what to write instead.
//
// Depends on: value/scalar.h, value/stack.h, schema/type.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "opyard/schema/type.h"
#include "opyard/value/scalar.h"
#include "opyard/value/stack.h"

namespace opyard {

template <typename T>
struct ArgumentOf {
  static_assert(!std::is_same_v<T, T> || !std::is_same_v<T, float>,
                "a kernel cannot take or return float; write double, which is the schema's float");
  static_assert(!std::is_same_v<T, T> || !std::is_integral_v<T>,
                "a kernel cannot take or return this integer type; write std::int64_t");
  static_assert(!std::is_same_v<T, T> || std::is_same_v<T, float> || std::is_integral_v<T>,
                "a kernel cannot take or return this type; opyard/registry/types.h lists those "
                "that a schema can express");
};

namespace detail {

// Shared by the types that are copied out of a value and into one.
template <typename T>
struct PlainArgument {
  static constexpr bool carries_keys = false;
  static void box(Stack& stack, const T& argument) { stack.push(Value(argument)); }
};

// What a parameter of type P is looked up under: no const, no reference.
template <typename P>
using Bare = std::remove_cvref_t<P>;

template <typename P>
using Argument = ArgumentOf<Bare<P>>;

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
  static void box(Stack& stack, const Tensor& tensor) { stack.lend(tensor); }
};

template <>
struct ArgumentOf<std::int64_t> : detail::PlainArgument<std::int64_t> {
  static TypePtr type() { return base_type(TypeKind::Int); }
  static std::int64_t unbox(const Value& value) { return value.to_int(); }
};

template <>
struct ArgumentOf<double> : detail::PlainArgument<double> {
  static TypePtr type() { return base_type(TypeKind::Float); }
  static double unbox(const Value& value) { return value.to_double(); }
};

template <>
struct ArgumentOf<bool> : detail::PlainArgument<bool> {
  static TypePtr type() { return base_type(TypeKind::Bool); }
  static bool unbox(const Value& value) { return value.to_bool(); }
};

template <>
struct ArgumentOf<std::string_view> : detail::PlainArgument<std::string_view> {
  static TypePtr type() { return base_type(TypeKind::Str); }
  static std::string_view unbox(const Value& value) { return value.to_string_view(); }
};

template <>
struct ArgumentOf<std::string> : detail::PlainArgument<std::string> {
  static TypePtr type() { return base_type(TypeKind::Str); }
  static std::string unbox(const Value& value) { return std::string(value.to_string_view()); }
  static void box(Stack& stack, const std::string& text) {
    stack.push(Value(std::string_view(text)));
  }
};

template <>
struct ArgumentOf<Scalar> : detail::PlainArgument<Scalar> {
  static TypePtr type() { return base_type(TypeKind::Scalar); }
  static Scalar unbox(const Value& value) { return Scalar(value); }
  static void box(Stack& stack, const Scalar& scalar) { stack.push(scalar.value()); }
};

template <>
struct ArgumentOf<Device> : detail::PlainArgument<Device> {
  static TypePtr type() { return base_type(TypeKind::Device); }
  static Device unbox(const Value& value) { return value.to_device(); }
};

template <>
struct ArgumentOf<DType> : detail::PlainArgument<DType> {
  static TypePtr type() { return base_type(TypeKind::ScalarType); }
  static DType unbox(const Value& value) { return require_dtype(value.to_int()); }
  static void box(Stack& stack, DType dtype) { stack.push(Value(std::int64_t(dtype))); }
};

template <>
struct ArgumentOf<Layout> : detail::PlainArgument<Layout> {
  static TypePtr type() { return base_type(TypeKind::Layout); }
  static Layout unbox(const Value& value) { return require_layout(value.to_int()); }
  static void box(Stack& stack, Layout layout) { stack.push(Value(std::int64_t(layout))); }
};

template <>
struct ArgumentOf<MemoryFormat> : detail::PlainArgument<MemoryFormat> {
  static TypePtr type() { return base_type(TypeKind::MemoryFormat); }
  static MemoryFormat unbox(const Value& value) { return require_memory_format(value.to_int()); }
  static void box(Stack& stack, MemoryFormat format) { stack.push(Value(std::int64_t(format))); }
};

template <>
struct ArgumentOf<Value> : detail::PlainArgument<Value> {
  static TypePtr type() { return base_type(TypeKind::Any); }
  static const Value& unbox(const Value& value) { return value; }
};

template <typename T>
struct ArgumentOf<std::optional<T>> {
  static constexpr bool carries_keys = ArgumentOf<T>::carries_keys;
  static TypePtr type() { return optional_of(ArgumentOf<T>::type()); }
  static std::optional<T> unbox(const Value& value) {
    if (value.is_none()) return std::nullopt;
    return std::optional<T>(ArgumentOf<T>::unbox(value));
  }
  static DispatchKeySet keys(const std::optional<T>& argument) noexcept {
    return argument ? ArgumentOf<T>::keys(*argument) : DispatchKeySet();
  }
  static void box(Stack& stack, const std::optional<T>& argument) {
    if (argument) {
      ArgumentOf<T>::box(stack, *argument);
    } else {
      stack.push(Value());
    }
  }
};

template <typename T>
struct ArgumentOf<std::vector<T>> {
  static constexpr bool carries_keys = ArgumentOf<T>::carries_keys;
  static TypePtr type() { return list_of(ArgumentOf<T>::type()); }
  static std::vector<T> unbox(const Value& value) {
    std::vector<T> items;
    items.reserve(value.to_list().size());
    for (const Value& item : value.to_list()) items.push_back(ArgumentOf<T>::unbox(item));
    return items;
  }
  static DispatchKeySet keys(const std::vector<T>& items) noexcept {
    DispatchKeySet keys;
    for (const T& item : items) keys = keys | ArgumentOf<T>::keys(item);
    return keys;
  }
  static void box(Stack& stack, const std::vector<T>& items) {
    std::vector<Value> values;
    values.reserve(items.size());
    for (const T& item : items) {
      InlineStack<1> one;
      ArgumentOf<T>::box(one, item);
      values.push_back(one.pop());
    }
    stack.push(Value::list(std::move(values)));
  }
};

// A list of integers that lives as long as the kernel's call.
template <>
struct ArgumentOf<IntSpan> {
  static constexpr bool carries_keys = false;
  static TypePtr type() { return list_of(base_type(TypeKind::Int)); }
  static DimVector unbox(const Value& value) {
    DimVector items;
    for (const Value& item : value.to_list()) items.push_back(item.to_int());
    return items;
  }
  static void box(Stack& stack, IntSpan items) {
    stack.push(Value::list(std::vector<Value>(items.begin(), items.end())));
  }
};

template <>
struct ArgumentOf<std::optional<IntSpan>> {
  static constexpr bool carries_keys = false;
  static TypePtr type() { return optional_of(ArgumentOf<IntSpan>::type()); }
  // Keeps the words beside the span that shows them.
  struct Held {
    std::optional<DimVector> words;
    operator std::optional<IntSpan>() const {  // NOLINT(google-explicit-constructor)
      if (!words) return std::nullopt;
      return IntSpan(*words);
    }
  };
  static Held unbox(const Value& value) {
    if (value.is_none()) return {};
    return {ArgumentOf<IntSpan>::unbox(value)};
  }
  static void box(Stack& stack, const std::optional<IntSpan>& items) {
    if (items) {
      ArgumentOf<IntSpan>::box(stack, *items);
    } else {
      stack.push(Value());
    }
  }
};

// What a kernel returns. `push` puts it on the stack as an owner, `take` reads it back after a
// boxed call. A returned reference is one of the arguments, so nothing is read back for it.
template <typename R>
struct ResultOf {
  static_assert(!std::is_same_v<R, std::string_view>,
                "a kernel cannot return std::string_view; write std::string");
  static_assert(!std::is_same_v<R, IntSpan>,
                "a kernel cannot return IntSpan; write std::vector<std::int64_t>");
  static_assert(!std::is_reference_v<R>,
                "a tuple of results can hold values and Tensor&, no other references");
  static void types(std::vector<TypePtr>& out) { out.push_back(detail::Argument<R>::type()); }
  static constexpr std::size_t count = 1;
  static void push(Stack& stack, R result) {
    if constexpr (std::is_same_v<R, Tensor>) {
      stack.push(Value(std::move(result)));
    } else if constexpr (detail::Argument<R>::carries_keys) {
      InlineStack<1> lent;  // box() lends what dies here; popping it makes an owner
      detail::Argument<R>::box(lent, result);
      stack.push(lent.pop());
    } else {
      detail::Argument<R>::box(stack, result);
    }
  }
  static R take(std::span<Value> results) {
    if constexpr (std::is_same_v<R, Tensor>) {
      return results[0].is_none() ? Tensor() : results[0].take_tensor();
    } else {
      return R(detail::Argument<R>::unbox(results[0]));
    }
  }
};

template <>
struct ResultOf<Tensor&> {
  static void types(std::vector<TypePtr>& out) { out.push_back(detail::Argument<Tensor>::type()); }
  static constexpr std::size_t count = 1;
  static void push(Stack& stack, const Tensor& result) { stack.push(Value(result)); }
};

template <>
struct ResultOf<void> {
  static void types(std::vector<TypePtr>&) {}
  static constexpr std::size_t count = 0;
};

template <typename... R>
struct ResultOf<std::tuple<R...>> {
  static void types(std::vector<TypePtr>& out) { (ResultOf<R>::types(out), ...); }
  static constexpr std::size_t count = sizeof...(R);
  static void push(Stack& stack, std::tuple<R...> results) {
    std::apply([&](R&... result) { (ResultOf<R>::push(stack, std::move(result)), ...); }, results);
  }
  static std::tuple<R...> take(std::span<Value> results) {
    return take_each(results, std::index_sequence_for<R...>());
  }

 private:
  template <std::size_t... I>
  static std::tuple<R...> take_each(std::span<Value> results, std::index_sequence<I...>) {
    return {ResultOf<R>::take(results.subspan(I, 1))...};
  }
};

}  // namespace opyard
