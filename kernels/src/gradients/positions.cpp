// kernels/gradients/positions.cpp: gradients of gather, index and select: each is
// added at the position that its element was taken from.
#include <opyard/library.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/copy.h"
#include "common/dtypes.h"
#include "common/halves.h"
#include "common/kernels_block.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/releasing.h"
#include "loops/element.h"
#include "opyard/tensor/places.h"
#include "reduction/rows.h"

namespace opyard::kernels {
namespace {

using namespace ops;

// Of the dtype and the device of a tensor.
Tensor zeros_of(IntSpan sizes, const Tensor& like) {
  Tensor zeros = empty_beside(like, sizes, like.dtype());
  fill_elements(zeros, Number());
  return zeros;
}

Tensor select_backward(const Tensor& values, IntSpan size, std::int64_t dim, std::int64_t index) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, std::int64_t)> select(
      "aten::select.int");
  const Tensor result = zeros_of(size, values);
  copy_elements("aten::select_backward", select.call(result, dim, index), values);
  return result;
}
Tensor slice_backward(const Tensor& values, IntSpan size, std::int64_t dim,
                      std::optional<std::int64_t> start, std::optional<std::int64_t> end,
                      std::int64_t step) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, std::optional<std::int64_t>,
                                        std::optional<std::int64_t>, std::int64_t)>
      slice("aten::slice.Tensor");
  const Tensor result = zeros_of(size, values);
  copy_elements("aten::slice_backward", slice.call(result, dim, start, end, step), values);
  return result;
}
Tensor narrow_backward(const Tensor& values, IntSpan size, std::int64_t dim, std::int64_t start,
                       std::int64_t length) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, std::int64_t, std::int64_t)>
      narrow("aten::narrow");
  const Tensor result = zeros_of(size, values);
  copy_elements("opyard::narrow_backward", narrow.call(result, dim, start, length), values);
  return result;
}

Tensor index_backward(const Tensor& values, IntSpan size, const Indices& indices) {
  static constinit FoundOperator<Tensor&(Tensor&, const Indices&, const Tensor&, bool)> put(
      "aten::index_put_");
  Tensor result = zeros_of(size, values);
  put.call(result, indices, values, true);
  return result;
}
Tensor index_as_int64(const Tensor& index) {
  static constinit FoundOperator<Tensor(const Tensor&, DType, bool, bool,
                                        std::optional<MemoryFormat>)>
      to_int64("aten::to.dtype");
  return to_int64.call(index, DType::Int64, false, false, std::nullopt);
}
// Raises BadShape and BadArgument unless `values` has the sizes of what index_select gives.
void require_index_places(const Tensor& values, IntSpan size, std::int64_t dim,
                          const Tensor& index) {
  constexpr const char* kOp = "aten::index_select_backward";
  require_defined(kOp, "grad", values);
  require_defined(kOp, "index", index);
  require_index_dtype(kOp, "index", index);
  DimVector selected(size);
  const std::int64_t at = wrap_dim(kOp, dim, std::int64_t(size.size()));
  if (!selected.empty()) selected[std::size_t(at)] = index.numel();
  const bool fits = selected.empty() ? values.numel() == index.numel()
                                     : std::ranges::equal(values.sizes(), selected);
  if (!fits) {
    refuse(ErrorKind::BadShape, {kOp, ": grad is ", values, ", index is ", index, " and dim is ",
                                 dim, "; what it selects of sizes ", size, " is needed"});
  }
}
Tensor index_select_backward(const Tensor& values, IntSpan size, std::int64_t dim,
                             const Tensor& index) {
  require_index_places(values, size, dim, index);
  if (size.empty())
    return reshape(
        sum(reshape(values, std::array{values.numel()}), std::array{std::int64_t{0}}, false), size);
  const auto at =
      std::size_t(wrap_dim("aten::index_select_backward", dim, std::int64_t(size.size())));
  Indices indices(at + 1);
  indices[at] = reshape(index_as_int64(index), std::array{index.numel()});
  return index_backward(values, size, indices);
}

