// kernels/creation/random.h: random numbers that a seed repeats on every machine.
//
// [Stream] The generator is Philox 4x32 with ten rounds: a function of a key, the seed, and a
// counter. There is one counter for the process; a call takes as many numbers of it as it needs at
// once, and element i of its result comes from number i of these. So what a call gives depends on
// the seed and on the calls before it, not on threads. PyTorch's numbers are others.
//
// [Children] The child of a fork draws other numbers than its parent and than its parent's other
// children. Its seed follows from its parent's and from how many children that had since it was
// seeded, so a program that seeds itself once repeats what its children draw, too.
//
// Depends on: nothing of this library.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace opyard::kernels {

// 128 bits for each number.
__extension__ using Wide = unsigned __int128;

class RandomNumbers {
 public:
  // Takes the next `count`. Without a seed the first call takes one of the system's.
  explicit RandomNumbers(std::int64_t count);

  std::array<std::uint32_t, 4> bits(std::int64_t i) const;
  // At least 0 and below 1, in steps of 2^-53 or, for float32, of 2^-24.
  double uniform(std::int64_t i) const {
    const auto b = bits(i);
    return double((std::uint64_t(b[0]) << 32 | b[1]) >> 11) * 0x1p-53;
  }
  float uniform_float(std::int64_t i) const { return float(bits(i)[0] >> 8) * 0x1p-24F; }
  // By Box and Muller's formula.
  double normal(std::int64_t i) const {
    const auto b = bits(i);
    const double radius = double((std::uint64_t(b[0]) << 32 | b[1]) >> 11) * 0x1p-53;
    const double angle = double((std::uint64_t(b[2]) << 32 | b[3]) >> 11) * 0x1p-53;
    return std::sqrt(-2 * std::log1p(-radius)) * std::cos(6.283185307179586 * angle);
  }
  // At least 0 and below `range`; its bias is below range / 2^64.
  std::uint64_t below(std::int64_t i, std::uint64_t range) const {
    const auto b = bits(i);
    const std::uint64_t word = std::uint64_t(b[0]) << 32 | b[1];
    return std::uint64_t((Wide(word) * range) >> 64);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t first_;
};

// The numbers begin anew.
void seed_random_numbers(std::uint64_t seed);

}  // namespace opyard::kernels
