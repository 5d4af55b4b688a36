// examples/digits/digits.cpp: three operators on batches of handwritten digits.
//
//   digits::deskew    straightens each image: its ink is centred and no longer leans
//   digits::augment   turns, stretches and moves each image a little, at random
//   digits::calls     how often the kernels below have run, by name
//
// Images are float32[n, 64] or float32[n, 8, 8] on the CPU, of any strides; the result has the
// shape of the input. Errors begin with the operator's name and name the rows: the first one that
// holds NaN or an infinity, and all where the shape is wrong.
#include <opyard/library.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "image.h"

namespace digits {
namespace {

using opyard::DispatchKey;
using opyard::ErrorKind;
using opyard::Tensor;

std::atomic<std::int64_t> deskew_calls{0};
std::atomic<std::int64_t> augment_calls{0};

// The pixels of row `row`, in order, whatever the strides.
void read_image(const std::string& op, const Tensor& images, std::int64_t row, float* image) {
  const float* const first = images.data<float>() + row * images.stride(0);
  for (int i = 0; i < kPixels; ++i) {
    const std::int64_t at = images.dim() == 2
                                ? i * images.stride(1)
                                : i / kSide * images.stride(1) + i % kSide * images.stride(2);
    image[i] = first[at];
    if (!std::isfinite(image[i])) {
      opyard::fail(ErrorKind::BadValue, op + ": row " + std::to_string(row) + " of images holds " +
                                            (std::isnan(image[i]) ? "NaN" : "an infinity") +
                                            " at pixel " + std::to_string(i) +
                                            "; every pixel must be a finite number");
    }
  }
}

void check_images(const std::string& op, const Tensor& images) {
  if (images.dtype() != opyard::DType::Float32 || !images.device().is_cpu()) {
    opyard::fail(ErrorKind::BadArgument, op + ": images must be float32 on the CPU, but they are " +
                                             opyard::describe(images) + " on " +
                                             opyard::to_string(images.device()));
  }
  const bool flat = images.dim() == 2 && images.size(1) == kPixels;
  const bool square = images.dim() == 3 && images.size(1) == kSide && images.size(2) == kSide;
  if (flat || square) return;
  std::string text = op + ": images must have the shape [n, 64] or [n, 8, 8], but they have " +
                     opyard::describe_sizes(images.sizes());
  if (images.dim() < 2) {
    text += ", which has no rows; a single image is [1, 64]";
  } else if (images.size(0) > 0) {
    const std::int64_t last = images.size(0) - 1;
    text += last == 0 ? ": row 0 has" : ": rows 0 to " + std::to_string(last) + " have";
    text += " the shape " + opyard::describe_sizes(images.sizes().subspan(1));
  }
  opyard::fail(ErrorKind::BadShape, std::move(text));
}

// Applies `change(image, changed, row)` to every image of a batch.
template <typename Change>
Tensor change_each(const std::string& op, const Tensor& images, const Change& change) {
  check_images(op, images);
  Tensor result = Tensor::empty(images.sizes());
  float* to = result.mutable_data<float>();
  float image[kPixels];
  for (std::int64_t row = 0; row < images.size(0); ++row, to += kPixels) {
    read_image(op, images, row, image);
    change(image, to, row);
  }
  return result;
}

Tensor deskew(const Tensor& images) {
  ++deskew_calls;
  return change_each(
      "digits::deskew", images, [](const float* image, float* straight, std::int64_t) {
        const Moments moments = measure(image);
        if (moments.mass == 0 || moments.row_row == 0) {
          std::memcpy(straight, image, kPixels * sizeof(float));  // blank, or a single line of ink
          return;
        }
        Placement placement;
        placement.matrix[1][0] = moments.row_column / moments.row_row;  // the slant
        placement.shift[0] = moments.row - (kSide - 1) / 2.0;
        placement.shift[1] = moments.column - (kSide - 1) / 2.0;
        place(image, placement, straight);
      });
}

// The same seed and strength give the same images. `strength` 0 changes nothing.
Tensor augment(const Tensor& images, std::int64_t seed, double strength) {
  if (!(strength >= 0 && strength <= 10)) {
    opyard::fail(ErrorKind::BadValue, "digits::augment: strength must be in [0, 10], but it is " +
                                          std::to_string(strength));
  }
  ++augment_calls;
  return change_each(
      "digits::augment", images, [&](const float* image, float* changed, std::int64_t row) {
        std::seed_seq numbers{std::uint32_t(seed), std::uint32_t(seed >> 32), std::uint32_t(row)};
        std::mt19937 random(numbers);
        // Uniform in [-1, 1], the same on every machine: only the engine is random here.
        const auto draw = [&] { return 2.0 * random() / 4294967295.0 - 1.0; };
        const double angle = 0.15 * strength * draw();
        const double height = 1.0 + 0.08 * strength * draw();
        const double width = 1.0 + 0.08 * strength * draw();
        Placement placement;
        placement.matrix[0][0] = std::cos(angle) * height;
        placement.matrix[0][1] = -std::sin(angle) * width;
        placement.matrix[1][0] = std::sin(angle) * height;
        placement.matrix[1][1] = std::cos(angle) * width;
        placement.shift[0] = 0.4 * strength * draw();
        placement.shift[1] = 0.4 * strength * draw();
        place(image, placement, changed);
      });
}

std::int64_t calls(std::string_view kernel) {
  if (kernel == "deskew") return deskew_calls;
  if (kernel == "augment") return augment_calls;
  opyard::fail(ErrorKind::BadValue, "digits::calls: '" + std::string(kernel) +
                                        "' is no kernel here; 'deskew' and 'augment' are");
}

}  // namespace
}  // namespace digits

OPYARD_LIBRARY(digits, m) {
  m.def("deskew(Tensor images) -> Tensor");
  m.def("augment(Tensor images, *, int seed, float strength=1.0) -> Tensor");
  m.def("calls(str kernel) -> int", &digits::calls);

  m.impl("deskew", opyard::DispatchKey::CPU, &digits::deskew);
  m.impl("augment", opyard::DispatchKey::CPU, &digits::augment);
}
