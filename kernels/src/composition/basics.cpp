// kernels/composition/basics.cpp: operators of Core ATen that are a few others in a row: var and
// std, bounds by tensors, repetition and reversal, triangles, and the forms of writes that copy.
#include <algorithm>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/halves.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/order.h"
#include "common/symbolic.h"
#include "geometry/symbolic_calls.h"

namespace opyard::kernels {
namespace {

using namespace ops;

Tensor var(const char* op, const Tensor& self, MaybeDims dim, double correction, bool keepdim) {
  require_defined(op, "self", self);
  if (is_complex(self.dtype())) {
    return var(op, real(self), dim, correction, keepdim) +
           var(op, imag(self), dim, correction, keepdim);
  }
  if (!is_floating_point(self.dtype())) {
    refuse(ErrorKind::BadArgument,
           {op, ": self is ", self, "; a float is needed, to which aten::to.dtype converts"});
  }
  if (is_half(self)) return to(var(op, widened(self), dim, correction, keepdim), self.dtype());
  DimVector dims(dim.value_or(IntSpan()));
  if (dims.empty()) {
    for (std::int64_t i = 0; i < self.dim(); ++i) dims.push_back(i);
  }
  const SmallVector<bool, 8> flags = dim_flags(op, dims, self.dim());
  double count = 1;
  for (std::size_t i = 0; i < self.sizes().size(); ++i) {
    if (flags[i]) count *= double(self.sizes()[i]);
  }
  const Tensor apart = self - mean(self, dims, true);
  return sum(apart * apart, dims, keepdim) / std::max(0.0, count - correction);
}
DimVector every_dim(const Tensor& self) {
  DimVector dims;
  for (std::int64_t i = 0; i < self.dim(); ++i) dims.push_back(i);
  return dims;
}
Tensor var_all(const Tensor& self, bool unbiased) {
  return var("aten::var", self, std::nullopt, unbiased ? 1 : 0, false);
}
Tensor var_dim(const Tensor& self, MaybeDims dim, bool unbiased, bool keepdim) {
  return var("aten::var.dim", self, dim, unbiased ? 1 : 0, keepdim);
}
double number_of(const char* op, const std::optional<Scalar>& correction) {
  if (!correction) return 1;
  require_real(op, "correction", *correction);
  return correction->to_double();
}
Tensor var_correction(const Tensor& self, MaybeDims dim, const std::optional<Scalar>& correction,
                      bool keepdim) {
  constexpr const char* kOp = "aten::var.correction";
  return var(kOp, self, dim, number_of(kOp, correction), keepdim);
}
// The root of the variance, of halves in float32.
Tensor deviation(const char* op, const Tensor& self, MaybeDims dim, double correction,
                 bool keepdim) {
  return rounded_once(
      [&](const Tensor& x) { return root(var(op, x, dim, correction, keepdim), 2); }, self);
}
TwoTensors var_mean_all(const Tensor& self, bool unbiased) {
  return {var("aten::var_mean", self, std::nullopt, unbiased ? 1 : 0, false), mean(self)};
}
Tensor mean_of(const Tensor& self, MaybeDims dim, bool keepdim) {
  return dim && !dim->empty() ? mean(self, *dim, keepdim) : mean(self, every_dim(self), keepdim);
}
TwoTensors var_mean_dim(const Tensor& self, MaybeDims dim, bool unbiased, bool keepdim) {
  return {var("aten::var_mean.dim", self, dim, unbiased ? 1 : 0, keepdim),
          mean_of(self, dim, keepdim)};
}
TwoTensors var_mean_correction(const Tensor& self, MaybeDims dim,
                               const std::optional<Scalar>& correction, bool keepdim) {
  constexpr const char* kOp = "aten::var_mean.correction";
  return {var(kOp, self, dim, number_of(kOp, correction), keepdim), mean_of(self, dim, keepdim)};
}
Tensor std_all(const Tensor& self, bool unbiased) {
  return deviation("aten::std", self, std::nullopt, unbiased ? 1 : 0, false);
}
Tensor std_dim(const Tensor& self, MaybeDims dim, bool unbiased, bool keepdim) {
  return deviation("aten::std.dim", self, dim, unbiased ? 1 : 0, keepdim);
}
Tensor std_correction(const Tensor& self, MaybeDims dim, const std::optional<Scalar>& correction,
                      bool keepdim) {
  constexpr const char* kOp = "aten::std.correction";
  return deviation(kOp, self, dim, number_of(kOp, correction), keepdim);
}
TwoTensors std_mean_all(const Tensor& self, bool unbiased) {
  return {deviation("aten::std_mean", self, std::nullopt, unbiased ? 1 : 0, false), mean(self)};
}
TwoTensors std_mean_dim(const Tensor& self, MaybeDims dim, bool unbiased, bool keepdim) {
  return {deviation("aten::std_mean.dim", self, dim, unbiased ? 1 : 0, keepdim),
          mean_of(self, dim, keepdim)};
}
TwoTensors std_mean_correction(const Tensor& self, MaybeDims dim,
                               const std::optional<Scalar>& correction, bool keepdim) {
  constexpr const char* kOp = "aten::std_mean.correction";
  return {deviation(kOp, self, dim, number_of(kOp, correction), keepdim),
          mean_of(self, dim, keepdim)};
}

// Along one dimension after another, the last first. An empty list names no dimension.
template <typename Op>
Tensor along_each(const char* name, const Tensor& self, MaybeDims dim, bool keepdim, const Op& op) {
  require_defined(name, "self", self);
  DimVector dims(dim.value_or(IntSpan()));
  if (!dim) {
    for (std::int64_t i = 0; i < self.dim(); ++i) dims.push_back(i);
  }
  const SmallVector<bool, 8> flags = dim_flags(name, dims, self.dim());
  Tensor result = differs(self, 0);
  for (std::size_t i = self.sizes().size(); i-- > 0;) {
    if (flags[i]) result = op.call(result, std::int64_t(i), keepdim);
  }
  return self.dtype() == DType::UInt8 ? to(result, DType::UInt8) : result;  // as of one dimension
}
using AlongOne = Tensor(const Tensor&, std::int64_t, bool);
Tensor any_dims(const Tensor& self, MaybeDims dim, bool keepdim) {
  static constinit FoundOperator<AlongOne> op("aten::any.dim");
  return along_each("aten::any.dims", self, dim, keepdim, op);
}
Tensor all_dims(const Tensor& self, MaybeDims dim, bool keepdim) {
  static constinit FoundOperator<AlongOne> op("aten::all.dim");
  return along_each("aten::all.dims", self, dim, keepdim, op);
}

Tensor clamp_between(const Tensor& self, const MaybeTensor& min, const MaybeTensor& max) {
  constexpr const char* kOp = "aten::clamp.Tensor";
  require_defined(kOp, "self", self);
  if (!min && !max) {
    refuse(ErrorKind::BadArgument, {kOp, ": min and max are both None; give at least one of them"});
  }
  if (min) require_broadcast(kOp, {{"self", self}, {"min", *min}});
  if (max) require_broadcast(kOp, {{"self", self}, {"max", *max}});
  if (!max) return maximum(self, *min);
  if (!min) return minimum(self, *max);
  require_broadcast(kOp, {{"min", *min}, {"max", *max}});
  const auto [x, least, most] = promoted(kOp, {{"self", self}, {"min", *min}, {"max", *max}});
  return minimum(maximum(x, least), most);
}
Tensor clamp_min(const Tensor& self, const Scalar& min) {
  return named("aten::clamp_min", "aten::clamp", [&] { return clamp(self, min, std::nullopt); });
}
Tensor clamp_max(const Tensor& self, const Scalar& max) {
  return named("aten::clamp_max", "aten::clamp", [&] { return clamp(self, std::nullopt, max); });
}
Tensor square(const Tensor& self) {
  require_defined("aten::square", "self", self);
  return self.dtype() == DType::Bool ? to(self, DType::Int64) : self * self;
}
// x + d * factor in one loop, if that is of floats.
Tensor plus_scaled(const Tensor& x, const Tensor& d, const Scalar& factor) {
  if (!is_floating_point(d.dtype()) || factor.is_complex()) return x + d * factor;
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, const Scalar&)> add(
      "aten::add.Tensor");
  return add.call(x, d, factor);
}
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  const auto [added, first, second] =
      promoted("aten::addcmul", {{"self", self}, {"tensor1", tensor1}, {"tensor2", tensor2}});
  require_broadcast("aten::addcmul", {{"self", self}, {"tensor1", tensor1}, {"tensor2", tensor2}});
  return rounded_once([&](const Tensor& x, const Tensor& a,
                          const Tensor& b) { return plus_scaled(x, a * b, value); },
                      added, first, second);
}
Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  const auto [added, first, second] =
      promoted("aten::addcdiv", {{"self", self}, {"tensor1", tensor1}, {"tensor2", tensor2}});
  require_broadcast("aten::addcdiv", {{"self", self}, {"tensor1", tensor1}, {"tensor2", tensor2}});
  return rounded_once([&](const Tensor& x, const Tensor& a,
                          const Tensor& b) { return plus_scaled(x, a / b, value); },
                      added, first, second);
}
Tensor lerp(const Tensor& self, const Tensor& end, const Scalar& weight) {
  constexpr const char* kOp = "aten::lerp.Scalar";
  require_defined(kOp, "self", self);
  require_defined(kOp, "end", end);
  if (self.dtype() != end.dtype()) {
    refuse(ErrorKind::BadArgument,
           {kOp, ": self is ", self, " and end is ", end, "; both need one dtype"});
  }
  require_broadcast(kOp, {{"self", self}, {"end", end}});
  return rounded_once(
      [&](const Tensor& x, const Tensor& y) {
        if (weight.to_double() < 0.5) return plus_scaled(x, y - x, weight);
        return plus_scaled(y, y - x, weight.to_double() - 1);
      },
      self, end);
}

