// ir/load_operator.cpp: lazy loading of operators that a graph names.
#include "opyard/detail/jit/load_operator.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "opyard/detail/registry/finder.h"
#include "opyard/detail/text/near_names.h"
#include "opyard/inspect/inspect.h"
#include "opyard/jit/resolve.h"

namespace opyard::jit {

void detail::load_operator(std::string_view name) {
  if (!is_known_operator(name)) load_operators(name);
}

void detail::load_operator(const Node& node) {
  const std::string_view overload = node.overload().defined() ? node.overload().name() : "";
  if (node.graph().allows(node.kind().qual_string(), overload)) {
    load_operator(node.kind().qual_string());
  }
}

std::string detail::where_it_may_be(std::string_view name) {
  const std::size_t colons = name.find("::");
  if (colons == std::string_view::npos) return "";
  const std::string_view space = name.substr(0, colons + 2);
  std::set<std::string> known;
  for (const OperatorName& each : inspect::names()) {
    if (each.name.starts_with(space)) known.insert(each.name.substr(space.size()));
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string_view meant = opyard::detail::near_name(name.substr(space.size()), names);
  if (!meant.empty()) return fmt::format("; '{}{}' may be meant", space, meant);
  if (!name.starts_with("aten::") || has_operator_finder()) return "";
  return "; this program has no Python, in which NumPy answers more operators of aten";
}

}  // namespace opyard::jit
