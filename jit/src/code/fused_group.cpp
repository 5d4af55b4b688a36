// code/fused_group.cpp: operators in a row on one block after the other.
#include "code/fused_group.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "ir/node_rules.h"
#include "opyard/detail/registry/recorder.h"
#include "opyard/interpreter/gil.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/parallel.h"
#include "passes/fusible.h"

namespace opyard::jit {
namespace {

constexpr std::size_t kMostSlots = 96;  // of a row of 32 operators with two operands each
constexpr std::size_t kMostBuffers = 16;
constexpr std::size_t kBlockBytes = 2048;  // 512 elements of float32
// A line of fewer elements costs more to begin than blocks save.
constexpr std::int64_t kShortestLine = 32;
// As kernels do: see their releasing.h.
constexpr std::int64_t kReleasingElements = 32768;
constexpr std::int64_t kElementsOfAThread = 131072;

enum class Home : std::uint8_t { Input, Number, Output, Buffer };

struct Slot {
  Home home;
  std::size_t index;  // among those of its home
};

struct Step {
  const Operator* op;
  BlockFunction function;            // a copy: the library may be unloaded while the code stays
  std::array<std::size_t, 3> slots;  // the written one first
};

using Offsets = std::vector<std::int64_t>;

// How the elements of a call lie: lines of `inner` elements, and of each input where the line of
// each outer index begins. Of equal sizes there is one line.
struct Lines {
  std::int64_t inner = 1;
  Offsets outer;                  // sizes, the fastest first
  std::vector<Offsets> steps;     // of each input, in elements, as `outer`
  std::vector<std::int64_t> own;  // of each input, within a line: 0 or 1

  std::int64_t count() const {
    std::int64_t lines = 1;
    for (const std::int64_t size : outer) lines *= size;
    return lines;
  }
  std::int64_t begin_of(std::size_t input, std::int64_t line) const {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < outer.size(); ++i) {
      at += line % outer[i] * steps[input][i];
      line /= outer[i];
    }
    return at;
  }
};

class FusedGroup final : public Operation {
 public:
  FusedGroup(const Node& node, CodePtr code) : code_(std::move(code)) {
    place_ = detail::describe_node(node);
    runs_in_blocks_ = plan();
    if (!runs_in_blocks_) steps_.clear();
  }

