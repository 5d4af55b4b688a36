// opyard/tensor/device.h: devices: a backend and an index.
//
// Depends on: keys/dispatch_key.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "opyard/keys/dispatch_key.h"

namespace opyard {

// `index` is -1 for "the current device of this backend".
struct Device {
  Backend backend = Backend::CPU;
  std::int16_t index = -1;

  constexpr bool operator==(const Device&) const = default;
  constexpr bool is_cpu() const { return backend == Backend::CPU; }
};

// "cpu", "cuda:1": the backend's name in lower case, and the index if there is one.
OPYARD_API std::string to_string(Device device);
// Raises BadValue for a text that names no backend or has a malformed index.
OPYARD_API Device parse_device(std::string_view text);

}  // namespace opyard
