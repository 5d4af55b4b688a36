// opyard/detail/profiler/memory.h: payload words of memory events.
//
// Depends on: profiler/event.h, tensor/device.h.
#pragma once

#include <cstdint>
#include <span>

#include "opyard/profiler/event.h"
#include "opyard/tensor/device.h"

namespace opyard::profiler {

struct MemoryFacts {
  std::uint64_t address;
  std::int64_t
      bytes;  // less than 0 for memory that was given back; what was asked for if there was none
  std::int64_t total;  // what the device holds then, counted from the start of the profile
  Device device;

  MemoryFacts(std::uint64_t at, std::int64_t count, std::int64_t held, Device where) noexcept
      : address(at), bytes(count), total(held), device(where) {}
  // Of the two words.
  explicit MemoryFacts(std::span<const Payload> words) noexcept
      : address(words[0].first),
        bytes(std::int64_t(words[0].second)),
        total(std::int64_t(words[1].first)),
        device{Backend(words[1].second >> 16), std::int16_t(words[1].second & 0xffff)} {}

  Payload first() const noexcept { return {address, std::uint64_t(bytes)}; }
  Payload second() const noexcept {
    return {std::uint64_t(total),
            std::uint64_t(device.backend) << 16 | std::uint64_t(std::uint16_t(device.index))};
  }
};

}  // namespace opyard::profiler
