// loops/products.cpp: products of matrices, a block of the result in registers at a time.
//
// Both factors are copied in pieces that lie as they are read: of a, kDepth columns of a few rows;
// of b, kDepth rows of two packets. What is missing at an edge is zeros, so that every element is
// computed by the same instructions in the same order: its bits depend neither on its place nor on
// how the result is cut among threads.
//
// A step multiplies kRows elements of a by two packets of b. 24 accumulators of AVX-512 leave room
// for both; AVX2 and SSE have half as many registers.
#include <algorithm>
#include <memory>
#include <new>

#include "loops/kinds.h"
#include "loops/packet_loops.h"

namespace opyard::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 12;
#elif defined(__AVX__)
constexpr int kRows = 6;
#else
constexpr int kRows = 4;
#endif
constexpr std::int64_t kDepth = 256;      // columns of a: its piece stays in the second cache
constexpr std::int64_t kPanel = 12 * 16;  // rows of a; a multiple of every kRows
constexpr std::int64_t kColumns = 4096;   // of b
static_assert(kPanel % kRows == 0);

template <typename T>
constexpr int kWidth = Eigen::internal::unpacket_traits<PacketOf<T>>::size;
template <typename T>
constexpr int kStrip = 2 * kWidth<T>;

struct Release {
  void operator()(void* memory) const noexcept { ::operator delete(memory, std::align_val_t(64)); }
};
template <typename T>
using Room = std::unique_ptr<T, Release>;
template <typename T>
Room<T> make_room(std::int64_t count) {
  const std::size_t bytes = std::size_t(count) * sizeof(T);
  return Room<T>(static_cast<T*>(::operator new(bytes, std::align_val_t(64))));
}

// Groups of `width` neighbours of one direction, each with `depth` steps in the other one.
template <typename T, int width>
void pack(T* to, const T* from, std::int64_t count, std::int64_t stride, std::int64_t depth,
          std::int64_t step, T factor) {
  for (std::int64_t first = 0; first < count; first += width, from += width * stride) {
    const std::int64_t here = std::min<std::int64_t>(width, count - first);
    if (here == width && stride == 1) {
      for (std::int64_t k = 0; k < depth; ++k, to += width) {
        const T* const line = from + k * step;
        for (int i = 0; i < width; ++i) to[i] = factor * line[i];
      }
      continue;
    }
    for (std::int64_t k = 0; k < depth; ++k, to += width) {
      const T* const line = from + k * step;
      for (std::int64_t i = 0; i < here; ++i) to[i] = factor * line[i * stride];
      for (std::int64_t i = here; i < width; ++i) to[i] = 0;
    }
  }
}

// out += a * b for kRows rows and a strip of columns.
template <typename T>
void multiply_block(const T* a, const T* b, std::int64_t depth, T* out, std::int64_t out_stride) {
  using namespace Eigen::internal;
  using Packet = PacketOf<T>;
  Packet sums[kRows][2];
  for (int i = 0; i < kRows; ++i) sums[i][0] = sums[i][1] = packets::constant<Packet>(0);
  for (std::int64_t k = 0; k < depth; ++k, a += kRows, b += kStrip<T>) {
    const Packet left = pload<Packet>(b), right = pload<Packet>(b + kWidth<T>);
#ifdef __clang__
#pragma unroll
#else
#pragma GCC unroll 16
#endif
    for (int i = 0; i < kRows; ++i) {
      const Packet x = packets::constant<Packet>(a[i]);
      sums[i][0] = pmadd(x, left, sums[i][0]);
      sums[i][1] = pmadd(x, right, sums[i][1]);
    }
  }
  for (int i = 0; i < kRows; ++i, out += out_stride) {
    pstoreu(out, padd(ploadu<Packet>(out), sums[i][0]));
    pstoreu(out + kWidth<T>, padd(ploadu<Packet>(out + kWidth<T>), sums[i][1]));
  }
}

// The same at an edge, where fewer rows and columns are wanted.
template <typename T>
void multiply_edge(const T* a, const T* b, std::int64_t depth, T* out, std::int64_t out_stride,
                   std::int64_t rows, std::int64_t columns) {
  alignas(64) T block[kRows * kStrip<T>] = {};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) block[i * kStrip<T> + j] = out[i * out_stride + j];
  }
  multiply_block(a, b, depth, block, std::int64_t(kStrip<T>));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) out[i * out_stride + j] = block[i * kStrip<T> + j];
  }
}

template <typename T>
void multiply_panel(const T* a, const T* b, std::int64_t rows, std::int64_t columns,
                    std::int64_t depth, T* out, std::int64_t out_stride) {
  for (std::int64_t j = 0; j < columns; j += kStrip<T>, b += depth * kStrip<T>) {
    const T* left = a;
    for (std::int64_t i = 0; i < rows; i += kRows, left += depth * kRows) {
      T* const to = out + i * out_stride + j;
      if (rows - i >= kRows && columns - j >= kStrip<T>) {
        multiply_block(left, b, depth, to, out_stride);
      } else {
        multiply_edge(left, b, depth, to, out_stride, std::min<std::int64_t>(kRows, rows - i),
                      std::min<std::int64_t>(kStrip<T>, columns - j));
      }
    }
  }
}

constexpr std::int64_t round_up(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit * unit;
}

template <typename T>
void add_product(T* out, std::int64_t out_stride, const Matrix<T>& a, const Matrix<T>& b,
                 T factor) {
  const std::int64_t widest = round_up(std::min(b.columns, kColumns), kStrip<T>);
  const std::int64_t deepest = std::min(a.columns, kDepth);
  const Room<T> left = make_room<T>(round_up(std::min(a.rows, kPanel), kRows) * deepest);
  const Room<T> right = make_room<T>(widest * deepest);
  for (std::int64_t j = 0; j < b.columns; j += kColumns) {
    const std::int64_t columns = std::min(kColumns, b.columns - j);
    for (std::int64_t k = 0; k < a.columns; k += kDepth) {
      const std::int64_t depth = std::min(kDepth, a.columns - k);
      pack<T, kStrip<T>>(right.get(), b.data + k * b.row_stride + j * b.column_stride, columns,
                         b.column_stride, depth, b.row_stride, T(1));
      for (std::int64_t i = 0; i < a.rows; i += kPanel) {
        const std::int64_t rows = std::min(kPanel, a.rows - i);
        pack<T, kRows>(left.get(), a.data + i * a.row_stride + k * a.column_stride, rows,
                       a.row_stride, depth, a.column_stride, factor);
        multiply_panel(left.get(), right.get(), rows, columns, depth, out + i * out_stride + j,
                       out_stride);
      }
    }
  }
}

}  // namespace

constexpr ProductLoops kProducts = {.float32 = &add_product<float>,
                                    .float64 = &add_product<double>};

}  // namespace opyard::kernels
