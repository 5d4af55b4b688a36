// registry/gradient_slot.h: an operator's derivatives, and the tape's records for them.
//
//   GradientSlot ── given: derivatives, newest last, each with its record once the tape is armed
//             └─ plain: the record that serves while none is given
//
// Guarded by the registry's lock. Records are made before anything changes, so that giving and
// taking away cannot fail for want of memory once it has begun.
//
// Depends on: opyard/detail/registry/gradient_slot.h, registry/reclaim.h.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/schema/schema.h"
#include "registry/reclaim.h"

namespace opyard {

// Read by the record's function, without the lock; set before the first table leads there.
extern std::atomic<const TapeFunctions*> tape_functions;

// Counts derivatives that were given and taken away.
extern std::atomic<std::uint64_t> derivative_changes;

// The record for an operator with this schema. Raises bad_alloc.
std::unique_ptr<Record> make_tape_record(const Schema& schema,
                                         CountedPtr<const Derivative> derivative);

struct GradientSlot {
  struct Given {
    std::uint64_t id;
    const void* owner;
    CountedPtr<const Derivative> derivative;
    std::unique_ptr<Record> record;
  };
  std::vector<Given> given;
  std::unique_ptr<Record> plain;

  bool has_derivative() const noexcept { return !given.empty(); }
  const Record* record() const noexcept {
    return given.empty() ? plain.get() : given.back().record.get();
  }

  // Records for all that is here, as it is now; put in place by take().
  using Records = std::vector<std::unique_ptr<Record>>;
  Records make(const Schema& schema) const;
  void take(Records records) noexcept;
};

}  // namespace opyard
