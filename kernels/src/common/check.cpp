// kernels/common/check.cpp: errors of arguments that all operators share.
#include "common/check.h"

#include <algorithm>
#include <limits>

#include "common/dtypes.h"

namespace opyard::kernels {

void refuse_promotion(DType a, DType b) {
  refuse(ErrorKind::BadArgument, {a, " and ", b,
                                  " meet in no integer dtype; convert one of the two first, as "
                                  "x.to(float64) does"});
}

void require_defined(const char* op, const char* argument, const Tensor& tensor) {
  if (!tensor.defined()) {
    refuse(ErrorKind::BadArgument, {op, ": ", argument, " is an undefined tensor; pass a tensor"});
  }
}

void require_cpu(const char* op, const char* argument, const Tensor& tensor) {
  require_defined(op, argument, tensor);
  if (is_meta(tensor)) return;
  if (!tensor.device().is_cpu()) {
    refuse(ErrorKind::Unsupported, {op, ": ", argument, " is ", tensor, " on ",
                                    to_string(tensor.device()), "; this kernel accepts cpu"});
  }
  const TensorImpl& impl = *tensor.impl();
  if (impl.own_numel() != 0 && impl.data() == nullptr) {
    refuse(ErrorKind::BadValue, {op, ": ", argument, " is ", tensor,
                                 ", which has no memory: its class has to handle this operator"});
  }
  if (impl.has_policy(TensorImpl::kCustomSizes | TensorImpl::kCustomStrides)) {
    refuse(ErrorKind::Unsupported,
           {op, ": ", argument, " is ", tensor,
            ", whose class defines its geometry; this kernel goes by the memory's own"});
  }
}

void require_ordered(const char* op, const char* argument, const Tensor& tensor) {
  require_cpu(op, argument, tensor);
  if (is_complex(tensor.dtype())) {
    refuse(ErrorKind::Unsupported,
           {op, ": ", argument, " is ", tensor,
            ", and complex numbers have no order; accepted are all other dtypes"});
  }
}

void require_computed(const char* op, const char* argument, const Tensor& tensor) {
  require_cpu(op, argument, tensor);
  if (computed_index(tensor.dtype()) < 0 || is_complex(tensor.dtype())) {
    refuse(ErrorKind::Unsupported,
           {op, ": ", argument, " is ", tensor,
            "; accepted are bool, int64, float32 and float64, to which aten::to.dtype converts"});
  }
}

void require_index_dtype(const char* op, const char* argument, const Tensor& tensor) {
  require_cpu(op, argument, tensor);
  require_int_dtype(op, argument, tensor);
}

void require_int_dtype(const char* op, const char* argument, const Tensor& tensor) {
  require_defined(op, argument, tensor);
  if (tensor.dtype() != DType::Int64 && tensor.dtype() != DType::Int32) {
    refuse(ErrorKind::BadArgument,
           {op, ": ", argument, " is ", tensor, "; accepted are int64 and int32"});
  }
}

void require_one_dtype(const char* op, const char* first, const Tensor& a, const char* second,
                       const Tensor& b) {
  require_defined(op, first, a);
  require_defined(op, second, b);
  if (a.dtype() != b.dtype()) {
    refuse(ErrorKind::BadArgument, {op, ": ", first, " is ", a, " and ", second, " is ", b,
                                    "; both need one dtype, to which aten::to.dtype converts"});
  }
}

void require_inexact(const char* op, const char* argument, const Tensor& tensor) {
  require_defined(op, argument, tensor);
  if (is_floating_point(tensor.dtype()) || is_complex(tensor.dtype())) return;
  refuse(ErrorKind::BadArgument, {op, ": ", argument, " is ", tensor,
                                  "; a float is needed, to which aten::to.dtype converts"});
}

void require_not_complex(const char* op, const char* argument, const Tensor& tensor) {
  require_defined(op, argument, tensor);
  if (!is_complex(tensor.dtype())) return;
  refuse(ErrorKind::Unsupported, {op, ": ", argument, " is ", tensor,
                                  ", and complex numbers are not taken; take their absolute "
                                  "values, or real and imaginary parts by aten::view_as_real"});
}

void require_dtype(const char* op, const char* argument, const Tensor& tensor, DType dtype) {
  require_cpu(op, argument, tensor);
  if (tensor.dtype() != dtype) {
    refuse(ErrorKind::BadArgument,
           {op, ": ", argument, " is ", tensor, "; its dtype must be ", dtype});
  }
}

void require_real(const char* op, const char* argument, const Scalar& number) {
  if (number.is_complex()) {
    refuse(ErrorKind::Unsupported,
           {op, ": ", argument, " is ", number, "; this kernel accepts bools, ints and floats"});
  }
}

std::int64_t wrap_dim(const char* op, std::int64_t dim, std::int64_t count) {
  const std::int64_t limit = count == 0 ? 1 : count;
  if (dim < -limit || dim >= limit) {
    refuse(ErrorKind::BadIndex, {op, ": dimension ", dim, " is out of range for a tensor of ",
                                 count, count == 1 ? " dimension" : " dimensions",
                                 "; accepted are ", -limit, " to ", limit - 1});
  }
  return dim < 0 ? dim + limit : dim;
}

std::size_t require_slice_dim(const char* op, const Tensor& self, std::int64_t dim) {
  require_defined(op, "self", self);
  if (self.dim() == 0) {
    refuse(ErrorKind::BadShape,
           {op, ": self is ", self, ", which has no dimensions to take a part of"});
  }
  return std::size_t(wrap_dim(op, dim, self.dim()));
}

void require_index(const char* op, const char* argument, std::int64_t index, std::size_t dim,
                   const Tensor& self) {
  const std::int64_t size = self.sizes()[dim];
  if (index >= -size && index < size) return;
  if (size == 0) {
    refuse(ErrorKind::BadIndex, {op, ": ", argument, " is ", index, ", but dimension ", dim,
                                 " of self, which is ", self, ", has no elements"});
  }
  refuse(ErrorKind::BadIndex,
         {op, ": ", argument, " is ", index, ", out of range for dimension ", dim,
          " of self, which is ", self, "; accepted are ", -size, " to ", size - 1});
}

SmallVector<bool, 8> dim_flags(const char* op, IntSpan dims, std::int64_t count) {
  SmallVector<bool, 8> flags(std::size_t(count == 0 ? 1 : count), false);
  for (const std::int64_t dim : dims) {
    bool& flag = flags[std::size_t(wrap_dim(op, dim, count))];
    if (flag) {
      refuse(ErrorKind::BadValue, {op, ": dimension ", dim, " is named twice in ", dims,
                                   "; each dimension may occur once"});
    }
    flag = true;
  }
  return flags;
}

DimVector infer_sizes(const char* op, IntSpan sizes, std::int64_t numel) {
  DimVector result(sizes);
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  bool fits = true;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && !open) {
      open = i;
    } else if (sizes[i] < 0 || __builtin_mul_overflow(known, sizes[i], &known)) {
      fits = false;
      break;
    }
  }
  if (fits && open) {
    if (known == 0 && numel == 0) {
      refuse(ErrorKind::BadShape, {op, ": sizes ", sizes,
                                   " leave -1 open for a tensor without elements, where any "
                                   "number would fit; write the size in its place"});
    }
    fits = known != 0 && numel % known == 0;
    if (fits) result[*open] = numel / known;
  } else if (fits) {
    fits = known == numel;
  }
  if (!fits) {
    refuse(ErrorKind::BadShape,
           {op, ": sizes ", sizes, " do not fit self, which has ", numel,
            numel == 1 ? " element" : " elements",
            "; their product must be that number, and one of them may be -1 for what is left"});
  }
  return result;
}

