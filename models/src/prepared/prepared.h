// prepared/prepared.h: the prepared copy of a model's graph, which runs while nothing needs a gradient.
//
// [Life] Made once, of a graph and weights as they are, and never changed. A run asks whether it
// still fits: the graph has its version, the weights are the same tensors and were not written. If
// not, the graph itself runs, which is always right; prepare_model() makes a new one.
//
// A graph of a stranger runs with a budget. What is prepared has no branches and no loops, so it
// takes fewer steps than the budget that a run has without being asked, and needs none.
//
// Threads: immutable.
//
// Depends on: models/model.h.
#pragma once

#include <string>
#include <vector>

#include "opyard/models/model.h"

namespace opyard::jit {

class PreparedModel final : public Counted {
 public:
  PreparedModel(const Model& model, const PreparationOptions& options);

  // The code to run with what is passed alone; null if the graph itself has to run.
  CodePtr find_code(const Model& model, std::span<const opyard::Value> inputs) const;
  std::string explain(const Model& model) const;

 private:
  struct Done {
    const char* name;
    bool keeps_bits;
    std::size_t places;
    bool left_out;
  };
  // What a weight, or a constant tensor of the graph, was.
  struct Weight {
    const TensorImpl* impl;
    const Storage* storage;
    std::uint32_t version;
  };

  void prepare(const Model& model, const PreparationOptions& options);
  bool are_weights_as_they_were(const Model& model) const;
  bool is_as_it_was(const Weight& was) const;

  CodePtr code_;        // null: see reason_
  std::string reason_;  // why nothing was prepared
  std::vector<Done> done_;
  std::vector<Weight> weights_;    // of the state, in order
  std::vector<Weight> constants_;  // alive as long as the graph has its version
  std::uint64_t version_ = 0;      // of the graph
  bool computed_with_weights_ = false;
};

// What a run with these inputs takes: null for the graph itself.
CodePtr find_prepared_code(const Model& model, std::span<const opyard::Value> inputs);

}  // namespace opyard::jit