  void run(std::span<const opyard::Value> inputs,
           std::vector<opyard::Value>& outputs) const override {
    if (runs_in_blocks_ && run_in_blocks(inputs, outputs)) return;
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
  // False if a node is not fusible, or there are too many.
  bool plan();
  std::optional<std::size_t> slot_of(const Value* value);
  bool run_in_blocks(std::span<const opyard::Value> inputs,
                     std::vector<opyard::Value>& outputs) const;
  bool reaches_kernels(DispatchKeySet keys) const;
  std::optional<Lines> find_lines(std::span<const opyard::Value> inputs, IntSpan sizes) const;
  template <typename T>
  void run_lines(const Lines& lines, std::span<std::byte* const> inputs,
                 std::span<std::byte* const> outputs) const;
  template <typename T>
  void run_line(std::span<std::byte* const> data, std::span<const std::int64_t> steps,
                std::int64_t begin, std::int64_t end) const;

  CodePtr code_;
  std::string place_;
  bool runs_in_blocks_ = false;
  std::vector<Slot> slots_;
  std::vector<Step> steps_;
  std::vector<float> floats_;  // the numbers
  std::vector<double> doubles_;
  std::unordered_map<const Value*, std::size_t> slot_of_;
};

std::optional<std::size_t> FusedGroup::slot_of(const Value* value) {
  const auto known = slot_of_.find(value);
  if (known != slot_of_.end()) return known->second;
  const std::optional<double> number = detail::find_fusible_number(value);
  if (!number) return std::nullopt;
  slots_.push_back({Home::Number, doubles_.size()});
  floats_.push_back(float(*number));
  doubles_.push_back(*number);
  return slot_of_[value] = slots_.size() - 1;
}

bool FusedGroup::plan() {
  const Graph& graph = code_->graph();
  const auto outputs = graph.outputs();
  for (const Value* const input : graph.inputs()) {
    if (input->type()->kind() != TypeKind::Tensor) return false;
    slot_of_[input] = slots_.size();
    slots_.push_back({Home::Input, slots_.size()});
  }
  std::vector<std::size_t> free;  // buffers
  std::size_t buffers = 0;
  for (const Node* const node : graph.nodes()) {
    if (node->kind() == prim::Constant) continue;
    const auto call = detail::find_fusible_call(*node);
    if (!call || call->function->operands > 2) return false;
    Step step{call->op, *call->function, {}};
    for (std::size_t i = 0; i < call->function->operands; ++i) {
      const std::optional<std::size_t> slot = slot_of(node->inputs()[i]);
      if (!slot) return false;
      step.slots[i + 1] = *slot;
    }
    // A buffer is free behind the step that reads it last: the step itself writes elsewhere.
    const Value* const result = node->output();
    const auto output = std::find(outputs.begin(), outputs.end(), result);
    Slot slot{Home::Output, std::size_t(output - outputs.begin())};
    if (output == outputs.end()) {
      if (free.empty()) free.push_back(buffers++);
      slot = {Home::Buffer, free.back()};
      free.pop_back();
    }
    step.slots[0] = slots_.size();
    slot_of_[result] = slots_.size();
    slots_.push_back(slot);
    steps_.push_back(step);
    for (std::size_t i = 0; i < call->function->operands; ++i) {
      const Value* const input = node->inputs()[i];
      const Slot& read = slots_[step.slots[i + 1]];
      const bool again = std::any_of(input->uses().begin(), input->uses().end(),
                                     [&](const Use& use) { return use.user->is_after(node); });
      const bool twice = i == 1 && input == node->inputs()[0];
      if (read.home == Home::Buffer && !again && !twice) free.push_back(read.index);
    }
  }
  // Each output is what one operator gives, and no two are the same.
  std::size_t given = 0;
  for (const Slot& slot : slots_) given += slot.home == Home::Output ? 1 : 0;
  return given == outputs.size() && !steps_.empty() && slots_.size() <= kMostSlots &&
         buffers <= kMostBuffers;
}

// See block_functions.h [Kernel]: as a call finds its kernel where no tensor needs a gradient.
bool FusedGroup::reaches_kernels(DispatchKeySet arguments) const {
  const opyard::detail::CallDepth depth;
  for (const Step& step : steps_) {
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

// Nothing where an input does not broadcast to `sizes`, or lines would be short.
std::optional<Lines> FusedGroup::find_lines(std::span<const opyard::Value> inputs,
                                            IntSpan sizes) const {
  Lines lines;
  lines.own.resize(inputs.size());
  lines.steps.resize(inputs.size());
  std::vector<std::int64_t> next(inputs.size(), 1);  // of row-major inputs, the next step
  bool inside = true;                                // of the line
  for (const opyard::Value& input : inputs) {
    if (input.tensor_unchecked().sizes().size() > sizes.size()) return std::nullopt;
  }
  for (std::size_t back = 1; back <= sizes.size(); ++back) {
    const std::int64_t size = sizes[sizes.size() - back];
    std::vector<std::int64_t> here(inputs.size(), 0);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const IntSpan own = inputs[i].tensor_unchecked().sizes();
      const std::int64_t given = back <= own.size() ? own[own.size() - back] : 1;
      if (given != size && given != 1) return std::nullopt;
      if (given == 1) continue;
      here[i] = next[i];
      next[i] *= given;
    }
    if (size == 1) continue;
    // The line grows as long as each input goes on in it as it did.
    if (inside && lines.inner > 1) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        inside = inside && here[i] == lines.own[i] * lines.inner;
      }
    } else if (inside) {
      lines.own = here;
    }
    if (inside) {
      lines.inner *= size;
      continue;
    }
    lines.outer.push_back(size);
    for (std::size_t i = 0; i < inputs.size(); ++i) lines.steps[i].push_back(here[i]);
  }
  if (!lines.outer.empty() && lines.inner < kShortestLine) return std::nullopt;
  return lines;
}

bool FusedGroup::run_in_blocks(std::span<const opyard::Value> inputs,
                               std::vector<opyard::Value>& outputs) const {
  const Tensor* full = nullptr;  // of the most elements, which all others broadcast to
  DispatchKeySet keys;
  for (const opyard::Value& value : inputs) {
    const Tensor& tensor = value.tensor_unchecked();
    if (!tensor.defined() || tensor.device().backend != Backend::CPU || !tensor.is_contiguous()) {
      return false;
    }
    if (records_gradients() && opyard::detail::may_need_gradient(*tensor.impl())) return false;
    keys = keys | tensor.keys();
    if (tensor.numel() == 0) return false;
    if (full == nullptr || tensor.numel() > full->numel() ||
        (tensor.numel() == full->numel() && tensor.dim() > full->dim())) {
      full = &tensor;
    }
  }
  if (full == nullptr) return false;
  const DType dtype = full->dtype();
  if (dtype != DType::Float32 && dtype != DType::Float64) return false;
  // Each operator's result has the full sizes, so that each is computed as often as it would be.
  std::array<bool, kMostSlots> is_full{};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& tensor = inputs[i].tensor_unchecked();
    if (tensor.dtype() != dtype) return false;
    is_full[i] = std::ranges::equal(tensor.sizes(), full->sizes());
  }
  for (const Step& step : steps_) {
    if ((dtype == DType::Float32 ? step.function.float32 : step.function.float64) == nullptr) {
      return false;
    }
    bool any = is_full[step.slots[1]];
    if (step.function.operands == 2) any = any || is_full[step.slots[2]];
    if (!any) return false;
    is_full[step.slots[0]] = true;
  }
  const std::optional<Lines> lines = find_lines(inputs, full->sizes());
  if (!lines || !reaches_kernels(keys)) return false;

