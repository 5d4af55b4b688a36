// gradients/call_bytes.h: the bytes of a compiled function's cache key.
//
// Depends on: nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

namespace opyard::gradients {

// Bytes that are appended a few at a time, up to a kilobyte in place.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  void add(const void* from, std::size_t count) {
    if (__builtin_expect(size_ + count > capacity_, 0)) grow(count);
    std::memcpy(data_ + size_, from, count);
    size_ += count;
  }
  void operator+=(char one) { add(&one, 1); }
  const char* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  void grow(std::size_t count) {
    std::string more;
    more.reserve(2 * (size_ + count));
    more.assign(data_, size_);
    more.resize(more.capacity());
    more_ = std::move(more);
    data_ = more_.data();
    capacity_ = more_.size();
  }

  std::array<char, 1024> first_;
  std::string more_;
  char* data_ = first_.data();
  std::size_t size_ = 0, capacity_ = first_.size();
};

// Numbers of addresses, in the order in which they came. Most calls have few.
class Numbers {
 public:
  // The number, and whether the address is new.
  std::pair<std::uint32_t, bool> add(const void* address) {
    const void** const end = few_.data() + count_;
    if (const void** const found = std::find(few_.data(), end, address); found != end) {
      return {std::uint32_t(found - few_.data()), false};
    }
    if (count_ < few_.size()) {
      few_[count_] = address;
      return {std::uint32_t(count_++), true};
    }
    const auto next = std::uint32_t(few_.size() + many_.size());
    const auto [found, is_new] = many_.try_emplace(address, next);
    return {found->second, is_new};
  }

 private:
  std::array<const void*, 16> few_;
  std::size_t count_ = 0;
  std::unordered_map<const void*, std::uint32_t> many_;
};

}  // namespace opyard::gradients