void require_sizes(const char* op, IntSpan sizes) {
  for (const std::int64_t size : sizes) {
    if (size < 0) {
      refuse(ErrorKind::BadShape,
             {op, ": sizes ", sizes, " contain ", size, "; a size must be 0 or more"});
    }
  }
}

void require_sizes_of(const char* op, const char* argument, IntSpan sizes, DType dtype) {
  require_sizes(op, sizes);
  auto bytes = std::int64_t(item_size(dtype));
  bool fits = true;
  for (const std::int64_t size : sizes) {
    if (size == 0) return;
    fits = fits && !__builtin_mul_overflow(bytes, size, &bytes);
  }
  if (!fits) {
    refuse(ErrorKind::BadShape, {op, ": ", argument, " is ", sizes, ", and a tensor of ", dtype,
                                 " with these sizes needs more bytes than fit in 64 bits"});
  }
}

std::int64_t room_of(const char* op, IntSpan size, IntSpan stride) {
  require_sizes(op, size);
  std::int64_t room = 1;
  bool fits = size.size() == stride.size();
  for (std::size_t i = 0; fits && i < size.size(); ++i) {
    std::int64_t reach = 0;
    fits = stride[i] >= 0 &&
           !__builtin_mul_overflow(std::max<std::int64_t>(size[i] - 1, 0), stride[i], &reach) &&
           !__builtin_add_overflow(room, reach, &room);
  }
  if (!fits) {
    refuse(ErrorKind::BadShape,
           {op, ": size is ", size, " and stride is ", stride,
            "; a stride of 0 or more is needed for each size, and a row of elements that holds "
            "them all must fit in 64 bits"});
  }
  return room;
}

