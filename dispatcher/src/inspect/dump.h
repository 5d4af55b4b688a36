// inspect/dump.h: registrations and tables as text, for people and their tools.
//
// With the registry's lock held. Resolution knows nothing of these.
//
// Depends on: registry/entry.h.
#pragma once

#include <string>

#include "registry/entry.h"

namespace opyard {

// What is registered under a name, in the format of B38; empty if nothing is.
std::string dump(const Entry& entry, CallingInterpreter caller);
// The computed table, in the format of B39.
std::string dump_table(const Entry& entry, const Common& common, CallingInterpreter caller);
// What serves a runtime key, as a line of dump_table() has it; empty if nothing does.
std::string describe_slot(const Entry& entry, DispatchKey key, const Common& common,
                          CallingInterpreter caller);

}  // namespace opyard
