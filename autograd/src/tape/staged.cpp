// autograd/tape/staged.cpp: running two stages as the engine asks for them.
//
// [Ownership] What the state keeps must not own the function that keeps the state. So inputs are
// saved without their history, and what the state holds and others hold, too, is replaced by a
// tensor without gradient state: see Storage::second(). A result is a tensor of its own.
#include "opyard/autograd/staged.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "functions/calls.h"
#include "functions/gradient_error.h"
#include "functions/locks.h"
#include "opyard/autograd.h"
#include "opyard/autograd/saved_tensor.h"
#include "opyard/jit/report.h"
#include "opyard/keys/gradient_mode.h"
#include "tape/formula_function.h"

namespace opyard::autograd {
namespace {

// A tensor, and how often it had been written by then.
struct Noted {
  Tensor tensor;
  std::uint32_t version;
};

void note_tensors(const Value& value, std::vector<Noted>& noted) {
  if (value.is_tensor()) {
    const Tensor& tensor = value.tensor_unchecked();
    if (tensor.defined()) noted.push_back({tensor, version_of(tensor)});
  } else if (value.kind() == Kind::List || value.kind() == Kind::Tuple) {
    for (const Value& item : value.items_unchecked()) note_tensors(item, noted);
  }
}

// An operator that goes by more than its arguments may give another dtype than in the trace.
bool is_of_shape(const Tensor& tensor, const Type& type) {
  const jit::TensorShape* const shape = jit::find_shape(type);
  if (shape == nullptr) return true;
  return (!shape->dtype || *shape->dtype == tensor.dtype()) &&
         (!shape->sizes || std::ranges::equal(*shape->sizes, tensor.sizes()));
}

}  // namespace

// What one run of the first stage left.
struct StagedRun final : Counted {
  StagedRun(jit::InterpreterState&& after, std::vector<Value> given)
      : state(std::move(after)), inputs(std::move(given)) {}

  const jit::InterpreterState state;
  const std::vector<Value> inputs;
  std::vector<Noted> noted;
};

class StagedFunction final : public Function {
 public:
  explicit StagedFunction(const Staged& staged)
      : staged_(CountedPtr<const Staged>::share(&staged)) {}

  std::string name() const override { return staged_->name_ + "Backward"; }
  // `is_as_traced`: the results have the dtypes and sizes that the second stage was made for.
  void keep(CountedPtr<StagedRun> run, bool is_as_traced) {
    run_ = std::move(run);
    is_as_traced_ = is_as_traced;
  }
  void release_saved() noexcept override {
    CountedPtr<StagedRun> dropped;
    const std::lock_guard lock(gradients_lock());
    std::swap(dropped, run_);
  }

  Gradients apply(Gradients gradients) override {
    const CountedPtr<StagedRun> run = saved();
    for (const Noted& noted : run->noted) check_unchanged(noted);
    gradients.resize(input_count());
    bool all = is_as_traced_;
    for (const Tensor& gradient : gradients) all = all && gradient.defined();
    return all && !gradients_enabled() ? run_stage(*run, gradients) : replay(*run, gradients);
  }

 private:
  CountedPtr<StagedRun> saved() const {
    CountedPtr<StagedRun> run;
    {
      const std::lock_guard lock(gradients_lock());
      run = run_;
    }
    if (!run) SavedValues::refuse();
    return run;
  }
  void check_unchanged(const Noted& noted) const {
    const std::uint32_t now = version_of(noted.tensor);
    if (now == noted.version) return;
    fail_gradient(
        ErrorKind::BadValue,
        fmt::format("one of the variables needed for gradient computation has been modified by an "
                    "inplace operation: {}, saved for {}, is at version {}; expected version {} "
                    "instead. Hint: write to a clone(), or write before the function is called",
                    describe(noted.tensor), name(), now, noted.version));
  }

  Gradients run_stage(StagedRun& run, const Gradients& gradients) const {
    const auto clone = [&] {  // a state is cloned by one thread at a time
      const std::lock_guard lock(gradients_lock());
      return run.state.clone();
    };
    jit::InterpreterState state = clone();
    std::vector<Value> given(gradients.begin(), gradients.end());
    std::vector<Value> results;
    const GradientModeGuard off(GradientMode::NoGradients);
    state.run_one_stage(given, results);
    Gradients all;
    for (Value& result : results) all.push_back(result.to_tensor());
    return all;
  }