namespace {

// Ints above int64, which no schema holds, come as floats.
Number uint64_in(const char* op, const char* argument, const Scalar& scalar) {
  const bool is_float = scalar.is_floating_point();
  const double real = is_float ? scalar.to_double() : 0;
  const bool fits = is_float ? real > -1 && real < 0x1p64 : scalar.to_int() >= 0;
  if (!fits) {
    refuse(ErrorKind::BadValue, {op, ": ", argument, " is ", scalar, ", which does not fit into ",
                                 DType::UInt64, "; accepted are 0 to 18446744073709551615"});
  }
  return Number::of(is_float ? std::uint64_t(real) : std::uint64_t(scalar.to_int()));
}

template <typename T>
Number integer_in(const char* op, const char* argument, const Scalar& scalar, DType dtype) {
  using Limits = std::numeric_limits<T>;
  bool fits = true;
  std::int64_t value = 0;
  if (scalar.is_floating_point()) {
    const double real = scalar.to_double();
    fits = real >= -0x1p63 && real < 0x1p63;
    if (fits) value = std::int64_t(real);
  } else {
    value = scalar.to_int();
  }
  if (!fits || value < std::int64_t(Limits::min()) || value > std::int64_t(Limits::max())) {
    refuse(ErrorKind::BadValue,
           {op, ": ", argument, " is ", scalar, ", which does not fit into ", dtype,
            "; accepted are ", std::int64_t(Limits::min()), " to ", std::int64_t(Limits::max())});
  }
  return Number::of(T(value));
}

template <typename T>
Number number_as(const char* op, const char* argument, const Scalar& scalar, DType dtype) {
  if constexpr (std::is_same_v<T, bool>) {
    return Number::of(scalar.to_bool());
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return uint64_in(op, argument, scalar);
  } else if constexpr (std::is_integral_v<T>) {
    return integer_in<T>(op, argument, scalar, dtype);
  } else if constexpr (std::is_floating_point_v<T>) {
    return Number::of(T(scalar.to_double()));
  } else if constexpr (is_half_type<T>) {
    return Number::of(T(float(scalar.to_double())));
  } else {
    return Number::of(T(scalar.to_complex()));
  }
}

}  // namespace

Number number_in(const char* op, const char* argument, const Scalar& scalar, DType dtype) {
  if (!is_complex(dtype)) require_real(op, argument, scalar);
  switch (dtype) {
#define OPYARD_DTYPE(code, name, python, type, ...) \
  case DType::name:                                 \
    return number_as<type>(op, argument, scalar, dtype);
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  refuse(ErrorKind::Internal, {op, ": ", argument, " has no dtype"});
}

void require_row_major(const char* op, std::optional<MemoryFormat> format) {
  if (format && *format != MemoryFormat::Contiguous && *format != MemoryFormat::Preserve) {
    refuse(ErrorKind::Unsupported,
           {op, ": memory_format is number ", int(*format),
            "; accepted are contiguous_format (0) and preserve_format (1)"});
  }
}

void require_plain(const char* op, std::optional<Layout> layout, std::optional<bool> pin_memory) {
  if (layout && *layout != Layout::Strided) {
    refuse(ErrorKind::Unsupported,
           {op, ": layout is number ", int(*layout), "; accepted is strided (0)"});
  }
  if (pin_memory && *pin_memory) {
    refuse(ErrorKind::Unsupported,
           {op, ": pin_memory is True, and this library has no pinned memory; leave it out"});
  }
}

}  // namespace opyard::kernels
