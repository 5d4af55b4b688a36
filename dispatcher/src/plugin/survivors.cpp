// plugin/survivors.cpp: survivors of an unloaded plugin.
//
// [What can be known] Calls under way show in the records that cannot be freed yet; typed handles
// in the operators that they were made of; kernels of other libraries in the registry. No one keeps
// a list of tensors or other objects: those whose memory is the plugin's give it back by its code,
// which stays, so they need none.
#include "plugin/survivors.h"

#include <fmt/format.h>

#include <algorithm>

#include "opyard/inspect/inspect.h"
#include "registry/operator_entry.h"
#include "registry/reclaim.h"

namespace opyard {
namespace {

// The kernels of an operator that is not defined.
void add_kernels(const OperatorName& name, std::vector<Survivor>& survivors) {
  for (inspect::RegisteredKernel& kernel : inspect::registered(name).kernels) {
    survivors.push_back({Survivor::Kind::Registration, to_string(name),
                         to_string(kernel.key) + (is_alias(kernel.key) ? "[alias]" : ""),
                         std::move(kernel.provenance)});
  }
}

std::string describe_survivor(const Survivor& survivor) {
  switch (survivor.kind) {
    case Survivor::Kind::Call:
      return fmt::format("a kernel that was {} may still be running", survivor.provenance);
    case Survivor::Kind::Handle:
      return fmt::format(
          "{}: there may be typed handles, which raise OperatorGone until it is defined again",
          survivor.name);
    case Survivor::Kind::Registration:
      return fmt::format("{}: the kernel at {}, {}, waits for a definition", survivor.name,
                         survivor.key, survivor.provenance);
  }
  return "";
}

}  // namespace

SurvivorSearch::SurvivorSearch(const std::vector<std::string>& name_spaces) {
  for (OperatorName& name : inspect::names()) {
    const auto found = std::find(name_spaces.begin(), name_spaces.end(), name.name_space());
    if (found == name_spaces.end()) continue;
    if (const Operator* const op = Registry::instance().find(name)) {
      defined_.emplace_back(std::move(name), op);
    }
  }
}

std::vector<Survivor> SurvivorSearch::find(const std::vector<std::string>& provenances) const {
  std::vector<Survivor> survivors;
  for (std::string& provenance : retired_provenances()) {
    if (std::find(provenances.begin(), provenances.end(), provenance) != provenances.end()) {
      survivors.push_back({Survivor::Kind::Call, "", "", std::move(provenance)});
    }
  }
  for (const auto& [name, op] : defined_) {
    if (Registry::instance().find(name) == op) continue;  // of another library
    if (OperatorEntry::has_handle(*op))
      survivors.push_back({Survivor::Kind::Handle, to_string(name), "", ""});
    add_kernels(name, survivors);
  }
  return survivors;
}

std::string to_string(const UnloadReport& report) {
  if (report.survivors.empty()) {
    return fmt::format("{} was unloaded, and nothing of it is in use", report.path);
  }
  std::string text = fmt::format("{} was unloaded, and this is left of it:", report.path);
  for (const Survivor& survivor : report.survivors) {
    text += "\n  " + describe_survivor(survivor);
  }
  return text;
}

}  // namespace opyard
