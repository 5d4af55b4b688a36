// kernels/indexing/scatter.cpp: scatter, scatter_add, scatter_reduce and their forms: one element
// of a source for each element of an index, written along a dimension.
//
//   scatter along 0:   result[index[i][j]][j] = src[i][j]
//
// Elements are written in row-major order of the index, so of several for one place the last
// stays. The index has as many dimensions as self, none larger than self's but along `dim`, and
// none larger than src's.
#include <cmath>
#include <string_view>

#include "common/complex_parts.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/kernels_block.h"
#include "common/releasing.h"
#include "common/write.h"
#include "indexing/take.h"
#include "pointwise/loops.h"

namespace opyard::kernels {
namespace {

enum class How : std::uint8_t { Write, Sum, Product, Largest, Smallest };

template <typename T>
T joined_parts(How how, T old, T value) {
  switch (how) {
    case How::Sum:
      return add(old, value);
    case How::Product:
      return multiply(old, value);
    case How::Largest:
      return old > value || is_nan(old) ? old : value;
    case How::Smallest:
      return old < value || is_nan(old) ? old : value;
    default:
      return value;
  }
}

// The argument as a tensor with at least one dimension.
Tensor tensor_with_dim(const Tensor& x) {
  const std::array<std::int64_t, 1> one = {1};
  return x.dim() == 0 ? x.as_strided(one, one, x.storage_offset()) : x;
}

struct Places {
  const char* op;
  const Tensor& self;
  std::size_t dim;
  Tensor index;  // row-major int64

  Places(const char* name, const Tensor& into, std::int64_t along, const Tensor& given,
         const Tensor* src)
      : op(name), self(into) {
    dim = std::size_t(wrap_dim(op, along, self.dim()));
    require_cpu(op, "index", given);
    if (given.dtype() != DType::Int64 && given.dtype() != DType::Int32) {
      refuse(ErrorKind::BadArgument, {op, ": index is ", given, "; accepted are int64 and int32"});
    }
    if (given.numel() > 0) require_fits(tensor_with_dim(given).sizes(), given, src);
    if (!is_meta(given)) index = row_major(op, converted(op, given, DType::Int64));
  }

  void require_fits(IntSpan sizes, const Tensor& given, const Tensor* src) const {
    const Tensor own = tensor_with_dim(self);
    bool fits = own.sizes().size() == sizes.size();
    for (std::size_t i = 0; fits && i < sizes.size(); ++i) {
      fits = i == dim || sizes[i] <= own.sizes()[i];
    }
    if (!fits) {
      refuse(
          ErrorKind::BadShape,
          {op, ": self is ", self, " and index is ", given,
           "; index must have as many dimensions, none of them larger than self's but dimension ",
           dim});
    }
    if (src == nullptr) return;
    const Tensor from = tensor_with_dim(*src);
    fits = from.sizes().size() == sizes.size();
    for (std::size_t i = 0; fits && i < sizes.size(); ++i) fits = sizes[i] <= from.sizes()[i];
    if (!fits) {
      refuse(ErrorKind::BadShape, {op, ": src is ", *src, " and index is ", given,
                                   "; src must have as many dimensions, none of them smaller"});
    }
  }

