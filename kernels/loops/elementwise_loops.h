// loops/elementwise_loops.h: loops for elementwise operators, made from a function of one element.
//
//   template <typename T>
//   struct Add { static T apply(T a, T b) { … } };
//   constexpr Loops kAdd = binary_loops<Add, bool, std::int64_t, float, double>();
//
// An operation whose apply() takes a const Number& last gets the computation's context there.
//
// Complex numbers are rare: their loops are left out where OPYARD_COMMON_DTYPES_ONLY is defined, as
// in all builds but the baseline.
//
// The loops over operands without gaps are simple, for the compiler to turn into vector
// instructions; OPYARD_IVDEP holds since operands are apart or exactly on each other (write.h).
//
// Depends on: loop.h, element.h.
#pragma once

#include "loops/element.h"
#include "loops/loop.h"

namespace opyard::kernels {

namespace detail {

template <typename Op, typename... T>
auto apply(const Number& context, T... values) {
  if constexpr (requires { Op::apply(values..., context); }) {
    return Op::apply(values..., context);
  } else {
    return Op::apply(values...);
  }
}
template <typename Op, typename... T>
using ResultType = decltype(apply<Op>(Number(), T()...));

template <typename Op, typename T>
void unary_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                const void* raw_context) {
  using R = ResultType<Op, T>;
  const Number context = *static_cast<const Number*>(raw_context);
  if (steps[0] == sizeof(R) && steps[1] == sizeof(T)) {
    auto* const r = reinterpret_cast<R*>(data[0]);
    const auto* const a = reinterpret_cast<const T*>(data[1]);
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < count; ++i) r[i] = apply<Op>(context, a[i]);
    return;
  }
  std::byte* r = data[0];
  const std::byte* a = data[1];
  for (std::int64_t i = 0; i < count; ++i, r += steps[0], a += steps[1]) {
    *reinterpret_cast<R*>(r) = apply<Op>(context, *reinterpret_cast<const T*>(a));
  }
}

template <typename Op, typename T>
void binary_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                 const void* raw_context) {
  using R = ResultType<Op, T, T>;
  constexpr auto kItem = std::int64_t(sizeof(T));
  const Number context = *static_cast<const Number*>(raw_context);
  auto* const r = reinterpret_cast<R*>(data[0]);
  const auto* const a = reinterpret_cast<const T*>(data[1]);
  const auto* const b = reinterpret_cast<const T*>(data[2]);
  if (steps[0] == sizeof(R) && steps[1] == kItem && steps[2] == kItem) {
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < count; ++i) r[i] = apply<Op>(context, a[i], b[i]);
  } else if (steps[0] == sizeof(R) && steps[1] == kItem && steps[2] == 0) {
    const T one = *b;
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < count; ++i) r[i] = apply<Op>(context, a[i], one);
  } else if (steps[0] == sizeof(R) && steps[1] == 0 && steps[2] == kItem) {
    const T one = *a;
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < count; ++i) r[i] = apply<Op>(context, one, b[i]);
  } else {
    std::byte* to = data[0];
    const std::byte* x = data[1];
    const std::byte* y = data[2];
    for (std::int64_t i = 0; i < count; ++i, to += steps[0], x += steps[1], y += steps[2]) {
      *reinterpret_cast<R*>(to) =
          apply<Op>(context, *reinterpret_cast<const T*>(x), *reinterpret_cast<const T*>(y));
    }
  }
}

#ifdef OPYARD_COMMON_DTYPES_ONLY
template <typename T>
inline constexpr bool is_compiled = !is_complex_type<T>;
#else
template <typename T>
inline constexpr bool is_compiled = true;
#endif

template <typename Op, typename T>
constexpr void add_unary(Loops& loops) {
  if constexpr (is_compiled<T>) {
    loops.of[std::size_t(computed_index(dtype_of<T>))] = &unary_loop<Op, T>;
  }
}
template <typename Op, typename T>
constexpr void add_binary(Loops& loops) {
  if constexpr (is_compiled<T>) {
    loops.of[std::size_t(computed_index(dtype_of<T>))] = &binary_loop<Op, T>;
  }
}

}  // namespace detail

// Loops for the listed types, and none for the others.
template <template <typename> typename Op, typename... T>
constexpr Loops unary_loops() {
  Loops loops;
  (detail::add_unary<Op<T>, T>(loops), ...);
  return loops;
}
template <template <typename> typename Op, typename... T>
constexpr Loops binary_loops() {
  Loops loops;
  (detail::add_binary<Op<T>, T>(loops), ...);
  return loops;
}

}  // namespace opyard::kernels
