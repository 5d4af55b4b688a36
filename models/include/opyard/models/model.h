// opyard/models/model.h: Model: a graph with its tensors: loaded, checked, run and saved.
//
//   load_library("opyard_kernels.so");                 what the graph calls must be there
//   Model model = load_model("model.pt2");
//   std::vector<Value> outputs = run_model(model, {x});
//   save_model(model, "model.safetensors");
//
// A file is one of two kinds, told apart by its first bytes:
//   - an archive of torch.export.save(), a .pt2 file, whose graph is converted: all that cannot run
//     here is named in one error
//   - a safetensors file that save_model() wrote: weights as tensors, the graph's text as metadata
//
// [Strangers] A file is a stranger's unless it is said to be trusted: its graph may call operators
// of `aten`, and those in `allowed`, and each run has a budget. Nothing in a file is ever run or
// unpickled while it is read: the example inputs in an archive are decoded by a reader that looks
// up and calls nothing.
//
// [Preparation] While nothing needs a gradient a run takes another graph than the one that was
// loaded: batch norms are folded into convolutions, what depends on weights alone is computed, and
// operators in a row are fused (detail/models/preparations.def). Where that changes how results are
// rounded, `exact` leaves it out. What was computed with weights is not used once they are written:
// then, as with gradients, under a mode, and after a change of the graph, the graph itself runs.
// Writes of those who took a weight's memory, as NumPy may, are not seen.
//
// Threads: as with Graph; several threads may run one model that has its code, if no buffer of it
// is written.
//
// Depends on: jit/code.h, jit/interpreter_state.h, models/safetensors.h,
// models/size_expression.h.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "opyard/jit/code.h"
#include "opyard/jit/interpreter_state.h"
#include "opyard/models/safetensors.h"
#include "opyard/models/size_expression.h"

namespace opyard::jit {

struct StateTensor {
  std::string name;  // "layer.weight"
  Tensor tensor;
  bool is_parameter = false;  // else a buffer or a constant
};

// What one input has to be.
struct InputCheck {
  std::string name;
  std::optional<DType> dtype;  // nothing: no tensor
  // Nothing is known of a size without a value. An int has one, for itself.
  std::vector<std::optional<SizeExpression>> sizes;
  std::string constant;  // of no tensor, as JSON: what the model was exported with
};

struct Model {
  GraphPtr graph;  // of one stage; its first inputs are the state, the rest are what is passed
  std::vector<StateTensor> state;
  std::vector<InputCheck> inputs;  // empty: nothing is known but the types in the graph
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> ranges;  // of sizes, by name
  // How Python nests inputs and outputs, as JSON, or empty: null is a leaf,
  // {"tuple": […]}, {"list": […]}, {"dict": [[key, …], …]}.
  std::string input_tree;
  std::string output_tree;
  // What the program was exported with, flat; it fits `inputs`. Nothing in a file of ours, and if
  // it has anything but tensors, containers, numbers, texts and None.
  std::optional<std::vector<opyard::Value>> example = {};
  CodePtr code = {};  // null in a model that a program made: its first run compiles it
  CountedPtr<const Counted> prepared = {};  // by prepare_model(); null: the graph itself runs
};

struct PreparationOptions {
  bool exact = false;                // keep the bits of the graph
  std::vector<std::string> without;  // preparations that are left out, by name
};

struct ModelOptions {
  bool untrusted = true;             // see [Strangers]
  std::vector<std::string> allowed;  // operators of other namespaces
  FileAccess access = FileAccess::Read;
  PreparationOptions preparation = {};
};

// Raises NotFound for no file, BadValue for one that is broken, Unsupported for a kind or version
// that is not read and for operators that are not here, BadGraph for a graph that is wrong.
OPYARD_API Model load_model(const std::string& path, const ModelOptions& options = {});
// See [Preparation]; load_model() has done it. Again after weights were written, by training say.
// No other thread runs the model meanwhile. Raises BadValue for a name in `without` that is none.
OPYARD_API void prepare_model(Model& model, const PreparationOptions& options = {});
// The model with floating point numbers of another dtype: in the state, in tensors of a copy of its
// graph, in what is wanted of inputs, and where an operator is told a dtype that the weights have.
// Integers and complex numbers stay. What is converted requires no gradient. Raises BadValue if it
// is no dtype of floating point numbers, and what prepare_model() raises.
OPYARD_API Model converted_model(const Model& model, DType to,
                                 const PreparationOptions& options = {});
// What was done in how many places, and whether it is used, as lines.
OPYARD_API std::string explain_model(const Model& model);
// Replaces the file at once. Raises what save_tensors() raises, and Unsupported for a graph that
// its text does not say wholly: with functions of other layers.
OPYARD_API void save_model(const Model& model, const std::string& path);

// Raises BadArgument, BadShape or BadValue, naming the input, what came and what is taken.
OPYARD_API void check_inputs(const Model& model, std::span<const opyard::Value> inputs);
// Checks, then runs. A restricted graph gets `budget`.
OPYARD_API std::vector<opyard::Value> run_model(Model& model, std::span<const opyard::Value> inputs,
                                                const RunBudget& budget = {.steps = 100'000'000});

}  // namespace opyard::jit
