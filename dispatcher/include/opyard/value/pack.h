// opyard/value/pack.h: C++ values on a stack and off it, several at once.
//
//   pack(stack, x, 2.5, "text");                  in this order, the last on top
//   op.call_boxed(stack);
//   const auto [y, count] = unpack<Tensor, std::int64_t>(stack);
//
// Types are those of value/cast.h.
//
// Depends on: value/cast.h, value/stack.h.
#pragma once

#include <tuple>
#include <utility>

#include "opyard/value/cast.h"
#include "opyard/value/stack.h"

namespace opyard {

// Pushes each, the first one first. Where one cannot be made, those before it are on the stack.
template <typename... T>
void pack(Stack& stack, T&&... values) {
  (stack.push(Value::of(std::forward<T>(values))), ...);
}

// The topmost values, the first one first. Raises BadArgument where there are fewer, or where one
// is of another kind; the stack is then as it was.
template <typename... T>
std::tuple<T...> peek_as(Stack& stack) {
  [[maybe_unused]] const std::span<Value> top = stack.top(sizeof...(T));
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple<T...>{top[I].template to<T>()...};
  }(std::index_sequence_for<T...>());
}

// The same, and takes them off. T owns what it shows: no std::string_view.
template <typename... T>
std::tuple<T...> unpack(Stack& stack) {
  static_assert(!(std::is_same_v<T, std::string_view> || ...),
                "what is taken off a stack dies; write std::string");
  std::tuple<T...> values = peek_as<T...>(stack);
  stack.drop(sizeof...(T));
  return values;
}

}  // namespace opyard
