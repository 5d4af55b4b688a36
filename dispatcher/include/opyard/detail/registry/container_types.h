// opyard/detail/registry/container_types.h: arguments made of others: T?, T[], (A, B).
//
// See registry/argument.h for what an ArgumentOf says.
//
// Depends on: registry/argument.h, value/list.h, value/dict.h, value/future.h.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "opyard/detail/registry/argument.h"
#include "opyard/value/dict.h"
#include "opyard/value/future.h"
#include "opyard/value/list.h"

namespace opyard {

namespace detail {

// Lists of these are looked into for keys, as in schemas; lists of lists are not.
template <typename T>
inline constexpr bool kItemCarriesKeys =
    std::is_same_v<T, Tensor> || std::is_same_v<T, std::optional<Tensor>>;

// One argument as a value of its own: what box() borrowed is owned.
template <typename T>
Value boxed(const T& argument) {
  InlineStack<1> one;
  ArgumentOf<T>::box(one, argument);
  return one.pop();
}

template <typename T, typename Items>
Value boxed_items(const Items& items) {
  std::vector<Value> values;
  values.reserve(items.size());
  for (const T& item : items) values.push_back(boxed<T>(item));
  return Value::list(std::move(values));
}

template <typename T>
std::vector<T> unboxed_items(const Value& value) {
  std::vector<T> items;
  items.reserve(value.to_list().size());
  for (const Value& item : value.to_list()) items.push_back(ArgumentOf<T>::unbox(item));
  return items;
}

// Shared by all types that are a T[].
template <typename T>
struct ListArgument {
  static constexpr bool carries_keys = kItemCarriesKeys<T>;
  static_assert(!kIsSpan<T>,
                "a list cannot hold spans, since no one would own what they show; write "
                "std::vector<std::vector<T>>");
  template <typename Items>
  static DispatchKeySet keys(const Items& items) noexcept {
    DispatchKeySet keys;
    for (const T& item : items) keys = keys | ArgumentOf<T>::keys(item);
    return keys;
  }
};

}  // namespace detail

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
struct ArgumentOf<std::vector<T>> : detail::ListArgument<T> {
  static TypePtr type() { return list_of(ArgumentOf<T>::type()); }
  static std::vector<T> unbox(const Value& value) { return detail::unboxed_items<T>(value); }
  static void box(Stack& stack, const std::vector<T>& items) {
    stack.push(detail::boxed_items<T>(items));
  }
};

// T[N]; the number of elements is checked at each call.
template <typename T, std::size_t N>
struct ArgumentOf<std::array<T, N>> : detail::ListArgument<T> {
  static_assert(N > 0, "a list of no elements is no argument");
  static TypePtr type() { return list_of(ArgumentOf<T>::type(), std::int64_t(N)); }
  static std::array<T, N> unbox(const Value& value) {
    const auto& items = detail::require_length(value.to_list(), Kind::List, N);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<T, N>{ArgumentOf<T>::unbox(items[I])...};
    }(std::make_index_sequence<N>());
  }
  static void box(Stack& stack, const std::array<T, N>& items) {
    stack.push(detail::boxed_items<T>(items));
  }
};

// Elements that live as long as the kernel's call. A std::vector<bool> has none to point to.
template <typename T>
  requires(!std::is_same_v<T, bool>)
struct ArgumentOf<std::span<const T>> : detail::ListArgument<T> {
  static TypePtr type() { return list_of(ArgumentOf<T>::type()); }
  static std::vector<T> unbox(const Value& value) { return detail::unboxed_items<T>(value); }
  static void box(Stack& stack, std::span<const T> items) {
    stack.push(detail::boxed_items<T>(items));
  }
};

// Up to five integers need no memory.
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

template <typename T>
struct ArgumentOf<std::optional<std::span<const T>>> {
  using Span = std::span<const T>;
  using Optional = std::optional<Span>;
  static constexpr bool carries_keys = ArgumentOf<Span>::carries_keys;
  static TypePtr type() { return optional_of(ArgumentOf<Span>::type()); }
  // Keeps the elements beside the span that shows them.
  struct Held {
    std::optional<decltype(ArgumentOf<Span>::unbox(std::declval<const Value&>()))> items;
    operator Optional() const {  // NOLINT(google-explicit-constructor)
      if (!items) return std::nullopt;
      return Span(*items);
    }
  };
  static Held unbox(const Value& value) {
    if (value.is_none()) return {};
    return {ArgumentOf<Span>::unbox(value)};
  }
  static DispatchKeySet keys(const Optional& items) noexcept {
    return items ? ArgumentOf<Span>::keys(*items) : DispatchKeySet();
  }
  static void box(Stack& stack, const Optional& items) {
    if (items) {
      ArgumentOf<Span>::box(stack, *items);
    } else {
      stack.push(Value());
    }
  }
};

// The caller's list itself: what the kernel changes, the caller sees.
template <typename T>
struct ArgumentOf<List<T>> : detail::CastArgument<List<T>> {
  static constexpr bool carries_keys = detail::kItemCarriesKeys<T>;
  static TypePtr type() { return list_of(ArgumentOf<T>::type()); }
  // Looks at the values, since an element of another kind raises if it is read.
  static DispatchKeySet keys(const List<T>& list) noexcept {
    DispatchKeySet keys;
    const Value shared = list.value();
    for (const Value& item : shared.items_unchecked()) {
      if (item.is_tensor()) keys = keys | item.tensor_unchecked().keys();
    }
    return keys;
  }
};

// The caller's dict itself.
template <typename K, typename V>
struct ArgumentOf<Dict<K, V>> : detail::CastArgument<Dict<K, V>> {
  static TypePtr type() {
    return compound_type(TypeKind::Dict, {ArgumentOf<K>::type(), ArgumentOf<V>::type()});
  }
};

// The caller's future itself.
template <typename T>
struct ArgumentOf<Future<T>> : detail::CastArgument<Future<T>> {
  static TypePtr type() { return compound_type(TypeKind::Future, {ArgumentOf<T>::type()}); }
};

template <typename... T>
struct ArgumentOf<std::tuple<T...>> {
  static_assert(sizeof...(T) > 0, "a tuple of no elements is no argument");
  static_assert(!(detail::kIsSpan<T> || ...),
                "a tuple cannot hold spans, since no one would own what they show; write "
                "std::vector<T>");
  static constexpr bool carries_keys = false;
  static TypePtr type() { return compound_type(TypeKind::Tuple, {ArgumentOf<T>::type()...}); }
  static std::tuple<T...> unbox(const Value& value) {
    const auto& items = detail::require_length(value.to_tuple(), Kind::Tuple, sizeof...(T));
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<T...>(ArgumentOf<T>::unbox(items[I])...);
    }(std::index_sequence_for<T...>());
  }
  static void box(Stack& stack, const std::tuple<T...>& items) {
    stack.push(std::apply(
        [](const T&... item) { return Value::tuple({detail::boxed<T>(item)...}); }, items));
  }
};

}  // namespace opyard
