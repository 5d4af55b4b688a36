// loops/products.cpp: matrix product loops, blocked for registers.
//
// Both factors are copied in pieces that are ordered as they are read: of a, kDepth columns of a
// few rows; of b, kDepth rows of two packets. What is missing at an edge is zeros, so that every
// element is computed by the same instructions in the same order: its bits depend neither on its
// place nor on how the result is cut among threads.
//
// [In place] A factor of few elements is near at hand: it is read as it lies, and only what is
// left at an edge is copied. b is read a packet at a time, so its columns have to be neighbours.
//
// A step multiplies kRows elements of a by two packets of b. 24 accumulators of AVX-512 leave room
// for both; AVX2 and SSE have half as many registers. At an edge fewer rows, and one packet, are
// multiplied by the same instructions.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#include "loops/kinds.h"
#include "loops/packet_loops.h"

namespace opyard::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kPanelRows = 12;
#elif defined(__AVX__)
constexpr int kPanelRows = 6;
#else
constexpr int kPanelRows = 4;
#endif
constexpr int kThird = (kPanelRows + 2) / 3;
constexpr std::int64_t kDepth = 256;       // columns of a: its piece stays in the second cache
constexpr std::int64_t kPanel = 12 * 16;   // rows of a; a multiple of every kRows
constexpr std::int64_t kColumns = 4096;    // of b
constexpr std::int64_t kNear = 128 << 10;  // bytes over which a factor that is not copied may reach
static_assert(kPanel % kPanelRows == 0);

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

// Packets of 16 bytes, which every build has: a square of so many is turned in registers.
template <typename T>
using SquarePacket =
    std::conditional_t<sizeof(T) == 4, Eigen::internal::Packet4f, Eigen::internal::Packet2d>;
template <typename T>
constexpr int kSide = 16 / sizeof(T);

// A square: of kSide neighbours that are `stride` apart, kSide steps that are next to each other.
template <typename T, int width>
void pack_square(T* to, const T* from, std::int64_t stride, T factor) {
  using namespace Eigen::internal;
  PacketBlock<SquarePacket<T>, kSide<T>> square;
  const auto scale = packets::constant<SquarePacket<T>>(factor);
  for (int i = 0; i < kSide<T>; ++i) {
    square.packet[i] = pmul(scale, ploadu<SquarePacket<T>>(from + i * stride));
  }
  ptranspose(square);
  for (int k = 0; k < kSide<T>; ++k) pstoreu(to + k * width, square.packet[k]);
}

// One group whose steps are next to each other; `here` of its places are taken.
template <typename T, int width>
void pack_turned(T* to, const T* from, std::int64_t here, std::int64_t stride, std::int64_t depth,
                 T factor) {
  std::int64_t i = 0;
  for (; i + kSide<T> <= here; i += kSide<T>) {
    const T* const lines = from + i * stride;
    std::int64_t k = 0;
    for (; k + kSide<T> <= depth; k += kSide<T>) {
      pack_square<T, width>(to + k * width + i, lines + k, stride, factor);
    }
    for (; k < depth; ++k) {
      for (int j = 0; j < kSide<T>; ++j) to[k * width + i + j] = factor * lines[j * stride + k];
    }
  }
  for (; i < width; ++i) {
    for (std::int64_t k = 0; k < depth; ++k) {
      to[k * width + i] = i < here ? factor * from[i * stride + k] : T(0);
    }
  }
}

