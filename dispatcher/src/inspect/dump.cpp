// inspect/dump.cpp: registrations and tables as text.
//
// People and their tools read these lines, so their form never changes:
//
//   name: ns::op.overload
//   schema: ns::op.overload(Tensor x) -> Tensor
//   debug: registered at demo.cpp:12
//   alias analysis kind: FROM_SCHEMA
//   CPU: registered at demo.cpp:13 :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]
//   Autograd[alias] (inactive): …
//
// Keys are in enum order, aliases last; a table is in priority order, Undefined first.
#include "inspect/dump.h"

#include <fmt/format.h>

#include "opyard/inspect/inspect.h"
#include "registry/built_in_records.h"
#include "registry/signature.h"

namespace opyard {
namespace {

std::string describe_record(const Record& record) {
  const std::string types =
      record.infer == nullptr ? "(none)" : to_string(schema_of(record.infer()));
  const bool fallthrough = record.role == RecordRole::Fallthrough;
  return fmt::format("{} :: {} [ {}{}{}]", record.provenance.str(), types,
                     fallthrough ? "fallthrough " : "", record.boxed != nullptr ? "boxed " : "",
                     record.typed != nullptr ? "unboxed " : "");
}

}  // namespace

const char* inspect::name_of(AliasAnalysis kind) noexcept {
  switch (kind) {
    case AliasAnalysis::FromSchema:
      return "FROM_SCHEMA";
    case AliasAnalysis::Conservative:
      return "CONSERVATIVE";
    case AliasAnalysis::PureFunction:
      return "PURE_FUNCTION";
  }
  return "";
}

std::string dump(const OperatorEntry& entry, CallingInterpreter caller) {
  if (!entry.exists()) return "";
  std::string text = fmt::format("name: {}\n", to_string(entry.name));
  if (const auto& definition = entry.definition) {
    text +=
        fmt::format("schema: {}\ndebug: {}\nalias analysis kind: {}{}\n", entry.op->declaration(),
                    definition->provenance.str(), inspect::name_of(definition->alias_analysis),
                    definition->alias_analysis_is_default ? " (default)" : "");
  } else {
    text += "schema: (none)\n";
  }
  for (const auto& [key, stack] : entry.kernels) {
    bool active = true;
    for (auto kernel = stack.rbegin(); kernel != stack.rend(); ++kernel) {
      const Record& record = *kernel->record;
      const bool seen = caller.sees(record);
      text += fmt::format("{}{}{}: {}\n", to_string(key), is_alias(key) ? "[alias]" : "",
                          !seen    ? " (of another interpreter)"
                          : active ? ""
                                   : " (inactive)",
                          describe_record(record));
      if (seen) active = false;
    }
  }
  return text;
}

std::string describe_slot(const OperatorEntry& entry, DispatchKey key, const Common& common,
                          CallingInterpreter caller) {
  const Resolved resolved = entry.resolve(key, common, caller);
  if (resolved.record->role == RecordRole::Missing) return "";
  return fmt::format("{}{} [{}]", passes_calls_by(resolved.record->role) ? "fallthrough " : "",
                     resolved.provenance().str(), resolved.rule);
}

std::string dump_table(const OperatorEntry& entry, const Common& common,
                       CallingInterpreter caller) {
  std::string text;
  const auto add = [&](DispatchKey key) {
    const std::string kernel = describe_slot(entry, key, common, caller);
    if (!kernel.empty()) text += to_string(key) + ": " + kernel + "\n";
  };
  if (!entry.exists()) return text;
  add(DispatchKey::Undefined);
  for (unsigned slot = 1; slot < unsigned(kSlotCount); ++slot) {
    const DispatchKey key = key_of_slot(slot);
    if (key != DispatchKey::Undefined && key != DispatchKey::ThreadEntry) add(key);
  }
  return text;
}

}  // namespace opyard
