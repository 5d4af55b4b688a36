// examples/gradients/softsign.cpp: an operator from C++ whose derivative is a line of text.
#include <opyard/library.h>

#include <cmath>

namespace {

opyard::Tensor softsign(const opyard::Tensor& x) {
  OPYARD_CHECK(x.dtype() == opyard::DType::Float32 && x.is_contiguous(), BadArgument,
               "gradients::softsign: x must be contiguous and of float32");
  const opyard::Tensor result = opyard::Tensor::empty(x.sizes());
  const float* const in = x.data<float>();
  float* const out = result.mutable_data<float>();
  for (std::int64_t i = 0; i < x.numel(); ++i) out[i] = in[i] / (1 + std::abs(in[i]));
  return result;
}

OPYARD_LIBRARY(gradients, m) {
  m.def("softsign(Tensor x) -> Tensor");
  m.impl("softsign", opyard::DispatchKey::CPU, &softsign);
  m.derivative("softsign", {{"x", "grad / ((abs(x) + 1) * (abs(x) + 1))"}});
}

}  // namespace
