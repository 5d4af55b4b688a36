// code/few.h: values of which there are mostly few.
//
// Depends on: nothing.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace opyard::jit {

// `count` values that are empty at first. Up to `most` of them are in the object itself, so that
// making it allocates nothing.
template <typename T, std::size_t most>
class Few {
 public:
  explicit Few(std::size_t count) : count_(count) {
    if (count > most) many_.resize(count);
  }
  Few(const Few&) = delete;
  Few& operator=(const Few&) = delete;

  std::span<T> all() noexcept { return {count_ > most ? many_.data() : few_.data(), count_}; }

 private:
  const std::size_t count_;
  std::array<T, most> few_{};
  std::vector<T> many_;
};

}  // namespace opyard::jit
