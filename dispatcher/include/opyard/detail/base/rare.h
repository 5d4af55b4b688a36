// opyard/detail/base/rare.h: Rare: an optional value that takes one pointer.
//
// Used like a std::optional, which takes the memory of its value also if it is empty. Copies are
// deep.
//
// Depends on: nothing of ours.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace opyard {

template <typename T>
class Rare {
 public:
  Rare() noexcept = default;
  Rare(std::nullopt_t) noexcept {}                                  // NOLINT
  Rare(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT
  Rare(std::optional<T> value) {                                    // NOLINT
    if (value) value_ = std::make_unique<T>(std::move(*value));
  }
  Rare(const Rare& other) : value_(other.copy()) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(const Rare& other) {
    value_ = other.copy();
    return *this;
  }
  Rare& operator=(Rare&&) noexcept = default;
  ~Rare() = default;

  bool has_value() const noexcept { return value_ != nullptr; }
  explicit operator bool() const noexcept { return has_value(); }
  // For those who see that there is one.
  T& operator*() noexcept { return *value_; }
  const T& operator*() const noexcept { return *value_; }
  T* operator->() noexcept { return value_.get(); }
  const T* operator->() const noexcept { return value_.get(); }
  const T* find() const noexcept { return value_.get(); }
  std::optional<T> to_optional() const {
    return value_ == nullptr ? std::nullopt : std::optional<T>(*value_);
  }

  bool operator==(const Rare& other) const {
    return has_value() == other.has_value() && (!has_value() || *value_ == *other.value_);
  }

 private:
  std::unique_ptr<T> copy() const {
    return value_ == nullptr ? nullptr : std::make_unique<T>(*value_);
  }

  std::unique_ptr<T> value_;
};

}  // namespace opyard
