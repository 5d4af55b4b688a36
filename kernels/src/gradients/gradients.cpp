// kernels/gradients/gradients.cpp: operators that formulas of derivatives are made of.
//
// They are operators like any other, and have derivatives of their own or are made of operators
// that have: so a gradient can be differentiated again. Those that look at no element are asked
// when a call is recorded, and what they were asked of is not saved.
#include <opyard/library.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/copy.h"
#include "common/dtypes.h"
#include "common/halves.h"
#include "common/kernels_block.h"
#include "common/ops.h"
#include "common/releasing.h"
#include "common/symbolic.h"
#include "loops/element.h"
#include "reduction/rows.h"

namespace opyard::kernels {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor expand(const Tensor& self, IntSpan sizes) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan, bool)> op("aten::expand");
  return op.call(self, sizes, false);
}
Tensor view(const Tensor& self, IntSpan sizes) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> op("aten::reshape");
  return op.call(self, sizes);
}
Tensor sum_over(const Tensor& self, IntSpan dims, bool keepdim) {
  static constinit FoundOperator<Tensor(const Tensor&, std::optional<IntSpan>, bool,
                                        std::optional<DType>)>
      op("aten::sum.dim_IntList");
  return op.call(self, dims, keepdim, std::nullopt);
}
Tensor mul(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::mul.Tensor");
  return op.call(a, b);
}
Tensor mul(const Tensor& a, const Scalar& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> op("aten::mul.Scalar");
  return op.call(a, b);
}
Tensor div(const Tensor& a, const Tensor& b) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> op("aten::div.Tensor");
  return op.call(a, b);
}
Tensor power(const Tensor& a, const Scalar& exponent) {
  static constinit FoundOperator<Tensor(const Tensor&, const Scalar&)> op(
      "aten::pow.Tensor_Scalar");
  return op.call(a, exponent);
}
Tensor masked(const Tensor& a, const Tensor& mask) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&, const Scalar&)> op(
      "aten::masked_fill.Scalar");
  return op.call(a, mask, Scalar(std::int64_t{0}));
}
Tensor compare(const char* name, const Tensor& a, const Scalar& b) {
  return require_operator(name).typed<Tensor(const Tensor&, const Scalar&)>().call(a, b);
}
Tensor unsqueeze(const Tensor& self, std::int64_t dim) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t)> op("aten::unsqueeze");
  return op.call(self, dim);
}

Tensor sum_to_sizes(const Tensor& self, std::optional<IntSpan> sizes) {
  constexpr const char* kOp = "opyard::sum_to";
  require_defined(kOp, "self", self);
  if (!sizes || std::ranges::equal(self.sizes(), *sizes)) return self;
  const std::size_t count = self.sizes().size();
  if (sizes->size() > count) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and is no result of broadcasting ",
                                 *sizes, ", which has more dimensions"});
  }
  const std::size_t lead = count - sizes->size();
  DimVector dims;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t size = self.sizes()[i];
    if (i < lead || ((*sizes)[i - lead] == 1 && size != 1)) {
      dims.push_back(std::int64_t(i));
    } else if ((*sizes)[i - lead] != size) {
      refuse(ErrorKind::BadShape, {kOp, ": self is ", self, " and is no result of broadcasting ",
                                   *sizes, "; counted from the last, sizes must be equal or 1"});
    }
  }
  const Tensor summed = dims.empty() ? self : sum_over(self, dims, true);
  return view(summed, *sizes);
}
Tensor sum_to(const Tensor& self, const Tensor& other) {
  require_defined("opyard::sum_to", "other", other);
  return sum_to_sizes(self, other.sizes());
}

Ints sizes(const Tensor& self) {
  require_defined("opyard::sizes", "self", self);
  return {self.sizes().begin(), self.sizes().end()};
}
std::int64_t storage_offset(const Tensor& self) { return self.storage_offset(); }
std::int64_t storage_size(const Tensor& self) {
  return std::int64_t(self.impl()->storage()->bytes() / item_size(self.dtype()));
}
std::int64_t numel_of(const Tensor& self, std::optional<IntSpan> dim) {
  const SmallVector<bool, 8> flags = reduced_dims("opyard::numel_of", dim, self);
  std::int64_t count = 1;
  for (std::size_t i = 0; i < self.sizes().size(); ++i) {
    if (flags[i]) count *= self.sizes()[i];
  }
  return count;
}

