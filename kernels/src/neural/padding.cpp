// kernels/neural/padding.cpp: padding with a number, or with what is there: constant_pad_nd, the
// reflection and replication forms, and pad.
//
// What is there is read by index_select, one dimension after another.
#include <algorithm>
#include <limits>
#include <string_view>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "geometry/symbolic_calls.h"

namespace opyard::kernels {
namespace {

using namespace ops;

// The size of a dimension with so many elements before and after it; below zero if it has none,
// or one past 64 bits.
std::int64_t padded_size(std::int64_t size, std::int64_t before, std::int64_t after) {
  const bool is_past =
      __builtin_add_overflow(size, before, &size) || __builtin_add_overflow(size, after, &size);
  return is_past ? std::numeric_limits<std::int64_t>::min() : size;
}

// Padding names dimensions from the last: before, after, before, after, …
Tensor constant_pad_nd(const Tensor& self, IntSpan pad, const Scalar& value) {
  constexpr const char* kOp = "aten::constant_pad_nd";
  require_defined(kOp, "self", self);
  if (pad.size() % 2 != 0 || std::int64_t(pad.size()) > 2 * self.dim()) {
    refuse(ErrorKind::BadValue, {kOp, ": pad is ", pad, " and self is ", self,
                                 "; two numbers are needed for each dimension from the last, at "
                                 "most for all of them"});
  }
  DimVector sizes(self.sizes());
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    std::int64_t& size = sizes[sizes.size() - 1 - i];
    size = padded_size(size, pad[2 * i], pad[2 * i + 1]);
    if (size < 0) {
      refuse(ErrorKind::BadShape,
             {kOp, ": pad is ", pad, " and self is ", self, ", of which dimension ",
              std::int64_t(sizes.size() - 1 - i), " would have the size ", size});
    }
  }
  const Tensor result = full(self, sizes, value, self.dtype());
  Tensor from = self, to = result;
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    const std::int64_t dim = self.dim() - 1 - std::int64_t(i);
    const std::int64_t before = pad[2 * i], after = pad[2 * i + 1];
    if (before < -from.size(dim) || after < -from.size(dim)) return result;  // nothing is left
    const std::int64_t length =
        from.size(dim) + std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0);
    if (length <= 0) return result;
    from = ops::narrow(from, dim, std::max<std::int64_t>(-before, 0), length);
    to = ops::narrow(to, dim, std::max<std::int64_t>(before, 0), length);
  }
  copy_into(to, from);
  return result;
}
Tensor constant_pad_nd_backward(const Tensor& grad, IntSpan pad) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan, const Scalar&)> op(
      "aten::constant_pad_nd");
  DimVector back(pad);
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t& number : back) number = -std::max(number, kLeast + 1);
  return op.call(grad, back, 0);
}

enum class Edge : std::uint8_t { Reflect, Repeat, Wrap };

// Where each element along a padded dimension comes from. What is cut off is not wrapped around.
Tensor sources(const Tensor& like, Edge edge, std::int64_t size, std::int64_t before,
               std::int64_t after) {
  const Tensor at = arange(like, size + before + after) - Scalar(before);
  if (edge == Edge::Repeat) return clamp(at, 0, size - 1);
  if (edge == Edge::Reflect) return Scalar(size - 1) - abs(Scalar(size - 1) - abs(at));
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> remainder(
      "aten::remainder.Scalar");
  const std::int64_t cut = std::max<std::int64_t>(-before, 0);
  const std::int64_t kept = size - cut - std::max<std::int64_t>(-after, 0);
  return remainder.call(at - Scalar(cut), kept) + Scalar(cut);
}

