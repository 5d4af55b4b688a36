// kernels/pointwise/extremum.cpp: maximum, minimum, clamp, relu.
//
// NaN wins: if one of two elements is NaN, so is the result. If clamp's min is above
// its max, the result is max.
#include <opyard/library.h>

#include <limits>

#include "common/block_functions.h"
#include "common/broadcast.h"
#include "common/builds.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "pointwise/elementwise.h"

namespace opyard::kernels {
namespace {

Computation extremum_in_own_dtype(const Elementwise& call, const Loops& loops) {
  const DType dtype = call.common();
  return {.loop = call.choose_for_all(loops, dtype),
          .computed = dtype,
          .result = dtype,
          .in_order = true};
}

// A uint64 is above 0 in any order but that of extremum_in_own_dtype().
Computation positive_part(const Elementwise& call) {
  const DType dtype = call.common();
  return {call.choose(loops().selection.positive, dtype), dtype, dtype};
}

Tensor maximum_kernel(const Tensor& self, const Tensor& other) {
  const Elementwise call("aten::maximum", self, other);
  return call.run(extremum_in_own_dtype(call, loops().selection.larger));
}
Tensor minimum_kernel(const Tensor& self, const Tensor& other) {
  const Elementwise call("aten::minimum", self, other);
  return call.run(extremum_in_own_dtype(call, loops().selection.smaller));
}
Tensor max_other(const Tensor& self, const Tensor& other) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::maximum");
  return named("aten::max.other", "aten::maximum", [&] { return op.call(self, other); });
}
Tensor min_other(const Tensor& self, const Tensor& other) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::minimum");
  return named("aten::min.other", "aten::minimum", [&] { return op.call(self, other); });
}

// Bounds that nothing passes.
Scalar lowest(DType dtype) {
  if (!is_integral(dtype)) return -std::numeric_limits<double>::infinity();
  return is_unsigned(dtype) ? std::int64_t{0} : INT64_MIN >> (64 - 8 * item_size(dtype));
}
Scalar highest(DType dtype) {
  if (!is_integral(dtype)) return std::numeric_limits<double>::infinity();
  const std::size_t unused = 64 - 8 * item_size(dtype);
  return is_unsigned(dtype) ? INT64_MAX >> (unused - 1) : INT64_MAX >> unused;
}
// No number of a schema is the highest uint64.
Tensor clamp_uint64_below(Elementwise& call, const Scalar& min) {
  call.constant("min", min);
  return call.run(extremum_in_own_dtype(call, loops().selection.larger));
}

Tensor clamp_kernel(const Tensor& self, const std::optional<Scalar>& min,
                    const std::optional<Scalar>& max) {
  Elementwise call("aten::clamp", self);
  if (!min && !max) {
    refuse(ErrorKind::BadArgument,
           {call.op(), ": min and max are both None; give at least one of them"});
  }
  if (min) call.promote_with(*min);
  if (max) call.promote_with(*max);
  if (!max && call.common() == DType::UInt64) return clamp_uint64_below(call, *min);
  const Scalar low = min ? *min : lowest(call.common());
  const Scalar high = max ? *max : highest(call.common());
  call.constant("min", low);
  call.constant("max", high);
  return call.run(extremum_in_own_dtype(call, loops().selection.clamp));
}

Tensor relu_kernel(const Tensor& self) {
  if (Tensor result = of_alike(loops().selection.positive, self); result.defined()) return result;
  const Elementwise call("aten::relu", self);
  return call.run(positive_part(call));
}
Tensor& relu_in_place(Tensor& self) {
  const Elementwise call("aten::relu_", self);
  return call.run_into("self", self, positive_part(call));
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("maximum(Tensor self, Tensor other) -> Tensor");
  m.def("minimum(Tensor self, Tensor other) -> Tensor");
  m.def("max.other(Tensor self, Tensor other) -> Tensor", &max_other);
  m.def("min.other(Tensor self, Tensor other) -> Tensor", &min_other);
  m.def("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor");
  define_in_place(m, "clamp", Form::WithFormula);
  m.def("relu(Tensor self) -> Tensor");
  m.def("relu_(Tensor(a!) self) -> Tensor(a!)");
}

OPYARD_KERNELS(m) {
  name_build(m);
  fusible("aten::maximum", "", &maximum_kernel, loops().selection.larger);
  fusible("aten::minimum", "", &minimum_kernel, loops().selection.smaller);
  fusible("aten::relu", "", &relu_kernel, loops().selection.positive);
  m.impl("maximum", &maximum_kernel);
  m.impl("minimum", &minimum_kernel);
  m.impl("clamp", &clamp_kernel);
  m.impl("relu", &relu_kernel);
  m.impl("relu_", &relu_in_place);
}

}  // namespace opyard::kernels
