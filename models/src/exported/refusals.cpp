// exported/refusals.cpp: unsupported parts of exported programs.
#include "exported/refusals.h"

#include <algorithm>

#include <fmt/format.h>

#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

// Every value that is named anywhere in it.
void collect_names(const Json& json, std::set<std::string>& names) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_structured()) {
      collect_names(value, names);
    } else if ((key == "name" || key == "as_name") && value.is_string()) {
      names.insert(value.get<std::string>());
    }
  }
}

}  // namespace

void Refusals::add(const std::string& target, const SourceRange& place, const std::string& reason) {
  auto [found, is_new] = known_.try_emplace(target + reason, Refusal{target, reason, place.text()});
  ++found->second.count;
}

void Refusals::refuse_outputs(const Json& node) {
  for (const Json& output : require_array(require_member(node, "outputs", what_), what_)) {
    collect_names(output, names_);
  }
}

bool Refusals::has_refused_input(const Json& node) const {
  if (names_.empty()) return false;
  std::set<std::string> names;
  for (const Json& input : require_array(require_member(node, "inputs", what_), what_)) {
    collect_names(require_member(input, "arg", what_), names);
  }
  return std::any_of(names.begin(), names.end(),
                     [this](const std::string& name) { return names_.contains(name); });
}

void Refusals::raise_if_any() const {
  if (known_.empty()) return;
  std::string text = fmt::format("{} cannot run here: {} of its operators {} not available\n",
                                 what_, known_.size(), known_.size() == 1 ? "is" : "are");
  for (const auto& [key, each] : known_) {
    text +=
        fmt::format("  {}, {} time{}{}: {}\n", each.target, each.count, each.count == 1 ? "" : "s",
                    each.place.empty() ? "" : ", first at " + each.place, each.reason);
  }
  text +=
      "Export the model with run_decompositions() for fewer kinds of operators, or load a plugin "
      "that has these.";
  fail(ErrorKind::Unsupported, std::move(text));
}

}  // namespace opyard::jit
