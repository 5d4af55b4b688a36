// ir/load_operator.cpp: lazy loading of operators that a graph names.
#include "opyard/detail/jit/load_operator.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "ir/builtins.h"
#include "opyard/detail/registry/finder.h"
#include "opyard/detail/text/near_names.h"
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

namespace {

// What may be meant by a kind of node that no one knows: a kind of node, or a builtin.
std::string near_kind(std::string_view name) {
  constexpr std::string_view kSpace = "prim::";
  if (!name.starts_with(kSpace)) return "";
  std::vector<std::string_view> known;
#define OPYARD_SYMBOL(space, name) \
  if (std::string_view(#space) == "prim") known.push_back(#name);
#include "opyard/jit/symbols.def"
#undef OPYARD_SYMBOL
  for (const std::string_view builtin : detail::builtin_names()) {
    if (builtin.starts_with(kSpace)) known.push_back(builtin.substr(kSpace.size()));
  }
  const std::string_view meant = opyard::detail::near_name(name.substr(kSpace.size()), known);
  return meant.empty() ? "" : std::string(kSpace) + std::string(meant);
}

}  // namespace

std::string detail::where_it_may_be(std::string_view name) {
  std::string meant = near_operator(name);
  if (meant.empty()) meant = near_kind(name);
  if (!meant.empty()) return fmt::format("; '{}' may be meant", meant);
  const std::string_view space = name.substr(0, name.find("::"));
  if (space != "aten" && space != "prim" && !has_operators_of(space)) {
    return fmt::format("; no library defines operators of {}, and load_library() loads one", space);
  }
  if (!name.starts_with("aten::") || has_operator_finder()) return "";
  return "; this program has no Python, in which NumPy answers more operators of aten";
}

}  // namespace opyard::jit
