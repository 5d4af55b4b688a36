// registry/built_in_records.cpp: built-in records: missing kernel, fallthrough.
#include "registry/built_in_records.h"

#include "opyard/registry/operator.h"

namespace opyard {
namespace {

// How a record says why it takes no call; set at load by what explains calls,
// inspect/missing_kernel.cpp, which reads the tables that these records are in.
constinit RefuseCall refuse_call = nullptr;

void refuse_record(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
  refuse_call(record.role, op, keys, stack);
}

// Run as a call of its own, so that it is the kernel, not this record, that answers for its
// results.
void run_thread_entry(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Record& record = op.follow(keys);
  op.run_boxed(record, keys, stack);
}

// Run as a call of its own, too.
void run_for_interpreter(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Record& record = op.record_here(keys);
  op.run_boxed(record, keys, stack);
}

// How the kernel for the CPU is run for a call with meta tensors; set at load by
// registry/cpu_on_meta.cpp, which asks the registry what the CPU slot's kernel covers.
constinit BoxedFunction run_on_meta = nullptr;

void run_cpu_on_meta(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
  run_on_meta(record, op, keys, stack);
}

}  // namespace

void set_run_on_meta(BoxedFunction run) noexcept { run_on_meta = run; }
void set_refuse_call(RefuseCall refuse) noexcept { refuse_call = refuse; }

const Record& make_built_in_record(RecordRole role, BoxedFunction boxed, const char* provenance) {
  auto* record = new Record;  // for ever
  record->role = role;
  record->boxed = boxed;
  record->provenance = provenance;
  return *record;
}

void run_fallthrough(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Record& record = op.follow(keys);
  op.run_boxed(record, keys, stack);
}

const Record& missing_record() {
  static const Record& record =
      make_built_in_record(RecordRole::Missing, &refuse_record, "no kernel");
  return record;
}

const Record& ambiguous_record() {
  static const Record& record =
      make_built_in_record(RecordRole::Ambiguous, &refuse_record, "ambiguous_autogradother");
  return record;
}

const Record& gone_record() {
  static const Record& record =
      make_built_in_record(RecordRole::Gone, &refuse_record, "definition unregistered");
  return record;
}

const Record& thread_entry_record() {
  static const Record& record =
      make_built_in_record(RecordRole::ThreadEntry, &run_thread_entry, "a thread's first call");
  return record;
}

const Record& cpu_on_meta_record() {
  static const Record& record =
      make_built_in_record(RecordRole::Kernel, &run_cpu_on_meta, "the kernel at CPU");
  return record;
}

const Record& per_interpreter_record() {
  static const Record& record = make_built_in_record(
      RecordRole::PerInterpreter, &run_for_interpreter, "as the interpreter sees it");
  return record;
}

}  // namespace opyard
