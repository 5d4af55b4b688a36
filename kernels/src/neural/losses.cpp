// kernels/neural/losses.cpp: loss functions, as compositions.
//
// `reduction` is 0 for none, 1 for the mean, 2 for the sum.
#include <algorithm>
#include <cmath>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/halves.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/options.h"
#include "geometry/symbolic_calls.h"

namespace opyard::kernels {
namespace {

using namespace ops;

Tensor reduced(const char* op, const Tensor& losses, std::int64_t reduction) {
  if (reduction == 0) return losses;
  if (reduction == 1) {
    require_inexact(op, "self", losses);
    return mean(losses);
  }
  if (reduction == 2) return sum(losses);
  refuse(ErrorKind::BadValue, {op, ": reduction is ", reduction,
                               "; accepted are 0 for none, 1 for the mean and 2 for the sum"});
}
Tensor apart(const char* op, const Tensor& self, const Tensor& target) {
  require_broadcast(op, {{"self", self}, {"target", target}});
  return self - target;
}
// Their squares would be complex.
Tensor real_apart(const char* op, const Tensor& self, const Tensor& target) {
  require_not_complex(op, "self", self);
  require_not_complex(op, "target", target);
  return apart(op, self, target);
}

Tensor mse_loss(const Tensor& self, const Tensor& target, std::int64_t reduction) {
  const Tensor d = real_apart("aten::mse_loss", self, target);
  return reduced("aten::mse_loss", d * d, reduction);
}
Tensor l1_loss(const Tensor& self, const Tensor& target, std::int64_t reduction) {
  return reduced("aten::l1_loss", abs(apart("aten::l1_loss", self, target)), reduction);
}
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, std::int64_t reduction,
                      double beta) {
  constexpr const char* kOp = "aten::smooth_l1_loss";
  if (!(beta >= 0)) {
    refuse(ErrorKind::BadValue, {kOp, ": beta is ", beta, "; accepted are 0 and more"});
  }
  const Tensor d = real_apart(kOp, self, target), far = abs(d);
  if (beta == 0) return reduced(kOp, far, reduction);
  const Tensor is_near = far < beta, near = masked(d, negation(is_near), 0);
  return reduced(kOp, where(is_near, near * near * (0.5 / beta), far - 0.5 * beta), reduction);
}
Tensor huber_loss(const Tensor& self, const Tensor& target, std::int64_t reduction, double delta) {
  constexpr const char* kOp = "aten::huber_loss";
  if (!(delta > 0)) {
    refuse(ErrorKind::BadValue, {kOp, ": delta is ", delta, "; accepted is more than 0"});
  }
  const Tensor d = real_apart(kOp, self, target), far = abs(d);
  if (std::isinf(delta)) return reduced(kOp, d * d * 0.5, reduction);
  const Tensor is_near = far < delta, near = masked(d, negation(is_near), 0);
  return reduced(kOp, where(is_near, near * near * 0.5, (far - 0.5 * delta) * delta), reduction);
}
Tensor kl_div(const Tensor& self, const Tensor& target, std::int64_t reduction, bool log_target) {
  constexpr const char* kOp = "aten::kl_div";
  require_not_complex(kOp, "self", self);
  require_not_complex(kOp, "target", target);
  require_broadcast(kOp, {{"self", self}, {"target", target}});
  if (log_target) return reduced(kOp, exp(target) * (target - self), reduction);
  const Tensor none = equals(target, 0);  // of a negative one the logarithm is NaN
  const Tensor entropy = masked(target * log(masked(target, none, 1)), none, 0);
  return reduced(kOp, entropy - target * self, reduction);
}
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const MaybeTensor& weight,
                            std::int64_t reduction) {
  constexpr const char* kOp = "aten::binary_cross_entropy";
  require_defined(kOp, "self", self);
  require_defined(kOp, "target", target);
  if (!std::ranges::equal(self.sizes(), target.sizes())) {
    refuse(ErrorKind::BadShape,
           {kOp, ": self is ", self, " and target is ", target, "; both must have the same sizes"});
  }
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> each(
      "opyard::certainty_losses");
  if (weight) require_broadcast(kOp, {{"self", self}, {"weight", *weight}});
  const Tensor losses = each.call(self, target);
  return reduced(kOp, weight ? losses * *weight : losses, reduction);
}
Tensor with_logits(const Tensor& self, const Tensor& target, const MaybeTensor& weight,
                   const MaybeTensor& pos_weight, std::int64_t reduction) {
  constexpr const char* kOp = "aten::binary_cross_entropy_with_logits";
  require_defined(kOp, "self", self);
  require_defined(kOp, "target", target);
  require_not_complex(kOp, "self", self);
  require_not_complex(kOp, "target", target);
  require_broadcast(kOp, {{"self", self}, {"target", target}});
  if (weight) require_broadcast(kOp, {{"self", self}, {"weight", *weight}});
  if (pos_weight) require_broadcast(kOp, {{"target", target}, {"pos_weight", *pos_weight}});
  static constinit FoundOperator<Tensor(const Tensor&)> log_sigmoid("aten::log_sigmoid");
  const bool is_of_floats = is_floating_point(self.dtype());
  const Tensor missed = -log_sigmoid.call(is_of_floats ? self : to(self, kDefaultFloat));
  const Tensor wrong = (Scalar(1) - target) * self;
  if (!std::ranges::equal(wrong.sizes(), target.sizes())) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and target is ", target,
                                 "; an element of target for each one of self is needed"});
  }
  const Tensor losses =
      wrong + (pos_weight ? missed * ((*pos_weight - Scalar(1)) * target + Scalar(1)) : missed);
  return reduced(kOp, weight ? losses * *weight : losses, reduction);
}