  // See [Replay]. The inputs are given a history that leads, by a function that passes gradients
  // on, to where that of the call leads.
  Gradients replay(const StagedRun& run, const Gradients& gradients) const {
    const bool is_taped = gradients_enabled();
    const FunctionPtr pass = make_function("Inputs", {}, [](Gradients given) { return given; });
    std::vector<Value> inputs = run.inputs;
    Run options;
    options.create_graph = is_taped;
    options.keep_graph = is_taped;
    for (std::size_t i = 0; i < edge_count(); ++i) {
      Value& input = inputs[staged_->wrt_[i]];
      const Tensor fresh = detached(input.tensor_unchecked());
      pass->add_edge(is_taped ? edge(i) : Edge());
      const std::uint32_t number = pass->add_input(fresh);
      set_history(fresh, {pass, number});
      options.inputs.push_back({pass, number});
      input = Value(fresh);
    }
    std::vector<Value> results(staged_->forward_->output_count(0));
    {
      const GradientModeGuard on(GradientMode::Gradients);
      staged_->forward_->run(inputs, results);
    }
    std::vector<Root> roots;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) continue;
      const Edge root = edge_of(results[staged_->outputs_[i]].tensor_unchecked());
      if (root) roots.push_back({root, gradients[i]});
    }
    if (roots.empty()) return {};
    return execute(std::move(roots), options);
  }

  const CountedPtr<const Staged> staged_;
  CountedPtr<StagedRun> run_;  // guarded by gradients_lock()
  bool is_as_traced_ = true;   // written before others see the function
};

Staged::Staged(std::string name, jit::CodePtr forward, jit::CodePtr both,
               std::vector<std::size_t> wrt, std::vector<std::size_t> outputs)
    : name_(std::move(name)),
      forward_(std::move(forward)),
      both_(std::move(both)),
      wrt_(std::move(wrt)),
      outputs_(std::move(outputs)) {
  const auto below = [](const std::vector<std::size_t>& positions, std::size_t count) {
    return std::ranges::all_of(positions, [&](std::size_t one) { return one < count; });
  };
  const bool fits =
      forward_->stage_count() == 1 && both_->stage_count() == 2 &&
      forward_->input_count(0) == both_->input_count(0) &&
      forward_->output_count(0) == both_->output_count(0) &&
      both_->input_count(1) == outputs_.size() && both_->output_count(1) == wrt_.size() &&
      below(wrt_, forward_->input_count(0)) && below(outputs_, forward_->output_count(0));
  OPYARD_CHECK(fits, BadValue,
               "Staged: takes a code of one stage, and one with its backward as a second stage, "
               "which takes a gradient for each of `outputs` and gives one for each of `wrt`");
  const std::vector<jit::StageReport> stages = jit::lifetimes(*both_);
  for (const auto& [value, node] : stages.front().live_after) held_.push_back(value);
}

void Staged::run(std::span<const Value> inputs, std::span<Value> results) const {
  if (!gradients_enabled()) return forward_->run(inputs, results);
  std::vector<Value> taken(inputs.begin(), inputs.end());
  for (Value& input : taken) {
    if (input.is_tensor() && input.tensor_unchecked().defined()) {
      input = Value(saved_apart(input.tensor_unchecked()));
    }
  }
  const GradientModeGuard off(GradientMode::NoGradients);
  jit::InterpreterState state(both_);
  std::vector<Value> given;
  state.run_one_stage(taken, given);
  std::vector<Noted> noted;
  for (const Value& input : taken) note_tensors(input, noted);
  for (const jit::Value* const value : held_) {
    auto found = state.read(value);
    if (!found) continue;
    if (found->is_tensor() && found->tensor_unchecked().defined()) {
      *found = Value(saved_apart(found->tensor_unchecked()));
      state.replace(value, *found);
    }
    note_tensors(*found, noted);
  }
  const auto run = make_counted<StagedRun>(std::move(state), std::move(taken));
  run->noted = std::move(noted);

  const auto function = make_counted<StagedFunction>(*this);
  for (const std::size_t position : wrt_) {
    function->add_edge(edge_of(inputs[position].tensor_unchecked()));
  }
  bool is_as_traced = true;
  for (const std::size_t position : outputs_) {
    const jit::Value* const traced = both_->graph().outputs()[position];
    is_as_traced &= is_of_shape(given[position].tensor_unchecked(), *traced->type());
    const Tensor result = detached(given[position].tensor_unchecked());
    set_history(result, {function, function->add_input(result)});
    given[position] = Value(result);
  }
  function->keep(run, is_as_traced);
  std::move(given.begin(), given.end(), results.begin());
}

}  // namespace opyard::autograd
