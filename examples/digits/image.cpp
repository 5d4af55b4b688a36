// examples/digits/image.cpp: moving the pixels of one 8x8 image.
#include "image.h"

#include <cmath>

namespace digits {
namespace {

float pixel(const float* image, int row, int column) {
  const bool inside = row >= 0 && row < kSide && column >= 0 && column < kSide;
  return inside ? image[row * kSide + column] : 0.0F;
}

double sample(const float* image, double row, double column) {
  const double top = std::floor(row);
  const double left = std::floor(column);
  const double down = row - top;
  const double right = column - left;
  const int r = int(top);
  const int c = int(left);
  return (1 - down) * ((1 - right) * pixel(image, r, c) + right * pixel(image, r, c + 1)) +
         down * ((1 - right) * pixel(image, r + 1, c) + right * pixel(image, r + 1, c + 1));
}

}  // namespace

void place(const float* source, const Placement& placement, float* target) {
  constexpr double kMiddle = (kSide - 1) / 2.0;
  for (int row = 0; row < kSide; ++row) {
    for (int column = 0; column < kSide; ++column) {
      const double y = row - kMiddle;
      const double x = column - kMiddle;
      const auto& m = placement.matrix;
      target[row * kSide + column] =
          float(sample(source, m[0][0] * y + m[0][1] * x + kMiddle + placement.shift[0],
                       m[1][0] * y + m[1][1] * x + kMiddle + placement.shift[1]));
    }
  }
}

Moments measure(const float* image) {
  Moments moments{};
  for (int i = 0; i < kPixels; ++i) {
    moments.mass += image[i];
    moments.row += image[i] * (i / kSide);
    moments.column += image[i] * (i % kSide);
  }
  if (moments.mass == 0) return moments;
  moments.row /= moments.mass;
  moments.column /= moments.mass;
  for (int i = 0; i < kPixels; ++i) {
    const double down = i / kSide - moments.row;
    const double right = i % kSide - moments.column;
    moments.row_row += image[i] * down * down / moments.mass;
    moments.row_column += image[i] * down * right / moments.mass;
  }
  return moments;
}

}  // namespace digits
