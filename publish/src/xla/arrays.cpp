// xla/arrays.cpp: arrays of XLA and results.
#include "xla/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>

#include "opyard/tensor/loan.h"
#include "opyard/tensor/make.h"

namespace opyard::xla {
namespace {

dlpack::DLDataType type_of(ElementType type) {
  switch (type) {
    case ElementType::Bool:
      return {6, 8, 1};
    case ElementType::Int8:
      return {0, 8, 1};
    case ElementType::Int16:
      return {0, 16, 1};
    case ElementType::Int32:
      return {0, 32, 1};
    case ElementType::Int64:
      return {0, 64, 1};
    case ElementType::UInt8:
      return {1, 8, 1};
    case ElementType::UInt16:
      return {1, 16, 1};
    case ElementType::UInt32:
      return {1, 32, 1};
    case ElementType::UInt64:
      return {1, 64, 1};
    case ElementType::Half:
      return {2, 16, 1};
    case ElementType::Float32:
      return {2, 32, 1};
    case ElementType::Float64:
      return {2, 64, 1};
    case ElementType::BFloat16:
      return {4, 16, 1};
    case ElementType::ComplexFloat:
      return {5, 64, 1};
    case ElementType::ComplexDouble:
      return {5, 128, 1};
  }
  fail(ErrorKind::Unsupported,
       fmt::format("no tensor has elements of XLA's type {}; convert the array first", int(type)));
}

std::string shown(const Buffer& array) {
  return fmt::format("an array of XLA's type {} and the sizes ({})", int(array.type),
                     fmt::join(array.dims, array.dims + array.rank, ", "));
}

dlpack::DLDataType type_of(DType dtype) {
  switch (dtype) {
#define OPYARD_DTYPE(number, name, python, type, dlpack, width, ...) \
  case DType::name:                                                  \
    return {dlpack, width, 1};
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  return {};
}

[[noreturn]] void refuse(const Tensor& result, const Buffer& array) {
  fail(ErrorKind::BadReturn, fmt::format("a result is {}, and what its kernel for Meta said was {}",
                                         describe(result), shown(array)));
}

template <typename To, typename From>
void narrow(void* to, const Tensor& from) {
  const From* const read = from.data<From>();
  auto* const written = static_cast<To*>(to);
  for (std::int64_t i = 0; i < from.numel(); ++i) {
    if constexpr (requires { read[i].real(); }) {
      written[i] =
          To(typename To::value_type(read[i].real()), typename To::value_type(read[i].imag()));
    } else {
      written[i] = To(read[i]);
    }
  }
}

// Whether the array has elements of half the width, and is written.
bool write_narrow(const Buffer& array, const Tensor& result) {
  if (result.dtype() == DType::Int64 && array.type == ElementType::Int32) {
    narrow<std::int32_t, std::int64_t>(array.data, contiguous(result));
  } else if (result.dtype() == DType::UInt64 && array.type == ElementType::UInt32) {
    narrow<std::uint32_t, std::uint64_t>(array.data, contiguous(result));
  } else if (result.dtype() == DType::Float64 && array.type == ElementType::Float32) {
    narrow<float, double>(array.data, contiguous(result));
  } else if (result.dtype() == DType::ComplexDouble && array.type == ElementType::ComplexFloat) {
    narrow<std::complex<float>, std::complex<double>>(array.data, contiguous(result));
  } else {
    return false;
  }
  return true;
}

}  // namespace

dlpack::DLTensor describe_array(const Buffer& array) {
  return {array.data,
          {dlpack::kCPU, 0},
          std::int32_t(array.rank),
          type_of(array.type),
          array.dims,
          nullptr,
          0};
}

void write_array(const Buffer& array, const Tensor& result) {
  const IntSpan sizes(array.dims, std::size_t(array.rank));
  if (!std::ranges::equal(result.sizes(), sizes)) refuse(result, array);
  if (result.numel() == 0 || write_narrow(array, result)) return;
  const dlpack::DLTensor memory = describe_array(array);
  const dlpack::DLDataType type = type_of(result.dtype());
  if (type.code != memory.dtype.code || type.bits != memory.dtype.bits) refuse(result, array);
  copy_into(memory, result);
}

}  // namespace opyard::xla
