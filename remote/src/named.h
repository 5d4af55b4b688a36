// remote/named.h: an operator that is found by its name at its first use. Not public.
//
// Depends on: registry/registry.h.
#pragma once

#include <atomic>

#include "opyard/registry/registry.h"

namespace opyard::remote {

// For boxed calls and nodes; registry/found_operator.h is for typed ones.
class Named {
 public:
  constexpr explicit Named(const char* name) noexcept : name_(name) {}
  const Operator& operator*() const {
    const Operator* op = found_.load(std::memory_order_acquire);
    if (op == nullptr) found_.store(op = &require_operator(name_), std::memory_order_release);
    return *op;
  }

 private:
  const char* const name_;
  mutable std::atomic<const Operator*> found_{nullptr};
};

}  // namespace opyard::remote
