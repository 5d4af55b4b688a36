// registry/built_in_records.h: the records of slots that have no kernel.
//
// Every slot leads to a record, so the call path asks no questions: if there is no kernel
// the record's function raises, or passes the call on. These records live as long as the process.
//
// Depends on: registry/record.h.
#pragma once

#include "opyard/detail/registry/record.h"

namespace opyard {

class Operator;

// A record that lives as long as the process. Raises bad_alloc.
const Record& make_built_in_record(RecordRole role, BoxedFunction boxed, const char* provenance);

// Raises what a call is told that comes to a record of this role: Missing, Ambiguous or Gone. Set
// once, at load, by inspect/missing_kernel.cpp, which is above the tables that it reads.
using RefuseCall = void (*)(RecordRole, const Operator& op, DispatchKeySet keys, Stack& stack);
void set_refuse_call(RefuseCall refuse) noexcept;

// Whether calls pass a slot by, but for those that the tape takes.
inline bool passes_calls_by(RecordRole role) noexcept {
  return role == RecordRole::Fallthrough || role == RecordRole::Tape;
}

// Makes them all now, so that writing a table needs no memory. Raises bad_alloc.
void make_built_in_records();

// Raises NoKernel with the route of the call.
const Record& missing_record();
// Raises NoKernel: AutogradOther has a composite kernel and a backend kernel below it.
const Record& ambiguous_record();
// Raises OperatorGone.
const Record& gone_record();
// Makes the thread known and goes on; see keys/local.h [Thread entry].
const Record& thread_entry_record();
// Tells the observers of this thread, and goes on below. registry/observed_call.cpp
const Record& observe_record();
// Tells the watchers, and goes on to what the slot would lead to. registry/observed_call.cpp
const Record& watch_record();
// Goes on to what the calling interpreter sees.
const Record& per_interpreter_record();
// Runs the kernel for the CPU for a call with meta tensors, by what was set at load.
const Record& cpu_on_meta_record();
void set_run_on_meta(BoxedFunction run) noexcept;  // registry/cpu_on_meta.cpp
// Hands the call to the handlers of an interpreter. registry/handlers.cpp
const Record& handlers_record();
// Notes the sets that the call entered with, and goes on below. registry/handlers.cpp
const Record& key_snapshot_record();
// Hands the call to the thread's own dispatcher. registry/handlers.cpp
const Record& dispatcher_record();

// The records that serve a layer if no one registered anything for it: layers that mean
// nothing to most operators fall through, Observe tells the observers. Null for the others.
// registry/built_in_fallbacks.cpp
const Record* built_in_fallback(DispatchKey key);

// The boxed function of every fallthrough record: goes on below the layer it is at.
void run_fallthrough(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack);

}  // namespace opyard
