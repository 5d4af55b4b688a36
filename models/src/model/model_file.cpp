// model/model_file.cpp: reading and writing model files. See [Formats].
#include "model/model_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "files/json.h"
#include "files/own_namespaces.h"
#include "files/sizes.h"
#include "files/tensor_file.h"
#include "opyard/base/error.h"
#include "opyard/jit/parse.h"
#include "opyard/jit/print.h"

namespace opyard::jit {
namespace {

constexpr const char* kFormatKey = "opyard.format";
constexpr const char* kGraphKey = "opyard.graph";
constexpr const char* kModelKey = "opyard.model";
constexpr std::array<std::string_view, 3> kFormats = {"1", "2", "3"};  // the last one is written

std::string constant_name(std::size_t index) { return fmt::format("opyard.constant.{}", index); }

// ---- saving

void collect(const opyard::Value& value, std::vector<Tensor>& tensors) {
  if (value.is_tensor()) tensors.push_back(value.tensor_unchecked());
  if (value.is_list() || value.is_tuple()) {
    for (const opyard::Value& item : value.items_unchecked()) collect(item, tensors);
  }
}

// Every tensor in a constant, in the order of the text, also those that the text says by itself.
void collect(const Block& block, std::vector<Tensor>& tensors) {
  for (const Node* const node : block.nodes()) {
    for (const Attribute& attribute : node->attributes()) {
      if (const auto* const tensor = std::get_if<Tensor>(&attribute.value))
        tensors.push_back(*tensor);
      if (const auto* const several = std::get_if<std::vector<Tensor>>(&attribute.value)) {
        tensors.insert(tensors.end(), several->begin(), several->end());
      }
      if (const auto* const value = std::get_if<opyard::Value>(&attribute.value))
        collect(*value, tensors);
    }
    for (const Block* const inner : node->blocks()) collect(*inner, tensors);
  }
}

// Those whose elements the text does not have.
std::vector<Tensor> constants_of(const Graph& graph) {
  std::vector<Tensor> all;
  collect(*graph.block(), all);
  std::erase_if(all, is_written_out);
  return all;
}

// The first of the state with each tensor.
using FirstNames = std::unordered_map<const TensorImpl*, const StateTensor*>;
FirstNames first_names_of(const Model& model) {
  FirstNames first;
  for (const StateTensor& each : model.state) first.try_emplace(each.tensor.impl().get(), &each);
  return first;
}

std::string description_of(const Model& model, const FirstNames& first_names,
                           std::size_t constants) {
  Json state = Json::array();
  for (const StateTensor& each : model.state) {
    const StateTensor& first = *first_names.at(each.tensor.impl().get());
    Json said = Json::array();
    said.push_back(each.name);
    said.push_back(each.is_parameter);
    said.push_back(&first == &each ? Json() : Json(first.name));
    state.push_back(std::move(said));
  }
  Json inputs = Json::array();
  for (const InputCheck& check : model.inputs) {
    Json sizes = Json::array();
    for (const std::optional<SizeExpression>& size : check.sizes)
      sizes.push_back(size ? size_json(*size) : Json());
    inputs.push_back(Json{{"name", check.name},
                          {"dtype", check.dtype ? Json(name_of(*check.dtype)) : Json()},
                          {"sizes", std::move(sizes)},
                          {"constant", check.constant}});
  }
  Json ranges = Json::object();
  for (const auto& [name, range] : model.ranges)
    ranges[name] = std::vector{range.first, range.second};
  return Json{{"state", std::move(state)},      {"constants", constants},
              {"inputs", std::move(inputs)},    {"ranges", std::move(ranges)},
              {"input_tree", model.input_tree}, {"output_tree", model.output_tree}}
      .dump();
}

// ---- loading

// The operators of ours that a graph names.
std::vector<std::string> own_names(const std::string& text) {
  std::set<std::string> names;
  for (const std::string_view name_space : kOwnNamespaces) {
    const std::string prefix = std::string(name_space) + "::";
    for (std::size_t at = text.find(prefix); at != text.npos; at = text.find(prefix, at + 1)) {
      std::size_t end = at + prefix.size();
      while (end < text.size() && (std::isalnum(std::uint8_t(text[end])) != 0 || text[end] == '_'))
        ++end;
      names.insert(text.substr(at, end - at));
    }
  }
  return {names.begin(), names.end()};
}

const std::string& metadata_of(const TensorFile& file, const char* key, const std::string& path) {
  const auto found = file.metadata.find(key);
  OPYARD_CHECK(
      found != file.metadata.end(), BadValue,
      fmt::format("{} holds tensors, and no model: its metadata has no \"{}\"; opyard.load() "
                  "reads tensors",
                  path, key));
  return found->second;
}

InputCheck read_check(const Json& json, const std::string& what) {
  InputCheck check;
  check.name = require_text(require_member(json, "name", what), what);
  const Json& dtype = require_member(json, "dtype", what);
  if (!dtype.is_null()) {
    check.dtype = find_dtype(require_text(dtype, what));
    OPYARD_CHECK(check.dtype.has_value(), BadValue,
                 fmt::format("{} has the dtype {}, which does not exist here", what, dtype.dump()));
  }
  for (const Json& size : require_array(require_member(json, "sizes", what), what)) {
    check.sizes.emplace_back();
    if (!size.is_null()) check.sizes.back() = read_size_json(size, what);
  }
  check.constant = require_text(require_member(json, "constant", what), what);
  if (!check.constant.empty()) parse_json(check.constant, what);
  return check;
}

using Tensors = std::map<std::string, Tensor>;

const Tensor& require_tensor(const Tensors& tensors, const std::string& name,
                             const std::string& path) {
  const auto found = tensors.find(name);
  OPYARD_CHECK(found != tensors.end(), BadValue,
               fmt::format("{} has no tensor \"{}\"", path, name));
  return found->second;
}

// Gives `tensors` those names, too, whose tensor is that of another one.
void read_state(const Json& json, Model& model, Tensors& tensors, const std::string& path,
                const std::string& what) {
  for (const Json& said : require_array(json, what)) {
    const std::size_t members = require_array(said, what).size();
    OPYARD_CHECK(members == 2 || members == 3, BadValue, fmt::format("{}: no name and kind", what));
    const std::string& name = require_text(said[0], what);
    if (members == 3 && !said[2].is_null()) {
      const Tensor same = require_tensor(tensors, require_text(said[2], what), path);
      OPYARD_CHECK(
          tensors.emplace(name, same).second, BadValue,
          fmt::format("{}: \"{}\" is the tensor of another name, and has its own", what, name));
    }
    model.state.push_back({name, require_tensor(tensors, name, path), require_bool(said[1], what)});
  }
}

void read_description(const Json& json, Model& model, const std::string& what) {
  for (const Json& each : require_array(require_member(json, "inputs", what), what)) {
    model.inputs.push_back(read_check(each, what));
  }
  for (const auto& [name, range] :
       require_object(require_member(json, "ranges", what), what).items()) {
    OPYARD_CHECK(require_array(range, what).size() == 2, BadValue,
                 fmt::format("{}: no range", what));
    model.ranges[name] = {require_int(range[0], what), require_int(range[1], what)};
  }
  model.input_tree = require_text(require_member(json, "input_tree", what), what);
  model.output_tree = require_text(require_member(json, "output_tree", what), what);
}

}  // namespace

Model load_saved_model(FileBytes& bytes, const ModelOptions& options) {
  const std::string& path = bytes.path();
  const TensorFile file = tensors_in(bytes);
  const std::string& format = metadata_of(file, kFormatKey, path);
  OPYARD_CHECK(std::ranges::find(kFormats, format) != kFormats.end(), Unsupported,
               fmt::format("{} is a model of format {}, and formats {} to {} are read; a newer "
                           "Opyard reads it",
                           path, Json(format).dump(), kFormats.front(), kFormats.back()));
  const std::string what = path + ": opyard.model";
  const Json description = parse_json(metadata_of(file, kModelKey, path), what);
  Model model;
  Tensors tensors;
  for (const NamedTensor& each : file.tensors) tensors.emplace(each.name, each.tensor);
  read_state(require_member(description, "state", what), model, tensors, path, what);
  read_description(description, model, what);
  ParseOptions parsing;
  parsing.source = path;
  const std::int64_t constants = require_int(require_member(description, "constants", what), what);
  for (std::int64_t i = 0; i < constants; ++i)
    parsing.tensors.push_back(require_tensor(tensors, constant_name(std::size_t(i)), path));
  const std::string& text = metadata_of(file, kGraphKey, path);
  parsing.untrusted = options.untrusted;
  if (options.untrusted) {
    parsing.allowed = own_names(text);
    parsing.allowed.insert(parsing.allowed.end(), options.allowed.begin(), options.allowed.end());
  }
  model.graph = parse_graph(text, parsing);
  const std::size_t passed = model.graph->inputs().size();
  OPYARD_CHECK(
      model.state.size() <= passed &&
          (model.inputs.empty() || model.state.size() + model.inputs.size() == passed),
      BadValue,
      fmt::format("{}: the graph has {} inputs, and {} weights and {} inputs are described", path,
                  passed, model.state.size(), model.inputs.size()));
  return model;
}

void save_model(const Model& model, const std::string& path) {
  const std::string text = to_string(*model.graph);
  const std::vector<Tensor> constants = constants_of(*model.graph);
  std::vector<NamedTensor> tensors;
  const FirstNames first_names = first_names_of(model);
  for (const StateTensor& each : model.state) {
    if (first_names.at(each.tensor.impl().get()) == &each)
      tensors.push_back({each.name, each.tensor});
  }
  for (std::size_t i = 0; i < constants.size(); ++i)
    tensors.push_back({constant_name(i), constants[i]});
  ParseOptions parsing;
  parsing.tensors = constants;
  std::string again;
  try {
    again = to_string(*parse_graph(text, parsing));
  } catch (const Error&) {  // compared below
  }
  OPYARD_CHECK(
      again == text, Unsupported,
      "save_model: the graph has what its text does not say, such as functions of other layers, "
      "or tensors in attributes that are no constants");
  save_tensors(path, tensors,
               {{kFormatKey, std::string(kFormats.back())},
                {kGraphKey, text},
                {kModelKey, description_of(model, first_names, constants.size())}});
}

}  // namespace opyard::jit
