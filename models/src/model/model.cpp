// model/model.cpp: loading and running of models.
#include "opyard/models/model.h"

#include <fmt/format.h>

#include "exported/program.h"
#include "files/foreign.h"
#include "model/model_file.h"
#include "prepared/prepared.h"

namespace opyard::jit {
namespace {

// Whether one that a run without loops could use up.
bool is_tight(const RunBudget& budget) {
  constexpr std::uint64_t kStepsOfAnyGraph = 10'000'000;
  const RunBudget none;
  return budget.steps < kStepsOfAnyGraph || budget.bytes != none.bytes || budget.time != none.time;
}

// A .pt2 that is cut or damaged is no file of ours either.
void require_archive(const FileBytes& file) {
  if (!file.path().ends_with(".pt2")) return;
  const std::string foreign = describe_foreign(file);
  fail(ErrorKind::BadValue,
       fmt::format("{} is no archive of torch.export.save(), which a .pt2 file is, but {}",
                   file.path(),
                   foreign.empty()
                       ? "begins otherwise: it is damaged, or another file; export the model again"
                       : foreign));
}

}  // namespace

std::vector<opyard::Value> run_model(Model& model, std::span<const opyard::Value> inputs,
                                     const RunBudget& budget) {
  check_inputs(model, inputs);
  if (!is_tight(budget)) {
    const CodePtr code = find_prepared_code(model, inputs);
    if (code != nullptr) return code->run(inputs);
  }
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
  const CountedPtr<FileBytes> file = FileBytes::open(path, options.access);
  const bool is_archive = ZipArchive::looks_like_one(*file);
  if (!is_archive) require_archive(*file);
  Model model = is_archive ? load_exported(file, options) : load_saved_model(*file, options);
  model.code = compile(model.graph);
  prepare_model(model, options.preparation);
  return model;
}

void prepare_model(Model& model, const PreparationOptions& options) {
  model.prepared = make_counted<PreparedModel>(model, options);
}

std::string explain_model(const Model& model) {
  return model.prepared == nullptr
             ? "runs as it is, since it was not prepared"
             : static_cast<const PreparedModel*>(model.prepared.get())->explain(model);
}

}  // namespace opyard::jit