struct Likelihoods {
  Tensor losses, weights;
};
// Classes are dimension 1, or the only one.
Likelihoods likelihoods(const char* op, const Tensor& self, const Tensor& target,
                        const MaybeTensor& weight, std::int64_t ignored) {
  require_inexact(op, "self", self);
  require_not_complex(op, "self", self);
  require_defined(op, "target", target);
  const std::int64_t dim = self.dim() == 1 ? 0 : 1;
  DimVector sizes;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (i != dim) sizes.push_back(self.size(i));
  }
  if (self.dim() == 0 || !std::ranges::equal(sizes, target.sizes()) ||
      target.dtype() != DType::Int64) {
    refuse(ErrorKind::BadShape, {op, ": self is ", self, " and target is ", target,
                                 "; an int64 target with the sizes of self but its classes, "
                                 "dimension ",
                                 dim, ", is needed"});
  }
  if (weight && (weight->dim() != 1 || weight->numel() != self.size(dim))) {
    refuse(ErrorKind::BadShape, {op, ": weight is ", *weight, " and self is ", self,
                                 "; an element is needed for each class"});
  }
  const Tensor skipped = equals(target, ignored);
  const Tensor classes = masked(target, skipped, 0);
  const std::array<std::int64_t, 1> all = {classes.numel()};
  const Tensor weights =
      masked(weight ? reshape(index_select(*weight, 0, reshape(classes, all)), target.sizes())
                    : full(self, target.sizes(), 1, self.dtype()),
             skipped, 0);
  const Tensor picked = squeeze(gather(self, dim, ops::unsqueeze(classes, dim)), dim);
  return {masked(-picked * weights, skipped, 0), weights};
}
std::tuple<Tensor, Tensor> nll_loss_of(const char* op, const Tensor& self, const Tensor& target,
                                       const MaybeTensor& weight, std::int64_t reduction,
                                       std::int64_t ignore_index) {
  const Likelihoods all = likelihoods(op, self, target, weight, ignore_index);
  if (reduction == 0 && self.dim() > 1) return {all.losses, zeros(self, {})};
  const Tensor total = sum(widened(all.weights)), rounded = to(total, all.weights.dtype());
  if (reduction == 1) return {to(sum(widened(all.losses)) / total, self.dtype()), rounded};
  return {reduced(op, all.losses, reduction), rounded};
}
std::tuple<Tensor, Tensor> nll_loss_forward(const Tensor& self, const Tensor& target,
                                            const MaybeTensor& weight, std::int64_t reduction,
                                            std::int64_t ignore_index) {
  return nll_loss_of("aten::nll_loss_forward", self, target, weight, reduction, ignore_index);
}
Tensor nll_loss(const Tensor& self, const Tensor& target, const MaybeTensor& weight,
                std::int64_t reduction, std::int64_t ignore_index) {
  return std::get<0>(nll_loss_of("aten::nll_loss", self, target, weight, reduction, ignore_index));
}
// The same under the names that PyTorch has for losses of images, and for those of any dimensions.
std::tuple<Tensor, Tensor> nll_loss2d_forward(const Tensor& self, const Tensor& target,
                                              const MaybeTensor& weight, std::int64_t reduction,
                                              std::int64_t ignore_index) {
  return nll_loss_of("aten::nll_loss2d_forward", self, target, weight, reduction, ignore_index);
}
Tensor nll_loss2d(const Tensor& self, const Tensor& target, const MaybeTensor& weight,
                  std::int64_t reduction, std::int64_t ignore_index) {
  return std::get<0>(
      nll_loss_of("aten::nll_loss2d", self, target, weight, reduction, ignore_index));
}
Tensor nll_loss_nd(const Tensor& self, const Tensor& target, const MaybeTensor& weight,
                   std::int64_t reduction, std::int64_t ignore_index) {
  return std::get<0>(
      nll_loss_of("aten::nll_loss_nd", self, target, weight, reduction, ignore_index));
}

