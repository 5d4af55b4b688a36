// inspect/metadata.cpp: an operator as JSON, for other programs.
#include <fmt/format.h>

#include "opyard/inspect/inspect.h"
#include "registry/state.h"
#include "schema/print.h"

namespace opyard {
namespace {

// RFC 8259: quotes, backslashes and control characters are escaped; texts are UTF-8 already.
std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", int(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// "[a, b]" from what `write` gives for each item.
template <typename Items, typename Write>
std::string array(const Items& items, const Write& write) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() > 1 ? ", " : "") + write(item);
  return out + "]";
}

std::string argument_text(const Argument& argument) {
  std::string out = fmt::format("{{\"name\": {}, \"type\": {}", json_text(argument.name),
                                json_text(to_string(*argument.type)));
  if (argument.default_value) {
    std::string value;
    detail::print_default(value, *argument.default_value);
    out += fmt::format(", \"default\": {}", json_text(value));
  }
  if (argument.alias) {
    std::string sets;
    detail::print_sets(sets, *argument.alias);
    if (!sets.empty()) out += fmt::format(", \"alias\": {}", json_text(sets));
  }
  if (argument.keyword_only) out += ", \"keyword_only\": true";
  return out + "}";
}

}  // namespace

std::string inspect::doc(const OperatorName& name) {
  const Operator& op = Registry::instance().require(name);
  const RegistryAccess::State& state = RegistryAccess::state();
  const std::lock_guard lock(state.mutex);
  const OperatorEntry* const entry = state.find(op);
  const auto* const texts = entry == nullptr ? nullptr : entry->definition->texts.find();
  return texts == nullptr ? std::string() : texts->doc;
}

std::string inspect::metadata(const OperatorName& name) {
  const Operator& op = Registry::instance().require(name);
  const RegistryAccess::State& state = RegistryAccess::state();
  std::vector<std::string> tags;
  {
    const std::lock_guard lock(state.mutex);
    const OperatorEntry* const entry = state.find(op);
    if (entry != nullptr) tags = entry->definition->tags;
  }
  const std::string doc = inspect::doc(name);
  const Schema& schema = op.schema();
  return fmt::format(
      "{{\"name\": {}, \"overload\": {}, \"schema\": {}, \"doc\": {}, \"tags\": {}, "
      "\"arguments\": {}, \"results\": {}}}",
      json_text(schema.name.name), json_text(schema.name.overload), json_text(op.declaration()),
      json_text(doc), array(tags, json_text), array(schema.arguments, argument_text),
      array(schema.results, argument_text));
}

}  // namespace opyard
