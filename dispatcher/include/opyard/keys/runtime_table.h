// opyard/keys/runtime_table.h: from a key set to a slot number in constant time.
//
// Every operator has one table. Its slots stand in priority order: Undefined, then the
// layers by position; a per-backend layer owns 17 slots, one for "no backend" (which is
// served as Undefined) and one a backend.
//
//   slot 0          Undefined
//   slots 1..17     Dense:      none, CPU, CUDA, …
//   …
//   slot n          BackendSelect
//
// runtime_index() is two bit scans, an `and` and an addition from memory. No branch.
//
// Depends on: keys/dispatch_key_set.h.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "opyard/keys/dispatch_key_set.h"

namespace opyard {

namespace detail {

struct RuntimeEntry {
  std::uint32_t offset = 0;
  std::uint32_t backend_mask = 0;
};

struct RuntimeLayout {
  std::array<RuntimeEntry, 64> entries{};  // by highest bit; backend bits lead to slot 0
  std::array<DispatchKey, 255> keys{};     // the key each slot serves
  int slots = 1;
};

// The position of the highest bit, for sets that have one. Written so that it is a single
// instruction, where 63 minus the number of leading zeros takes four.
constexpr unsigned highest_bit(std::uint64_t bits) noexcept {
  return 63u ^ unsigned(std::countl_zero(bits));
}

constexpr RuntimeLayout make_runtime_layout() {
  RuntimeLayout layout;
  const auto add_single = [&](int position) {
    layout.entries[16 + position] = {std::uint32_t(layout.slots), 0};
    layout.keys[layout.slots++] = DispatchKey(1 + position);
  };
  const auto add_per_backend = [&](int position) {
    layout.entries[16 + position] = {std::uint32_t(layout.slots), 0x1f};
    layout.keys[layout.slots++] = DispatchKey::Undefined;
    for (int backend = 0; backend < kBackendCount; ++backend) {
      layout.keys[layout.slots++] = instance_of(DispatchKey(1 + position), Backend(backend));
    }
  };
  bool single[kLayerCount] = {};
#define OPYARD_X(position, name) single[position] = true;
  OPYARD_SINGLE_LAYERS(OPYARD_X)
#undef OPYARD_X
  for (int position = 0; position < kLayerCount; ++position) {
    if (per_backend_index(position) >= 0) add_per_backend(position);
    if (single[position]) add_single(position);
  }
  return layout;
}

inline constexpr RuntimeLayout kRuntimeLayout = make_runtime_layout();

}  // namespace detail

inline constexpr int kSlotCount = detail::kRuntimeLayout.slots;

// The slot that a call with this set reads. The bits of the backends are shifted by one, so
// that a set without one reads the row's first slot.
constexpr unsigned runtime_index(DispatchKeySet set) noexcept {
  constexpr std::uint64_t kBackendsAndNone = DispatchKeySet::kBackendBits << 1 | 1;
  const std::uint64_t bits = set.raw();
  const detail::RuntimeEntry& entry = detail::kRuntimeLayout.entries[detail::highest_bit(bits | 1)];
  const unsigned column = detail::highest_bit((bits << 1 | 1) & kBackendsAndNone);
  return entry.offset + (column & entry.backend_mask);
}

// The key whose kernel stands in a slot.
constexpr DispatchKey key_of_slot(unsigned slot) { return detail::kRuntimeLayout.keys[slot]; }

// The slot of a runtime key. Raises BadValue for layers that are per backend and for aliases.
constexpr unsigned slot_of(DispatchKey key) {
  if (!is_runtime_key(key)) fail(ErrorKind::BadValue, "only a runtime key has a slot");
  return runtime_index(DispatchKeySet(key));
}

}  // namespace opyard
