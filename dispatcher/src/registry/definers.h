// registry/definers.h: definitions of an operator, counted by definer; interpreters may share one.
//
// See [Interpreters] in registry/registry.h. All with the registry's lock held.
//
// Depends on: registry/operator_entry.h.
#pragma once

#include <cstdint>

#include "opyard/registry/registry.h"
#include "registry/operator_entry.h"

namespace opyard {

inline bool has_ended(const Interpreter* interpreter) noexcept {
  return interpreter != nullptr && !interpreter->armed();
}
// Whether an interpreter left the definition behind when it ended.
bool has_ended_definition(const OperatorEntry& entry);

// Whether an interpreter may join in a definition that others have made.
bool may_share(const OperatorEntry& entry, const Definition& fresh);
// The registration of this owner among the sharers that makes way for the same definition; or 0.
std::uint64_t may_share_on_reload(const OperatorEntry& entry, const Definition& fresh, Owner owner,
                                  ReloadMark reload);
// Takes one of several definers away; false if it is the only one.
bool leave_to_sharers(OperatorEntry& entry, std::uint64_t id) noexcept;

// Raises BadRegistration: the operator is defined already.
[[noreturn]] OPYARD_COLD void refuse_definition(const OperatorEntry& entry,
                                                const Definition& fresh);

}  // namespace opyard