// Refuses what cannot be padded; gives the number of padded dimensions. `count` is that number if
// the operator has one of its own, else 0.
std::int64_t require_paddable(const char* op, Edge edge, const Tensor& self, IntSpan padding,
                              std::size_t count) {
  require_defined(op, "self", self);
  if (padding.size() % 2 != 0 || (count != 0 && padding.size() != 2 * count)) {
    const auto padded = std::int64_t(count != 0 ? count : padding.size() / 2);
    refuse(ErrorKind::BadValue,
           {op, ": padding is ", padding, "; two numbers are needed for each padded dimension, as ",
            2 * padded, " for ", padded});
  }
  const auto dims = std::int64_t(padding.size() / 2);
  require_dims(op, "self", self, dims + 1, dims + 2);
  for (std::int64_t i = 0; i < dims; ++i) {
    const std::int64_t size = self.size(self.dim() - 1 - i);
    const std::int64_t before = padding[std::size_t(2 * i)];
    const std::int64_t after = padding[std::size_t(2 * i + 1)];
    bool fits = size > 0 && padded_size(size, before, after) > 0;
    if (edge == Edge::Reflect) fits = fits && before < size && after < size;
    if (edge == Edge::Wrap) {
      const std::int64_t kept =
          padded_size(size, std::min<std::int64_t>(before, 0), std::min<std::int64_t>(after, 0));
      fits = fits && before <= size && after <= size && kept > 0;
    }
    if (!fits) {
      refuse(ErrorKind::BadShape,
             {op, ": padding is ", padding, " and self is ", self, "; dimension ",
              self.dim() - 1 - i, " has ", size, " elements, which is not enough for it"});
    }
  }
  return dims;
}

Tensor padded(const char* op, Edge edge, const Tensor& self, IntSpan padding,
              std::size_t count = 0) {
  const std::int64_t dims = require_paddable(op, edge, self, padding, count);
  if (is_meta(self) && !has_symbolic_sizes(self)) {  // no list of where elements come from
    DimVector sizes(self.sizes());
    for (std::int64_t i = 0; i < dims; ++i) {
      std::int64_t& size = sizes[sizes.size() - 1 - std::size_t(i)];
      size = padded_size(size, padding[std::size_t(2 * i)], padding[std::size_t(2 * i + 1)]);
    }
    return empty_beside(self, sizes, self.dtype());
  }
  Tensor result = self;
  for (std::int64_t i = 0; i < dims; ++i) {
    const std::int64_t before = padding[std::size_t(2 * i)];
    const std::int64_t after = padding[std::size_t(2 * i + 1)];
    if (before == 0 && after == 0) continue;
    const std::int64_t dim = self.dim() - 1 - i;
    result = index_select(result, dim, sources(self, edge, self.size(dim), before, after));
  }
  return result.same(self) ? clone(self) : result;
}

Tensor padded_backward(const char* op, Edge edge, const Tensor& grad, const Tensor& self,
                       IntSpan padding, std::size_t count) {
  using Backward = Tensor(const Tensor&, IntSpan, std::int64_t, const Tensor&);
  static constinit FoundOperator<Backward> back("aten::index_select_backward");
  const std::int64_t dims = require_paddable(op, edge, self, padding, count);
  require_defined(op, "grad_output", grad);
  DimVector sizes(self.sizes());
  for (std::int64_t i = 0; i < dims; ++i) {
    sizes[sizes.size() - 1 - std::size_t(i)] +=
        padding[std::size_t(2 * i)] + padding[std::size_t(2 * i + 1)];
  }
  if (!std::ranges::equal(grad.sizes(), sizes)) {
    refuse(ErrorKind::BadShape, {op, ": grad_output is ", grad, "; the sizes ", sizes,
                                 " of the padded self are needed"});
  }
  Tensor result = grad;
  for (std::int64_t i = dims; i-- > 0;) {
    const std::int64_t before = padding[std::size_t(2 * i)];
    const std::int64_t after = padding[std::size_t(2 * i + 1)];
    const std::int64_t dim = self.dim() - 1 - i, size = self.size(dim);
    if (before == 0 && after == 0) continue;
    sizes[std::size_t(dim)] = size;
    result = back.call(result, sizes, dim, sources(self, edge, size, before, after));
  }
  return result;
}

