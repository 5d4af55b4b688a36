// opyard/tensor/strided_loop.h: loops over all elements of strided tensors.
//
//   transform(y, [](float a) { return 2 * a; }, x);                   y[i] = 2 * x[i]
//   transform(y, [](float a, float b) { return a + b; }, x, z);       x and z broadcast to y's sizes
//   fill(y, 1.0f);                                                    y[i] = 1
//   copy(y, x);                                                       y[i] = x[i], of one dtype
//   reduce(y, 0.0f, [](float sum, float a) { return sum + a; }, x);   over where y has size 1
//   for_each([&](float a) { sum += a; }, x);                          in row-major order
//   reduce(y, 0.0f, [](float sum, Half a) { return sum + a; }, x);    y is float16, and rounded once
//
// The element types are those of the function's parameters and result; a tensor of another dtype
// raises BadArgument. The innermost dimension is one plain loop, so contiguous tensors cost what a
// loop over arrays costs. An input may be the result itself; other overlaps give what the order of
// writes gives.
//
// [Meta] For a result on meta sizes and dtypes are looked at and nothing is done, so a kernel of
// these loops gives its results' sizes and dtypes there, also symbolic sizes. for_each gives
// elements away, and raises. A kernel that reads sizes itself asks has_symbolic_sizes() first.
//
// Depends on: tensor/accessor.h, tensor/make.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "opyard/tensor/accessor.h"
#include "opyard/tensor/make.h"

