// kernels/neural/convolution_products.cpp: the three products of convolutions.
//
// Overview. Some windows at a time are copied as columns, as many as stay in the second cache, and
// are multiplied as matrices there. Work is cut into parts whose size depends on the sizes of the
// tensors alone, and no two parts add to one element: so the bits of a result do not depend on the
// number of threads. Most convolutions of floats have no columns: convolution_direct.cpp.
#include <cmath>
#include <vector>

#include "common/copy.h"
#include "matrix/multiply.h"
#include "neural/convolution_parts.h"
#include "neural/convolution_plan.h"

namespace opyard::kernels {
namespace {

constexpr std::int64_t kColumnElements = 1 << 17;

// How many windows are copied at once.
std::int64_t tile_of(std::int64_t depth, std::int64_t windows) {
  const std::int64_t fitting = kColumnElements / std::max<std::int64_t>(depth, 1) / 64 * 64;
  return std::min(windows, std::clamp<std::int64_t>(fitting, 64, 1024));
}
// How many channels are one part, if parts are cut between channels.
std::int64_t channels_of_a_part(const ConvolutionPlan& plan) {
  const std::int64_t places = count_of(plan.windows.kernel);
  return std::min(plan.in, std::max<std::int64_t>(1, 192 / places));
}

// What a part of Convolve does with its sums, while they are in the cache.
template <typename T>
struct PartStore {
  const T* added;
  bool is_plain;
  T least, most;

  void run(T* to, std::int64_t begin, std::int64_t count) const {
    if (is_plain) return;
    T* const row = to + begin;
    const auto between = [&](T x) {
      x = x < least ? least : x;
      return x > most ? most : x;
    };
    if (added == nullptr) {
      for (std::int64_t i = 0; i < count; ++i) row[i] = between(row[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) row[i] = between(T(row[i] + added[begin + i]));
    }
  }
};

template <typename T>
struct Convolve {
  const ConvolutionPlan& plan;
  const T* images;
  const T* weight;
  T* to;
  PartStore<T> store;

  void run() const {
    const std::int64_t all = plan.window_count(), tile = tile_of(plan.depth(), all);
    const std::int64_t tiles = (all + tile - 1) / tile;
    products_by_parts(plan.batch * plan.groups * tiles,
                      double(tile) * double(plan.depth() * plan.out),
                      [&](std::int64_t begin, std::int64_t end) {
                        std::vector<T> columns;
                        if (!plan.windows.are_places())
                          columns.resize(std::size_t(plan.depth() * tile));
                        for (std::int64_t i = begin; i < end; ++i) {
                          part(i / tiles, i % tiles * tile, std::min(all, (i % tiles + 1) * tile),
                               columns.data());
                        }
                      });
  }
  void part(std::int64_t page, std::int64_t begin, std::int64_t end, T* columns) const {
    const std::int64_t all = plan.window_count(), depth = plan.depth(), group = page % plan.groups;
    const T* const image = images + page * plan.in * plan.image_count();
    Matrix<T> right{columns, depth, end - begin, end - begin, 1};
    if (plan.windows.are_places()) {
      right = {image + begin, depth, end - begin, all, 1};
    } else {
      read_columns(plan.windows, image, plan.in, begin, end, columns);
    }
    const Matrix<T> left{weight + group * plan.out * depth, plan.out, depth, depth, 1};
    multiply_add(to + page * plan.out * all + begin, all, left, right);
    for (std::int64_t i = 0; i < plan.out; ++i) {
      store.run(to, (page * plan.out + i) * all + begin, end - begin);
    }
  }
};

template <typename T>
struct ConvolveBack {
  const ConvolutionPlan& plan;
  const T* windows;
  const T* weight;
  T* to;

  void run() const {
    const std::int64_t wide = channels_of_a_part(plan), parts = (plan.in + wide - 1) / wide;
    const std::int64_t rows = wide * count_of(plan.windows.kernel);
    const std::int64_t tile = tile_of(rows, plan.window_count());
    products_by_parts(plan.batch * plan.groups * parts,
                      double(rows) * double(plan.window_count()) * double(plan.out),
                      [&](std::int64_t begin, std::int64_t end) {
                        std::vector<T> columns(std::size_t(rows * tile));
                        for (std::int64_t i = begin; i < end; ++i) {
                          const std::int64_t first = i % parts * wide;
                          part(i / parts, first, std::min(wide, plan.in - first), tile, columns);
                        }
                      });
  }
  void part(std::int64_t page, std::int64_t first, std::int64_t channels, std::int64_t tile,
            std::vector<T>& columns) const {
    const std::int64_t all = plan.window_count(), depth = plan.depth();
    const std::int64_t places = count_of(plan.windows.kernel), rows = channels * places;
    const T* const from = windows + page * plan.out * all;
    const Matrix<T> left{weight + page % plan.groups * plan.out * depth + first * places, rows,
                         plan.out, 1, depth};
    T* const image = to + (page * plan.in + first) * plan.image_count();
    for (std::int64_t begin = 0; begin < all; begin += tile) {
      const std::int64_t end = std::min(all, begin + tile);
      const Matrix<T> right{from + begin, plan.out, end - begin, all, 1};
      if (plan.windows.are_places()) {
        multiply_add(image + begin, all, left, right);
        continue;
      }
      std::fill(columns.begin(), columns.end(), T(0));
      multiply_add(columns.data(), end - begin, left, right);
      add_columns(plan.windows, columns.data(), channels, begin, end, image);
    }
  }
};

template <typename T>
struct Correlate {
  const ConvolutionPlan& plan;
  const T* images;
  const T* windows;
  T* to;

