// files/model.cpp: a model's inputs are checked, and it runs.
#include "opyard/jit/files/model.h"

#include <fmt/format.h>

#include "files/exported.h"
#include "files/json.h"
#include "files/model_file.h"
#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

// Sizes that inputs share, as the first of them said.
using KnownSizes = std::map<std::string, std::pair<std::int64_t, std::string>>;

void check_size(const Model& model, const InputCheck& check, std::size_t dim, std::int64_t size,
                KnownSizes& known) {
  const auto place = [&] {
    return fmt::format("input %{}: size {} of dimension {}", check.name, size, dim);
  };
  if (const auto* const number = std::get_if<std::int64_t>(&check.sizes[dim])) {
    OPYARD_CHECK(size == *number, BadShape,
                 fmt::format("{}; the model was exported for {}", place(), *number));
  } else if (const auto* const name = std::get_if<std::string>(&check.sizes[dim])) {
    const auto range = model.ranges.find(*name);
    OPYARD_CHECK(range == model.ranges.end() ||
                     (range->second.first <= size && size <= range->second.second),
                 BadShape,
                 fmt::format("{} is out of the range that the model was exported for, {} to {}",
                             place(), range->second.first, range->second.second));
    const auto [found, is_new] = known.try_emplace(*name, size, check.name);
    OPYARD_CHECK(is_new || found->second.first == size, BadShape,
                 fmt::format("{}, and the same size of input %{} is {}", place(),
                             found->second.second, found->second.first));
  }
}

void check_tensor(const Model& model, const InputCheck& check, const opyard::Value& value,
                  KnownSizes& known) {
  OPYARD_CHECK(
      value.is_tensor() && value.tensor_unchecked().defined(), BadArgument,
      fmt::format("input %{} is a tensor, and {} was given", check.name, name_of(value.kind())));
  const Tensor& tensor = value.tensor_unchecked();
  OPYARD_CHECK(tensor.dtype() == *check.dtype, BadArgument,
               fmt::format("input %{} is of dtype {}; the model was exported for {}", check.name,
                           name_of(tensor.dtype()), name_of(*check.dtype)));
  OPYARD_CHECK(tensor.sizes().size() == check.sizes.size(), BadShape,
               fmt::format("input %{} has {} dimensions; the model was exported for {}", check.name,
                           tensor.sizes().size(), check.sizes.size()));
  for (std::size_t dim = 0; dim < check.sizes.size(); ++dim) {
    check_size(model, check, dim, tensor.sizes()[dim], known);
  }
}

bool is_constant(const opyard::Value& value, const std::string& json) {
  const Json wanted = parse_json(json, "a constant input");
  if (value.is_none()) return wanted.is_null();
  if (value.is_bool()) return wanted.is_boolean() && wanted.get<bool>() == value.to_bool();
  if (value.is_int())
    return wanted.is_number_integer() && wanted.get<std::int64_t>() == value.to_int();
  if (value.is_double()) return wanted.is_number() && wanted.get<double>() == value.to_double();
  return value.is_string() && wanted.is_string() &&
         wanted.get_ref<const std::string&>() == value.to_string_view();
}

}  // namespace

void check_inputs(const Model& model, std::span<const opyard::Value> inputs) {
  const std::size_t wanted = model.graph->inputs().size() - model.state.size();
  OPYARD_CHECK(inputs.size() == wanted, BadArgument,
               fmt::format("the model takes {} inputs, and {} were given", wanted, inputs.size()));
  KnownSizes known;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const InputCheck& check = model.inputs[i];
    if (check.dtype) {
      check_tensor(model, check, inputs[i], known);
    } else if (!check.constant.empty()) {
      OPYARD_CHECK(
          is_constant(inputs[i], check.constant), BadValue,
          fmt::format("input {} was {} when the model was exported, and can be nothing else", i,
                      check.constant));
    }
  }
}

std::vector<opyard::Value> run_model(Model& model, std::span<const opyard::Value> inputs,
                                     const RunBudget& budget) {
  check_inputs(model, inputs);
  if (model.code == nullptr) model.code = compile(model.graph);
  std::vector<opyard::Value> all;
  for (const StateTensor& each : model.state) all.emplace_back(each.tensor);
  all.insert(all.end(), inputs.begin(), inputs.end());
  if (!model.graph->is_restricted()) return model.code->run(all);
  InterpreterState state(model.code);
  state.set_budget(budget);
  std::vector<opyard::Value> outputs;
  state.run_one_stage(all, outputs);
  return outputs;
}

Model load_model(const std::string& path, const ModelOptions& options) {
  const CountedPtr<MappedFile> file = MappedFile::open(path);
  Model model = ZipArchive::looks_like_one(*file) ? load_exported(file, options)
                                                  : load_saved_model(path, options);
  model.code = compile(model.graph);
  return model;
}

}  // namespace opyard::jit
