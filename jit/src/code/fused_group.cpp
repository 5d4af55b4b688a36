// code/fused_group.cpp: execution of fused groups, block by block.
#include "code/fused_group.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string>

#include "fusion/fused_plan.h"
#include "fusion/run_part.h"
#include "ir/node_rules.h"
#include "opyard/detail/base/few.h"
#include "opyard/detail/base/small_vector.h"
#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/detail/tensor/take_over.h"
#include "opyard/interpreter/gil.h"
#include "opyard/jit/fuse.h"
#include "opyard/keys/gradient_mode.h"

namespace opyard::jit {
namespace {

constexpr std::int64_t kReleasingElements = 32768;  // as kernels do: see their releasing.h

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
                        std::unique_ptr<const FusedPlan>& uncached) const {
    std::size_t at = 0;
    for (; at < kMost; ++at) {
      const FusedPlan* const plan = plans_[at].load(std::memory_order_acquire);
      if (plan == nullptr) break;
      if (plan->fits(inputs)) return *plan;
    }
    uncached = make_fused_plan(program, inputs);
    plans_made.fetch_add(1, std::memory_order_relaxed);
    for (; at < kMost; ++at) {
      const FusedPlan* none = nullptr;
      if (plans_[at].compare_exchange_strong(none, uncached.get(), std::memory_order_acq_rel)) {
        return *uncached.release();
      }
    }
    return *uncached;
  }

 private:
  static constexpr std::size_t kMost = 16;
  mutable std::array<std::atomic<const FusedPlan*>, kMost> plans_{};
};

class BlockedGroup final : public FusedGroup {
 public:
  BlockedGroup(const Node& node, CodePtr code, std::uint64_t given_up)
      : given_up_(given_up),
        code_(std::move(code)),
        place_(detail::describe_node(node)),
        program_(make_fused_program(code_->graph())) {
    if (!program_) return;
    for (const FusedPart& part : program_->parts) {
      for (const FusedStep& step : part.steps) add_kernel(*step.op, step.function.kernel);
    }
    if (program_->tail) add_kernel(*program_->tail->op, program_->tail->function.kernel);
  }

  void run(std::span<const opyard::Value> inputs,
           std::vector<opyard::Value>& outputs) const override {
    std::vector<const opyard::Value*> lent;
    for (const opyard::Value& input : inputs) lent.push_back(&input);
    outputs.resize(code_->graph().outputs().size());
    run(lent, 0, outputs);
  }

  void run_lent(std::span<const opyard::Value* const> inputs,
                std::span<opyard::Value> outputs) const override {
    run(inputs, given_up_, outputs);
  }

  std::string name() const override {
    std::string text = "FusionGroup";
    for (const Node* const node : code_->graph().nodes()) {
      if (node->kind() == prim::Constant || node->kind() == prim::ListConstruct) continue;
      text += ' ';
      text += node->kind().qual_string();
    }
    return text;
  }

 private:
  void run(std::span<const opyard::Value* const> inputs, std::uint64_t given_up,
           std::span<opyard::Value> outputs) const {
    if (program_ && run_in_blocks(inputs, given_up, outputs)) return;
    operators_called.fetch_add(1, std::memory_order_relaxed);
    std::vector<opyard::Value> given;
    for (const opyard::Value* const input : inputs) given.push_back(*input);
    std::vector<opyard::Value> results;
    try {
      results = code_->run(given);
    } catch (const Error& error) {
      throw error.with_context("in the graph of " + place_);
    }
    std::ranges::move(results, outputs.begin());
  }

  bool run_in_blocks(std::span<const opyard::Value* const> inputs, std::uint64_t given_up,
                     std::span<opyard::Value> outputs) const;
  void add_kernel(const Operator& op, void (*kernel)());
  bool reaches_kernels(DispatchKeySet keys) const;

  const std::uint64_t given_up_;  // see make_fused_group()
  const CodePtr code_;
  const std::string place_;
  const std::optional<FusedProgram> program_;
  const Plans plans_;
  // What the calls of the group have to reach, each once.
  struct Kernel {
    const Operator* op;
    void (*function)();
    bool operator==(const Kernel&) const = default;
  };
  std::vector<Kernel> kernels_;
};