// The dimensions that a reduction took away come back, each as long as it was.
Tensor expand_dims(const Tensor& self, IntSpan size, std::optional<IntSpan> dim, bool keepdim) {
  constexpr const char* kOp = "opyard::expand_dims";
  require_defined(kOp, "self", self);
  Tensor whole = self;
  if (!keepdim && !size.empty()) {
    DimVector with_ones(size);
    if (!dim || dim->empty()) {
      std::fill(with_ones.begin(), with_ones.end(), 1);
    } else {
      for (const std::int64_t one : *dim) {
        with_ones[std::size_t(wrap_dim(kOp, one, std::int64_t(size.size())))] = 1;
      }
    }
    whole = view(self, with_ones);
  }
  return expand(whole, size);
}

// Each of several equal extremes gets its part.
Tensor extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                         std::optional<IntSpan> dim, bool keepdim) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> eq("aten::eq.Tensor");
  static constinit FoundOperator<Tensor(const Tensor&, DType, bool, bool,
                                        std::optional<MemoryFormat>)>
      to("aten::to.dtype");
  const IntSpan sizes = self.sizes();
  const Tensor mask = to.call(eq.call(self, expand_dims(result, sizes, dim, keepdim)), self.dtype(),
                              false, false, std::nullopt);
  DimVector dims(dim.value_or(IntSpan()));
  if (dims.empty()) {
    for (std::size_t i = 0; i < sizes.size(); ++i) dims.push_back(std::int64_t(i));
  }
  const Tensor count = dims.empty() ? mask : sum_over(mask, dims, keepdim);
  return mul(expand_dims(div(grad, count), sizes, dim, keepdim), mask);
}

Tensor pow_backward(const Tensor& grad, const Tensor& self, const Scalar& exponent) {
  if (is_complex(self.dtype()) || exponent.is_complex()) {
    const std::complex<double> number = exponent.to_complex();
    if (number == 0.0) return mul(grad, Scalar(std::int64_t{0}));
    return mul(grad, ops::conj(mul(power(self, Scalar(number - 1.0)), exponent)));
  }
  const double number = exponent.to_double();
  if (number == 0) return mul(grad, Scalar(std::int64_t{0}));
  return mul(mul(grad, exponent), power(self, Scalar(number - 1)));
}
Tensor pow_scalar_backward(const Tensor& grad, const Scalar& self, const Tensor& exponent,
                           const Tensor& result) {
  if (is_complex(exponent.dtype()) || self.is_complex()) {
    const std::complex<double> base = self.to_complex();
    const Tensor of_result = mul(grad, ops::conj(mul(result, Scalar(std::log(base)))));
    if (base != 0.0) return of_result;
    const Tensor has_slope = compare("aten::ge.Scalar", ops::real(exponent), 0);
    return masked(of_result, has_slope);
  }
  const double base = self.to_double();
  if (base == 0) return masked(mul(grad, result), compare("aten::ge.Scalar", exponent, self));
  return mul(mul(grad, result), Scalar(__builtin_log(base)));
}

Tensor clamp_backward(const Tensor& grad, const Tensor& self, std::optional<Scalar> min,
                      std::optional<Scalar> max) {
  Tensor result = grad;
  if (min) result = masked(result, compare("aten::lt.Scalar", self, *min));
  if (max) result = masked(result, compare("aten::gt.Scalar", self, *max));
  return result;
}

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

using Indices = std::vector<std::optional<Tensor>>;

Tensor index_backward(const Tensor& values, IntSpan size, const Indices& indices) {
  static constinit FoundOperator<Tensor&(Tensor&, const Indices&, const Tensor&, bool)> put(
      "aten::index_put_");
  Tensor result = zeros_of(size, values);
  put.call(result, indices, values, true);
  return result;
}
Tensor as_int64(const Tensor& index) {
  static constinit FoundOperator<Tensor(const Tensor&, DType, bool, bool,
                                        std::optional<MemoryFormat>)>
      to_int64("aten::to.dtype");
  return to_int64.call(index, DType::Int64, false, false, std::nullopt);
}
// Raises BadShape and BadArgument unless `values` has the sizes of what index_select gives.
void require_places(const Tensor& values, IntSpan size, std::int64_t dim, const Tensor& index) {
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
  require_places(values, size, dim, index);
  if (size.empty())
    return view(
        sum_over(view(values, std::array{values.numel()}), std::array{std::int64_t{0}}, false),
        size);
  const auto at =
      std::size_t(wrap_dim("aten::index_select_backward", dim, std::int64_t(size.size())));
  Indices indices(at + 1);
  indices[at] = view(as_int64(index), std::array{index.numel()});
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
void visit_floats(const char* op, const Tensor& tensor, const Add& add) {
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
    default:
      refuse(ErrorKind::Unsupported, {op, ": the gradient is ", tensor,
                                      "; accepted are floats, int64, complex64 and complex128"});
  }
}

