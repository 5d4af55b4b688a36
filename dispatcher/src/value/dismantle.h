// value/dismantle.h: iterative destruction of nested containers.
//
// Depends on: value/value.h.
#pragma once

#include <vector>

#include "opyard/value/value.h"

namespace opyard::detail {

// A dying container hands its elements over; those that are containers, and have no other owner,
// are emptied in the same way before they die.
class Dismantler {
 public:
  Dismantler() noexcept = default;
  Dismantler(const Dismantler&) = delete;
  Dismantler& operator=(const Dismantler&) = delete;
  ~Dismantler();

  // Takes a list, tuple or dict out of `value`. If memory has run out it stays, and takes itself
  // apart, one level of stack deeper.
  void take(Value& value) noexcept;

 private:
  std::vector<Value> pending_;
};

}  // namespace opyard::detail
