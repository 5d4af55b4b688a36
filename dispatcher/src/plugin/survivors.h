// plugin/survivors.h: survivors of an unloaded plugin.
//
// Depends on: plugin/plugin.h, registry/registry.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "opyard/plugin/plugin.h"
#include "opyard/registry/registry.h"

namespace opyard {

// Looks at the registry before and after an unloading.
class SurvivorSearch {
 public:
  // Before: what is defined in the namespaces of the plugin's libraries.
  explicit SurvivorSearch(const std::vector<std::string>& name_spaces);
  // After: `provenances` are those of the plugin's registrations.
  std::vector<Survivor> find(const std::vector<std::string>& provenances) const;

 private:
  std::vector<std::pair<OperatorName, const Operator*>> defined_;
};

}  // namespace opyard
