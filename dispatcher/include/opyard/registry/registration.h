// opyard/registry/registration.h: registration objects, whose end unregisters.
//
// Registrations may end in any order, on any thread: the table that is left is the one that
// the remaining registrations alone would have made.
//
// Depends on: base/export.h.
#pragma once

#include <cstdint>
#include <utility>

#include "opyard/base/export.h"

namespace opyard {

class OPYARD_API Registration {
 public:
  Registration() noexcept = default;  // of nothing
  Registration(Registration&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
  Registration& operator=(Registration&& other) noexcept {
    if (this != &other) {
      undo();
      id_ = std::exchange(other.id_, 0);
    }
    return *this;
  }
  ~Registration() { undo(); }

  // Unregisters now; once is enough. Does nothing if the registration was replaced by a later one
  // of the same library.
  void undo() noexcept;
  // Whether it is in force: neither undone nor replaced by a later one of the same library.
  bool in_force() const noexcept;
  // Keeps it for ever.
  void keep() noexcept { id_ = 0; }

  explicit operator bool() const noexcept { return id_ != 0; }

 private:
  friend class Registry;
  explicit Registration(std::uint64_t id) noexcept : id_(id) {}

  std::uint64_t id_ = 0;
};

}  // namespace opyard
