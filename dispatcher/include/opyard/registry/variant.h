// opyard/registry/variant.h: std::variant as an argument or a result: Union(A, B).
//
//   Tensor scale(const Tensor& x, const std::variant<double, Tensor>& by);
//   m.def("scale(Tensor x, Union(float, Tensor) by) -> Tensor", &scale);
//
// A kernel gets the first of the alternatives that accepts the value, so an int is no float here.
// As everywhere in a union, tensors add no keys to a call.
//
// It is not among what opyard/library.h includes, since <variant> costs each file that registers a
// kernel.
//
// Depends on: detail/registry/types.h.
#pragma once

#include <variant>

#include "opyard/detail/registry/types.h"

namespace opyard {

namespace detail {

// "expected Union(int, str) but got Double"
[[noreturn]] OPYARD_API OPYARD_COLD void refuse_member(const Type& expected, const Value& value);

}  // namespace detail

template <typename... T>
struct ArgumentOf<std::variant<T...>> {
  static_assert(sizeof...(T) > 1, "a union has two members at least");
  static_assert(!(detail::kIsView<T> || ...),
                "a variant cannot hold views, since no one would own what they show; write "
                "std::string for a std::string_view and std::vector for a span");
  using Variant = std::variant<T...>;
  static constexpr bool carries_keys = false;

  static TypePtr type() { return compound_type(TypeKind::Union, {ArgumentOf<T>::type()...}); }
  static Variant unbox(const Value& value) {
    static const std::array<TypePtr, sizeof...(T)> members{ArgumentOf<T>::type()...};
    return unbox_first<0, T...>(members, value);
  }
  static void box(Stack& stack, const Variant& argument) {
    std::visit([&]<typename Item>(const Item& item) { stack.push(detail::boxed<Item>(item)); },
               argument);
  }

 private:
  template <std::size_t I, typename First, typename... Rest>
  static Variant unbox_first(const std::array<TypePtr, sizeof...(T)>& members, const Value& value) {
    if (accepts(*members[I], value)) {
      return Variant(std::in_place_index<I>, ArgumentOf<First>::unbox(value));
    }
    if constexpr (sizeof...(Rest) > 0) {
      return unbox_first<I + 1, Rest...>(members, value);
    } else {
      detail::refuse_member(*type(), value);
    }
  }
};

template <typename... T>
struct ValueCast<std::variant<T...>> {
  static std::variant<T...> from(const Value& value) {
    return ArgumentOf<std::variant<T...>>::unbox(value);
  }
  static Value to(const std::variant<T...>& object) {
    return detail::boxed<std::variant<T...>>(object);
  }
};

}  // namespace opyard
