// fusion/fused_plan.cpp: plans of all parts of a fused group.
#include "fusion/fused_plan.h"

#include <algorithm>

namespace opyard::jit {
namespace {

std::vector<std::int64_t> shape_key_of(std::span<const Tensor* const> inputs) {
  std::vector<std::int64_t> key;
  for (const Tensor* const input : inputs) {
    const TensorImpl& impl = *input->impl();
    key.push_back(std::int64_t(impl.dtype()));
    key.push_back(std::int64_t(impl.own_sizes().size()));
    for (const IntSpan words : {IntSpan(impl.own_sizes()), IntSpan(impl.own_strides())}) {
      key.insert(key.end(), words.begin(), words.end());
    }
  }
  return key;
}

// Nothing for a dimension that is not there.
std::optional<std::size_t> wrapped(std::int64_t dim, std::size_t dims) {
  const auto count = std::int64_t(dims);
  if (dim < -count || dim >= count) return std::nullopt;
  return std::size_t(dim < 0 ? dim + count : dim);
}

// How many of the last dimensions are reduced; nothing if others are, or one of them twice.
std::optional<std::size_t> count_reduced(const FusedTail& tail, std::size_t dims) {
  if (!tail.dims || tail.dims->empty()) return dims;
  std::vector<bool> reduced(dims, false);
  for (const std::int64_t dim : *tail.dims) {
    const auto at = wrapped(dim, dims);
    if (!at || reduced[*at]) return std::nullopt;
    reduced[*at] = true;
  }
  const std::size_t count = tail.dims->size();
  const bool are_last = std::all_of(reduced.end() - long(count), reduced.end(),
                                    [](bool is_reduced) { return is_reduced; });
  return are_last ? std::optional(count) : std::nullopt;
}

// Tensors of other strides, or that images with innermost channels may be, give other results.
bool is_joined_in_rows(const FusedValue& value) {
  if (value.sizes.size() != 4 && value.sizes.size() != 5) return value.is_row_major;
  std::int64_t of_one_image = 1;
  for (std::size_t i = 1; i < value.sizes.size(); ++i) of_one_image *= value.sizes[i];
  return of_one_image > 1 && std::ranges::equal(value.strides, contiguous_strides(value.sizes));
}

class FusionPlanner {
 public:
  FusionPlanner(const FusedProgram& program, std::span<const Tensor* const> inputs)
      : program_(program), inputs_(inputs) {}

  bool run() {
    if (!find_loops()) return false;
    if (!program_.tail) return finish();
    if (take_tail() && finish()) return true;
    find_loops();
    call_tail();
    return finish();
  }

  FusedPlan plan;

 private:
  bool find_loops() {
    parts_.clear();
    plan.parts.clear();
    plan.tail.reset();
    for (const FusedPart& part : program_.parts) parts_.emplace_back(program_, part, inputs_);
    return std::ranges::all_of(parts_, [](PartPlanner& part) { return part.find_loops(); });
  }

  bool finish() {
    std::vector<std::size_t> first;  // of each part's outputs, among the results
    std::size_t results = 0;
    for (PartPlanner& part : parts_) {
      std::optional<PartPlan> made = part.finish();
      if (!made) return false;
      first.push_back(results);
      results += made->outputs.size();
      plan.parts.push_back(std::move(*made));
    }
    for (const FusedProgram::Output& output : program_.outputs) {
      plan.outputs.push_back(
          std::uint16_t(output.is_of_tail ? results : first[output.part] + output.index));
    }
    const bool is_called = plan.tail && plan.tail->how == TailPlan::How::Called;
    keep_inputs(is_called);
    plan.results = results + (plan.tail && !is_called ? 1 : 0);
    if (!is_called) return true;
    for (std::size_t i = 0; i < plan.tail->sources.size(); ++i) {
      TailPlan::Source& source = plan.tail->sources[i];
      if (!source.is_input) {
        source.index = std::uint16_t(source.index + first[program_.tail->operands[i].part]);
      }
    }
    return true;
  }

  // Of a group that may fail behind a write, inputs are kept: its operators may be called then, or
  // it may be run again. A called tail may refuse what it gets, and a part may lack memory.
  void keep_inputs(bool calls_tail) {
    if (!calls_tail && plan.parts.size() == 1) return;
    for (PartPlan& part : plan.parts) part.in_place.clear();
  }

