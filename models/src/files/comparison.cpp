// files/comparison.cpp: elementwise comparison of arrays of any dtype.
#include "files/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "files/file_bytes.h"
#include "opyard/base/error.h"
#include "opyard/tensor/make.h"

namespace opyard::jit {
namespace {

template <typename T>
std::complex<double> converted_element(const char* at) {
  T number;
  std::memcpy(&number, at, sizeof(T));
  if constexpr (std::is_arithmetic_v<T>) {
    return double(number);
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    return {double(number.real()), double(number.imag())};
  } else {
    return double(float(number));
  }
}

bool is_close(std::complex<double> given, std::complex<double> expected, double tolerance) {
  const auto part = [&](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b || std::abs(a - b) <= tolerance * (1 + std::abs(b));
  };
  return part(given.real(), expected.real()) && part(given.imag(), expected.imag());
}

}  // namespace

std::complex<double> element_at(const Tensor& tensor, std::int64_t index) {
  const char* const at =
      static_cast<const char*>(tensor.raw()) + std::size_t(index) * item_size(tensor.dtype());
  switch (tensor.dtype()) {
#define OPYARD_DTYPE(code, Name, name, Type, dlpack, bits, format, numpy) \
  case DType::Name:                                                       \
    return converted_element<Type>(at);
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  fail(ErrorKind::Unsupported, "an element of this dtype is no number");
}

Comparison compare(const Tensor& given, const Tensor& expected, double tolerance) {
  require_elements("compare", given);
  if (!std::equal(given.sizes().begin(), given.sizes().end(), expected.sizes().begin(),
                  expected.sizes().end())) {
    return {false, "has other sizes than"};
  }
  const Tensor left = contiguous(given);
  const Tensor right = contiguous(expected);
  double most = 0;
  for (std::int64_t i = 0; i < left.numel(); ++i) {
    const std::complex<double> a = element_at(left, i);
    const std::complex<double> b = element_at(right, i);
    if (!is_close(a, b, tolerance)) {
      return {false, fmt::format("differs at element {} by {:.3g}, over {:.3g}, from", i,
                                 std::abs(a - b), tolerance)};
    }
    if (a != b && !std::isnan(std::abs(a - b))) most = std::max(most, std::abs(a - b));
  }
  return {true, fmt::format("differs by at most {:.3g} from", most)};
}

Tensor tensor_of(const void* number, DType dtype) {
  return tensor_of_bytes({static_cast<const char*>(number), item_size(dtype)}, dtype, {});
}

}  // namespace opyard::jit