// Sizes or strides as of a tensor with at least one dimension.
DimVector with_dim(IntSpan sizes) {
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
  const Tensor where = row_major(kOp, as_int64(index));
  const auto at = std::size_t(wrap_dim(kOp, dim, std::int64_t(size.size())));
  const DimVector into = with_dim(size), places = with_dim(where.sizes());
  bool fits = places.size() == into.size() && std::ranges::equal(places, with_dim(from.sizes()));
  for (std::size_t i = 0; fits && i < into.size(); ++i) fits = i == at || places[i] <= into[i];
  if (!fits) {
    refuse(ErrorKind::BadShape,
           {kOp, ": values is ", values, ", index is ", index, " and size is ", size,
            "; values and index need one shape, no larger than size but in dimension ", at});
  }
  if (is_meta(where)) return empty_beside(where, size, values.dtype());
  if (is_meta(result) || where.numel() == 0) return result;
  DimVector strides = with_dim(result.strides());
  const std::int64_t step = std::exchange(strides[at], 0), most = into[at];
  std::int64_t found = 0;
  visit_floats(kOp, values, [&](auto sample) {
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
  return op.call(unsqueeze(grad, dim), size, dim, unsqueeze(indices, dim));
}

// Between a row of elements and a geometry of them.
Tensor gather_strided(const Tensor& row, IntSpan size, IntSpan stride, std::int64_t offset) {
  constexpr const char* kOp = "opyard::gather_strided";
  return row_major_copy(kOp, row_major(kOp, row).as_strided(size, stride, offset));
}
// Whether no two elements are one place, as far as strides that grow say it.
bool shows_each_place_once(IntSpan size, IntSpan stride) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride and size
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (size[i] > 1) dims.push_back({std::abs(stride[i]), size[i]});
  }
  std::sort(dims.begin(), dims.end());
  std::int64_t reach = 0;
  for (const auto& [step, count] : dims) {
    if (step <= reach) return false;
    reach += step * (count - 1);
  }
  return true;
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
  const Tensor there = result.as_strided(size, stride, offset);  // raises if it leaves the row
  if (shows_each_place_once(size, stride)) {
    copy_elements(kOp, there, values);  // of any dtype
    return result;
  }
  if (is_meta(result)) return result;
  if (is_half(values)) {
    const Tensor wide = converted(kOp, values, DType::Float32);
    return converted(kOp, scatter_strided(wide, count, size, stride, offset), values.dtype());
  }
  const Tensor from = row_major(kOp, values);
  visit_floats(kOp, values, [&](auto sample) {
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
  const Tensor result = row_major_copy(kOp, row);
  copy_elements(kOp, result.as_strided(size, stride, offset), values);
  return result;
}

// `self` of as_strided() may have any strides that show no element of its storage twice.
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
  for (std::size_t i = 0; i < self_size.size(); ++i) {
    if (self_size[i] > 1 && self_stride[i] == 0) {
      refuse(ErrorKind::Unsupported,
             {"aten::as_strided: the gradient of an expanded tensor with sizes ", self_size,
              " is not supported; clone() it first"});
    }
  }
  const Tensor row = scatter.call(grad, count, size, stride, offset.value_or(self_offset));
  return gather.call(row, self_size, self_stride, self_offset);
}

// Whether a matrix is the transpose of a row-major one, and not row-major itself.
bool is_column_major(const Tensor& self) {
  require_defined("opyard::is_column_major", "self", self);
  return self.dim() == 2 && !has_symbolic_sizes(self) && !self.is_contiguous() &&
         self.strides()[0] == 1 && self.strides()[1] == self.sizes()[0];
}
// A product whose elements lie as asked: the gradient of a factor as the factor does, since a leaf
// copies what it cannot keep. The elements are the same, of fewer than four rows or columns but for
// their last bits: see loops/table.h.
Tensor mm_in_order(const Tensor& self, const Tensor& mat2, bool column_major) {
  static constinit FoundOperator<Tensor(const Tensor&)> t("aten::t");
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> mm("aten::mm");
  if (!column_major) return mm.call(self, mat2);
  return t.call(mm.call(t.call(mat2), t.call(self)));
}

Tensor permute_back(const Tensor& self, IntSpan dims) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan)> permute("aten::permute");
  DimVector back(dims.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    back[std::size_t(wrap_dim("opyard::permute_back", dims[i], std::int64_t(dims.size())))] =
        std::int64_t(i);
  }
  return permute.call(self, back);
}

