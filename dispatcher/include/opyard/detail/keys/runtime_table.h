// opyard/detail/keys/runtime_table.h: from a key set to a slot number in constant time.
//
// Every operator has one table. Its slots are in priority order, the layers by position; a
// per-backend layer owns 17 slots, one for "no backend" (which is served as Undefined) and one a
// backend. Dense comes first, so that its slots need no offset; its "no backend" is Undefined's
// own.
//
//   slot 0          Undefined
//   slots 1..16     Dense:      CPU, CUDA, …
//   slots 17..33    Quantized:  none, CPU, CUDA, …
//   …
//   slot n          BackendSelect
//
// runtime_index() is two bit scans, an `and` and an addition from memory. Where Dense is the only
// layer, as in the last hop of most calls, the first scan and the memory are not needed: a branch
// whose both ways lead to other kernels, so that predicting the kernel predicts it. It takes six
// cycles off the chain from a tensor's keys to the call (bench row typed_serialised).
//
// Depends on: keys/dispatch_key_set.h.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

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
  int slots = 0;
};

// The position of the highest bit, for sets that have one. A single instruction: counting leading
// zeros takes four, and the compiler then widens the result again.
constexpr std::size_t highest_bit(std::uint64_t bits) noexcept {
#ifdef __x86_64__
  if (!std::is_constant_evaluated()) {
    std::size_t found;
    asm("bsrq %1, %0" : "=r"(found) : "rm"(bits) : "cc");
    return found;
  }
#endif
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

namespace detail {

// Whether Dense is the only layer of a set, and the slot that a call with such a set reads. The
// bits of the backends are shifted by one, so that a set without one reads the row's first slot.
[[gnu::always_inline]] constexpr bool is_dense(DispatchKeySet set) noexcept {
  return __builtin_expect(set.raw() >> 16 == 1, 1);
}
[[gnu::always_inline]] constexpr std::size_t dense_index(DispatchKeySet set) noexcept {
  constexpr std::uint64_t kBackendsAndNone = DispatchKeySet::kBackendBits << 1 | 1;
  return highest_bit((2 * set.raw() + 1) & kBackendsAndNone);  // one instruction less than with |
}

// The slot for any other set.
[[gnu::always_inline]] constexpr std::size_t layered_index(DispatchKeySet set) noexcept {
  const RuntimeEntry& entry = kRuntimeLayout.entries[highest_bit(set.raw() | 1)];
  return entry.offset + (dense_index(set) & entry.backend_mask);
}

}  // namespace detail

// The slot that a call with this set reads.
[[gnu::always_inline]] constexpr std::size_t runtime_index(DispatchKeySet set) noexcept {
  return detail::is_dense(set) ? detail::dense_index(set) : detail::layered_index(set);
}
static_assert(runtime_index(DispatchKey::CPU) == 1 && runtime_index(DispatchKeySet()) == 0,
              "the row of Dense is the first, and slot 0 is Undefined's");

// The key whose kernel is in a slot.
constexpr DispatchKey key_of_slot(unsigned slot) { return detail::kRuntimeLayout.keys[slot]; }

// The slot of a runtime key. Raises BadValue for layers that are per backend and for aliases.
constexpr unsigned slot_of(DispatchKey key) {
  if (!is_runtime_key(key)) fail(ErrorKind::BadValue, "only a runtime key has a slot");
  return unsigned(runtime_index(DispatchKeySet(key)));
}

}  // namespace opyard
