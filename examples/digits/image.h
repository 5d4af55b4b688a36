// examples/digits/image.h: moving the pixels of one 8x8 image.
//
// Pixels are float32, row by row. A pixel outside of the image is 0, which is paper.
#pragma once

namespace digits {

inline constexpr int kSide = 8;
inline constexpr int kPixels = kSide * kSide;

// Where a pixel of the result is read from: source = matrix * (target - centre) + centre + shift,
// all as (row, column) around the middle of the image.
struct Placement {
  double matrix[2][2] = {{1, 0}, {0, 1}};
  double shift[2] = {0, 0};
};

// Draws `source` into `target` (both kPixels long, not the same), with bilinear interpolation.
void place(const float* source, const Placement& placement, float* target);

// The first and second moments of the ink.
struct Moments {
  double mass;         // the sum of all pixels
  double row, column;  // the centre of the ink
  double row_row;      // the variance of the rows
  double row_column;   // the covariance of rows and columns
};
Moments measure(const float* image);

}  // namespace digits
