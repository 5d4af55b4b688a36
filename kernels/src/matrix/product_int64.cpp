// kernels/matrix/product_int64.cpp: products of int64 matrices: plain loops, since there are no
// vector instructions for them.
#include "matrix/product.h"

namespace opyard::kernels {

void add_product(std::int64_t* out, Matrix<std::int64_t> a, Matrix<std::int64_t> b,
                 std::int64_t factor) {
  using Word = std::uint64_t;  // whose arithmetic wraps
  for (std::int64_t i = 0; i < a.rows; ++i, out += b.columns) {
    for (std::int64_t k = 0; k < a.columns; ++k) {
      const Word left = Word(factor) * Word(a.data[i * a.row_stride + k * a.column_stride]);
      const std::int64_t* const right = b.data + k * b.row_stride;
      for (std::int64_t j = 0; j < b.columns; ++j) {
        out[j] = std::int64_t(Word(out[j]) + left * Word(right[j * b.column_stride]));
      }
    }
  }
}

}  // namespace opyard::kernels
