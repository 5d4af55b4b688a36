// code/fused_group.cpp: operators in a row on one block after the other.
#include "code/fused_group.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string>

#include "code/fused_plan.h"
#include "ir/node_rules.h"
#include "opyard/detail/registry/recorder.h"
#include "opyard/interpreter/gil.h"
#include "opyard/jit/fuse.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/parallel.h"

namespace opyard::jit {
namespace {

// As kernels do: see their releasing.h.
constexpr std::int64_t kReleasingElements = 32768;
constexpr std::int64_t kElementsOfAThread = 131072;

constinit std::atomic<std::uint64_t> plans_made{0};
constinit std::atomic<std::uint64_t> operators_called{0};

// Plans of a group, for the kinds of inputs that came first. A kind that came when there was no
// place left is planned for each call.
class Plans {
 public:
  Plans() = default;
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;
  ~Plans() {
    for (const auto& one : plans_) delete one.load(std::memory_order_relaxed);
  }

  const FusedPlan& find(const FusedProgram& program, std::span<const Tensor* const> inputs,
                        std::unique_ptr<const FusedPlan>& unkept) const {
    std::size_t at = 0;
    for (; at < kMost; ++at) {
      const FusedPlan* const plan = plans_[at].load(std::memory_order_acquire);
      if (plan == nullptr) break;
      if (plan->fits(inputs)) return *plan;
    }
    unkept = make_fused_plan(program, inputs);
    plans_made.fetch_add(1, std::memory_order_relaxed);
    for (; at < kMost; ++at) {
      const FusedPlan* none = nullptr;
      if (plans_[at].compare_exchange_strong(none, unkept.get(), std::memory_order_acq_rel)) {
        return *unkept.release();
      }
    }
    return *unkept;
  }

 private:
  static constexpr std::size_t kMost = 16;
  mutable std::array<std::atomic<const FusedPlan*>, kMost> plans_{};
};

// Where the places of a plan are, for one thread.
using Places = std::array<std::byte*, FusedProgram::kMostValues>;

class FusedGroup final : public Operation {
 public:
  FusedGroup(const Node& node, CodePtr code)
      : code_(std::move(code)),
        place_(detail::describe_node(node)),
        program_(make_fused_program(code_->graph())) {}

  void run(std::span<const opyard::Value> inputs,
           std::vector<opyard::Value>& outputs) const override {
    if (program_ && run_in_blocks(inputs, outputs)) return;
    operators_called.fetch_add(1, std::memory_order_relaxed);
    std::vector<opyard::Value> results;
    try {
      results = code_->run(inputs);
    } catch (const Error& error) {
      throw error.with_context("in the graph of " + place_);
    }
    for (opyard::Value& result : results) outputs.push_back(std::move(result));
  }

  std::string name() const override {
    std::string text = "FusionGroup";
    for (const Node* const node : code_->graph().nodes()) {
      if (node->kind() == prim::Constant) continue;
      text += ' ';
      text += node->kind().qual_string();
    }
    return text;
  }

 private:
  bool run_in_blocks(std::span<const opyard::Value> inputs,
                     std::vector<opyard::Value>& outputs) const;
  bool reaches_kernels(DispatchKeySet keys) const;

