// inspect/dump.h: registrations and tables as text, for people and their tools.
//
// With the registry's lock held. Resolution knows nothing of these.
//
// Depends on: registry/operator_entry.h.
#pragma once

#include <string>

#include "registry/operator_entry.h"

namespace opyard {

// What is registered under a name, in the format of B38; empty if nothing is.
std::string dump(const OperatorEntry& entry, CallingInterpreter caller);
// The computed table, in the format of B39.
std::string dump_table(const OperatorEntry& entry, const Common& common, CallingInterpreter caller);
// What serves a runtime key, as a line of dump_table() has it; empty if nothing does.
std::string describe_slot(const OperatorEntry& entry, DispatchKey key, const Common& common,
                          CallingInterpreter caller);

}  // namespace opyard
