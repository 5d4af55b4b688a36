// kernels/indexing/radix_sort.h: stable order of a line by its numbers' bits, eleven at a time.
//
// [Keys] An unsigned key for each element has the order of the elements: zeros of both signs are
// one key, NaN of every kind is the largest. Keys of the other direction are flipped. A pass moves
// keys and places together, from the lowest digit on, and keeps the order of equal digits; a digit
// that is the same in all keys has none.
//
// Depends on: nothing of this library.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace opyard::kernels {

// From here on it is faster than comparisons.
inline constexpr std::int64_t kLeastOfRadix = 512;

template <typename T>
class RadixSort {
  using Key = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr Key kSign = Key(1) << (8 * sizeof(Key) - 1);
  static constexpr int kBits = 11;
  static constexpr std::size_t kDigits = (8 * sizeof(Key) + kBits - 1) / kBits;
  static constexpr Key kLast = (Key(1) << kBits) - 1;

  struct Item {
    Key key, place;
  };

 public:
  // Writes the places of the line in the order of their elements. A line of 4-byte elements has
  // fewer than 2^32.
  void run(const T* line, std::size_t length, bool descending, std::int64_t* order) {
    items_.resize(length), moved_.resize(length);
    counts_ = {};
    for (std::size_t i = 0; i < length; ++i) {
      const Key key = descending ? Key(~key_of(line[i])) : key_of(line[i]);
      items_[i] = {key, Key(i)};
      for (std::size_t digit = 0; digit < kDigits; ++digit) ++counts_[digit][of(key, digit)];
    }
    for (std::size_t digit = 0; digit < kDigits; ++digit) pass(digit);
    for (std::size_t i = 0; i < length; ++i) order[i] = std::int64_t(items_[i].place);
  }

 private:
  static Key key_of(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      if (x != x) return ~Key(0);  // NOLINT: only NaN is not itself
      if (x == 0) return kSign;
      const auto bits = std::bit_cast<Key>(x);
      return bits & kSign ? ~bits : bits | kSign;
    } else {
      return Key(x) ^ kSign;
    }
  }
  static std::size_t of(Key key, std::size_t digit) { return key >> (kBits * digit) & kLast; }

  void pass(std::size_t digit) {
    auto& counts = counts_[digit];
    if (items_.empty() || counts[of(items_[0].key, digit)] == items_.size()) return;
    Key begin = 0;
    for (Key& count : counts) {
      const Key here = count;
      count = begin;
      begin += here;
    }
    for (const Item& item : items_) moved_[std::size_t(counts[of(item.key, digit)]++)] = item;
    items_.swap(moved_);
  }

  std::vector<Item> items_, moved_;
  std::array<std::array<Key, kLast + 1>, kDigits> counts_{};
};

}  // namespace opyard::kernels