Tensor lerp_by_tensor(const Tensor& self, const Tensor& end, const Tensor& weight) {
  constexpr const char* kOp = "aten::lerp.Tensor";
  require_defined(kOp, "self", self);
  require_defined(kOp, "end", end);
  require_defined(kOp, "weight", weight);
  if (self.dtype() != end.dtype() || self.dtype() != weight.dtype()) {
    refuse(ErrorKind::BadArgument, {kOp, ": self is ", self, ", end is ", end, " and weight is ",
                                    weight, "; all need one dtype"});
  }
  require_broadcast(kOp, {{"self", self}, {"end", end}, {"weight", weight}});
  return rounded_once(
      [&](const Tensor& x, const Tensor& y, const Tensor& by) {
        const Tensor apart = y - x;
        return where(abs(by) < 0.5, x + apart * by, y - apart * (Scalar(1) - by));
      },
      self, end, weight);
}

// Each dimension gets one before it, which is expanded; a copy, which is row-major, joins the two.
Tensor repeat(const Tensor& self, IntSpan repeats) {
  constexpr const char* kOp = "aten::repeat";
  require_defined(kOp, "self", self);
  const std::size_t own = self.sizes().size();
  if (repeats.size() < own) {
    refuse(ErrorKind::BadShape, {kOp, ": repeats are ", repeats, " and self is ", self,
                                 "; a number is needed for each of its dimensions"});
  }
  require_sizes(kOp, repeats);
  const std::size_t lead = repeats.size() - own;
  DimVector split, spread, joined;
  bool fits = true;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const std::int64_t size = i < lead ? 1 : self.sizes()[i - lead];
    split.push_back(1);
    split.push_back(size);
    spread.push_back(repeats[i]);
    spread.push_back(size);
    std::int64_t all = 0;
    fits = fits && !__builtin_mul_overflow(size, repeats[i], &all);
    joined.push_back(all);
  }
  if (!fits) {
    refuse(ErrorKind::BadShape, {kOp, ": repeats are ", repeats, " and self is ", self,
                                 "; their products must fit in 64 bits"});
  }
  require_sizes_of(kOp, "the result", joined, self.dtype());
  using Clone = Tensor(const Tensor&, std::optional<MemoryFormat>);
  static constinit FoundOperator<Clone> copy_of("aten::clone");
  const Tensor whole = ops::expand(reshape(self, split), spread);
  return reshape(copy_of.call(whole, MemoryFormat::Contiguous), joined);
}
// The dimensions in the order of their strides, the largest first.
DimVector outermost_first(const DimVector& strides) {
  DimVector order;
  for (std::size_t i = 0; i < strides.size(); ++i) order.push_back(std::int64_t(i));
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return strides[std::size_t(a)] > strides[std::size_t(b)];
  });
  return order;
}
// A copy keeps the order of dimensions in memory, so it is made in that order.
Tensor flip(const Tensor& self, IntSpan dims) {
  constexpr const char* kOp = "aten::flip";
  require_defined(kOp, "self", self);
  const SmallVector<bool, 8> flags = dim_flags(kOp, dims, self.dim());
  if (std::ranges::find(flags, true) == flags.end()) return clone(self);
  const std::array<Laid, 1> laid = {{{self.sizes(), self.strides()}}};
  const DimVector strides = ordered_strides(self.sizes(), laid), order = outermost_first(strides);
  DimVector back(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) back[std::size_t(order[i])] = std::int64_t(i);
  const bool is_ordered = std::ranges::is_sorted(order);
  Tensor result = is_ordered ? self : ops::permute(self, order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!flags[std::size_t(order[i])]) continue;
    const std::int64_t size = result.sizes()[i];
    result = index_select(result, std::int64_t(i), Scalar(size - 1) - arange(self, size));
  }
  if (result.same(self)) return clone(self);  // without dimensions
  return is_ordered ? result : ops::permute(result, back);
}
Tensor roll(const Tensor& self, IntSpan shifts, IntSpan dims) {
  constexpr const char* kOp = "aten::roll";
  require_defined(kOp, "self", self);
  if (has_symbolic_sizes(self)) return clone(self);  // where elements are does not show on meta
  if (dims.empty() && shifts.size() == 1) {
    const std::array<std::int64_t, 1> all = {self.numel()}, first = {0};
    return reshape(roll(reshape(self, all), shifts, first), self.sizes());
  }
  if (shifts.size() != dims.size()) {
    refuse(ErrorKind::BadValue,
           {kOp, ": shifts are ", shifts, " and dims are ", dims, "; as many of each are needed"});
  }
  Tensor result = self;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t at = wrap_dim(kOp, dims[i], self.dim());
    const std::int64_t size = self.size(at);
    if (size == 0) continue;
    const std::int64_t shift = shifts[i] % size, cut = shift > 0 ? size - shift : -shift;
    result = cat({ops::narrow(result, at, cut, size - cut), ops::narrow(result, at, 0, cut)}, at);
  }
  return result.same(self) ? clone(self) : result;
}

