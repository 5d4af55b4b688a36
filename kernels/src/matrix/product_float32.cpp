// kernels/matrix/product_float32.cpp: the products of float32 matrices.
#include "matrix/product_eigen.h"

namespace opyard::kernels {

void add_product(float* out, Matrix<float> a, Matrix<float> b, float factor) {
  detail::add_product(out, a, b, factor);
}

}  // namespace opyard::kernels
