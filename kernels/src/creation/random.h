// kernels/creation/random.h: random numbers that a seed repeats on every machine.
//
// [Stream] The numbers are Philox 4x32 with ten rounds: a function of a key, the seed, and a
// counter. A generator has one counter; a call takes as many numbers of it as it needs at once, and
// element i of its result comes from number i of these. So what a call gives depends on the seed
// and on the calls before it, not on threads. PyTorch's numbers are others.
//
// A call that is given no generator draws from the one of the process.
//
// [Children] In the child of a fork the process's generator draws other numbers than in its parent
// and than in the parent's other children. Its seed follows from its parent's and from how many
// children that had since it was seeded, so a program that seeds itself once repeats what its
// children draw, too. Generators that a program made go on in the child as they would have here.
//
// Depends on: common/options.h, opyard/value/generator.h.
#pragma once

#include <opyard/value/generator.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include "common/options.h"

namespace opyard::kernels {

// 128 bits for each number.
__extension__ using Wide = unsigned __int128;

using MaybeGenerator = std::optional<CountedPtr<Generator>>;

class RandomNumbers {
 public:
  // Takes the next `count`. Raises Unsupported for a generator of another backend.
  RandomNumbers(const char* op, std::int64_t count, const MaybeGenerator& generator);

  std::array<std::uint32_t, 4> bits(std::int64_t i) const;
  std::uint64_t word(std::int64_t i) const {
    const auto b = bits(i);
    return std::uint64_t(b[0]) << 32 | b[1];
  }
  // At least 0 and below 1, in steps of 2^-53 or, for float32, of 2^-24.
  double uniform(std::int64_t i) const { return double(word(i) >> 11) * 0x1p-53; }
  float uniform_float(std::int64_t i) const { return float(bits(i)[0] >> 8) * 0x1p-24F; }
  // By Box and Muller's formula.
  double normal(std::int64_t i) const {
    const auto b = bits(i);
    const double radius = double((std::uint64_t(b[0]) << 32 | b[1]) >> 11) * 0x1p-53;
    const double angle = double((std::uint64_t(b[2]) << 32 | b[3]) >> 11) * 0x1p-53;
    return std::sqrt(-2 * std::log1p(-radius)) * std::cos(6.283185307179586 * angle);
  }
  // With mean 1.
  double exponential(std::int64_t i) const { return -std::log1p(-uniform(i)); }
  // At least 0 and below `range`; 0 means 2^64. Its bias is below range / 2^64.
  std::uint64_t below(std::int64_t i, std::uint64_t range) const {
    return range == 0 ? word(i) : std::uint64_t((Wide(word(i)) * range) >> 64);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t first_;
};

// A tensor for numbers. Raises BadShape, Unsupported.
Tensor empty_for(const char* op, IntSpan size, DType dtype, MaybeLayout layout, MaybeDevice device,
                 MaybeBool pin_memory);
// From 0 on and below 1, and of mean 0 and variance 1; of a dtype of floats.
Tensor with_uniform(const char* op, Tensor result, const MaybeGenerator& generator);
Tensor with_normal(const char* op, Tensor result, const MaybeGenerator& generator);
// Like `self`, which may have symbolic sizes.
Tensor uniform_like(const char* op, const Tensor& self, DType dtype,
                    const MaybeGenerator& generator);

}  // namespace opyard::kernels
