// kernels/composition/shuffling.cpp: the elements of one tensor in another order, or some of them:
// quarter turns, reversals, channels as pixels, and elements by positions.
#include <algorithm>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/ops.h"
#include "common/order.h"
#include "common/walk.h"
#include "geometry/symbolic_calls.h"

namespace opyard::kernels {
namespace {

using namespace ops;

Tensor flipped(const Tensor& self, IntSpan dims) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> op("aten::flip");
  return op.call(self, dims);
}
void require_dims_at_least(const char* op, const Tensor& self, std::int64_t least) {
  require_defined(op, "self", self);
  if (self.dim() < least) {
    refuse(ErrorKind::BadShape, {op, ": self is ", self, "; at least ", least,
                                 least == 1 ? " dimension is" : " dimensions are", " needed"});
  }
}

Tensor copied_row_major(const Tensor& self) {
  using Clone = Tensor(const Tensor&, std::optional<MemoryFormat>);
  static constinit FoundOperator<Clone> op("aten::clone");
  return op.call(self, MemoryFormat::Contiguous);
}

Tensor fliplr(const Tensor& self) {
  require_dims_at_least("aten::fliplr", self, 2);
  return flipped(self, std::array<std::int64_t, 1>{1});
}
Tensor flipud(const Tensor& self) {
  require_dims_at_least("aten::flipud", self, 1);
  return flipped(self, std::array<std::int64_t, 1>{0});
}
// From the first of two dimensions towards the second.
Tensor rot90(const Tensor& self, std::int64_t k, IntSpan dims) {
  constexpr const char* kOp = "aten::rot90";
  require_dims_at_least(kOp, self, 2);
  if (dims.size() != 2) {
    refuse(ErrorKind::BadValue, {kOp, ": dims are ", dims, "; two dimensions are needed"});
  }
  dim_flags(kOp, dims, self.dim());
  switch (((k % 4) + 4) % 4) {
    case 1:
      return ops::transpose(flipped(self, dims.subspan(1)), dims[0], dims[1]);
    case 2:
      return flipped(self, dims);
    case 3:
      return ops::transpose(flipped(self, dims.first(1)), dims[0], dims[1]);
    default:
      return copied_row_major(self);
  }
}

// What these sizes split self into, in another order, as these sizes; with the channels innermost
// if those of self are.
Tensor rearranged(const Tensor& self, const DimVector& split, const DimVector& order,
                  const DimVector& sizes) {
  static constexpr std::array<std::int64_t, 4> kInner = {0, 2, 3, 1}, kBack = {0, 3, 1, 2};
  const Tensor moved = copied_row_major(ops::permute(reshape(self, split), order));
  const Tensor result = reshape(moved, sizes);
  if (self.dim() != 4 || !is_channels_last(self)) return result;
  return ops::permute(contiguous(ops::permute(result, kInner)), kBack);
}
// The first `lead` dimensions, and then these, counted from the next one.
DimVector behind(std::int64_t lead, std::initializer_list<std::int64_t> order) {
  DimVector result;
  for (std::int64_t i = 0; i < lead; ++i) result.push_back(i);
  for (const std::int64_t each : order) result.push_back(lead + each);
  return result;
}
DimVector sizes_after(IntSpan lead, std::initializer_list<std::int64_t> rest) {
  DimVector result(lead);
  for (const std::int64_t each : rest) result.push_back(each);
  return result;
}
void require_factor(const char* op, const char* argument, std::int64_t factor) {
  if (factor < 1) {
    refuse(ErrorKind::BadValue, {op, ": ", argument, " is ", factor, "; accepted are 1 and more"});
  }
}

// [..., C * f * f, H, W] to [..., C, H * f, W * f].
Tensor pixel_shuffle(const Tensor& self, std::int64_t factor) {
  constexpr const char* kOp = "aten::pixel_shuffle";
  require_dims_at_least(kOp, self, 3);
  require_factor(kOp, "upscale_factor", factor);
  const std::int64_t lead = self.dim() - 3, all = self.size(-3), h = self.size(-2);
  const std::int64_t w = self.size(-1), c = all / factor / factor;
  if (all % factor != 0 || all / factor % factor != 0) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, ", with ", all,
                                 " channels; a multiple of the square of upscale_factor, which is ",
                                 factor, ", is needed"});
  }
  const IntSpan batch = self.sizes().first(std::size_t(lead));
  std::int64_t high = 0, wide = 0;
  if (__builtin_mul_overflow(h, factor, &high) || __builtin_mul_overflow(w, factor, &wide)) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and upscale_factor is ", factor,
                                 "; the sizes of the result must fit in 64 bits"});
  }
  return rearranged(self, sizes_after(batch, {c, factor, factor, h, w}),
                    behind(lead, {0, 3, 1, 4, 2}), sizes_after(batch, {c, high, wide}));
}
// The way back.
Tensor pixel_unshuffle(const Tensor& self, std::int64_t factor) {
  constexpr const char* kOp = "aten::pixel_unshuffle";
  require_dims_at_least(kOp, self, 3);
  require_factor(kOp, "downscale_factor", factor);
  const std::int64_t lead = self.dim() - 3, c = self.size(-3);
  const std::int64_t high = self.size(-2), wide = self.size(-1);
  if (high % factor != 0 || wide % factor != 0) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and downscale_factor is ", factor,
                                 "; the sizes of the last two dimensions must be multiples of it"});
  }
  const std::int64_t h = high / factor, w = wide / factor;
  std::int64_t all = 0;
  if (__builtin_mul_overflow(c, factor, &all) || __builtin_mul_overflow(all, factor, &all)) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and downscale_factor is ", factor,
                                 "; the sizes of the result must fit in 64 bits"});
  }
  const IntSpan batch = self.sizes().first(std::size_t(lead));
  return rearranged(self, sizes_after(batch, {c, h, factor, w, factor}),
                    behind(lead, {0, 2, 4, 1, 3}), sizes_after(batch, {all, h, w}));
}
// The channels of the groups in turn.
Tensor channel_shuffle(const Tensor& self, std::int64_t groups) {
  constexpr const char* kOp = "aten::channel_shuffle";
  require_dims_at_least(kOp, self, 3);
  require_factor(kOp, "groups", groups);
  const IntSpan sizes = self.sizes();
  if (sizes[1] % groups != 0) {
    refuse(ErrorKind::BadShape,
           {kOp, ": self is ", self, ", with ", sizes[1],
            " channels; a multiple of groups, which is ", groups, ", is needed"});
  }
  const std::int64_t rest = count_elements(sizes.subspan(2));
  const DimVector split = {sizes[0], groups, sizes[1] / groups, rest};
  return rearranged(self, split, {0, 2, 1, 3}, DimVector(sizes));
}

