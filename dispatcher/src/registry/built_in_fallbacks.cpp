// registry/built_in_fallbacks.cpp: built-in fallbacks of layers.
#include "registry/built_in_records.h"

namespace opyard {

void make_built_in_records() {
  missing_record();
  ambiguous_record();
  gone_record();
  thread_entry_record();
  watch_record();
  per_interpreter_record();
  cpu_on_meta_record();
  built_in_fallback(DispatchKey::Observe);
  handlers_record();
  dispatcher_record();
  key_snapshot_record();
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