// Of probabilities of classes instead of their numbers.
Tensor soft_cross_entropy(const char* op, const Tensor& logs, const Tensor& target,
                          const MaybeTensor& weight, std::int64_t reduction, double smoothing,
                          std::int64_t dim) {
  if (!std::ranges::equal(logs.sizes(), target.sizes())) {
    refuse(ErrorKind::BadShape, {op, ": self is ", logs, " and target is ", target,
                                 "; probabilities need the sizes of self"});
  }
  const double classes = double(logs.size(dim));
  const Tensor wanted = smoothing > 0 ? target * (1 - smoothing) + smoothing / classes : target;
  DimVector sizes(std::size_t(logs.dim()), 1);
  sizes[std::size_t(dim)] = logs.size(dim);
  const Tensor each = wanted * logs;
  const std::array<std::int64_t, 1> dims = {dim};
  const Tensor losses = -sum(weight ? each * reshape(*weight, sizes) : each, dims);
  if (reduction == 1) return sum(losses) / double(losses.numel());
  return reduced(op, losses, reduction);
}

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const MaybeTensor& weight,
                          std::int64_t reduction, std::int64_t ignore_index,
                          double label_smoothing) {
  constexpr const char* kOp = "aten::cross_entropy_loss";
  require_defined(kOp, "self", self);
  require_defined(kOp, "target", target);
  if (!(label_smoothing >= 0 && label_smoothing <= 1)) {
    refuse(ErrorKind::BadValue,
           {kOp, ": label_smoothing is ", label_smoothing, "; accepted are 0 to 1"});
  }
  if (is_half(self)) {
    return to(cross_entropy_loss(widened(self), widened(target), widened(weight), reduction,
                                 ignore_index, label_smoothing),
              self.dtype());
  }
  if (self.dim() == 0) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, "; a dimension of classes is needed"});
  }
  const std::int64_t dim = self.dim() == 1 ? 0 : 1;
  const Tensor logs = named(kOp, "aten::log_softmax.int", [&] { return log_softmax(self, dim); });
  if (is_floating_point(target.dtype())) {
    return soft_cross_entropy(kOp, logs, target, weight, reduction, label_smoothing, dim);
  }
  const Likelihoods all = likelihoods(kOp, logs, target, weight, ignore_index);
  const auto joined = [&](const Tensor& losses) {
    if (reduction == 1) return sum(losses) / sum(all.weights);
    return reduced(kOp, losses, reduction);
  };
  if (label_smoothing == 0) return joined(all.losses);
  DimVector sizes(std::size_t(self.dim()), 1);
  sizes[std::size_t(dim)] = self.size(dim);
  const std::array<std::int64_t, 1> dims = {dim};
  const Tensor spread = masked(-sum(weight ? logs * reshape(*weight, sizes) : logs, dims),
                               equals(target, ignore_index), 0);
  const double share = label_smoothing / double(self.size(dim));
  return joined(all.losses) * (1 - label_smoothing) + joined(spread) * share;
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
          "l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
          "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0) -> Tensor",
          "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0) -> Tensor",
          "kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
          "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) "
          "-> Tensor",
          "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
          "Tensor? pos_weight=None, int reduction=1) -> Tensor",
          "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
          "ignore_index) -> (Tensor output, Tensor total_weight)",
          "nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
          "ignore_index) -> (Tensor output, Tensor total_weight)"});
  m.impl("mse_loss", &mse_loss);
  m.impl("l1_loss", &l1_loss);
  m.impl("smooth_l1_loss", &smooth_l1_loss);
  m.impl("huber_loss", &huber_loss);
  m.impl("kl_div", &kl_div);
  m.impl("binary_cross_entropy", &binary_cross_entropy);
  m.impl("binary_cross_entropy_with_logits", &with_logits);
  m.impl("nll_loss_forward", Kernel::with_symbolic<&nll_loss_forward, &symbolic_elsewhere>());
  m.impl("nll_loss2d_forward", Kernel::with_symbolic<&nll_loss2d_forward, &symbolic_elsewhere>());
  for (const char* name : {"nll_loss", "nll_loss2d", "nll_loss_nd"}) {
    define(m, std::string(name) +
                  "(Tensor self, Tensor target, Tensor? weight=None, int "
                  "reduction=1, SymInt ignore_index=-100) -> Tensor");
  }
  m.impl("nll_loss", Kernel::with_symbolic<&nll_loss, &symbolic_elsewhere>());
  m.impl("nll_loss2d", Kernel::with_symbolic<&nll_loss2d, &symbolic_elsewhere>());
  m.impl("nll_loss_nd", Kernel::with_symbolic<&nll_loss_nd, &symbolic_elsewhere>());
  define(m,
         "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
         "SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor");
  m.impl("cross_entropy_loss", Kernel::with_symbolic<&cross_entropy_loss, &symbolic_elsewhere>());
}

}  // namespace opyard::kernels