void BlockedGroup::add_kernel(const Operator& op, void (*kernel)()) {
  const Kernel added{&op, kernel};
  if (std::ranges::count(kernels_, added) == 0) kernels_.push_back(added);
}

const Record& below_tape(const Operator& op, DispatchKeySet arguments) {
  DispatchKeySet keys = op.call_keys(arguments);
  const Record& record = op.follow(keys);
  if (record.role != RecordRole::Tape) return record;
  keys = opyard::detail::below_layer(keys);
  return op.follow(keys);
}

// See block_functions.h [Kernel]: as a call finds its kernel if no tensor needs a gradient.
bool BlockedGroup::reaches_kernels(DispatchKeySet arguments) const {
  const opyard::detail::CallDepth depth;
  return std::ranges::all_of(kernels_, [&](const Kernel& kernel) {
    DispatchKeySet keys = kernel.op->call_keys(arguments);
    const Record* record = &kernel.op->record(keys);
    if (record->role == RecordRole::Tape) {
      keys = opyard::detail::below_layer(keys);
      record = &kernel.op->record(keys);
    }
    // Most calls end here, and one that does not begins anew.
    if (record->role != RecordRole::Kernel) record = &below_tape(*kernel.op, arguments);
    return record->role == RecordRole::Kernel && record->typed == kernel.function;
  });
}

Tensor on_storage(const FusedValue& value, const CountedPtr<Storage>& storage,
                  DispatchKeySet keys) {
  return Tensor(
      make_counted<TensorImpl>(storage, value.dtype, value.sizes, value.strides, 0, keys));
}
Tensor empty_tensor(const FusedValue& value) {
  Tensor plain = Tensor::empty(value.sizes, value.dtype);
  if (value.is_plain) return plain;
  return on_storage(value, plain.impl()->storage(), plain.impl()->keys());
}

// Where a tensor of a part begins; null for a row.
std::byte* begin_of(const PartPlan::Tensor& tensor, std::span<const Tensor* const> inputs,
                    std::span<const Tensor> outputs, const Tensor& joined) {
  const auto data = [](const Tensor& one) { return static_cast<std::byte*>(one.impl()->data()); };
  switch (tensor.role) {
    case PartPlan::Role::Input:
      return data(*inputs[tensor.index]);
    case PartPlan::Role::Output:
      return data(outputs[tensor.index]);
    case PartPlan::Role::Joined:
      return data(joined) + tensor.offset;
    case PartPlan::Role::Row:
      break;
  }
  return nullptr;
}

// On the memory of an input that is given up; undefined if there is none.
Tensor take_over(const PartPlan& part, std::size_t output, std::span<const Tensor* const> inputs,
                 std::uint64_t given_up) {
  const auto found = std::ranges::find(part.in_place, output, &PartPlan::InPlace::output);
  if (found == part.in_place.end() || found->input >= 64) return Tensor();
  if ((given_up >> found->input & 1) == 0) return Tensor();
  return opyard::detail::take_over(*inputs[found->input]->impl());
}

// Whether one of them has the memory of an input.
bool make_results(const FusedPlan& plan, std::span<const Tensor* const> inputs,
                  std::uint64_t given_up, std::span<Tensor> results) {
  bool in_place = false;
  std::size_t made = 0;
  for (const PartPlan& part : plan.parts) {
    for (std::size_t i = 0; i < part.outputs.size(); ++i) {
      Tensor& result = results[made++];
      if (given_up != 0) result = take_over(part, i, inputs, given_up);
      in_place = in_place || result.defined();
      if (!result.defined()) result = empty_tensor(part.outputs[i]);
    }
  }
  if (plan.tail && plan.tail->how != TailPlan::How::Called) {
    results[made] = empty_tensor(plan.tail->result);
  }
  return in_place;
}

