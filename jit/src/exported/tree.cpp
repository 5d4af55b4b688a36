// exported/tree.cpp: PyTorch's tree specs, read and said in our form.
#include "exported/tree.h"

#include <fmt/format.h>

#include "files/json.h"
#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

// The nesting is bounded by parse_json().
Json converted_node(const Json& node, const std::string& what) {
  const Json& type = require_member(node, "type", what);
  const Json& children = require_array(require_member(node, "children_spec", what), what);
  if (type.is_null()) return Json();
  const std::string& name = require_text(type, what);
  Json items = Json::array();
  for (const Json& child : children) items.push_back(converted_node(child, what));
  if (name == "builtins.tuple") return Json{{"tuple", std::move(items)}};
  if (name == "builtins.list") return Json{{"list", std::move(items)}};
  OPYARD_CHECK(name == "builtins.dict" || name == "collections.OrderedDict", Unsupported,
               fmt::format("{} has a container of type {}; tuples, lists and dicts are taken", what,
                           type.dump()));
  const Json keys = parse_json(require_text(require_member(node, "context", what), what), what);
  OPYARD_CHECK(require_array(keys, what).size() == items.size(), BadValue,
               fmt::format("{} has {} keys for {} values", what, keys.size(), items.size()));
  Json pairs = Json::array();
  for (std::size_t i = 0; i < items.size(); ++i) {
    Json pair = Json::array();
    pair.push_back(keys[i]);
    pair.push_back(std::move(items[i]));
    pairs.push_back(std::move(pair));
  }
  return Json{{"dict", std::move(pairs)}};
}

}  // namespace

std::string convert_tree(const std::string& spec, const std::string& what) {
  const Json tree = parse_json(spec, what);
  OPYARD_CHECK(require_array(tree, what).size() == 2, BadValue,
               fmt::format("{} is no version and a tree", what));
  return converted_node(tree[1], what).dump();
}

}  // namespace opyard::jit
