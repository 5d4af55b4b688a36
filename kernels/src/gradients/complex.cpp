// kernels/gradients/complex.cpp: gradients of the direction, the angle and the exponents of complex
// numbers, and of Fourier transforms.
//
// The gradient of a real number L of z = a + ib is dL/da + i dL/db: docs/guides/gradients.md. Real
// numbers have steps here, and the gradient zero. All are compositions, and so
// differentiable again.
#include <opyard/library.h>
#include <opyard/registry/found_operator.h>

#include <limits>

#include "common/check.h"
#include "common/ops.h"

namespace opyard::kernels {
namespace {

using namespace ops;

// What of the gradient is along the direction changes the size alone.
Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (!is_complex(self.dtype())) return constant_like(grad, 0);
  const Tensor none = equals(detach(self), 0);
  const Tensor across = grad - result * real(conj(result) * grad);
  return masked(across / abs(masked(self, none, 1)), none, 0);
}

// i z / |z|^2
Tensor angle_backward(const Tensor& grad, const Tensor& self) {
  if (!is_complex(self.dtype())) return constant_like(grad, 0);
  const Tensor none = equals(detach(self), 0), size = abs(masked(self, none, 1));
  const Scalar i(std::complex<double>(0, 1));
  return masked((self * i) * (grad / (size * size)), none, 0);
}

// grad conj(exponent self^(exponent - 1)). Of the exponent 0 that is 0, also where the base is 0,
// negative or no number; elsewhere it changes with the exponent.
Tensor pow_base_backward(const Tensor& grad, const Tensor& self, const Tensor& exponent) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> power(
      "aten::pow.Tensor_Tensor");
  const Tensor size = is_complex(self.dtype()) ? abs(detach(self)) : detach(self);
  // Nearer to 0 the slope of the power -1, which has no part in it, is past the largest number.
  const Tensor is_steep = negation(pow(size, -1) < std::numeric_limits<double>::infinity());
  const Tensor flat = both(equals(detach(exponent), 0), is_steep);
  const Tensor steep = masked(exponent, flat, 1);
  return masked(grad * conj(steep * power.call(self, steep - 1)), flat, 0);
}
// grad conj(result log(self)), and 0 at the powers of 0 that have no slope. Of a real base whose
// powers are complex the logarithm is, too.
Tensor pow_exponent_backward(const Tensor& grad, const Tensor& self, const Tensor& exponent,
                             const Tensor& result) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> both("aten::logical_and");
  const bool becomes_complex = is_complex(result.dtype()) && !is_complex(self.dtype());
  const Tensor flat = both.call(equals(detach(self), 0), real(detach(exponent)) >= 0);
  const Tensor base = masked(becomes_complex ? to(self, result.dtype()) : self, flat, 1);
  const Tensor slope = is_complex(result.dtype()) ? conj(result * log(base)) : result * log(base);
  return masked(grad * slope, flat, 0);
}

Tensor fft_c2c(const Tensor& self, IntSpan dim, std::int64_t normalization, bool forward) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan, std::int64_t, bool)> op(
      "aten::_fft_c2c");
  return op.call(self, dim, normalization, forward);
}
Tensor fft_c2c_backward(const Tensor& grad, IntSpan dim, std::int64_t normalization, bool forward) {
  return fft_c2c(grad, dim, normalization, !forward);
}
// `self` with zeros behind it, to be of these sizes, which differ along the last of `dim` alone.
// Raises BadIndex, BadShape.
Tensor with_zeros(const char* op, const Tensor& self, IntSpan dim, IntSpan sizes) {
  const std::int64_t count = self.dim();
  if (std::size_t(count) != sizes.size())
    refuse(ErrorKind::BadShape, {op, ": size has ", sizes.size(), " numbers for grad of ", count,
                                 " dimensions; one for each is wanted"});
  require_sizes(op, sizes);
  if (dim.empty() || count == 0) return self;
  const auto last = std::size_t(wrap_dim(op, dim.back(), count));
  const std::int64_t missing = sizes[last] - self.sizes()[last];
  if (missing < 0)
    refuse(ErrorKind::BadShape,
           {op, ": grad has ", self.sizes()[last], " elements along dimension ", last,
            ", and size says ", sizes[last]});
  if (missing == 0) return self;
  DimVector behind(self.sizes());
  behind[last] = missing;
  return cat({self, zeros(self, behind)}, dim.back());
}
// The half that was left out has no gradient of its own.
Tensor fft_r2c_backward(const Tensor& grad, IntSpan dim, std::int64_t normalization, bool onesided,
                        IntSpan size) {
  const Tensor whole = onesided ? with_zeros("opyard::fft_r2c_backward", grad, dim, size) : grad;
  return real(fft_c2c(whole, dim, normalization, false));
}
// What is there for its mirror image as well counts twice. Columns that were not read have none.
Tensor fft_c2r_backward(const Tensor& grad, IntSpan dim, std::int64_t normalization, IntSpan size) {
  static constinit FoundOperator<Tensor(const Tensor&, IntSpan, std::int64_t, bool)> op(
      "aten::_fft_r2c");
  Tensor half = op.call(grad, dim, normalization, true);
  if (!dim.empty()) {
    const std::int64_t last = dim.back(), read = half.size(last), twice = grad.size(last) - read;
    if (twice > 0)
      half = cat({ops::narrow(half, last, 0, 1), ops::narrow(half, last, 1, twice) * 2,
                  ops::narrow(half, last, 1 + twice, read - 1 - twice)},
                 last);
  }
  return with_zeros("opyard::fft_c2r_backward", half, dim, size);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.derivative("_fft_c2c", {{"self", "fft_c2c_backward(grad, dim, normalization, forward)"}});
  m.derivative("_fft_r2c", {{"self",
                             "fft_r2c_backward(grad, dim, normalization, onesided, "
                             "sizes(self))"}});
  m.derivative("_fft_c2r", {{"self", "fft_c2r_backward(grad, dim, normalization, sizes(self))"}});
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("fft_c2c_backward(Tensor grad, int[] dim, int normalization, bool forward) -> Tensor",
        &fft_c2c_backward);
  m.def(
      "fft_r2c_backward(Tensor grad, int[] dim, int normalization, bool onesided, int[] size) "
      "-> Tensor",
      &fft_r2c_backward);
  m.def("fft_c2r_backward(Tensor grad, int[] dim, int normalization, int[] size) -> Tensor",
        &fft_c2r_backward);
  m.def("sgn_backward(Tensor grad, Tensor self, Tensor result) -> Tensor", &sgn_backward);
  m.def("pow_base_backward(Tensor grad, Tensor self, Tensor exponent) -> Tensor",
        &pow_base_backward);
  m.def("pow_exponent_backward(Tensor grad, Tensor self, Tensor exponent, Tensor result) -> Tensor",
        &pow_exponent_backward);
  m.def("angle_backward(Tensor grad, Tensor self) -> Tensor", &angle_backward);
}

}  // namespace opyard::kernels
