// opyard/detail/base/descriptor.h: an open file of the system, closed at the end.
//
// Depends on: nothing else of ours.
#pragma once

#include <unistd.h>

#include <utility>

namespace opyard::detail {

class Descriptor {
 public:
  // -1 for none.
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace opyard::detail