// What was there before a write stays if it was added to, and wherever nothing was written.
Tensor index_put_backward(const Tensor& grad, const Indices& indices, bool accumulate) {
  static constinit FoundOperator<Tensor(const Tensor&, const Indices&)> index("aten::index.Tensor");
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan, const Indices&)> back(
      "opyard::index_backward");
  if (accumulate) return grad;
  const Tensor written = Tensor::empty(index.call(grad, indices).sizes(), DType::Float64);
  fill_elements(written, Number::of<double>(1));
  return masked(grad, compare("aten::gt.Scalar", back.call(written, grad.sizes(), indices),
                              Scalar(std::int64_t{0})));
}

// What was rounded is made of steps, and has the slope zero between them.
Tensor unless_rounded(const Tensor& self, std::optional<std::string_view> rounding_mode) {
  return rounding_mode ? zeros_of(self.sizes(), self) : self;
}

Ints extents(const std::vector<Tensor>& tensors, std::int64_t dim) {
  Ints all;
  for (const Tensor& tensor : tensors) {
    const bool left_out = tensor.dim() == 1 && tensor.numel() == 0;
    all.push_back(left_out ? -1 : tensor.size(dim));
  }
  return all;
}
std::vector<Tensor> split_extents(const Tensor& self, IntSpan extents, std::int64_t dim) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, std::int64_t, std::int64_t)>
      narrow("aten::narrow");
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (const std::int64_t extent : extents) {
    if (extent < 0) {
      parts.push_back(zeros_of(std::array{std::int64_t{0}}, self));
      continue;
    }
    parts.push_back(narrow.call(self, dim, start, extent));
    start += extent;
  }
  return parts;
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("storage_offset(Tensor self) -> int", &storage_offset);
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
  m.def("sum_to.sizes(Tensor(a) self, int[]? size) -> Tensor(a)", &sum_to_sizes);
  m.def("sum_to(Tensor(a) self, Tensor other) -> Tensor(a)", &sum_to);
  m.def("sizes(Tensor self) -> int[]", &sizes);
  m.def("storage_size(Tensor self) -> int", &storage_size);
  m.def("numel_of(Tensor self, int[]? dim) -> int", &numel_of);
  m.def("extents(Tensor[] tensors, int dim) -> int[]", &extents);
  m.def("expand_dims(Tensor(a) self, int[] size, int[]? dim, bool keepdim) -> Tensor(a)",
        &expand_dims);
  m.def(
      "extremum_backward(Tensor grad, Tensor self, Tensor result, int[]? dim, bool keepdim) -> "
      "Tensor",
      &extremum_backward);
  m.def("pow_backward(Tensor grad, Tensor self, Scalar exponent) -> Tensor", &pow_backward);
  m.def("pow_scalar_backward(Tensor grad, Scalar self, Tensor exponent, Tensor result) -> Tensor",
        &pow_scalar_backward);
  m.def("clamp_backward(Tensor grad, Tensor self, Scalar? min, Scalar? max) -> Tensor",
        &clamp_backward);
  m.def("chosen_backward(Tensor grad, int[] size, int dim, Tensor indices, bool keepdim) -> Tensor",
        &chosen_backward);
  m.def(
      "as_strided_backward(Tensor grad, int[] self_size, int[] self_stride, int self_offset, int "
      "count, "
      "int[] size, int[] stride, int? offset) -> Tensor",
      &as_strided_backward);
  m.def("is_column_major(Tensor self) -> bool", &is_column_major);
  m.def("mm_in_order(Tensor self, Tensor mat2, bool column_major) -> Tensor", &mm_in_order);
  m.def("permute_back(Tensor self, int[] dims) -> Tensor", &permute_back);
  m.def("index_put_backward(Tensor grad, Tensor?[] indices, bool accumulate) -> Tensor",
        &index_put_backward);
  m.def("unless_rounded(Tensor(a) self, str? rounding_mode) -> Tensor(a)", &unless_rounded);
  m.def("split_extents(Tensor self, int[] extents, int dim) -> Tensor[]", &split_extents);
  m.def("narrow_backward(Tensor values, int[] size, int dim, int start, int length) -> Tensor");
  m.def("index_backward(Tensor values, int[] size, Tensor?[] indices) -> Tensor");
  m.def("gather_backward(Tensor values, int[] size, int dim, Tensor index) -> Tensor");
  m.def("gather_strided(Tensor row, int[] size, int[] stride, int offset) -> Tensor");
  m.def(
      "scatter_strided(Tensor values, int count, int[] size, int[] stride, int offset) -> Tensor");
  m.def(
      "replace_strided(Tensor row, Tensor values, int[] size, int[] stride, int offset) -> "
      "Tensor");

  m.derivative("sum_to", {{"self", "expand(grad, sizes(self))"}, {"other", "None"}});
  m.derivative("sum_to.sizes", {{"self", "expand(grad, sizes(self))"}});
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
