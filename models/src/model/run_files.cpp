// model/run_files.cpp: running a model on files: load, run, write, compare, measure.
#include "opyard/models/run_files.h"

#include <chrono>
#include <complex>
#include <filesystem>

#include <fmt/format.h>

#include "files/comparison.h"
#include "files/json.h"
#include "model/run_times.h"
#include "opyard/base/error.h"
#include "opyard/models/npy.h"
#include "opyard/tensor/make.h"

namespace opyard::jit {
namespace {

void tell(const RunRequest& request, const std::string& text) {
  if (request.progress) request.progress(text);
}

std::string size_of(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? "?" : fmt::format("{:.1f} MB", double(bytes) / 1e6);
}

// An input that is no tensor, from an array without dimensions.
opyard::Value number_of(const Tensor& array, TypeKind wanted, const std::string& path) {
  OPYARD_CHECK(array.sizes().empty(), BadArgument,
               fmt::format("{}: the model takes a number here, and the array has {} dimensions",
                           path, array.sizes().size()));
  if (array.dtype() == DType::Int64 && wanted == TypeKind::Int) return *array.data<std::int64_t>();
  const std::complex<double> number = element_at(contiguous(array), 0);
  const bool is_whole = number.real() >= -0x1p63 && number.real() < 0x1p63 &&
                        double(std::int64_t(number.real())) == number.real();
  OPYARD_CHECK(number.imag() == 0 && (wanted == TypeKind::Float || is_whole), BadArgument,
               fmt::format("{}: the model takes another kind of number here", path));
  if (wanted == TypeKind::Float) return number.real();
  if (wanted == TypeKind::Bool) return opyard::Value(number.real() != 0);
  return std::int64_t(number.real());
}

opyard::Value constant_of(const std::string& json) {
  const Json value = parse_json(json, "a constant input");
  if (value.is_boolean()) return opyard::Value(value.get<bool>());
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return opyard::Value(value.get<std::string>());
  return {};
}

std::vector<opyard::Value> read_inputs(const RunRequest& request, const Model& model) {
  if (request.inputs.empty() && model.example) return *model.example;
  const auto all = model.graph->inputs().subspan(model.state.size());
  std::vector<opyard::Value> values;
  std::size_t next = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i < model.inputs.size() && !model.inputs[i].constant.empty()) {
      values.push_back(constant_of(model.inputs[i].constant));
      continue;
    }
    const std::size_t at = next++;
    if (at >= request.inputs.size()) continue;
    const std::string& path = request.inputs[at];
    const Tensor array = load_npy(path);
    const TypeKind kind = all[i]->type()->kind();
    const bool is_number =
        kind == TypeKind::Int || kind == TypeKind::Float || kind == TypeKind::Bool;
    values.push_back(is_number ? number_of(array, kind, path) : opyard::Value(array));
  }
  OPYARD_CHECK(next == request.inputs.size(), BadArgument,
               fmt::format("{} takes {} inputs, and {} files are given", request.model, next,
                           request.inputs.size()));
  return values;
}

Tensor array_of(const opyard::Value& value, std::size_t index) {
  if (value.is_tensor() && value.tensor_unchecked().defined()) return value.tensor_unchecked();
  if (value.is_bool()) {
    const bool truth = value.to_bool();
    return tensor_of(&truth, DType::Bool);
  }
  if (value.is_int()) {
    const std::int64_t number = value.to_int();
    return tensor_of(&number, DType::Int64);
  }
  OPYARD_CHECK(
      value.is_double(), Unsupported,
      fmt::format("output {} is of kind {}, which no array can be", index, name_of(value.kind())));
  const double number = value.to_double();
  return tensor_of(&number, DType::Float64);
}

void check_counts(const RunRequest& request, std::size_t outputs) {
  for (const auto* const files : {&request.outputs, &request.expected}) {
    OPYARD_CHECK(files->size() <= outputs, BadArgument,
                 fmt::format("{} has {} outputs, and {} files are named for them", request.model,
                             outputs, files->size()));
  }
}

std::string element_line(const Tensor& array, std::size_t index, const RunRequest& request) {
  std::string sizes;
  for (const std::int64_t size : array.sizes())
    sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size);
  std::string line = fmt::format("output {}: {}[{}]", index, name_of(array.dtype()), sizes);
  if (index < request.outputs.size()) line += " in " + request.outputs[index];
  return line + '\n';
}

// A refusal speaks of the function that reads a graph; here options are what is given.
std::string in_options(std::string text) {
  constexpr std::string_view kBegin = "read the graph with allowed=[\"";
  const std::size_t begin = text.find(kBegin);
  if (begin == text.npos) return text;
  const std::size_t name = begin + kBegin.size();
  const std::size_t end = text.find("\"]", name);
  if (end == text.npos) return text;
  const std::string allow = fmt::format("give --allow {}, and --plugin for the library that has it",
                                        text.substr(name, end - name));
  text.replace(begin, end + 2 - begin, allow);
  return text;
}

Model load_for(const RunRequest& request) {
  try {
    return load_model(request.model, request.options);
  } catch (const Error& error) {
    const std::string_view text = error.what();
    if (text.find("may name only what is known here") != text.npos ||
        text.find("is not defined here") != text.npos) {
      throw error.with_context(
          "If a plugin has the operator, give --plugin FILE and, if it is none of aten, --allow "
          "with the operator's name");
    }
    std::string told = in_options(error.what());
    if (told == text) throw;
    fail(error.kind(), std::move(told));
  }
}

}  // namespace

RunReport run_files(const RunRequest& request) {
  Stopwatch watch;
  tell(request, fmt::format("loading {} ({})", request.model, size_of(request.model)));
  Model model = load_for(request);
  watch.lap("load");
  check_counts(request, model.graph->outputs().size());
  const std::vector<opyard::Value> inputs = read_inputs(request, model);
  watch.lap("read inputs");
  tell(request, fmt::format("running {} nodes", model.graph->node_count()));
  const std::vector<opyard::Value> outputs = run_model(model, inputs);
  watch.lap("first run");
  RunReport report;
  std::vector<Tensor> arrays;
  for (const opyard::Value& output : outputs) {
    arrays.push_back(array_of(output, arrays.size()));
    const std::size_t index = arrays.size() - 1;
    if (index < request.outputs.size()) save_npy(arrays.back(), request.outputs[index]);
    report.text += element_line(arrays.back(), index, request);
  }
  watch.lap("write outputs");
  for (std::size_t i = 0; i < request.expected.size(); ++i) {
    const Comparison compared =
        compare(arrays[i], load_npy(request.expected[i]), request.tolerance);
    report.as_expected = report.as_expected && compared.is_equal;
    report.text += fmt::format("output {}: {} {}\n", i, compared.text, request.expected[i]);
  }
  if (request.times) {
    tell(request, "measuring");
    report.times = watch.table() + operator_times(model, inputs);
  }
  return report;
}

}  // namespace opyard::jit
