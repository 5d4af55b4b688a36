// opyard/models/run_files.h: runs a model file on array files, for opyard-run and
// `python -m opyard run`.
//
//   RunReport report = run_files({.model = "m.pt2", .inputs = {"x.npy"}, .outputs = {"y.npy"}});
//   report.text                              one line for each output
//   report.times                             a table, if it was asked for
//
// Inputs and outputs are in the model's order, flat. An input that the model was exported with as a
// constant is not given: it is what it was. If no input is named, those are taken that the model
// was exported with, if its file has them. A size or number is an array without dimensions.
//
// Depends on: models/model.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "opyard/models/model.h"

namespace opyard::jit {

struct RunRequest {
  std::string model;
  std::vector<std::string> inputs;    // .npy files
  std::vector<std::string> outputs;   // written; the first ones, as many as are named
  std::vector<std::string> expected;  // compared with the outputs, in the same order
  double tolerance = 1e-5;            // absolute, and relative to what is expected
  bool times = false;
  ModelOptions options = {};
  // Told what begins: "loading model.pt2 (12 MB)". May be empty.
  std::function<void(const std::string&)> progress = {};
};

// What a run printed, where its time went, and whether outputs are as expected.
struct RunReport {
  std::string text;
  std::string times;
  bool as_expected = true;
};

// Outputs are written before they are compared. Raises what load_model(), run_model() and
// load_npy() raise, and BadArgument for another number of files than the model has inputs or
// outputs. What differs from what is expected raises nothing: it is in the report.
OPYARD_API RunReport run_files(const RunRequest& request);

}  // namespace opyard::jit