Tensor triangle(const char* op, const Tensor& self, std::int64_t diagonal, bool upper) {
  require_defined(op, "self", self);
  if (self.dim() < 2) {
    refuse(ErrorKind::BadShape, {op, ": self is ", self, "; at least two dimensions are needed"});
  }
  if (has_symbolic_sizes(self)) {  // which elements stay does not show on meta
    const std::array<std::int64_t, 2> one = {1, 1};
    return masked(self, Tensor::empty(one, DType::Bool, self.device()), 0);
  }
  const Tensor rows = ops::unsqueeze(arange(self, self.size(-2)), 1);
  const Tensor distance = ops::unsqueeze(arange(self, self.size(-1)), 0) - rows;
  const Scalar edge(diagonal);
  return masked(self, upper ? distance < edge : distance > edge, 0);
}
Tensor tril(const Tensor& self, std::int64_t diagonal) {
  return triangle("aten::tril", self, diagonal, false);
}
Tensor triu(const Tensor& self, std::int64_t diagonal) {
  return triangle("aten::triu", self, diagonal, true);
}

// A copy in which a part is written.
Tensor replaced(const char* op, const Tensor& copy, const Tensor& part, const Tensor& src) {
  if (const SizeClash difference = find_difference(part.sizes(), src.sizes())) {
    refuse_target(op, {"the part of self", part.sizes()}, {"src", src}, difference);
  }
  copy_into(part, src);
  return copy;
}
Tensor select_scatter(const Tensor& self, const Tensor& src, std::int64_t dim, std::int64_t index) {
  const Tensor copy = clone(self);
  constexpr const char* kOp = "aten::select_scatter";
  const Tensor part = named(kOp, "aten::select.int", [&] { return ops::select(copy, dim, index); });
  return replaced(kOp, copy, part, src);
}
Tensor slice_scatter(const Tensor& self, const Tensor& src, std::int64_t dim,
                     std::optional<std::int64_t> start, std::optional<std::int64_t> end,
                     std::int64_t step) {
  const Tensor copy = clone(self);
  constexpr const char* kOp = "aten::slice_scatter";
  const Tensor part =
      named(kOp, "aten::slice.Tensor", [&] { return slice(copy, dim, start, end, step); });
  return replaced(kOp, copy, part, src);
}
Tensor index_put_copy(const Tensor& self, const Indices& indices, const Tensor& values,
                      bool accumulate) {
  using Put = Tensor&(Tensor&, const Indices&, const Tensor&, bool);
  static constinit FoundOperator<Put> op("aten::index_put_");
  Tensor copy = clone(self);
  named("aten::index_put", "aten::index_put_", [&] { op.call(copy, indices, values, accumulate); });
  return copy;
}
Tensor copy(const Tensor& self, const Tensor& src, bool /*non_blocking*/) {
  require_expandable("aten::copy", {"src", src}, {"self", self});
  return clone(ops::expand(to(src, self.dtype()), self.sizes()));
}
Tensor fill(const Tensor& self, const Scalar& value) {
  require_defined("aten::fill.Scalar", "self", self);
  return constant_like(self, value);
}
Tensor fill_by_tensor(const Tensor& self, const Tensor& value) {
  static constinit FoundOperator<Tensor&(Tensor&, const Tensor&)> op("aten::fill_.Tensor");
  require_defined("aten::fill.Tensor", "self", self);
  Tensor result = constant_like(self, 0);
  named("aten::fill.Tensor", "aten::fill_.Tensor", [&] { op.call(result, value); });
  return result;
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, {"var(Tensor self, bool unbiased=True) -> Tensor",
             "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
             "std(Tensor self, bool unbiased=True) -> Tensor",
             "std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
             "any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
             "all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
             "clamp_min(Tensor self, Scalar min) -> Tensor",
             "clamp_max(Tensor self, Scalar max) -> Tensor",
             "square(Tensor self) -> Tensor",
             "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
             "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
             "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
             "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
             "repeat(Tensor self, SymInt[] repeats) -> Tensor",
             "flip(Tensor self, int[] dims) -> Tensor",
             "roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
             "tril(Tensor self, SymInt diagonal=0) -> Tensor",
             "triu(Tensor self, SymInt diagonal=0) -> Tensor",
             "select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
             "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? "
             "end=None, SymInt step=1) -> Tensor",
             "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
             "Tensor",
             "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
             "fill.Scalar(Tensor self, Scalar value) -> Tensor",
             "fill.Tensor(Tensor self, Tensor value) -> Tensor"});
  define(m,
         {"var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
          "keepdim=False) -> Tensor",
          "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
          "keepdim=False) -> Tensor",
          "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor"},
         Tagged::Overlapping);
  m.impl("var", &var_all);
  m.impl("var.dim", &var_dim);
  m.impl("var.correction", &var_correction);
  m.impl("std", &std_all);
  m.impl("std.dim", &std_dim);
  m.impl("std.correction", &std_correction);
  define(m, {"var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
             "std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
             "var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
             "(Tensor, Tensor)",
             "std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
             "(Tensor, Tensor)"});
  define(m,
         {"var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
          "keepdim=False) -> (Tensor, Tensor)",
          "std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
          "keepdim=False) -> (Tensor, Tensor)"},
         Tagged::Overlapping);
  m.impl("var_mean", &var_mean_all);
  m.impl("var_mean.dim", &var_mean_dim);
  m.impl("var_mean.correction", &var_mean_correction);
  m.impl("std_mean", &std_mean_all);
  m.impl("std_mean.dim", &std_mean_dim);
  m.impl("std_mean.correction", &std_mean_correction);
  m.impl("any.dims", &any_dims);
  m.impl("all.dims", &all_dims);
  m.impl("clamp_min", &clamp_min);
  m.impl("clamp_max", &clamp_max);
  m.impl("square", &square);
  m.impl("addcmul", &addcmul);
  m.impl("addcdiv", &addcdiv);
  m.impl("lerp.Scalar", &lerp);
  m.impl("lerp.Tensor", &lerp_by_tensor);
  m.impl("repeat", Kernel::with_symbolic<&repeat, &symbolic_repeat>());
  m.impl("flip", &flip);
  m.impl("roll", Kernel::with_symbolic<&roll, &symbolic_elsewhere>());
  m.impl("tril", Kernel::with_symbolic<&tril, &symbolic_elsewhere>());
  m.impl("triu", Kernel::with_symbolic<&triu, &symbolic_elsewhere>());
  m.impl("select_scatter", Kernel::with_symbolic<&select_scatter, &symbolic_scatter>());
  m.impl("slice_scatter", Kernel::with_symbolic<&slice_scatter, &symbolic_scatter>());
  m.impl("index_put", &index_put_copy);
  m.impl("copy", &copy);
  m.impl("fill.Scalar", &fill);
  m.impl("fill.Tensor", &fill_by_tensor);
  for (const char* name : {"clamp_min", "clamp_max", "square", "addcmul", "addcdiv", "lerp.Scalar",
                           "lerp.Tensor", "tril", "triu"}) {
    define_in_place(m, name);
  }
  for (const char* name :
       {"clamp_min", "clamp_max", "square", "addcmul", "addcdiv", "tril", "triu"}) {
    define_out(m, name);
  }
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) { m.impl("clamp.Tensor", &clamp_between); }

}  // namespace opyard::kernels
