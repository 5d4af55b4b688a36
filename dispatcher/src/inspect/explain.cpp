// inspect/explain.cpp: tracing the route of a call without making it.
//
// The walk reads the operator's own mask and slots, as a call does; the registry is asked only
// for the words: by which rule a record is in a slot, and where it was registered.
#include "opyard/inspect/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "opyard/detail/registry/body.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/registry.h"

namespace opyard {
namespace {

std::string describe_resolution(const inspect::Resolution& resolution, RecordRole role) {
  switch (role) {
    case RecordRole::Missing:
      return "no kernel";
    case RecordRole::Gone:
      return "definition unregistered";
    case RecordRole::Fallthrough:
    case RecordRole::Tape:  // if nothing needs a gradient
      return "falls through";
    case RecordRole::Observe:
      return "tells the observers";
    default:
      return resolution.rule;
  }
}

struct Route {
  std::vector<ConsideredKey> considered;
  RecordRole end;       // what takes the call
  DispatchKeySet rest;  // the keys below that
  std::string body;     // of the kernel that takes the call, if it is composite
};

// Walks down from `keys`, which the mask has not cut yet, to the key that takes the call.
// Inside a CallDepth.
Route walk(const Operator& op, DispatchKeySet keys) {
  Route route;
  for (;;) {
    const DispatchKey key = keys.highest();
    const DispatchKey layer = keys.highest_layer();
    const bool masked = layer != DispatchKey::Undefined && !op.mask().has(layer);
    const inspect::Resolution resolution = inspect::resolve(op, key);
    RecordRole role = masked ? RecordRole::Fallthrough : op.record(keys).role;
    if (role == RecordRole::Watch || role == RecordRole::PerInterpreter)
      role = resolution.record->role;
    const bool passed =
        role == RecordRole::Fallthrough || role == RecordRole::Observe || role == RecordRole::Tape;
    const bool names_one = passed || role == RecordRole::Kernel;
    std::string provenance = names_one ? resolution.provenance : "";
    if (names_one && resolution.record->releases_gil) provenance += ", releases the GIL";
    route.considered.push_back(
        {key, !passed, describe_resolution(resolution, role), std::move(provenance)});
    keys = keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, layer);
    if (!passed) {
      route.end = role;
      if (role == RecordRole::Kernel) {
        if (const std::string* const body = detail::find_body(*resolution.record)) {
          route.body = *body;
        }
      }
      route.rest = keys;
      return route;
    }
  }
}

// What is below the kernel that takes a call, one kernel after the other. A kernel gets its set
// after the mask has cut it, so it sees the end if no other layer is left.
std::vector<ConsideredKey> walk_below(const Operator& op, Route at) {
  std::vector<ConsideredKey> chain;
  while (at.end == RecordRole::Kernel && at.rest.has_any(op.mask())) {
    at = walk(op, at.rest);
    chain.insert(chain.end(), at.considered.begin(), at.considered.end());
  }
  return chain;
}

std::string list_kernels(const Operator& op) {
  std::string text;
  for (const DispatchKey key : inspect::keys_with_kernel(op)) {
    text += (text.empty() ? "" : ", ") + to_string(key);
  }
  return text.empty() ? "It has no kernel at all." : "Kernels are registered at: " + text + ".";
}

std::string lines_of(const std::vector<ConsideredKey>& considered) {
  std::string text;
  for (const ConsideredKey& at : considered) {
    text += fmt::format("  {} {:<22} {}{}{}\n", at.taken ? "->" : "  ", to_string(at.key),
                        at.reason, at.provenance.empty() ? "" : ", ", at.provenance);
  }
  return text;
}

std::string indented(std::string_view body) {
  std::string text;
  while (!body.empty()) {
    const std::size_t end = std::min(body.find('\n'), body.size());
    text += fmt::format("    {}\n", body.substr(0, end));
    body.remove_prefix(std::min(end + 1, body.size()));
  }
  return text;
}

}  // namespace

Explanation explain(const Operator& op, std::span<const Value> arguments) {
  const Schema& schema = op.schema();
  op.check_arguments(arguments);
  detail::enter_thread();
  const detail::CallDepth depth;  // what the walk reads stays alive, as in a call
  Explanation explanation;
  explanation.op = to_string(op.name());
  explanation.declaration = op.declaration();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    if (!carries_keys(*argument.type)) continue;
    DispatchKeySet keys;
    if (arguments[i].is_tensor()) keys = arguments[i].tensor_unchecked().keys();
    if (arguments[i].is_generator()) keys = arguments[i].to_generator().keys();
    if (arguments[i].is_list()) {
      for (const Value& item : arguments[i].items_unchecked()) {
        if (item.is_tensor()) keys = keys | item.tensor_unchecked().keys();
      }
    }
    explanation.arguments.push_back({i, argument.name, keys});
  }
  const LocalKeys local = local_keys();
  explanation.include = local.include;
  explanation.exclude = local.exclude;
  explanation.mask = op.mask();
  explanation.keys = (op.argument_keys(arguments) | local.include) - local.exclude;
  Route route = walk(op, explanation.keys);
  explanation.considered = std::move(route.considered);
  const ConsideredKey& taken = explanation.considered.back();
  explanation.key = taken.key;
  explanation.has_kernel = route.end == RecordRole::Kernel;
  explanation.kernel = explanation.has_kernel ? taken.provenance : taken.reason;
  explanation.body = route.body;
  explanation.chain = walk_below(op, std::move(route));
  return explanation;
}

std::string to_string(const Explanation& explanation) {
  std::string text = explanation.declaration + "\n";
  for (const ArgumentKeys& argument : explanation.arguments) {
    text += fmt::format("  argument {} '{}': {}\n", argument.position, argument.name,
                        to_string(argument.keys));
  }
  text += fmt::format("  thread includes:  {}\n  thread excludes:  {}\n  keys of the call: {}\n",
                      to_string(explanation.include), to_string(explanation.exclude),
                      to_string(explanation.keys));
  text += lines_of(explanation.considered);
  if (explanation.has_kernel) {
    text += fmt::format("  runs at {}: {}\n", to_string(explanation.key), explanation.kernel);
    if (!explanation.body.empty()) text += "  its body:\n" + indented(explanation.body);
    if (!explanation.chain.empty()) {
      text += "  below it, should that kernel redispatch:\n" + lines_of(explanation.chain);
    }
  } else {
    text += fmt::format("  no kernel at {}\n", to_string(explanation.key));
  }
  return text;
}

std::string explain_route(const Operator& op, DispatchKeySet keys) {
  return lines_of(walk(op, keys).considered) + list_kernels(op);
}

std::string explain_route(const Operator& op, DispatchKeySet keys, DispatchKeySet arguments) {
  const LocalKeys local = local_keys();
  const Route whole = walk(op, (arguments | local.include) - local.exclude);
  if (whole.considered.back().key != keys.highest()) return explain_route(op, keys);
  return lines_of(whole.considered) + list_kernels(op);
}

}  // namespace opyard
