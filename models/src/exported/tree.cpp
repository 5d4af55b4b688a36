// exported/tree.cpp: reading of PyTorch's tree specs.
//
// [Classes] Of a class that was registered with PyTorch a program knows the name and a context that
// the class chose. If the context has a name for each value, as those of data classes, of
// transformers' outputs and of defaultdict do, it becomes a dict; else, as a named tuple, whose
// program does not have the names, a tuple. Fields that were None at the export are left out there.
#include "exported/tree.h"

#include <set>

#include <fmt/format.h>

#include "files/json.h"
#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

// The context of a container, which is JSON in most; null for what is none.
Json context_of(const Json& node, const std::string& what) {
  const Json& context = require_member(node, "context", what);
  if (!context.is_string()) return context;
  const std::string& text = context.get_ref<const std::string&>();
  return Json::accept(text) ? parse_json(text, what) : Json();
}

bool are_names(const Json& names, std::size_t count) {
  if (!names.is_array() || names.size() != count || count == 0) return false;
  std::set<Json> different;
  for (const Json& name : names) {
    if (!name.is_string() || !different.insert(name).second) return false;
  }
  return true;
}

// See [Classes]. Null if the context has no names.
Json names_of_fields(const Json& context, std::size_t count) {
  if (are_names(context, count)) return context;
  if (context.is_array() && !context.empty() && are_names(context[0], count)) return context[0];
  const Json* const keys = find_member(context, "dict_context");
  return keys != nullptr && keys->is_array() && keys->size() == count ? *keys : Json();
}

Json dict_node(const Json& keys, Json items) {
  Json pairs = Json::array();
  for (std::size_t i = 0; i < items.size(); ++i) {
    Json pair = Json::array();
    pair.push_back(keys[i]);
    pair.push_back(std::move(items[i]));
    pairs.push_back(std::move(pair));
  }
  return Json{{"dict", std::move(pairs)}};
}

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
  const Json context = context_of(node, what);
  if (name == "builtins.dict" || name == "collections.OrderedDict") {
    OPYARD_CHECK(require_array(context, what).size() == items.size(), BadValue,
                 fmt::format("{} has {} keys for {} values", what, context.size(), items.size()));
    return dict_node(context, std::move(items));
  }
  const Json names = names_of_fields(context, items.size());
  return names.is_null() ? Json{{"tuple", std::move(items)}} : dict_node(names, std::move(items));
}

}  // namespace

std::string convert_tree(const std::string& spec, const std::string& what) {
  const Json tree = parse_json(spec, what);
  OPYARD_CHECK(require_array(tree, what).size() == 2, BadValue,
               fmt::format("{} is no version and a tree", what));
  return converted_node(tree[1], what).dump();
}

}  // namespace opyard::jit
