// registry/stubs.cpp: what runs where no kernel does.
#include "registry/stubs.h"

#include <fmt/format.h>

#include "opyard/registry/explain.h"
#include "opyard/registry/registry.h"
#include "opyard/slot/main_interpreter.h"

namespace opyard {
namespace {

std::string route_of(const Operator& op, DispatchKeySet keys, Stack& stack) {
  const std::size_t count = op.schema().arguments.size();
  if (stack.size() < count) return explain_route(op, keys);
  return explain_route(op, keys, op.argument_keys(stack.top(count)));
}

// What is said of a call without data, where the operator said where its fake kernel is: by Python, which
// knows whether that module is imported, else here. Empty where there is nothing to say.
std::string fake_kernel_sentence(const Operator& op, DispatchKey key) {
  const auto [module, context] = Registry::instance().python_module(op.name());
  if (module.empty() || backend_of(key) != Backend::Meta) return "";
  const std::string name = to_string(op.name());
  if (Interpreter* const interpreter = main_interpreter()) {
    try {
      interpreter->throw_abstract_impl_not_imported_error(name.c_str(), module.c_str(),
                                                          context.c_str());
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::NoKernel) return error.what();
      if (error.kind() != ErrorKind::InterpreterGone) throw;
    }
  }
  return fmt::format(
      "{} has no kernel at Meta, where this call goes. Either it has no fake kernel at all, or one "
      "in "
      "the Python module {}, which is not available because Python isn't available{}{}.",
      name, module, context.empty() ? "" : ": ", context);
}

void run_missing(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const DispatchKey key = keys.highest();
  std::string sentence = to_string(op.name());
  if (key != DispatchKey::Undefined) {
    sentence += fmt::format(" has no kernel at {}, where this call goes.", to_string(key));
  } else if (keys.highest_backend()) {
    sentence +=
        " has no key left for this call: each one falls through or is excluded on this "
        "thread, and there is no kernel for calls without a key.";
  } else {
    sentence +=
        " was called without a tensor that carries dispatch keys, and it has no kernel for "
        "calls without one.";
  }
  if (const auto reporter = Registry::instance().missing_kernel_reporter(op)) {
    reporter->report(op, key);
  }
  const std::string of_fake = fake_kernel_sentence(op, key);
  fail(ErrorKind::NoKernel,
       (of_fake.empty() ? sentence : of_fake) + "\n" + route_of(op, keys, stack));
}

void run_ambiguous(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  fail(ErrorKind::NoKernel,
       fmt::format("{} has a kernel at CompositeImplicitAutograd and one for a backend that shares "
                   "AutogradOther, so AutogradOther cannot tell which to differentiate. Register "
                   "the composite kernel at CompositeExplicitAutograd, or a kernel at "
                   "AutogradOther.\n{}",
                   to_string(op.name()), route_of(op, keys, stack)));
}

void run_gone(const Record&, const Operator& op, DispatchKeySet, Stack&) {
  fail(ErrorKind::OperatorGone,
       fmt::format("{} is gone: the library that defined it was taken back. Load the library "
                   "again, or look the operator up anew.",
                   op.declaration()));
}

// Run as a call of its own, so that it is the kernel, not the stub, that answers for its results.
void run_thread_entry(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Record& record = op.settle(keys);
  op.run_boxed(record, keys, stack);
}

}  // namespace

const Record& make_stub(RecordRole role, BoxedFunction boxed, const char* provenance) {
  auto* record = new Record;  // for ever
  record->role = role;
  record->boxed = boxed;
  record->provenance = provenance;
  return *record;
}

void make_stubs() {
  missing_stub();
  ambiguous_stub();
  gone_stub();
  thread_entry_stub();
  trace_stub();
  view_stub();
  built_in_fallback(DispatchKey::Observe);
  handlers_stub();
  dispatcher_stub();
  entry_keys_stub();
}

void run_fallthrough(const Record&, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Record& record = op.settle(keys);
  op.run_boxed(record, keys, stack);
}

const Record& missing_stub() {
  static const Record& stub = make_stub(RecordRole::Missing, &run_missing, "no kernel");
  return stub;
}

const Record& ambiguous_stub() {
  static const Record& stub =
      make_stub(RecordRole::Ambiguous, &run_ambiguous, "ambiguous_autogradother");
  return stub;
}

const Record& gone_stub() {
  static const Record& stub = make_stub(RecordRole::Gone, &run_gone, "definition taken back");
  return stub;
}

const Record& thread_entry_stub() {
  static const Record& stub =
      make_stub(RecordRole::ThreadEntry, &run_thread_entry, "a thread's first call");
  return stub;
}

const Record* built_in_fallback(DispatchKey key) {
  static const Record& fallthrough =
      make_stub(RecordRole::Fallthrough, &run_fallthrough, "built in");
  switch (layer_of(key)) {
    case DispatchKey::Observe:
      return &observe_stub();
    case DispatchKey::Python:
      return &handlers_stub();
    case DispatchKey::PythonDispatcher:
      return &dispatcher_stub();
    case DispatchKey::PythonTLSSnapshot:
      return &entry_keys_stub();
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
