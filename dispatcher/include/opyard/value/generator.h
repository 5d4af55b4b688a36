// opyard/value/generator.h: a source of random numbers, as operators pass it.
//
// A backend derives its generators from this class; what a draw looks like is between it and
// its kernels, and so is what threads that draw at once must do. A generator's state is a seed
// and what was drawn since.
//
// A generator that is an argument of an operator adds its keys to the call, as a tensor does:
// so a call without a tensor still finds its backend.
//
// Depends on: base/counted.h, keys/dispatch_key_set.h, tensor/device.h.
#pragma once

#include <cstdint>

#include "opyard/base/counted.h"
#include "opyard/keys/dispatch_key_set.h"
#include "opyard/tensor/device.h"

namespace opyard {

class OPYARD_API Generator : public Counted {
 public:
  Device device() const noexcept { return device_; }
  // What it adds to a call.
  DispatchKeySet keys() const noexcept { return keys_; }

  // The seed that the numbers come from.
  virtual std::uint64_t seed() const = 0;
  // Begins anew from this seed.
  virtual void set_seed(std::uint64_t seed) = 0;
  // Another generator in the same state. Raises Unsupported unless a backend says otherwise.
  virtual CountedPtr<Generator> clone() const;

 protected:
  // With the keys of a backend's plain kernels.
  explicit Generator(Device device) noexcept;
  Generator(Device device, DispatchKeySet keys) noexcept : device_(device), keys_(keys) {}

 private:
  const Device device_;
  const DispatchKeySet keys_;
};

}  // namespace opyard