void require_positions(const char* op, const char* argument, const Tensor& index) {
  require_defined(op, argument, index);
  if (index.dtype() != DType::Int64) {
    refuse(ErrorKind::BadArgument,
           {op, ": ", argument, " is ", index, "; its dtype must be int64"});
  }
}
Tensor as_row(const Tensor& self) { return reshape(self, std::array{self.numel()}); }

Tensor take_elements(const Tensor& self, const Tensor& positions) {
  constexpr const char* kOp = "aten::take";
  require_defined(kOp, "self", self);
  require_positions(kOp, "index", positions);
  return reshape(index(as_row(self), {as_row(positions)}), positions.sizes());
}

// With another size in one dimension.
DimVector with_size(const DimVector& sizes, std::int64_t dim, std::int64_t size) {
  DimVector result(sizes);
  result[std::size_t(dim)] = size;
  return result;
}
// Positions from the end, which are negative, as those from the front.
Tensor from_front(const Tensor& indices, std::int64_t size) {
  return where(indices < 0, indices + size, indices);
}
Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<std::int64_t> dim) {
  constexpr const char* kOp = "aten::take_along_dim";
  require_defined(kOp, "self", self);
  require_positions(kOp, "indices", indices);
  if (!dim) return gather(as_row(self), 0, from_front(as_row(indices), self.numel()));
  if (self.dim() != indices.dim()) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and indices is ", indices,
                                 "; both need as many dimensions"});
  }
  const std::int64_t at = wrap_dim(kOp, *dim, self.dim());
  if (self.dim() == 0) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and dim is ", *dim,
                                 "; a dimension is needed, or None for dim"});
  }
  const DimVector own(self.sizes()), others(indices.sizes());
  const DimVector left = with_size(own, at, 1), right = with_size(others, at, 1);
  const std::optional<DimVector> common = find_broadcast(left, right);
  if (!common) {
    refuse_broadcast(kOp, {"self", self}, {"indices", indices},
                     find_clash(IntSpan(left), IntSpan(right)));
  }
  return gather(ops::expand(self, with_size(*common, at, own[std::size_t(at)])), at,
                ops::expand(from_front(indices, own[std::size_t(at)]),
                            with_size(*common, at, others[std::size_t(at)])));
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("fliplr(Tensor self) -> Tensor", &fliplr);
  m.def("flipud(Tensor self) -> Tensor", &flipud);
  m.def("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", &rot90);
  m.def("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", &pixel_shuffle);
  m.def("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", &pixel_unshuffle);
  m.def("channel_shuffle(Tensor self, SymInt groups) -> Tensor",
        Kernel::with_symbolic<&channel_shuffle, &decide_symbolic>());
  m.def("take(Tensor self, Tensor index) -> Tensor", &take_elements);
  m.def("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", &take_along_dim);
}

}  // namespace opyard::kernels
