// registry/cpu_on_meta.cpp: kernels for the CPU that serve calls with meta tensors.
//
// The record is in the Meta slot of each operator that has no kernel of its own there
// (operator_entry.cpp), and hands a call to what the CPU slot leads to. So nothing more has to be
// kept in step with registrations, and calls with memory know nothing of it.
#include <fmt/format.h>

#include "opyard/detail/tensor/meta_call.h"
#include "opyard/detail/value/dict_object.h"
#include "opyard/registry/next.h"
#include "registry/built_in_records.h"
#include "registry/interpreter_tables.h"

namespace opyard {
namespace {

struct ServedCall {
  const Operator& op;
  const Record& kernel;
};

std::string describe_served_call(const void* call) {
  const ServedCall& served = *static_cast<const ServedCall*>(call);
  const std::string place = served.kernel.provenance.str();
  return to_string(served.op.name()) + (place.empty() ? "" : " (its kernel at CPU, " + place + ")");
}

// What calls with memory lead to, but for watchers, who were told at the Meta slot; or what that
// covers, if it is no C++. Inside a CallDepth.
const Record& kernel_at_cpu(const Operator& op) {
  const DispatchKeySet keys(DispatchKey::CPU);
  const Record* record = &op.record(keys);
  if (record->role == RecordRole::Watch) {
    record = WatchTable::find(op)->slots[slot_of(DispatchKey::CPU)].load(std::memory_order_acquire);
  }
  if (record->role == RecordRole::PerInterpreter) record = &op.record_here(keys);
  while (record->on_meta == OnMeta::Skips && record->key == DispatchKey::CPU) {
    DispatchKeySet same = keys;
    record = &next_record(op, place_of(*record), same);
  }
  return *record;
}

bool is_elsewhere(const Tensor& tensor) {
  return tensor.defined() && tensor.keys().highest_backend() != Backend::Meta;
}

// The first tensor in a value that is not on meta, or null.
const Tensor* find_elsewhere(const Value& value) {
  if (value.is_tensor()) {
    return is_elsewhere(value.tensor_unchecked()) ? &value.tensor_unchecked() : nullptr;
  }
  if (value.is_list() || value.is_tuple()) {
    for (const Value& item : value.items_unchecked()) {
      if (const Tensor* const found = find_elsewhere(item)) return found;
    }
  }
  if (value.is_dict()) {
    const DictObject& dict = value.to_dict();
    for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
      if (const Tensor* const found = find_elsewhere(dict.value_at(at))) return found;
    }
  }
  return nullptr;
}

[[noreturn]] void refuse_elsewhere(const ServedCall& served, const std::string& what,
                                   const Tensor& tensor, const char* remedy) {
  fail(ErrorKind::Unsupported,
       fmt::format("{}: {} is {} on {}; {}", describe_served_call(&served), what, describe(tensor),
                   to_string(tensor.impl()->own_device()), remedy));
}

// A call that computes nothing does not write to memory.
void require_written_on_meta(const ServedCall& served, std::span<const Value> values) {
  const std::vector<Argument>& arguments = served.op.schema().arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_write()) continue;
    if (const Tensor* const found = find_elsewhere(values[i])) {
      refuse_elsewhere(
          served,
          fmt::format("'{}', which a call with meta tensors would write to,", arguments[i].name),
          *found, "give one on meta");
    }
  }
}

// Refuses results on the CPU: the loops wrote nothing to them, so they hold whatever was there.
void require_on_meta(const ServedCall& served, std::span<const Value> results) {
  for (const Value& result : results) {
    if (const Tensor* const found = find_elsewhere(result)) {
      refuse_elsewhere(served, "a result of a call with meta tensors", *found,
                       "make results with empty_like(x) or where x.device() is, or keep meta "
                       "tensors away by cpu_only()");
    }
  }
}

void run_cpu_kernel(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Record& kernel = kernel_at_cpu(op);
  // Registrations may have changed since the call left the Meta slot.
  if (kernel.on_meta != OnMeta::Serves) {
    return missing_record().boxed(missing_record(), op, keys, stack);
  }
  const ServedCall served{op, kernel};
  const detail::MetaCall call(&served, &describe_served_call);
  require_written_on_meta(served, stack.top(op.schema().arguments.size()));
  op.run_boxed(kernel, keys, stack);
  require_on_meta(served, stack.top(op.schema().results.size()));
}

[[maybe_unused]] const bool runs_on_meta = (set_run_on_meta(&run_cpu_kernel), true);

}  // namespace
}  // namespace opyard