  const CodePtr code_;
  const std::string place_;
  const std::optional<FusedProgram> program_;
  const Plans plans_;
};

// See block_functions.h [Kernel]: as a call finds its kernel where no tensor needs a gradient.
bool FusedGroup::reaches_kernels(DispatchKeySet arguments) const {
  const opyard::detail::CallDepth depth;
  for (const FusedStep& step : program_->steps) {
    DispatchKeySet keys = step.op->call_keys(arguments);
    const Record* record = &step.op->follow(keys);
    if (record->role == RecordRole::Recorder) {
      keys = opyard::detail::below_layer(keys);
      record = &step.op->follow(keys);
    }
    if (record->role != RecordRole::Kernel || record->typed != step.function.kernel) return false;
  }
  return true;
}

Tensor empty_output(const FusedPlan& plan, const FusedPlan::Output& output) {
  const Tensor plain = Tensor::empty(plan.sizes, output.dtype);
  if (output.is_plain) return plain;
  const TensorImpl& impl = *plain.impl();
  return Tensor(make_counted<TensorImpl>(impl.storage(), output.dtype, plan.sizes, output.strides,
                                         0, impl.keys()));
}

// Elements `begin` to `end` of the line that begins at `places`.
void run_line(const FusedPlan& plan, Places& places, std::int64_t begin, std::int64_t end) {
  constexpr std::byte kNoContext[16] = {};
  for (const FusedPlan::Tensor& tensor : plan.tensors) {
    places[tensor.place] += begin * tensor.step;
  }
  for (std::int64_t at = begin; at < end; at += plan.block) {
    const std::int64_t count = std::min(plan.block, end - at);
    for (const FusedPlan::Step& step : plan.steps) {
      std::array<std::byte*, FusedPlan::kMostOperands> operands;
      for (std::size_t i = 0; i < FusedPlan::kMostOperands; ++i) {
        operands[i] = places[step.places[i]];
      }
      step.loop(operands.data(), step.steps.data(), count, kNoContext);
    }
    for (const FusedPlan::Tensor& tensor : plan.tensors) {
      places[tensor.place] += count * tensor.step;
    }
  }
}

// Lines `begin` to `end`, or elements of the only one.
void run_part(const FusedPlan& plan, std::span<std::byte* const> tensors, std::int64_t begin,
              std::int64_t end) {
  alignas(64) std::byte buffers[FusedPlan::kMostBuffers][FusedPlan::kBlockBytes];
  Places places{};
  for (const FusedPlan::Buffer& buffer : plan.buffers) {
    places[buffer.place] = buffers[buffer.index];
  }
  for (const FusedPlan::Number& number : plan.numbers) {
    places[number.place] = const_cast<std::byte*>(number.bytes.data());
  }
  const auto begin_line = [&](std::int64_t line) {
    for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
      std::byte* at = tensors[i];
      std::int64_t rest = line;
      for (std::size_t dim = 0; dim < plan.outer.size(); ++dim) {
        const bool is_last = dim + 1 == plan.outer.size();
        at += (is_last ? rest : rest % plan.outer[dim]) * plan.tensors[i].steps[dim];
        if (!is_last) rest /= plan.outer[dim];
      }
      places[plan.tensors[i].place] = at;
    }
  };
  if (plan.lines == 1) {
    begin_line(0);
    return run_line(plan, places, begin, end);
  }
  for (std::int64_t line = begin; line < end; ++line) {
    begin_line(line);
    run_line(plan, places, 0, plan.inner);
  }
}

void run_plan(const FusedPlan& plan, std::span<std::byte* const> tensors) {
  const std::int64_t all = plan.lines == 1 ? plan.inner : plan.lines;
  const std::int64_t elements = plan.lines * plan.inner;
  if (elements < 2 * kElementsOfAThread) return run_part(plan, tensors, 0, all);
  const std::int64_t grain = plan.lines == 1
                                 ? kElementsOfAThread
                                 : std::max<std::int64_t>(1, kElementsOfAThread / plan.inner);
  parallel_for(0, all, grain,
               [&](std::int64_t begin, std::int64_t end) { run_part(plan, tensors, begin, end); });
}

bool FusedGroup::run_in_blocks(std::span<const opyard::Value> inputs,
                               std::vector<opyard::Value>& outputs) const {
  std::array<const Tensor*, FusedProgram::kMostValues> given;
  DispatchKeySet keys;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& tensor = inputs[i].tensor_unchecked();
    if (!tensor.defined()) return false;
    const TensorImpl& impl = *tensor.impl();
    if (impl.policies() != 0 || impl.own_device().backend != Backend::CPU) return false;
    if (records_gradients() && opyard::detail::may_need_gradient(impl)) return false;
    keys = keys | tensor.keys();
    given[i] = &tensor;
  }
  if (!reaches_kernels(keys)) return false;
  std::unique_ptr<const FusedPlan> unkept;
  const FusedPlan& plan = plans_.find(*program_, {given.data(), inputs.size()}, unkept);
  if (!plan.computes) return false;

  std::array<std::byte*, FusedProgram::kMostValues> tensors;
  std::vector<opyard::Value> results;
  results.reserve(plan.outputs.size());
  for (const FusedPlan::Output& output : plan.outputs) {
    results.emplace_back(empty_output(plan, output));
  }
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const FusedPlan::Tensor& one = plan.tensors[i];
    const Tensor& tensor =
        one.is_output ? results[one.index].tensor_unchecked() : *given[one.index];
    tensors[i] = static_cast<std::byte*>(tensor.impl()->data());
  }
  const std::span<std::byte* const> where(tensors.data(), plan.tensors.size());
  if (plan.lines * plan.inner >= kReleasingElements) {
    without_gil([&] { run_plan(plan, where); });
  } else {
    run_plan(plan, where);
  }
  for (opyard::Value& result : results) outputs.push_back(std::move(result));
  return true;
}

}  // namespace

CountedPtr<const Operation> make_fused_group(const Node& node, CodePtr code) {
  return make_counted<FusedGroup>(node, std::move(code));
}

FusionCounts fusion_counts() noexcept {
  return {plans_made.load(std::memory_order_relaxed),
          operators_called.load(std::memory_order_relaxed)};
}

}  // namespace opyard::jit