void run_parts(const FusedPlan& plan, std::span<const Tensor* const> inputs, bool in_place,
               std::span<const Tensor> results) {
  std::array<std::byte*, FusedPart::kMostValues> tensors;
  std::size_t first = 0;
  for (const PartPlan& part : plan.parts) {
    if (part.steps.empty()) continue;
    bool has_row = false;
    for (std::size_t i = 0; i < part.tensors.size(); ++i) {
      const PartPlan::Tensor& tensor = part.tensors[i];
      has_row = has_row || tensor.role == PartPlan::Role::Row;
      tensors[i] = begin_of(tensor, inputs, results.subspan(first), results.back());
    }
    const std::span<std::byte* const> begins(tensors.data(), part.tensors.size());
    if (has_row) {
      reduce_part(part, *plan.tail, begins, in_place,
                  static_cast<std::byte*>(results.back().impl()->data()));
    } else {
      run_part(part, begins, in_place);
    }
    first += part.outputs.size();
  }
}

// Calls the operator of a tail; nothing if it refuses its tensors.
std::optional<opyard::Value> call_tail(const FusedTail& tail, const TailPlan& plan,
                                       std::span<const Tensor* const> inputs,
                                       std::span<const Tensor> results) {
  std::vector<opyard::Value> tensors;
  for (const TailPlan::Source& source : plan.sources) {
    tensors.emplace_back(source.is_input ? *inputs[source.index] : results[source.index]);
  }
  Stack stack;
  if (tail.function.kind == TailKind::Joined) {
    stack.push(opyard::Value::list(std::move(tensors)));
  } else {
    stack.push(std::move(tensors[0]));
  }
  for (const opyard::Value& argument : tail.arguments) stack.push(argument);
  try {
    tail.op->call_boxed(stack);
  } catch (const Error&) {
    return std::nullopt;
  }
  return stack.pop();
}

bool BlockedGroup::run_in_blocks(std::span<const opyard::Value* const> inputs,
                                 std::uint64_t given_up, std::span<opyard::Value> outputs) const {
  SmallVector<const Tensor*, 8> tensors(inputs.size(), nullptr);
  DispatchKeySet keys;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& tensor = inputs[i]->tensor_unchecked();
    if (!tensor.defined()) return false;
    const TensorImpl& impl = *tensor.impl();
    if (impl.policies() != 0 || impl.own_device().backend != Backend::CPU) return false;
    if (gradients_enabled() && opyard::detail::may_need_gradient(impl)) return false;
    keys = keys | tensor.keys();
    tensors[i] = &tensor;
  }
  if (!reaches_kernels(keys)) return false;
  std::unique_ptr<const FusedPlan> uncached;
  const FusedPlan& plan = plans_.find(*program_, tensors, uncached);
  if (!plan.computes) return false;

  Few<Tensor, 2> results(plan.results);
  const bool in_place = make_results(plan, tensors, given_up, results);
  const bool is_large = std::ranges::any_of(
      plan.parts, [](const PartPlan& part) { return part.elements() >= kReleasingElements; });
  if (is_large) {
    without_gil([&] { run_parts(plan, tensors, in_place, results); });
  } else {
    run_parts(plan, tensors, in_place, results);
  }
  std::optional<opyard::Value> of_tail;
  if (plan.tail && plan.tail->how == TailPlan::How::Called) {
    of_tail = call_tail(*program_->tail, *plan.tail, tensors, results);
    if (!of_tail) return false;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::size_t output = plan.outputs[i];
    if (output == results.size()) {
      outputs[i] = std::move(*of_tail);
    } else {
      outputs[i] = std::move(results[output]);
    }
  }
  return true;
}

}  // namespace

CountedPtr<const FusedGroup> make_fused_group(const Node& node, CodePtr code,
                                              std::uint64_t given_up) {
  return make_counted<BlockedGroup>(node, std::move(code), given_up);
}

FusionCounts fusion_counts() noexcept {
  return {plans_made.load(std::memory_order_relaxed),
          operators_called.load(std::memory_order_relaxed)};
}

}  // namespace opyard::jit
