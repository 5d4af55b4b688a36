// exported/example.cpp: a decoded example, flattened as the model's inputs are nested.
#include "exported/example.h"

#include <map>

#include <fmt/format.h>

#include "exported/pickle.h"
#include "files/json.h"
#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

// The items of a dict by their keys, texts or ints as JSON.
class KeyedItems {
 public:
  explicit KeyedItems(const PickleItem& dict) {
    for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const opyard::Value& name = dict.items[i]->value;
      const PickleItem* const item = dict.items[i + 1];
      // The last one counts.
      if (name.is_string()) items_.insert_or_assign(Json(name.to_string_view()), item);
      if (name.is_int()) items_.insert_or_assign(Json(name.to_int()), item);
    }
  }
  const PickleItem* find(const Json& key) const {
    const auto found = items_.find(key);
    return found == items_.end() ? nullptr : found->second;
  }

 private:
  std::map<Json, const PickleItem*> items_;
};

// Along the tree, whose nesting is bounded; false for an item that is nested in another way.
bool flatten(const Json& tree, const PickleItem& item, std::vector<opyard::Value>& flat) {
  if (tree.is_null()) {
    if (item.kind != PickleKind::Plain) return false;
    flat.push_back(item.value);
    return true;
  }
  const std::string& kind = tree.begin().key();
  const Json& parts = tree.begin().value();
  const PickleKind wanted = kind == "dict"   ? PickleKind::Dict
                            : kind == "list" ? PickleKind::List
                                             : PickleKind::Tuple;
  const std::size_t count = wanted == PickleKind::Dict ? item.items.size() / 2 : item.items.size();
  if (item.kind != wanted || count != parts.size()) return false;
  const KeyedItems keyed(wanted == PickleKind::Dict ? item : PickleItem());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PickleItem* const part =
        wanted == PickleKind::Dict ? keyed.find(parts[i][0]) : item.items[i];
    const Json& inner = wanted == PickleKind::Dict ? parts[i][1] : parts[i];
    if (part == nullptr || !flatten(inner, *part, flat)) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<opyard::Value>> read_example(const ZipArchive& archive,
                                                       const std::string& entry,
                                                       const Model& model) {
  if (archive.find(entry) == nullptr || model.input_tree.empty()) return std::nullopt;
  const ZipEntry& place = archive.require(entry);
  const std::string what = archive.file()->path() + ": " + entry;
  std::vector<opyard::Value> flat;
  try {
    const Pickle pickle(FileBytes::part(archive.file(), place.offset, place.bytes, what));
    const PickleItem& top = pickle.top();
    if (top.kind == PickleKind::Plain && top.value.is_none()) return std::nullopt;
    OPYARD_CHECK(flatten(parse_json(model.input_tree, what), top, flat), BadValue,
                 fmt::format("{} is nested in another way than the program's inputs", what));
    check_inputs(model, flat);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Unsupported) return std::nullopt;
    if (error.kind() == ErrorKind::BadValue) throw;
    fail(ErrorKind::BadValue, fmt::format("{} does not fit the program: {}", what, error.what()));
  }
  return flat;
}

}  // namespace opyard::jit
