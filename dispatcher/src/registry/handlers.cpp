// registry/handlers.cpp: dispatch at the key Python to an interpreter.
#include "opyard/registry/handlers.h"

#include "opyard/detail/thread/key_snapshot.h"
#include "opyard/detail/thread/thread_dispatcher.h"
#include "opyard/registry/operator.h"
#include "opyard/tensor/tensor.h"
#include "opyard/thread/modes.h"
#include "registry/built_in_records.h"

namespace opyard {
namespace {

// The interpreter that a tensor's class belongs to, or null.
Interpreter* interpreter_of(const Tensor& tensor) {
  return tensor.keys().has(DispatchKey::Python) ? tensor.impl()->object_link().tag() : nullptr;
}

Interpreter* interpreter_of(std::span<const Value> arguments) {
  for (const Value& value : arguments) {
    if (value.is_tensor()) {
      if (Interpreter* const found = interpreter_of(value.tensor_unchecked())) return found;
    } else if (value.is_list()) {
      for (const Value& item : value.items_unchecked()) {
        if (!item.is_tensor()) continue;
        if (Interpreter* const found = interpreter_of(item.tensor_unchecked())) return found;
      }
    }
  }
  return nullptr;
}

// If no one answers, the key was put into the include set by hand, or a tensor with it is no
// interpreter's: the call goes on below.
void run_handlers(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const std::vector<ModePtr>& modes = thread_modes();
  Interpreter* const interpreter = !modes.empty()
                                       ? modes.back()->handler().tag()
                                       : interpreter_of(stack.top(op.schema().arguments.size()));
  if (interpreter == nullptr) {
    const DispatchKeySet below(DispatchKeySet::FULL_AFTER, DispatchKey::Python);
    return op.redispatch_boxed(keys & below, stack);
  }
  const ExcludeDispatchKeyGuard below_handlers(kLayersAboveHandlers);
  interpreter->dispatch(op, stack);
}

void run_dispatcher(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const DispatchKeySet below =
      keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, DispatchKey::PythonDispatcher);
  Interpreter* const interpreter = thread_dispatcher();
  if (interpreter == nullptr) return op.redispatch_boxed(below, stack);
  interpreter->python_dispatcher(op, below, stack);
}

// See thread/key_snapshot.h.
void note_entry(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const TakeKeySnapshot note;
  const DispatchKeySet below(DispatchKeySet::FULL_AFTER, DispatchKey::PythonTLSSnapshot);
  op.redispatch_boxed(keys & below, stack);
}

}  // namespace

const Record& key_snapshot_record() {
  static const Record& built_in = make_built_in_record(RecordRole::Kernel, &note_entry, "built in");
  return built_in;
}

const Record& dispatcher_record() {
  static const Record& built_in =
      make_built_in_record(RecordRole::Kernel, &run_dispatcher, "built in");
  return built_in;
}

const Record& handlers_record() {
  static const Record& built_in =
      make_built_in_record(RecordRole::Kernel, &run_handlers, "built in");
  return built_in;
}

const BoxedFunction detail::hand_to_handlers = &run_handlers;

}  // namespace opyard