// The elements of a geometry in row-major order: where each is.
class ElementOffsets {
 public:
  ElementOffsets(IntSpan sizes, IntSpan strides, std::int64_t offset)
      : sizes_(sizes), strides_(strides), at_(sizes.size(), 0), offset_(offset) {}
  std::int64_t offset() const noexcept { return offset_; }
  void next() noexcept {
    for (std::size_t i = sizes_.size(); i-- > 0;) {
      offset_ += strides_[i];
      if (++at_[i] < sizes_[i]) return;
      offset_ -= sizes_[i] * strides_[i];
      at_[i] = 0;
    }
  }
  const DimVector& position() const noexcept { return at_; }

 private:
  const DimVector sizes_, strides_;
  DimVector at_;
  std::int64_t offset_;
};

template <typename Add>
void visit_summed(const char* op, const Tensor& tensor, const Add& add) {
  switch (tensor.dtype()) {
    case DType::Float32:
      return add(float{});
    case DType::Float64:
      return add(double{});
    case DType::Int64:
      return add(std::int64_t{});
    case DType::ComplexFloat:
      return add(Complex64{});
    case DType::ComplexDouble:
      return add(Complex128{});
    case DType::Bool:
    case DType::UInt8:
    case DType::Int8:
    case DType::Int16:
    case DType::Int32:
    case DType::Half:
    case DType::BFloat16:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64:
      break;
  }
  refuse(ErrorKind::Unsupported, {op, ": the gradient is ", tensor,
                                  "; accepted are floats, int64, complex64 and complex128"});
}

// Sizes or strides as of a tensor with at least one dimension.
DimVector sizes_with_dim(IntSpan sizes) {
  DimVector result(sizes);
  if (result.empty()) result.push_back(1);
  return result;
}
Tensor gather_backward(const Tensor& values, IntSpan size, std::int64_t dim, const Tensor& index) {
  constexpr const char* kOp = "opyard::gather_backward";
  if (is_half(values)) {  // whose sums are rounded once
    const Tensor wide = converted(kOp, values, DType::Float32);
    return converted(kOp, gather_backward(wide, size, dim, index), values.dtype());
  }
  const Tensor result = zeros_of(size, values);
  const Tensor from = row_major(kOp, values);
  const Tensor where = row_major(kOp, index_as_int64(index));
  const auto at = std::size_t(wrap_dim(kOp, dim, std::int64_t(size.size())));
  const DimVector into = sizes_with_dim(size), places = sizes_with_dim(where.sizes());
  bool fits =
      places.size() == into.size() && std::ranges::equal(places, sizes_with_dim(from.sizes()));
  for (std::size_t i = 0; fits && i < into.size(); ++i) fits = i == at || places[i] <= into[i];
  if (!fits) {
    refuse(ErrorKind::BadShape,
           {kOp, ": values is ", values, ", index is ", index, " and size is ", size,
            "; values and index need one shape, no larger than size but in dimension ", at});
  }
  if (is_meta(where)) return empty_beside(where, size, values.dtype());
  if (is_meta(result) || where.numel() == 0) return result;
  DimVector strides = sizes_with_dim(result.strides());
  const std::int64_t step = std::exchange(strides[at], 0), most = into[at];
  std::int64_t found = 0;
  visit_summed(kOp, values, [&](auto sample) {
    using T = decltype(sample);
    ElementOffsets offsets(places, strides, 0);
    T* const out = static_cast<T*>(result.impl()->data());
    const T* const in = from.data<T>();
    const auto* const positions = where.data<std::int64_t>();
    const std::int64_t count = where.numel();
    without_gil_for(count, [&] {
      for (std::int64_t i = 0; i < count; ++i, offsets.next()) {
        found = positions[i];  // once: another thread may write there
        if (found < 0 || found >= most) return;
        T& sum = out[offsets.offset() + found * step];
        sum = kernels::add(sum, in[i]);
      }
    });
  });
  if (found < 0 || found >= most) {
    refuse(ErrorKind::BadIndex, {kOp, ": index contains ", found, "; accepted are 0 to ", most - 1,
                                 ". If it was taken by gather(), it was changed since"});
  }
  return result;
}
Tensor chosen_backward(const Tensor& grad, IntSpan size, std::int64_t dim, const Tensor& indices,
                       bool keepdim) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan, std::int64_t, const Tensor&)> op(
      "opyard::gather_backward");
  if (size.empty()) return grad;
  if (keepdim) return op.call(grad, size, dim, indices);
  return op.call(ops::unsqueeze(grad, dim), size, dim, ops::unsqueeze(indices, dim));
}

