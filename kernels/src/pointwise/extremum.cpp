// kernels/pointwise/extremum.cpp: maximum, minimum, clamp, relu.
//
// NaN wins: where one of two elements is NaN, so is the result. Where clamp's min lies above
// its max, the result is max.
#include <opyard/library.h>

#include <limits>

#include "pointwise/loops.h"

namespace opyard::kernels {
namespace {

template <typename T>
struct Larger {
  static T apply(T a, T b) { return a > b || is_nan(a) ? a : b; }
};
template <typename T>
struct Smaller {
  static T apply(T a, T b) { return a < b || is_nan(a) ? a : b; }
};
template <typename T>
struct Positive {
  static T apply(T a) { return a < 0 ? T(0) : a; }
};

constexpr Loops kLarger = binary_loops<Larger, bool, std::int64_t, float, double>();
constexpr Loops kSmaller = binary_loops<Smaller, bool, std::int64_t, float, double>();
constexpr Loops kPositive = unary_loops<Positive, std::int64_t, float, double>();

template <typename T>
void clamp_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                const void*) {
  const T low = *reinterpret_cast<const T*>(data[2]);
  const T high = *reinterpret_cast<const T*>(data[3]);
  std::byte* to = data[0];
  const std::byte* from = data[1];
  for (std::int64_t i = 0; i < count; ++i, to += steps[0], from += steps[1]) {
    const T value = *reinterpret_cast<const T*>(from);
    *reinterpret_cast<T*>(to) = Smaller<T>::apply(Larger<T>::apply(value, low), high);
  }
}
constexpr Loops kClamp = {
    {nullptr, &clamp_loop<std::int64_t>, &clamp_loop<float>, &clamp_loop<double>}};

Computation same_dtype(const Elementwise& call, const Loops& loops) {
  const DType dtype = call.common();
  return {call.choose(loops, dtype), dtype, dtype};
}

Tensor maximum(const Tensor& self, const Tensor& other) {
  const Elementwise call("aten::maximum", self, other);
  return call.run(same_dtype(call, kLarger));
}
Tensor minimum(const Tensor& self, const Tensor& other) {
  const Elementwise call("aten::minimum", self, other);
  return call.run(same_dtype(call, kSmaller));
}
Tensor max_other(const Tensor& self, const Tensor& other) {
  static const auto op =
      require_operator("aten::maximum").typed<Tensor(const Tensor&, const Tensor&)>();
  return op.call(self, other);
}
Tensor min_other(const Tensor& self, const Tensor& other) {
  static const auto op =
      require_operator("aten::minimum").typed<Tensor(const Tensor&, const Tensor&)>();
  return op.call(self, other);
}

Tensor clamp(const Tensor& self, const std::optional<Scalar>& min,
             const std::optional<Scalar>& max) {
  Elementwise call("aten::clamp", self);
  if (!min && !max) {
    refuse(ErrorKind::BadArgument,
           {call.op(), ": min and max are both None; give at least one of them"});
  }
  if (min) call.promote_with(*min);
  if (max) call.promote_with(*max);
  // A bound that is not given is one that nothing passes.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool is_float = is_floating_point(call.common());
  const Scalar low = min ? *min : is_float ? Scalar(-kInfinity) : Scalar(std::int64_t{INT64_MIN});
  const Scalar high = max ? *max : is_float ? Scalar(kInfinity) : Scalar(std::int64_t{INT64_MAX});
  call.constant("min", low);
  call.constant("max", high);
  return call.run(same_dtype(call, kClamp));
}

Tensor relu(const Tensor& self) {
  const Elementwise call("aten::relu", self);
  return call.run(same_dtype(call, kPositive));
}
Tensor& relu_in_place(Tensor& self) {
  const Elementwise call("aten::relu_", self);
  return call.run_into("self", self, same_dtype(call, kPositive));
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("maximum(Tensor self, Tensor other) -> Tensor");
  m.def("minimum(Tensor self, Tensor other) -> Tensor");
  m.def("max.other(Tensor self, Tensor other) -> Tensor", &max_other);
  m.def("min.other(Tensor self, Tensor other) -> Tensor", &min_other);
  m.def("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor");
  m.def("relu(Tensor self) -> Tensor");
  m.def("relu_(Tensor(a!) self) -> Tensor(a!)");
}

OPYARD_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("maximum", &maximum);
  m.impl("minimum", &minimum);
  m.impl("clamp", &clamp);
  m.impl("relu", &relu);
  m.impl("relu_", &relu_in_place);
}

}  // namespace opyard::kernels
