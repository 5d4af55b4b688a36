// opyard/detail/registry/result.h: results on the stack, by C++ type.
//
// `push` puts it on the stack as an owner, `write` puts it into registers, `take` reads it back
// after a boxed call. A returned reference is one of the arguments, so nothing is read back for it.
// A tuple is several results.
//
// Depends on: registry/container_types.h.
#pragma once

#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "opyard/detail/registry/container_types.h"

namespace opyard {

template <typename R>
struct ResultOf {
  static_assert(!detail::kIsView<R>,
                "a kernel cannot return a view of memory that may end with it; write std::string "
                "for a std::string_view and std::vector for a span");
  static_assert(!std::is_reference_v<R>,
                "a tuple of results can hold values and Tensor&, no other references");
  static void types(std::vector<TypePtr>& out) { out.push_back(detail::Argument<R>::type()); }
  static constexpr std::size_t count = 1;
  static void push(Stack& stack, R result) {
    if constexpr (std::is_same_v<R, Tensor>) {
      stack.push(Value(std::move(result)));
    } else if constexpr (detail::Argument<R>::carries_keys) {
      stack.push(detail::boxed<R>(result));  // box() borrows what dies here
    } else {
      detail::Argument<R>::box(stack, result);
    }
  }
  static void write(Value* const* results, R&& result) {
    if constexpr (requires { detail::Argument<R>::own(std::move(result)); }) {
      *results[0] = detail::Argument<R>::own(std::move(result));
    } else {
      *results[0] = detail::boxed<R>(result);
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
  static void write(Value* const* results, const Tensor& result) { *results[0] = Value(result); }
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
  static void write(Value* const* results, std::tuple<R...>&& all) {
    std::apply([&](R&... result) { (ResultOf<R>::write(results++, std::forward<R>(result)), ...); },
               all);
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
