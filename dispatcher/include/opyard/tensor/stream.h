// opyard/tensor/stream.h: a queue of work on a device.
//
// Depends on: tensor/device.h.
#pragma once

#include <cstdint>
#include <string>

#include "opyard/tensor/device.h"

namespace opyard {

// `id` means what the device's backend says it means; 0 is the device's default stream.
struct Stream {
  Device device;
  std::int64_t id = 0;

  constexpr bool operator==(const Stream&) const = default;
};

// "stream 3 on cuda:1"
OPYARD_API std::string to_string(Stream stream);

}  // namespace opyard