// Between a row of elements and a geometry of them, whose offset counts from the row's beginning:
// the row may itself begin in the middle of its memory. Raises BadShape if the geometry leaves the
// row.
Tensor part_of_row(const char* op, const Tensor& row, IntSpan size, IntSpan stride,
                   std::int64_t offset) {
  if (size.size() != stride.size()) {
    refuse(ErrorKind::BadShape, {op, ": size is ", size, " and stride is ", stride,
                                 "; both need a number for each dimension"});
  }
  if (count_elements(size) == 0) return row.as_strided(size, stride, 0);
  const std::optional<Extent> extent = find_extent(size, stride);
  if (!extent || offset < 0 || offset >= row.numel() || offset + extent->lowest < 0 ||
      extent->highest >= row.numel() - offset) {
    refuse(ErrorKind::BadShape,
           {op, ": size is ", size, ", stride is ", stride, " and offset is ", offset,
            "; some of these elements are outside of the row, which has ", row.numel()});
  }
  return row.as_strided(size, stride, row.storage_offset() + offset);
}
Tensor gather_strided(const Tensor& row, IntSpan size, IntSpan stride, std::int64_t offset) {
  constexpr const char* kOp = "opyard::gather_strided";
  return row_major_copy(kOp, part_of_row(kOp, row_major(kOp, row), size, stride, offset));
}
Tensor scatter_strided(const Tensor& values, std::int64_t count, IntSpan size, IntSpan stride,
                       std::int64_t offset) {
  constexpr const char* kOp = "opyard::scatter_strided";
  if (!std::ranges::equal(values.sizes(), size)) {
    refuse(ErrorKind::BadShape,
           {kOp, ": values is ", values, " and size is ", size, "; both need the same sizes"});
  }
  const Tensor result = zeros_of(std::array{count}, values);
  if (values.numel() == 0) return result;
  const Tensor there = part_of_row(kOp, result, size, stride, offset);
  if (!shows_a_place_twice(size, stride)) {
    copy_elements(kOp, there, values);  // of any dtype
    return result;
  }
  if (is_meta(result)) return result;
  if (is_half(values)) {
    const Tensor wide = converted(kOp, values, DType::Float32);
    return converted(kOp, scatter_strided(wide, count, size, stride, offset), values.dtype());
  }
  const Tensor from = row_major(kOp, values);
  visit_summed(kOp, values, [&](auto sample) {
    using T = decltype(sample);
    ElementOffsets offsets(size, stride, offset);
    T* const out = static_cast<T*>(result.impl()->data());
    const T* const in = from.data<T>();
    const std::int64_t count = from.numel();
    without_gil_for(count, [&] {
      for (std::int64_t i = 0; i < count; ++i, offsets.next()) {
        T& sum = out[offsets.offset()];
        sum = kernels::add(sum, in[i]);
      }
    });
  });
  return result;
}
Tensor replace_strided(const Tensor& row, const Tensor& values, IntSpan size, IntSpan stride,
                       std::int64_t offset) {
  constexpr const char* kOp = "opyard::replace_strided";
  require_defined(kOp, "row", row);
  require_defined(kOp, "values", values);
  const Tensor result = row_major_copy(kOp, row);
  copy_elements(kOp, part_of_row(kOp, result, size, stride, offset), values);
  return result;
}

