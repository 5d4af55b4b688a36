// kernels/gradients/bounds.cpp: gradients of clamping functions at their bounds.
//
// On a bound clamp passes the gradient on to self, and hardtanh does not; what is no number is
// inside of no bounds. So PyTorch has it. All are compositions, and so differentiable again.
#include <opyard/library.h>

#include "common/check.h"
#include "common/ops.h"
#include "common/options.h"

namespace opyard::kernels {
namespace {

using namespace ops;
using Comparison = FoundOperator<Tensor(const Tensor&, const Tensor&)>;

Tensor is_at_least(const Tensor& a, const Tensor& b) {
  static constinit Comparison op("aten::ge.Tensor");
  return op.call(a, b);
}
Tensor is_below(const Tensor& a, const Tensor& b) {
  static constinit Comparison op("aten::lt.Tensor");
  return op.call(a, b);
}
Tensor summed_for(const Tensor& grad, const Tensor& argument) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("opyard::sum_to");
  return op.call(grad, argument);
}
Tensor only_where(const Tensor& grad, const Tensor& condition) {
  return masked(grad, negation(condition), 0);
}

Tensor between_self_backward(const Tensor& grad, const Tensor& self, const MaybeTensor& min,
                             const MaybeTensor& max) {
  Tensor result = grad;
  if (min) result = only_where(result, is_at_least(self, *min));
  if (max) result = only_where(result, is_at_least(*max, self));
  return summed_for(result, self);
}
// One that is None needs no gradient. Raises BadValue for it.
const Tensor& require_bound(const char* op, const char* name, const MaybeTensor& bound) {
  if (!bound) {
    refuse(ErrorKind::BadValue,
           {op, ": ", name, " is None; the bound whose gradient is asked for is needed"});
  }
  return *bound;
}
Tensor between_min_backward(const Tensor& grad, const Tensor& self, const MaybeTensor& min,
                            const MaybeTensor& max) {
  const Tensor& bound = require_bound("opyard::between_min_backward", "min", min);
  const Tensor result = only_where(grad, is_below(self, bound));
  return summed_for(max ? only_where(result, is_below(bound, *max)) : result, bound);
}
// Where min is above max, the result is max.
Tensor between_max_backward(const Tensor& grad, const Tensor& self, const MaybeTensor& min,
                            const MaybeTensor& max) {
  static constinit Comparison either("aten::logical_or");
  const Tensor& bound = require_bound("opyard::between_max_backward", "max", max);
  const Tensor above = is_below(bound, self);
  return summed_for(only_where(grad, min ? either.call(above, is_below(bound, *min)) : above),
                    bound);
}

Tensor hardtanh_backward(const Tensor& grad, const Tensor& self, const Scalar& min_val,
                         const Scalar& max_val) {
  return only_where(grad, both(self > min_val, self < max_val));
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.derivative("hardtanh", {{"self", "hardtanh_backward(grad, self, min_val, max_val)"}});
  m.derivative("clamp.Tensor", {{"self", "between_self_backward(grad, self, min, max)"},
                                {"min", "between_min_backward(grad, self, min, max)"},
                                {"max", "between_max_backward(grad, self, min, max)"}});
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("between_self_backward(Tensor grad, Tensor self, Tensor? min, Tensor? max) -> Tensor",
        &between_self_backward);
  m.def("between_min_backward(Tensor grad, Tensor self, Tensor? min, Tensor? max) -> Tensor",
        &between_min_backward);
  m.def("between_max_backward(Tensor grad, Tensor self, Tensor? min, Tensor? max) -> Tensor",
        &between_max_backward);
  m.def("hardtanh_backward(Tensor grad, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
        &hardtanh_backward);
}

}  // namespace opyard::kernels