#define PADDING(name, edge, count)                                                               \
  Tensor name(const Tensor& self, IntSpan padding) {                                             \
    return padded("aten::" #name, edge, self, padding, count);                                   \
  }                                                                                              \
  Tensor name##_backward(const Tensor& grad_output, const Tensor& self, IntSpan padding) {       \
    return padded_backward("aten::" #name "_backward", edge, grad_output, self, padding, count); \
  }
PADDING(reflection_pad1d, Edge::Reflect, 1)
PADDING(reflection_pad2d, Edge::Reflect, 2)
PADDING(reflection_pad3d, Edge::Reflect, 3)
PADDING(replication_pad1d, Edge::Repeat, 1)
PADDING(replication_pad2d, Edge::Repeat, 2)
PADDING(replication_pad3d, Edge::Repeat, 3)
#undef PADDING

Tensor pad_circular(const Tensor& self, IntSpan pad) {
  return padded("aten::_pad_circular", Edge::Wrap, self, pad);
}

Tensor pad(const Tensor& self, IntSpan pad, std::string_view mode, std::optional<double> value) {
  constexpr const char* kOp = "aten::pad";
  using Constant = Tensor(const Tensor&, IntSpan, const Scalar&);
  static constinit FoundOperator<Constant> constant("aten::constant_pad_nd");
  if (mode == "constant") {
    return named(kOp, "aten::constant_pad_nd",
                 [&] { return constant.call(self, pad, value.value_or(0)); });
  }
  if (value && *value != 0) {
    refuse(ErrorKind::BadValue,
           {kOp, ": value is ", *value, ", and mode \"", mode, "\" does not take one"});
  }
  if (pad.empty() || pad.size() % 2 != 0 || pad.size() > 6) {
    refuse(ErrorKind::BadValue,
           {kOp, ": pad is ", pad, "; mode \"", mode, "\" takes 2, 4 or 6 numbers"});
  }
  if (mode == "reflect") return padded(kOp, Edge::Reflect, self, pad);
  if (mode == "replicate") return padded(kOp, Edge::Repeat, self, pad);
  if (mode == "circular") return padded(kOp, Edge::Wrap, self, pad);
  refuse(ErrorKind::BadValue, {kOp, ": mode is \"", mode,
                               "\"; accepted are \"constant\", \"reflect\", \"replicate\" and "
                               "\"circular\""});
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, {"constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
             "_pad_circular(Tensor self, SymInt[] pad) -> Tensor",
             "pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor"});
  m.impl("_pad_circular", Kernel::with_symbolic<&pad_circular, &symbolic_pad>());
  m.impl("pad", Kernel::with_symbolic<&pad, &symbolic_pad>());
  m.derivative("constant_pad_nd", {{"self", "constant_pad_nd_backward(grad, pad)"}});
  define_out(m, "constant_pad_nd", "out", Form::WithFormula);
#define PADDING(name, count)                                                                       \
  define(m, {#name "(Tensor self, SymInt[" #count "] padding) -> Tensor", #name                    \
             "_backward(Tensor grad_output, Tensor self, SymInt[" #count "] padding) -> Tensor"}); \
  m.impl(#name, Kernel::with_symbolic<&name, &symbolic_pad>());                                    \
  m.impl(#name "_backward", Kernel::with_symbolic<&name##_backward, &decide_symbolic>());          \
  define_out(m, #name);
  PADDING(reflection_pad1d, 2)
  PADDING(reflection_pad2d, 4)
  PADDING(reflection_pad3d, 6)
  PADDING(replication_pad1d, 2)
  PADDING(replication_pad2d, 4)
  PADDING(replication_pad3d, 6)
#undef PADDING
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("constant_pad_nd_backward(Tensor grad, int[] pad) -> Tensor", &constant_pad_nd_backward);
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) {
  m.impl("constant_pad_nd", Kernel::with_symbolic<&constant_pad_nd, &symbolic_pad>());
}

}  // namespace opyard::kernels