  // Calls visit(element of self, element of src) for each element of the index.
  template <typename Visit>
  void each(const Tensor& written, const Tensor* src, const Visit& visit) const {
    if (index.numel() == 0) return;
    const Tensor to = tensor_with_dim(written), at = tensor_with_dim(index);
    const Tensor from = src == nullptr ? to : tensor_with_dim(*src);
    const std::int64_t size = to.sizes()[dim], step = to.strides()[dim];
    const auto* positions = static_cast<const std::int64_t*>(index.impl()->data());
    const std::size_t last = at.sizes().size() - 1;
    const std::int64_t line = at.sizes()[last], lines = index.numel() / line;
    const std::int64_t to_step = dim == last ? 0 : to.strides()[last];
    const std::int64_t from_step = from.strides()[last];
    DimVector place(at.sizes().size(), 0);
    std::int64_t found = 0;
    without_gil_for(index.numel(), [&] {
      for (std::int64_t i = 0; i < lines; ++i, positions += line) {
        std::int64_t target = 0, source = 0;
        for (std::size_t d = 0; d < last; ++d) {
          if (d != dim) target += place[d] * to.strides()[d];
          source += place[d] * from.strides()[d];
        }
        for (std::int64_t k = 0; k < line; ++k, target += to_step, source += from_step) {
          found = positions[k];  // once: another thread may write there
          if (found < 0 || found >= size) {
            place[last] = k;
            return;
          }
          visit(target + found * step, source);
        }
        for (std::size_t d = last; d-- > 0;) {
          if (++place[d] < at.sizes()[d]) break;
          place[d] = 0;
        }
      }
    });
    if (found < 0 || found >= size) refuse_position(found, place, size);
  }
  [[noreturn]] void refuse_position(std::int64_t found, const DimVector& place,
                                    std::int64_t size) const {
    refuse(ErrorKind::BadIndex,
           {op, ": index contains ", found, " at ", place, ", out of range for dimension ", dim,
            " of self, which is ", self, "; accepted are 0 to ", size - 1});
  }
};

// `src` or, if it is null, the number.
Tensor scattered(const Places& places, const Tensor* src, const Number& number, How how,
                 bool include_self) {
  const Tensor& self = places.self;
  if (is_meta(self)) return empty_beside(self, self.sizes(), self.dtype());
  const Tensor result = row_major_copy(places.op, self);
  visit_computed(self.dtype(), [&](auto sample) {
    using T = decltype(sample);
    T* const out = static_cast<T*>(result.impl()->data());
    const T* const in = src == nullptr ? nullptr : static_cast<const T*>(src->impl()->data());
    const T value = number.as<T>();
    SmallVector<bool, 8> seen;
    if (!include_self) seen.resize(std::size_t(result.numel()), false);
    places.each(result, src, [&](std::int64_t to, std::int64_t from) {
      const T one = in == nullptr ? value : in[from];
      const bool first = !include_self && !seen[std::size_t(to)];
      if (first) seen[std::size_t(to)] = true;
      out[to] = first ? one : joined_parts(how, out[to], one);
    });
  });
  return result;
}

void require_values(const char* op, const Tensor& self, const Tensor& src) {
  require_ordered(op, "self", self);
  require_dtype(op, "src", src, self.dtype());
}

// Complex numbers are written and added by their parts; their products and their order are not.
bool is_by_parts(DType dtype, How how) {
  return is_complex(dtype) && (how == How::Write || how == How::Sum);
}
template <typename Scatter>
Tensor scatter_by_parts(const char* op, const Tensor& self, const Scatter& scatter) {
  const Tensor real = scatter(0), imaginary = scatter(1);
  if (is_meta(self)) return empty_beside(self, self.sizes(), self.dtype());
  const Tensor result = Tensor::empty(self.sizes(), self.dtype());
  copy_elements(op, part_of(result, 0), real);
  copy_elements(op, part_of(result, 1), imaginary);
  return result;
}

// Sums and products of uint64 are those of the bits that int64 carries; its order is another.
void require_bits(const char* op, const Tensor& self, How how) {
  if (self.dtype() != DType::UInt64 || (how != How::Largest && how != How::Smallest)) return;
  refuse(ErrorKind::Unsupported,
         {op, ": self is ", self, "; accepted for this reduction are the other dtypes"});
}

// Of any dtype, as its carrier.
Tensor scattered_from(const char* op, const Tensor& self, std::int64_t dim, const Tensor& index,
                      const Tensor& src, How how) {
  require_dtype(op, "src", src, self.dtype());
  if (is_by_parts(self.dtype(), how)) {
    return scatter_by_parts(op, self, [&](std::int64_t part) {
      return scattered_from(op, part_of(self, part), dim, index, part_of(src, part), how);
    });
  }
  require_values(op, self, src);
  require_bits(op, self, how);
  const DType carrier = carrier_of(self.dtype());
  const Tensor into = converted(op, self, carrier), from = converted(op, src, carrier);
  const Tensor result = scattered({op, into, dim, index, &from}, &from, {}, how, true);
  return converted(op, result, self.dtype());
}
Tensor scattered_value(const char* op, const Tensor& self, std::int64_t dim, const Tensor& index,
                       const Scalar& value, How how) {
  require_defined(op, "self", self);
  if (is_by_parts(self.dtype(), how)) {
    const std::complex<double> parts = value.to_complex();
    return scatter_by_parts(op, self, [&](std::int64_t part) {
      const Scalar one(part == 0 ? parts.real() : parts.imag());
      return scattered_value(op, part_of(self, part), dim, index, one, how);
    });
  }
  require_ordered(op, "self", self);
  number_in(op, "value", value, self.dtype());
  const Tensor into = converted(op, self, carrier_of(self.dtype()));
  const Number number = number_in(op, "value", value, into.dtype());
  return converted(op, scattered({op, into, dim, index, nullptr}, nullptr, number, how, true),
                   self.dtype());
}

Tensor scatter_src(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  return scattered_from("aten::scatter.src", self, dim, index, src, How::Write);
}
Tensor scatter_value(const Tensor& self, std::int64_t dim, const Tensor& index,
                     const Scalar& value) {
  return scattered_value("aten::scatter.value", self, dim, index, value, How::Write);
}
Tensor scatter_add_kernel(const Tensor& self, std::int64_t dim, const Tensor& index,
                          const Tensor& src) {
  return scattered_from("aten::scatter_add", self, dim, index, src, How::Sum);
}

How find_how_of_scatter(const char* op, std::string_view reduce) {
  if (reduce == "add") return How::Sum;
  if (reduce == "multiply") return How::Product;
  refuse(ErrorKind::BadValue, {op, ": reduce is \"", reduce,
                               "\"; accepted are \"add\" and \"multiply\", and scatter_reduce() "
                               "knows more"});
}
How find_how(const char* op, std::string_view reduce) {
  if (reduce == "sum" || reduce == "mean") return How::Sum;
  if (reduce == "prod") return How::Product;
  if (reduce == "amax") return How::Largest;
  if (reduce == "amin") return How::Smallest;
  refuse(ErrorKind::BadValue, {op, ": reduce is \"", reduce,
                               "\"; accepted are \"sum\", \"prod\", \"mean\", \"amax\" and "
                               "\"amin\""});
}

Tensor scatter_reduced(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                       std::string_view reduce) {
  constexpr const char* kOp = "aten::scatter.reduce";
  return scattered_from(kOp, self, dim, index, src, find_how_of_scatter(kOp, reduce));
}
Tensor scatter_value_reduced(const Tensor& self, std::int64_t dim, const Tensor& index,
                             const Scalar& value, std::string_view reduce) {
  constexpr const char* kOp = "aten::scatter.value_reduce";
  return scattered_value(kOp, self, dim, index, value, find_how_of_scatter(kOp, reduce));
}

// Divides by how many were added; integers are rounded down.
void take_mean(const Places& places, const Tensor& result, const Tensor& src, bool include_self) {
  std::vector<std::int64_t> counts(std::size_t(result.numel()), include_self ? 1 : 0);
  places.each(result, &src, [&](std::int64_t to, std::int64_t) { ++counts[std::size_t(to)]; });
  visit_computed(result.dtype(), [&](auto sample) {
    using T = decltype(sample);
    T* const out = static_cast<T*>(result.impl()->data());
    without_gil_for(result.numel(), [&] {
      for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] < 2) continue;
        if constexpr (std::is_same_v<T, std::int64_t>) {
          const std::int64_t rest = out[i] % counts[i];
          out[i] = out[i] / counts[i] - (rest < 0 ? 1 : 0);
        } else if constexpr (std::is_floating_point_v<T>) {
          out[i] /= T(counts[i]);
        }
      }
    });
  });
}

