// opyard/autograd/few.h: a list that holds its first N items in itself.
//
// Most functions have one input and two edges, so that a recorded call allocates its function and
// nothing beside it. Items never move once they are in the list.
//
// Depends on: nothing of ours.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace opyard::autograd {

template <typename T, std::size_t N>
class Few {
 public:
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](std::size_t i) noexcept { return i < N ? first_[i] : (*more_)[i - N]; }
  const T& operator[](std::size_t i) const noexcept { return i < N ? first_[i] : (*more_)[i - N]; }

  T& push_back(T item) {
    if (size_ < N) return first_[size_++] = std::move(item);
    if (more_ == nullptr) more_ = std::make_unique<std::vector<T>>();
    more_->push_back(std::move(item));
    ++size_;
    return more_->back();
  }
  // Gives up what the items hold, and keeps them.
  void clear_items() noexcept {
    for (std::size_t i = 0; i < size_; ++i) (*this)[i] = T();
  }

 private:
  std::size_t size_ = 0;
  std::array<T, N> first_{};
  std::unique_ptr<std::vector<T>> more_;
};

}  // namespace opyard::autograd
