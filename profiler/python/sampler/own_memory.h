// sampler/own_memory.h: checked copies of this process's memory.
//
// The sampler looks at objects that other threads change and free. It never follows a pointer to
// them: the kernel copies, and says what is not mapped. What was copied may still be half of one
// object and half of another, so each reader checks that it makes sense.
//
// Threads: any. Depends on: nothing of ours.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace opyard::python {

using Address = std::uintptr_t;

// Whether all of it is mapped. Calls nothing but the kernel.
bool read_memory(Address from, void* to, std::size_t size) noexcept;
template <typename Value>
bool read_value(Address from, Value& to) noexcept {
  return read_memory(from, &to, sizeof to);
}
// Several at once; at most kMostPieces. How many, from the first on, were copied whole.
inline constexpr std::size_t kMostPieces = 256;
std::size_t read_pieces(const iovec* to, const iovec* from, std::size_t count) noexcept;

// Why such copies are not to be had here: "Operation not permitted", say; empty if they are.
std::string why_memory_is_unreadable();

}  // namespace opyard::python