// Groups of `width` neighbours of one direction, each with `depth` steps in the other one.
template <typename T, int width>
void pack(T* to, const T* from, std::int64_t count, std::int64_t stride, std::int64_t depth,
          std::int64_t step, T factor) {
  for (std::int64_t first = 0; first < count; first += width, from += width * stride) {
    const std::int64_t here = std::min<std::int64_t>(width, count - first);
    if (step == 1 && stride != 1) {
      pack_turned<T, width>(to, from, here, stride, depth, factor);
      to += width * depth;
      continue;
    }
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

// How a block reads a factor: neighbours of one direction, and steps in the other one.
template <typename T>
struct Lines {
  const T* data;
  std::int64_t neighbour, step;
};
// Groups of `width` neighbours, and the one at the edge, which may have fewer.
template <typename T>
struct Part {
  Lines<T> whole;
  std::int64_t group;
  Lines<T> edge;
};

// A part as it is, or copied to `room`. Blocks read `unit` neighbours at least, or a multiple.
template <typename T, int width, int unit>
Part<T> part_of(T* room, Lines<T> from, std::int64_t count, std::int64_t depth, T factor,
                bool in_place) {
  const std::int64_t whole = count / width * width, rest = count - whole;
  const T* const edge = from.data + whole * from.neighbour;
  if (in_place && rest % unit == 0) {
    return {from, width * from.neighbour, {edge, from.neighbour, from.step}};
  }
  if (in_place) {
    pack<T, width>(room, edge, rest, from.neighbour, depth, from.step, factor);
    return {from, width * from.neighbour, {room, 1, width}};
  }
  pack<T, width>(room, from.data, count, from.neighbour, depth, from.step, factor);
  return {{room, 1, width}, width * depth, {room + whole * depth, 1, width}};
}

template <typename T>
bool is_near(const Matrix<T>& matrix) {
  const std::int64_t reach = std::abs(matrix.row_stride) * (matrix.rows - 1) +
                             std::abs(matrix.column_stride) * (matrix.columns - 1);
  return reach < kNear / std::int64_t(sizeof(T));
}

// Adds a packet to `count` elements of memory, of a packet at most.
template <typename Packet, typename T>
void add_to(T* out, const Packet& sum, std::int64_t count) {
  using namespace Eigen::internal;
  if (count >= kWidth<T>) return pstoreu(out, padd(ploadu<Packet>(out), sum));
  alignas(64) T here[kWidth<T>];
  pstore(here, sum);
  for (std::int64_t j = 0; j < count; ++j) out[j] += here[j];
}

// out += a * b for at most `most` rows and so many packets of columns, of which so many of both
// are wanted. It is not inlined: all registers are its own.
template <typename T, int most, int strip>
[[gnu::noinline]] void multiply_block(Lines<T> a, Lines<T> b, std::int64_t depth, T* out,
                                      std::int64_t out_stride, std::int64_t rows,
                                      std::int64_t columns) {
  using namespace Eigen::internal;
  using Packet = PacketOf<T>;
  Packet sums[most][strip];
  for (int i = 0; i < most; ++i) {
    for (int j = 0; j < strip; ++j) sums[i][j] = packets::constant<Packet>(0);
  }
  const T *left = a.data, *right = b.data;
  for (std::int64_t k = 0; k < depth; ++k, left += a.step, right += b.step) {
    Packet line[strip];
    for (int j = 0; j < strip; ++j) line[j] = ploadu<Packet>(right + j * kWidth<T>);
    OPYARD_UNROLL
    for (int i = 0; i < most; ++i) {
      const Packet x = packets::constant<Packet>(left[i * a.neighbour]);
      for (int j = 0; j < strip; ++j) sums[i][j] = pmadd(x, line[j], sums[i][j]);
    }
  }
  OPYARD_UNROLL
  for (int i = 0; i < most; ++i, out += out_stride) {
    if (i >= rows) break;
    for (int j = 0; j < strip; ++j) {
      add_to<Packet>(out + j * kWidth<T>, sums[i][j], columns - j * kWidth<T>);
    }
  }
}

// The narrowest block that has the wanted rows.
template <typename T, int strip>
void multiply_rows(Lines<T> a, Lines<T> b, std::int64_t depth, T* out, std::int64_t out_stride,
                   std::int64_t rows, std::int64_t columns) {
  if (rows <= kThird) {
    multiply_block<T, kThird, strip>(a, b, depth, out, out_stride, rows, columns);
  } else if (rows <= 2 * kThird) {
    multiply_block<T, 2 * kThird, strip>(a, b, depth, out, out_stride, rows, columns);
  } else {
    multiply_block<T, kPanelRows, strip>(a, b, depth, out, out_stride, rows, columns);
  }
}

template <typename T>
void multiply_panel(const Part<T>& a, const Part<T>& b, std::int64_t rows, std::int64_t columns,
                    std::int64_t depth, T* out, std::int64_t out_stride) {
  for (std::int64_t j = 0; j < columns; j += kStrip<T>) {
    const std::int64_t wide = std::min<std::int64_t>(kStrip<T>, columns - j);
    Lines<T> right = wide < kStrip<T> ? b.edge : b.whole;
    if (wide == kStrip<T>) right.data += j / kStrip<T> * b.group;
    for (std::int64_t i = 0; i < rows; i += kPanelRows) {
      const std::int64_t high = std::min<std::int64_t>(kPanelRows, rows - i);
      Lines<T> left = high < kPanelRows ? a.edge : a.whole;
      if (high == kPanelRows) left.data += i / kPanelRows * a.group;
      T* const to = out + i * out_stride + j;
      if (wide > kWidth<T>) {
        multiply_rows<T, 2>(left, right, depth, to, out_stride, high, wide);
      } else {
        multiply_rows<T, 1>(left, right, depth, to, out_stride, high, wide);
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
  const Room<T> left = make_room<T>(round_up(std::min(a.rows, kPanel), kPanelRows) * deepest);
  const Room<T> right = make_room<T>(widest * deepest);
  const bool a_in_place = factor == T(1) && is_near(a);
  const bool b_in_place = b.column_stride == 1 && is_near(b);
  for (std::int64_t j = 0; j < b.columns; j += kColumns) {
    const std::int64_t columns = std::min(kColumns, b.columns - j);
    for (std::int64_t k = 0; k < a.columns; k += kDepth) {
      const std::int64_t depth = std::min(kDepth, a.columns - k);
      const Part<T> b_part = part_of<T, kStrip<T>, kWidth<T>>(
          right.get(),
          {b.data + k * b.row_stride + j * b.column_stride, b.column_stride, b.row_stride}, columns,
          depth, T(1), b_in_place);
      for (std::int64_t i = 0; i < a.rows; i += kPanel) {
        const std::int64_t rows = std::min(kPanel, a.rows - i);
        const Part<T> a_part = part_of<T, kPanelRows, kThird>(
            left.get(),
            {a.data + i * a.row_stride + k * a.column_stride, a.row_stride, a.column_stride}, rows,
            depth, factor, a_in_place);
        multiply_panel(a_part, b_part, rows, columns, depth, out + i * out_stride + j, out_stride);
      }
    }
  }
}

}  // namespace

constexpr ProductLoops kProducts = {.float32 = &add_product<float>,
                                    .float64 = &add_product<double>};

}  // namespace opyard::kernels
