// kernels/matrix/product.h: products of matrices in any layout.
//
// A matrix here is where its first element is, its sizes, and two strides in elements. A
// transposed view is a matrix like any other and is not copied; one whose elements are next to
// each other in neither direction is.
//
// Depends on: loops/matrix.h.
#pragma once

#include <cstdint>

#include "loops/matrix.h"

namespace opyard::kernels {

// out += factor * a * b, where out is row-major with a.rows x b.columns elements and apart from
// both. a.columns == b.rows. Integers wrap.
void add_product(float* out, Matrix<float> a, Matrix<float> b, float factor);
void add_product(double* out, Matrix<double> a, Matrix<double> b, double factor);
void add_product(std::int64_t* out, Matrix<std::int64_t> a, Matrix<std::int64_t> b,
                 std::int64_t factor);

}  // namespace opyard::kernels
