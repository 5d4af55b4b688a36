// registry/built_in_records.cpp: what runs if no kernel does.
#include "registry/built_in_records.h"

#include "opyard/registry/operator.h"

namespace opyard {
namespace {

// How a record says why it takes no call; set at load by what explains calls,
// inspect/missing_kernel.cpp, which reads the tables that these records are in.
constinit RefuseCall refuse_call = nullptr;

void refuse(const Record& record, const Operator& op, DispatchKeySet keys, Stack& stack) {
  refuse_call(record.role, op, keys, stack);
}

// Run as a call of its own, so that it is the kernel, not this record, that answers for its
// results.
void run_thread_entry(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Record& record = op.follow(keys);
  op.run_boxed(record, keys, stack);
}

}  // namespace

void set_refuse_call(RefuseCall refuse) noexcept { refuse_call = refuse; }

const Record& make_built_in_record(RecordRole role, BoxedFunction boxed, const char* provenance) {
  auto* record = new Record;  // for ever
  record->role = role;
  record->boxed = boxed;
  record->provenance = provenance;
  return *record;
}

void make_built_in_records() {
  missing_record();
  ambiguous_record();
  gone_record();
  thread_entry_record();
  watch_record();
  per_interpreter_record();
  built_in_fallback(DispatchKey::Observe);
  handlers_record();
  dispatcher_record();
  key_snapshot_record();
}

void run_fallthrough(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Record& record = op.follow(keys);
  op.run_boxed(record, keys, stack);
}

const Record& missing_record() {
  static const Record& record = make_built_in_record(RecordRole::Missing, &refuse, "no kernel");
  return record;
}

const Record& ambiguous_record() {
  static const Record& record =
      make_built_in_record(RecordRole::Ambiguous, &refuse, "ambiguous_autogradother");
  return record;
}

const Record& gone_record() {
  static const Record& record =
      make_built_in_record(RecordRole::Gone, &refuse, "definition unregistered");
  return record;
}

const Record& thread_entry_record() {
  static const Record& record =
      make_built_in_record(RecordRole::ThreadEntry, &run_thread_entry, "a thread's first call");
  return record;
}

const Record* built_in_fallback(DispatchKey key) {
  static const Record& fallthrough =
      make_built_in_record(RecordRole::Fallthrough, &run_fallthrough, "built in");
  switch (layer_of(key)) {
    case DispatchKey::Observe:
      return &observe_record();
    case DispatchKey::Python:
      return &handlers_record();
    case DispatchKey::PythonDispatcher:
      return &dispatcher_record();
    case DispatchKey::PythonTLSSnapshot:
      return &key_snapshot_record();
    case DispatchKey::BackendSelect:
    case DispatchKey::AboveBackendSelect1:
    case DispatchKey::AboveBackendSelect2:
    case DispatchKey::ADInplaceOrView:
    case DispatchKey::AboveADInplaceOrView1:
    case DispatchKey::AboveADInplaceOrView2:
    case DispatchKey::AutogradOther:
    case DispatchKey::AutogradFunctionality:
    case DispatchKey::AutogradNestedTensor:
    case DispatchKey::AboveAutograd1:
    case DispatchKey::AboveAutograd2:
    case DispatchKey::Tracer:
    case DispatchKey::AutocastCPU:
    case DispatchKey::AutocastCUDA:
    case DispatchKey::OnTop1:
    case DispatchKey::OnTop2:
      return &fallthrough;
    default:
      return nullptr;
  }
}

}  // namespace opyard