namespace opyard {

namespace detail {

// Where the elements of N tensors are: sizes and each tensor's strides, with dimensions joined
// if all of them go on seamlessly. Never without a dimension.
template <std::size_t N>
struct LoopPlan {
  DimVector sizes;
  std::array<DimVector, N> strides;
};
// Fills in one tensor's strides, broadcast to the sizes. Raises BadShape.
OPYARD_API void broadcast_strides(const Tensor& x, IntSpan sizes, DimVector& strides);
// Drops and joins dimensions.
OPYARD_API void join_dimensions(DimVector& sizes, DimVector* strides, std::size_t count);

template <std::size_t N>
LoopPlan<N> plan_loop(IntSpan sizes, const std::array<const Tensor*, N>& tensors) {
  LoopPlan<N> plan;
  plan.sizes.assign(sizes);
  for (std::size_t k = 0; k < N; ++k) broadcast_strides(*tensors[k], sizes, plan.strides[k]);
  join_dimensions(plan.sizes, plan.strides.data(), N);
  return plan;
}

// Calls `body(element&...)` for each place.
template <typename... T, std::size_t... K, typename Body>
void run_loop(const LoopPlan<sizeof...(T)>& plan, std::index_sequence<K...>, Body& body,
              T*... begin) {
  constexpr std::size_t kCount = sizeof...(T);
  for (const std::int64_t size : plan.sizes) {
    if (size == 0) return;
  }
  const std::size_t last = plan.sizes.size() - 1;
  const std::int64_t length = plan.sizes[last];
  const std::array<std::int64_t, kCount> steps = {plan.strides[K][last]...};
  const bool dense = ((steps[K] == 1) && ...);
  DimVector at(plan.sizes.size(), 0);
  std::array<std::int64_t, kCount> offsets{};
  while (true) {
    if (dense) {
      for (std::int64_t i = 0; i < length; ++i) body((begin + offsets[K])[i]...);
    } else {
      for (std::int64_t i = 0; i < length; ++i) body(begin[offsets[K] + i * steps[K]]...);
    }
    std::size_t dim = last;
    while (dim > 0) {
      --dim;
      ((offsets[K] += plan.strides[K][dim]), ...);
      if (++at[dim] < plan.sizes[dim]) break;
      ((offsets[K] -= plan.strides[K][dim] * plan.sizes[dim]), ...);
      at[dim] = 0;
      if (dim == 0) return;
    }
    if (last == 0) return;
  }
}

// The parameters and the result of a function object with one call operator.
template <typename F>
struct ElementFunction : ElementFunction<decltype(&F::operator())> {};
template <typename R, typename... A>
struct ElementFunction<R (*)(A...)> {
  using Result = std::remove_cvref_t<R>;
  template <template <typename...> typename List>
  using Arguments = List<std::remove_cvref_t<A>...>;
};
template <typename R, typename... A>
struct ElementFunction<R(A...)> : ElementFunction<R (*)(A...)> {};
template <typename F, typename R, typename... A>
struct ElementFunction<R (F::*)(A...) const> : ElementFunction<R (*)(A...)> {};
template <typename F, typename R, typename... A>
struct ElementFunction<R (F::*)(A...)> : ElementFunction<R (*)(A...)> {};

template <typename... T>
struct Types {};

// The first element of a tensor of this dtype; null without elements. They raise as
// require_elements() and data() do, but the writing one gives null for a result on meta.
OPYARD_API const void* elements_to_read(const char* what, const Tensor& x, DType dtype);
OPYARD_API void* elements_to_write(const char* what, const Tensor& x, DType dtype);
// What is checked of an input whose elements are not looked at, since the result is on meta.
OPYARD_API void require_loop_input(const char* what, const Tensor& x, DType dtype);
// The same of sizes, which may be symbolic. Raises BadShape if x does not broadcast to those of
// `to`.
OPYARD_API void require_loop_sizes(const Tensor& x, const Tensor& to);
// Raises BadShape for a result of reduce() that does not broadcast to x's sizes.
OPYARD_API void require_reduced(const Tensor& result, const Tensor& x);

template <typename... T, typename F, typename... Inputs>
void transform_typed(Types<T...>, const Tensor& result, F& f, const Inputs&... inputs) {
  static_assert(sizeof...(T) == sizeof...(Inputs), "one tensor for each parameter of the function");
  using R = typename ElementFunction<std::remove_cvref_t<F>>::Result;
  auto* const to = static_cast<R*>(elements_to_write("transform", result, dtype_of<R>));
  if (__builtin_expect(to == nullptr, 0)) {
    (require_loop_sizes(inputs, result), ...);
    return (require_loop_input("transform", inputs, dtype_of<T>), ...);
  }
  const auto plan = plan_loop<1 + sizeof...(T)>(
      result.sizes(), {{&result, static_cast<const Tensor*>(&inputs)...}});
  auto body = [&f](R& written, const T&... from) { written = f(from...); };
  run_loop<R, const T...>(
      plan, std::make_index_sequence<1 + sizeof...(T)>(), body, to,
      static_cast<const T*>(elements_to_read("transform", inputs, dtype_of<T>))...);
}

template <typename R, typename T, typename F>
void reduce_typed(Types<R, T>, const Tensor& result, R start, F& f, const Tensor& x) {
  static_assert(std::is_same_v<R, typename ElementFunction<std::remove_cvref_t<F>>::Result>,
                "the function gives what its first parameter is");
  if constexpr (is_half_type<T> && std::is_same_v<R, accumulate_t<T>>) {
    if (result.defined() && result.dtype() == dtype_of<T>) {
      const Tensor wide = empty_like(result, dtype_of<R>);
      reduce_typed(Types<R, T>(), wide, start, f, x);
      auto round = [](R value) { return T(value); };
      return transform_typed(Types<R>(), result, round, wide);
    }
  }
  auto* const to = static_cast<R*>(elements_to_write("reduce", result, dtype_of<R>));
  require_reduced(result, x);
  if (__builtin_expect(to == nullptr, 0)) return require_loop_input("reduce", x, dtype_of<T>);
  const auto plan = plan_loop<2>(x.sizes(), {{&result, &x}});
  const auto* const from = static_cast<const T*>(elements_to_read("reduce", x, dtype_of<T>));
  auto begin = [start](R& written) { written = start; };
  run_loop<R>(plan_loop<1>(result.sizes(), {{&result}}), std::index_sequence<0>(), begin, to);
  auto body = [&f](R& written, const T& element) { written = f(written, element); };
  run_loop<R, const T>(plan, std::make_index_sequence<2>(), body, to, from);
}

template <typename T, typename F>
void for_each_typed(Types<T>, F& f, const Tensor& x) {
  const auto* const from = static_cast<const T*>(elements_to_read("for_each", x, dtype_of<T>));
  auto body = [&f](const T& element) { f(element); };
  run_loop<const T>(plan_loop<1>(x.sizes(), {{&x}}), std::index_sequence<0>(), body, from);
}

}  // namespace detail

// Whether a tensor is on meta and its sizes are no numbers yet, as while a program is compiled for
// many sizes: reading them raises. empty_like() takes them as they are, and so do operators.
inline bool has_symbolic_sizes(const Tensor& x) {
  return x.defined() && x.impl()->has_policy(TensorImpl::kSymbolic);
}

// Writes f(inputs…) to each element of the result. Raises BadShape for an input that does not
// broadcast to the result's sizes.
template <typename F, typename... Inputs>
void transform(const Tensor& result, F&& f, const Inputs&... inputs) {
  using Function = detail::ElementFunction<std::remove_cvref_t<F>>;
  detail::transform_typed(typename Function::template Arguments<detail::Types>(), result, f,
                          inputs...);
}

// Writes the value to each element of the result.
template <typename T>
void fill(const Tensor& result, T value) {
  transform(result, [value] { return value; });
}

// Writes the elements of `from` to those of the result, which has the same dtype. Raises BadShape
// if they do not broadcast to the result's sizes, BadArgument for another dtype.
OPYARD_API void copy(const Tensor& result, const Tensor& from);

// result = f(…f(f(start, x0), x1)…, xn) over each dimension that x has and the result has not, or
// has with size 1, in row-major order. The result's dtype is that of `start`; if x is float16 or
// bfloat16 and `start` a float, it may be x's. Raises BadShape if the result does not broadcast to
// x's sizes.
template <typename R, typename F>
void reduce(const Tensor& result, R start, F&& f, const Tensor& x) {
  using Function = detail::ElementFunction<std::remove_cvref_t<F>>;
  detail::reduce_typed(typename Function::template Arguments<detail::Types>(), result, start, f, x);
}

// Calls f with each element, in row-major order.
template <typename F>
void for_each(F&& f, const Tensor& x) {
  using Function = detail::ElementFunction<std::remove_cvref_t<F>>;
  detail::for_each_typed(typename Function::template Arguments<detail::Types>(), f, x);
}

}  // namespace opyard