  void call_tail() {
    TailPlan& tail = plan.tail.emplace();
    for (const FusedTail::Operand& operand : program_.tail->operands) {
      const auto output = parts_[operand.part].add_output(operand.index);
      const std::uint16_t input = program_.parts[operand.part].inputs[0];
      tail.sources.push_back({!output, output ? std::uint16_t(*output) : input});
    }
  }

  bool take_tail() { return program_.tail->function.kind == TailKind::Joined ? join() : reduce(); }

  bool reduce() {
    const FusedTail& tail = *program_.tail;
    PartPlanner& part = parts_[tail.operands[0].part];
    const FusedValue value = part.operand(tail.operands[0].index);
    const auto count = count_reduced(tail, value.sizes.size());
    const int dtype = BlockFunction::index_of(value.dtype);
    if (!count || dtype < 0) return false;
    TailPlan& made = plan.tail.emplace();
    made.how = TailPlan::How::Reduced;
    made.rows = tail.function.rows[std::size_t(dtype)];
    if (made.rows.total == nullptr) return false;
    made.result.dtype = value.dtype;
    const std::size_t kept = value.sizes.size() - *count;
    for (std::size_t i = 0; i < value.sizes.size(); ++i) {
      if (i >= kept) made.length *= value.sizes[i];
      if (i < kept || tail.keepdim) made.result.sizes.push_back(i < kept ? value.sizes[i] : 1);
    }
    made.result.strides = contiguous_strides(made.result.sizes);
    const bool is_short = made.length * std::int64_t(item_size(value.dtype)) <= TailPlan::kRowBytes;
    if (made.rows.join == nullptr && (!is_short || !value.is_row_major)) return false;
    part.write_operand(tail.operands[0].index, PartPlan::Role::Row, contiguous_strides(value.sizes),
                       0);
    return true;
  }

  bool join() {
    const FusedTail& tail = *program_.tail;
    const auto value_of = [&](const FusedTail::Operand& operand) -> const FusedValue& {
      return parts_[operand.part].operand(operand.index);
    };
    const FusedValue& first = value_of(tail.operands[0]);
    const auto dim = wrapped(tail.dim, first.sizes.size());
    if (!dim) return false;
    TailPlan& made = plan.tail.emplace();
    made.how = TailPlan::How::Joined;
    made.result.dtype = first.dtype;
    made.result.sizes = first.sizes;
    made.result.sizes[*dim] = 0;
    for (const FusedTail::Operand& operand : tail.operands) {
      const FusedValue& value = value_of(operand);
      if (value.dtype != first.dtype || value.sizes.size() != first.sizes.size() ||
          !is_joined_in_rows(value)) {
        return false;
      }
      for (std::size_t i = 0; i < value.sizes.size(); ++i) {
        if (i != *dim && value.sizes[i] != first.sizes[i]) return false;
      }
      made.result.sizes[*dim] += value.sizes[*dim];
    }
    made.result.strides = contiguous_strides(made.result.sizes);
    const std::int64_t step =
        made.result.strides[*dim] * std::int64_t(item_size(made.result.dtype));
    std::int64_t offset = 0;
    for (const FusedTail::Operand& operand : tail.operands) {
      const std::int64_t size = value_of(operand).sizes[*dim];
      parts_[operand.part].write_operand(operand.index, PartPlan::Role::Joined, made.result.strides,
                                         offset);
      offset += size * step;
    }
    return true;
  }

  const FusedProgram& program_;
  const std::span<const Tensor* const> inputs_;
  std::vector<PartPlanner> parts_;
};

}  // namespace

bool FusedPlan::fits(std::span<const Tensor* const> inputs) const {
  const std::int64_t* word = key.data();
  for (const Tensor* const input : inputs) {
    const TensorImpl& impl = *input->impl();
    const IntSpan sizes = impl.own_sizes(), strides = impl.own_strides();
    if (*word++ != std::int64_t(impl.dtype()) || *word++ != std::int64_t(sizes.size())) {
      return false;
    }
    for (const std::int64_t size : sizes) {
      if (*word++ != size) return false;
    }
    for (const std::int64_t stride : strides) {
      if (*word++ != stride) return false;
    }
  }
  return true;
}

std::unique_ptr<const FusedPlan> make_fused_plan(const FusedProgram& program,
                                                 std::span<const Tensor* const> inputs) {
  FusionPlanner planner(program, inputs);
  planner.plan.computes = planner.run();
  planner.plan.key = shape_key_of(inputs);
  return std::make_unique<const FusedPlan>(std::move(planner.plan));
}

}  // namespace opyard::jit