  void run() const {
    const std::int64_t wide = channels_of_a_part(plan), parts = (plan.in + wide - 1) / wide;
    const std::int64_t rows = wide * count_of(plan.windows.kernel);
    const std::int64_t tile = tile_of(rows, plan.window_count());
    products_by_parts(plan.groups * parts,
                      double(rows) * double(plan.window_count()) * double(plan.out * plan.batch),
                      [&](std::int64_t begin, std::int64_t end) {
                        std::vector<T> columns(std::size_t(rows * tile));
                        for (std::int64_t i = begin; i < end; ++i) {
                          const std::int64_t first = i % parts * wide;
                          part(i / parts, first, std::min(wide, plan.in - first), tile, columns);
                        }
                      });
  }
  void part(std::int64_t group, std::int64_t first, std::int64_t channels, std::int64_t tile,
            std::vector<T>& columns) const {
    const std::int64_t all = plan.window_count(), depth = plan.depth();
    const std::int64_t places = count_of(plan.windows.kernel), rows = channels * places;
    T* const out = to + group * plan.out * depth + first * places;
    for (std::int64_t n = 0; n < plan.batch; ++n) {
      const std::int64_t page = n * plan.groups + group;
      const T* const image = images + (page * plan.in + first) * plan.image_count();
      const T* const from = windows + page * plan.out * all;
      for (std::int64_t begin = 0; begin < all; begin += tile) {
        const std::int64_t end = std::min(all, begin + tile);
        read_columns(plan.windows, image, channels, begin, end, columns.data());
        const Matrix<T> left{from + begin, plan.out, end - begin, all, 1};
        multiply_add(out, depth, left,
                     Matrix<T>{columns.data(), end - begin, rows, 1, end - begin});
      }
    }
  }
};

template <template <typename> typename Product>
void run(const ConvolutionPlan& plan, const Tensor& a, const Tensor& b, const Tensor& to) {
  if (plan.window_count() == 0 || to.numel() == 0) return;
  visit_numbers(to, [&](auto sample) {
    using T = decltype(sample);
    Product<T>{plan, elements_of<const T>(a), elements_of<const T>(b), elements_of<T>(to)}.run();
  });
}

}  // namespace

void fill_channels(const Tensor& to, const Tensor* bias) {
  if (to.numel() == 0) return;
  if (bias == nullptr) return fill_elements(to, Number());
  visit_numbers(to, [&](auto sample) {
    using T = decltype(sample);
    const T* const each = elements_of<const T>(*bias);
    T* at = elements_of<T>(to);
    const std::int64_t pages = to.sizes()[0], channels = to.sizes()[1];
    const std::int64_t count = to.numel() / pages / channels;
    without_gil_for(to.numel(), [&] {
      for (std::int64_t page = 0; page < pages; ++page) {
        for (std::int64_t i = 0; i < channels; ++i, at += count) std::fill_n(at, count, each[i]);
      }
    });
  });
}

void convolve(const ConvolutionPlan& plan, const Tensor& images, const Tensor& weight,
              const Tensor* bias, const Tensor& to, const ConvolutionStore& store) {
  if (plan.window_count() == 0 || to.numel() == 0) return;
  if (is_direct(plan, to.dtype())) return convolve_directly(plan, images, weight, bias, to, store);
  fill_channels(to, bias);
  const bool is_plain = store.added == nullptr && std::isinf(store.least) && std::isinf(store.most);
  visit_numbers(to, [&](auto sample) {
    using T = decltype(sample);
    PartStore<T> part{nullptr, is_plain, T(), T()};
    if constexpr (std::is_floating_point_v<T>) {
      part.least = T(store.least), part.most = T(store.most);
      if (store.added != nullptr) part.added = elements_of<const T>(*store.added);
    }
    Convolve<T>{plan, elements_of<const T>(images), elements_of<const T>(weight),
                elements_of<T>(to), part}
        .run();
  });
}
void convolve_back(const ConvolutionPlan& plan, const Tensor& windows, const Tensor& weight,
                   const Tensor& to) {
  run<ConvolveBack>(plan, windows, weight, to);
}
void correlate(const ConvolutionPlan& plan, const Tensor& images, const Tensor& windows,
               const Tensor& to) {
  run<Correlate>(plan, images, windows, to);
}

}  // namespace opyard::kernels