  std::array<std::byte*, kMostSlots> from;
  std::array<std::byte*, kMostSlots> to;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    from[i] = static_cast<std::byte*>(inputs[i].tensor_unchecked().impl()->data());
  }
  const std::size_t count = code_->graph().outputs().size();
  std::vector<opyard::Value> results;
  for (std::size_t i = 0; i < count; ++i) {
    Tensor result = Tensor::empty(full->sizes(), dtype);
    to[i] = static_cast<std::byte*>(result.impl()->data());
    results.emplace_back(std::move(result));
  }
  const auto body = [&] {
    const std::span<std::byte* const> read(from.data(), inputs.size()), written(to.data(), count);
    if (dtype == DType::Float32) return run_lines<float>(*lines, read, written);
    run_lines<double>(*lines, read, written);
  };
  if (full->numel() >= kReleasingElements) {
    without_gil(body);
  } else {
    body();
  }
  for (opyard::Value& result : results) outputs.push_back(std::move(result));
  return true;
}

template <typename T>
void FusedGroup::run_lines(const Lines& lines, std::span<std::byte* const> inputs,
                           std::span<std::byte* const> outputs) const {
  const std::int64_t count = lines.count(), item = sizeof(T);
  const auto run = [&](std::int64_t line, std::int64_t begin, std::int64_t end) {
    std::array<std::byte*, kMostSlots> data;
    std::array<std::int64_t, kMostSlots> steps;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const Slot& slot = slots_[i];
      steps[i] = item;
      if (slot.home == Home::Input) {
        data[i] = inputs[slot.index] + lines.begin_of(slot.index, line) * item;
        steps[i] = lines.own[slot.index] * item;
      } else if (slot.home == Home::Output) {
        data[i] = outputs[slot.index] + line * lines.inner * item;
      }
    }
    run_line<T>({data.data(), slots_.size()}, {steps.data(), slots_.size()}, begin, end);
  };
  const bool one_thread = count * lines.inner < 2 * kElementsOfAThread;
  if (count == 1) {
    if (one_thread) return run(0, 0, lines.inner);
    return parallel_for(0, lines.inner, kElementsOfAThread,
                        [&](std::int64_t begin, std::int64_t end) { run(0, begin, end); });
  }
  const auto all = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) run(line, 0, lines.inner);
  };
  if (one_thread) return all(0, count);
  parallel_for(0, count, std::max<std::int64_t>(1, kElementsOfAThread / lines.inner), all);
}

template <typename T>
void FusedGroup::run_line(std::span<std::byte* const> data, std::span<const std::int64_t> steps,
                          std::int64_t begin, std::int64_t end) const {
  constexpr std::int64_t kBlock = kBlockBytes / sizeof(T);
  constexpr std::byte kNoContext[16] = {};
  alignas(64) std::byte buffers[kMostBuffers][kBlockBytes];
  const auto number_of = [&](std::size_t index) {
    if constexpr (std::is_same_v<T, float>) return floats_.data() + index;
    if constexpr (std::is_same_v<T, double>) return doubles_.data() + index;
  };
  for (std::int64_t at = begin; at < end; at += kBlock) {
    const std::int64_t count = std::min(kBlock, end - at);
    for (const Step& step : steps_) {
      std::byte* operands[3];
      std::int64_t strides[3];
      for (std::size_t i = 0; i <= step.function.operands; ++i) {
        const std::size_t index = step.slots[i];
        const Slot& slot = slots_[index];
        strides[i] = steps[index];
        if (slot.home == Home::Buffer) {
          operands[i] = buffers[slot.index];
        } else if (slot.home == Home::Number) {
          operands[i] =
              const_cast<std::byte*>(reinterpret_cast<const std::byte*>(number_of(slot.index)));
          strides[i] = 0;
        } else {
          operands[i] = data[index] + at * steps[index];
        }
      }
      const BlockLoop loop = sizeof(T) == 4 ? step.function.float32 : step.function.float64;
      loop(operands, strides, count, kNoContext);
    }
  }
}

}  // namespace

CountedPtr<const Operation> make_fused_group(const Node& node, CodePtr code) {
  return make_counted<FusedGroup>(node, std::move(code));
}

}  // namespace opyard::jit