// Of elements of `self` that are one place in memory each gets its part of the gradient there.
Tensor as_strided_backward(const Tensor& grad, IntSpan self_size, IntSpan self_stride,
                           std::int64_t self_offset, std::int64_t count, IntSpan size,
                           IntSpan stride, std::optional<std::int64_t> offset) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, IntSpan, IntSpan,
                                        std::int64_t)>
      scatter("opyard::scatter_strided");
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan, IntSpan, std::int64_t)> gather(
      "opyard::gather_strided");
  if (self_size.size() != self_stride.size()) {
    refuse(ErrorKind::BadShape,
           {"opyard::as_strided_backward: self_size is ", self_size, " and self_stride is ",
            self_stride, "; both need a number for each dimension"});
  }
  const Tensor row = scatter.call(grad, count, size, stride, offset.value_or(self_offset));
  const auto of_self = [&](const Tensor& x) {
    return gather.call(x, self_size, self_stride, self_offset);
  };
  const Tensor sums = of_self(row);  // which refuses what is not in the row
  if (!shows_a_place_twice(self_size, self_stride)) return sums;
  const Tensor ones = full(grad, self_size, 1);
  return sums / of_self(scatter.call(ones, count, self_size, self_stride, self_offset));
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("select_backward(Tensor grad_output, int[] input_sizes, int dim, int index) -> Tensor");
  m.def(
      "slice_backward(Tensor grad_output, int[] input_sizes, int dim, int? start, int? end, int "
      "step) -> Tensor");
  m.def("index_select_backward(Tensor grad, int[] self_sizes, int dim, Tensor index) -> Tensor");
  m.derivative("select_backward", {{"grad_output", "select(grad, dim, index)"}});
  m.derivative("slice_backward", {{"grad_output", "slice(grad, dim, start, end, step)"}});
  m.derivative("index_select_backward", {{"grad", "index_select(grad, dim, index)"}});
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("chosen_backward(Tensor grad, int[] size, int dim, Tensor indices, bool keepdim) -> Tensor",
        &chosen_backward);
  m.def(
      "as_strided_backward(Tensor grad, int[] self_size, int[] self_stride, int self_offset, int "
      "count, "
      "int[] size, int[] stride, int? offset) -> Tensor",
      &as_strided_backward);
  m.def("narrow_backward(Tensor values, int[] size, int dim, int start, int length) -> Tensor");
  m.def("index_backward(Tensor values, int[] size, Tensor?[] indices) -> Tensor");
  m.def("gather_backward(Tensor values, int[] size, int dim, Tensor index) -> Tensor");
  m.def("gather_strided(Tensor row, int[] size, int[] stride, int offset) -> Tensor");
  m.def(
      "scatter_strided(Tensor values, int count, int[] size, int[] stride, int offset) -> Tensor");
  m.def(
      "replace_strided(Tensor row, Tensor values, int[] size, int[] stride, int offset) -> "
      "Tensor");
  m.derivative("narrow_backward", {{"values", "narrow(grad, dim, start, length)"}});
  m.derivative("index_backward", {{"values", "index(grad, indices)"}});
  m.derivative("gather_backward", {{"values", "gather(grad, dim, index)"}});
  m.derivative("gather_strided",
               {{"row", "scatter_strided(grad, numel(row), size, stride, offset)"}});
  m.derivative("scatter_strided", {{"values", "gather_strided(grad, size, stride, offset)"}});
  m.derivative("replace_strided",
               {{"row",
                 "replace_strided(grad, gather_strided(grad, size, stride, offset) * 0, "
                 "size, stride, offset)"},
                {"values", "gather_strided(grad, size, stride, offset)"}});
}

OPYARD_KERNELS(m) {
  m.impl("select_backward", &select_backward);
  m.impl("slice_backward", &slice_backward);
  m.impl("index_select_backward", &index_select_backward);
}

OPYARD_KERNELS_OF(opyard, m) {
  m.impl("narrow_backward", &narrow_backward);
  m.impl("index_backward", &index_backward);
  m.impl("gather_backward", &gather_backward);
  m.impl("gather_strided", &gather_strided);
  m.impl("scatter_strided", &scatter_strided);
  m.impl("replace_strided", &replace_strided);
}

}  // namespace opyard::kernels