Tensor scatter_reduce(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, bool include_self) {
  constexpr const char* kOp = "aten::scatter_reduce.two";
  require_values(kOp, self, src);
  require_bits(kOp, self, reduce == "mean" ? How::Largest : find_how(kOp, reduce));
  const DType carrier = carrier_of(self.dtype());
  const Tensor into = converted(kOp, self, carrier), from = converted(kOp, src, carrier);
  const Places places(kOp, into, dim, index, &from);
  const Tensor result = scattered(places, &from, {}, find_how(kOp, reduce), include_self);
  if (reduce == "mean" && !is_meta(result)) take_mean(places, result, from, include_self);
  return converted(kOp, result, self.dtype());
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
          "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
          "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
          "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) "
          "-> Tensor",
          "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
          "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
          "bool include_self=True) -> Tensor"});
  for (const char* name : {"scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce",
                           "scatter_add", "scatter_reduce.two"}) {
    define_in_place(m, name, Form::WithFormula);
  }
  define_out(m, "scatter_add", "out", Form::WithFormula);
  define_out(m, "scatter.src", "src_out", Form::WithFormula);
  define_out(m, "scatter.value", "value_out", Form::WithFormula);
  m.derivative("scatter.src", {{"self", "scatter(grad, dim, index, 0)"},
                               {"index", "None"},
                               {"src", "pad_gradient(gather(grad, dim, index), sizes(src))"}});
  m.derivative("scatter.value", {{"self", "scatter(grad, dim, index, 0)"}, {"index", "None"}});
  m.derivative("scatter_add", {{"self", "grad"},
                               {"index", "None"},
                               {"src", "pad_gradient(gather(grad, dim, index), sizes(src))"}});
  m.derivative("scatter_reduce.two",
               {{"self, src",
                 "scatter_reduce_backward(grad, self, dim, index, src, reduce, include_self, "
                 "result)"},
                {"index", "None"}});
}

OPYARD_KERNELS(m) {
  m.impl("scatter.src", &scatter_src);
  m.impl("scatter.value", &scatter_value);
  m.impl("scatter.reduce", &scatter_reduced);
  m.impl("scatter.value_reduce", &scatter_value_reduced);
  m.impl("scatter_add", &scatter_add_kernel);
  m.impl("scatter_reduce.two", &scatter_reduce);
}

}  // namespace opyard::kernels
