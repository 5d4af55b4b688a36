// kernels/matrix/product_float64.cpp: the products of float64 matrices.
#include "matrix/product_eigen.h"

namespace opyard::kernels {

void add_product(double* out, Matrix<double> a, Matrix<double> b, double factor) {
  detail::add_product(out, a, b, factor);
}

}  // namespace opyard::kernels
