// fusion/part_plan.cpp: dtypes, loops, chains and buffers of one part.
//
//   1  the dtype, the sizes and the strides of each value; loops for them
//   2  lines
//   3  chains
//   4  a place for each value, and what may be in place of an input
#include "fusion/part_plan.h"
#include "opyard/tensor/broadcast.h"
#include "opyard/tensor/wrapped_stride.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>

namespace opyard::jit {
namespace {

bool is_row_major(IntSpan sizes, IntSpan strides) {
  std::int64_t next = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != next) return false;
    next *= sizes[i];
  }
  return true;
}

std::array<std::byte, 8> number_in(const detail::FusibleNumber& number, DType dtype) {
  std::array<std::byte, 8> bytes{};
  const auto put = [&](auto value) { std::memcpy(bytes.data(), &value, sizeof(value)); };
  if (dtype == DType::Float32) {
    put(float(number.value));
  } else if (dtype == DType::Float64) {
    put(number.value);
  } else {
    put(std::int64_t(number.value));
  }
  return bytes;
}

DimVector without_first(const DimVector& all) {
  return all.empty() ? DimVector() : DimVector(IntSpan(all).subspan(1));
}

}  // namespace

PartPlanner::PartPlanner(const FusedProgram& program, const FusedPart& part,
                         std::span<const Tensor* const> inputs)
    : program_(program),
      part_(part),
      inputs_(inputs),
      known_(part.value_count()),
      outputs_(part.outputs) {}

bool PartPlanner::is_number(std::uint16_t value) const {
  return value < part_.value_count() && part_.numbers[value].has_value();
}
// Not in a buffer, since the caller or the tail wants it.
bool PartPlanner::is_in_memory(std::uint16_t value) const {
  return std::ranges::count(outputs_, value) > 0 ||
         std::ranges::count(targets_, value, &Target::place) > 0;
}

// 1.

bool PartPlanner::find_loops() {
  const Tensor* full = nullptr;  // of the most elements, to which all others have to broadcast
  for (std::size_t i = 0; i < part_.inputs.size(); ++i) {
    const Tensor& input = *inputs_[part_.inputs[i]];
    if (input.numel() == 0) return false;
    known_[i] = {input.dtype(), DimVector(input.sizes()), DimVector(input.strides()),
                 input.is_contiguous()};
    if (full == nullptr || input.numel() > full->numel() ||
        (input.numel() == full->numel() && input.dim() > full->dim())) {
      full = &input;
    }
  }
  if (full == nullptr) return false;
  sizes_ = DimVector(full->sizes());
  for (const std::uint16_t input : part_.inputs) {
    if (!can_expand(inputs_[input]->sizes(), sizes_)) return false;
  }
  return std::ranges::all_of(part_.steps, [&](const FusedStep& step) { return find_loop(step); });
}

// Each result has the full sizes, so that each element is computed as often as it would be.
bool PartPlanner::find_loop(const FusedStep& step) {
  const std::size_t count = step.function.operands;
  std::optional<DType> dtype;
  bool any_full = false, has_float = false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t read = step.reads[i];
    if (is_number(read)) {
      has_float = has_float || !part_.numbers[read]->is_int;
      continue;
    }
    any_full = any_full || is_full(known_[read]);
    if (i == 0 && step.function.kind == BlockKind::Selected) {
      if (known_[read].dtype != DType::Bool) return false;
    } else if (!dtype) {
      dtype = known_[read].dtype;
    } else if (dtype != known_[read].dtype) {
      return false;
    }
  }
  if (!any_full || !dtype) return false;
  const int at = BlockFunction::index_of(*dtype);
  if (at < 0) return false;
  const bool has_number = std::any_of(step.reads.begin(), step.reads.begin() + long(count),
                                      [&](std::uint16_t read) { return is_number(read); });
  if (has_number && (dtype == DType::Bool || (dtype == DType::Int64 && has_float))) return false;
  if (step.function.kind == BlockKind::Same && dtype == DType::Bool) return false;
  BlockLoop loop = step.function.loops[std::size_t(at)];
  DType result = step.function.kind == BlockKind::Compared ? DType::Bool : *dtype;
  if (step.function.kind == BlockKind::Converted) {
    result = *step.converted;
    loop = program_.conversion(result, *dtype);
  }
  if (loop == nullptr) return false;
  known_[step.gives] = result_of(step, result);
  operations_.push_back({loop,
                         step.function.arithmetic,
                         *dtype,
                         {step.reads.begin(), step.reads.begin() + long(count)},
                         {step.gives},
                         {}});
  return true;
}

FusedValue PartPlanner::result_of(const FusedStep& step, DType dtype) const {
  FusedValue result{dtype, sizes_, contiguous_strides(sizes_)};
  std::array<BlockGeometry, BlockFunction::kMostOperands> operands{};
  std::size_t count = 0;
  bool all_row_major = true;
  for (std::size_t i = 0; i < step.function.operands; ++i) {
    if (is_number(step.reads[i])) continue;
    const FusedValue& one = known_[step.reads[i]];
    operands[count++] = {one.sizes.begin(), one.strides.begin(), one.sizes.size()};
    all_row_major = all_row_major && one.is_row_major;
  }
  if (all_row_major) return result;
  program_.strides(sizes_.begin(), sizes_.size(), operands.data(), count, result.strides.begin());
  result.is_row_major = is_row_major(result.sizes, result.strides);
  result.is_plain = std::ranges::equal(result.strides, contiguous_strides(sizes_));
  return result;
}

// See [Operands].

std::optional<std::size_t> PartPlanner::add_output(std::size_t operand) {
  const std::uint16_t value = part_.operands[operand];
  if (value < part_.inputs.size()) return std::nullopt;
  const auto found = std::ranges::find(outputs_, value);
  if (found != outputs_.end()) return std::size_t(found - outputs_.begin());
  outputs_.push_back(value);
  return outputs_.size() - 1;
}

void PartPlanner::write_operand(std::size_t operand, PartPlan::Role role, const DimVector& strides,
                                std::int64_t offset) {
  const std::uint16_t value = part_.operands[operand];
  std::uint16_t place = value;
  if (value < part_.inputs.size() || is_in_memory(value)) {
    place = add_value_like(value);
    operations_.push_back(copy(value, place));
  }
  targets_.push_back({place, std::uint16_t(operand), role, strides, offset});
}

std::optional<PartPlan> PartPlanner::finish() {
  if (operations_.empty()) return std::move(plan_);
  if (!find_lines()) return std::nullopt;
  const std::vector<BlockOperation> apart = operations_;
  const std::size_t values = known_.size();
  find_chains();
  if (!find_places()) {
    operations_ = apart;
    known_.resize(values);
    if (!find_places()) return std::nullopt;
  }
  for (const BlockOperation& one : operations_) add_step(one);
  find_in_place();
  return std::move(plan_);
}

// 2. See [Lines].

bool PartPlanner::find_lines() {
  for (const Target& target : targets_) {
    FusedValue value = known_[target.place];
    value.strides = target.strides;
    add_tensor(target.place, target.operand, target.role, value, target.offset);
  }
  for (const std::uint16_t output : outputs_) {
    plan_.outputs.push_back(known_[output]);
    add_tensor(output, plan_.outputs.size() - 1, PartPlan::Role::Output, known_[output]);
  }
  for (std::size_t i = 0; i < part_.inputs.size(); ++i) {
    add_tensor(std::uint16_t(i), part_.inputs[i], PartPlan::Role::Input, known_[i]);
  }
  for (std::size_t i = sizes_.size(); i-- > 0;) outer_.push_back(sizes_[i]);
  drop_ones();
  sort();
  join();
  plan_.inner = outer_.empty() ? 1 : outer_[0];
  for (PartPlan::Tensor& tensor : plan_.tensors) {
    tensor.step = tensor.steps.empty() ? 0 : tensor.steps[0];
    tensor.steps = without_first(tensor.steps);
  }
  plan_.outer = without_first(outer_);
  for (const std::int64_t size : plan_.outer) plan_.lines *= size;
  if (plan_.lines > 1 && plan_.inner < PartPlan::kShortestLine) return false;
  return true;
}

void PartPlanner::add_tensor(std::uint16_t place, std::size_t index, PartPlan::Role role,
                             const FusedValue& value, std::int64_t offset) {
  const auto item = std::int64_t(item_size(value.dtype));
  DimVector steps(sizes_.size(), 0);
  for (std::size_t back = 1; back <= value.sizes.size(); ++back) {
    const std::size_t from = value.sizes.size() - back;
    if (value.sizes[from] != 1) steps[back - 1] = wrapped_product(value.strides[from], item);
  }
  plan_.tensors.push_back({place, std::uint16_t(index), role, offset, 0, std::move(steps)});
}

void PartPlanner::drop_ones() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < outer_.size(); ++i) {
    if (outer_[i] == 1) continue;
    outer_[kept] = outer_[i];
    for (PartPlan::Tensor& tensor : plan_.tensors) tensor.steps[kept] = tensor.steps[i];
    ++kept;
  }
  resize(kept);
}

void PartPlanner::sort() {
  const DimVector& steps = plan_.tensors[0].steps;
  for (std::size_t i = 1; i < outer_.size(); ++i) {
    for (std::size_t j = i; j > 0 && std::llabs(steps[j - 1]) > std::llabs(steps[j]); --j) {
      std::swap(outer_[j - 1], outer_[j]);
      for (PartPlan::Tensor& tensor : plan_.tensors) {
        std::swap(tensor.steps[j - 1], tensor.steps[j]);
      }
    }
  }
}

void PartPlanner::join() {
  if (outer_.empty()) return;
  std::size_t last = 0;
  for (std::size_t i = 1; i < outer_.size(); ++i) {
    const bool seamless = std::ranges::all_of(plan_.tensors, [&](const PartPlan::Tensor& one) {
      return one.steps[i] == one.steps[last] * outer_[last];
    });
    if (seamless) {
      outer_[last] *= outer_[i];
      continue;
    }
    ++last;
    outer_[last] = outer_[i];
    for (PartPlan::Tensor& one : plan_.tensors) one.steps[last] = one.steps[i];
  }
  resize(last + 1);
}

void PartPlanner::resize(std::size_t dims) {
  outer_.resize(dims, 0);
  for (PartPlan::Tensor& tensor : plan_.tensors) tensor.steps.resize(dims, 0);
}

// 3. See [Chains].

void PartPlanner::find_chains() {
  std::vector<BlockOperation> left = std::move(operations_);
  operations_.clear();
  // Those of one kind whose operands are there; the others stay.
  const auto take = [&](const auto& is_of_kind) {
    std::vector<BlockOperation> taken, rest;
    std::vector<bool> is_missing(known_.size(), false);
    for (BlockOperation& one : left) {
      const bool is_ready =
          std::ranges::none_of(one.reads, [&](std::uint16_t read) { return is_missing[read]; });
      if (is_ready && is_of_kind(one)) {
        taken.push_back(std::move(one));
      } else {
        is_missing[one.gives[0]] = true;
        rest.push_back(std::move(one));
      }
    }
    left = std::move(rest);
    return taken;
  };
  const auto is_chained = [&](const BlockOperation& one) {
    return one.arithmetic != BlockArithmetic::None && program_.chain(one.dtype) != nullptr;
  };
  while (!left.empty()) {
    std::ranges::move(take(std::not_fn(is_chained)), std::back_inserter(operations_));
    if (left.empty()) break;
    const DType dtype = left[0].dtype;
    std::vector<BlockOperation> row =
        take([&](const BlockOperation& one) { return is_chained(one) && one.dtype == dtype; });
    append_row(std::move(row), left);
  }
}

// Operations of a kind that a chain may have.
void PartPlanner::append_row(std::vector<BlockOperation> row,
                             std::span<const BlockOperation> left) {
  const auto is_read_in = [](std::span<const BlockOperation> operations, std::uint16_t value) {
    return std::ranges::any_of(operations, [&](const BlockOperation& one) {
      return std::ranges::count(one.reads, value) > 0;
    });
  };
  const bool is_linked = std::ranges::any_of(
      row, [&](const BlockOperation& one) { return is_read_in(row, one.gives[0]); });
  if (!is_linked) {
    std::ranges::move(row, std::back_inserter(operations_));
    return;
  }
  std::vector<BlockOperation> copies;  // behind the chain
  copy_gaps(row, copies);
  const auto is_kept = [&](std::uint16_t value) {
    return is_in_memory(value) || is_read_in(left, value) || is_read_in(copies, value);
  };
  operations_.push_back(
      write_chain(row, {is_kept, [&](std::uint16_t value) { return operand_of_chain(value); }}));
  std::ranges::move(copies, std::back_inserter(operations_));
}

// Has the row take copies of what has gaps, and give what others are copied from.
void PartPlanner::copy_gaps(std::vector<BlockOperation>& row, std::vector<BlockOperation>& copies) {
  const auto rename = [&](std::uint16_t value, std::uint16_t name) {
    for (BlockOperation& one : row) {
      std::ranges::replace(one.reads, value, name);
      std::ranges::replace(one.gives, value, name);
    }
  };
  const auto rename_gaps = [&](std::uint16_t value) -> std::optional<std::uint16_t> {
    if (!has_gaps(value)) return std::nullopt;
    const std::uint16_t name = add_value_like(value);
    rename(value, name);
    return name;
  };
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::uint16_t given = row[i].gives[0];
    if (const auto name = rename_gaps(given)) copies.push_back(copy(*name, given));
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    for (std::size_t k = 0; k < row[i].reads.size(); ++k) {
      const std::uint16_t read = row[i].reads[k];
      if (const auto name = rename_gaps(read)) operations_.push_back(copy(read, *name));
    }
  }
}

BlockOperation PartPlanner::copy(std::uint16_t from, std::uint16_t to) const {
  const DType dtype = known_[from].dtype;
  return {program_.conversion(dtype, dtype), BlockArithmetic::None, dtype, {from}, {to}, {}};
}

std::uint16_t PartPlanner::add_value_like(std::uint16_t value) {
  const FusedValue known = known_[value];
  known_.push_back(known);
  return std::uint16_t(known_.size() - 1);
}

const PartPlan::Tensor* PartPlanner::find_tensor(std::uint16_t value) const {
  const auto tensor = std::ranges::find(plan_.tensors, value, &PartPlan::Tensor::place);
  return tensor == plan_.tensors.end() ? nullptr : &*tensor;
}

bool PartPlanner::has_gaps(std::uint16_t value) const {
  const PartPlan::Tensor* const tensor = find_tensor(value);
  return tensor != nullptr && plan_.inner > 1 && tensor->step != 0 &&
         tensor->step != std::int64_t(item_size(known_[value].dtype));
}

ChainOperand PartPlanner::operand_of_chain(std::uint16_t value) const {
  if (is_number(value)) return ChainOperand::Number;
  const PartPlan::Tensor* const tensor = find_tensor(value);
  const bool is_one = tensor != nullptr && plan_.inner > 1 && tensor->step == 0;
  return is_one ? ChainOperand::Number : ChainOperand::Moving;
}

// 4. See [Places]. A value's number is its place.

bool PartPlanner::find_places() {
  plan_.buffers.clear();
  plan_.numbers.clear();
  numbers_dtypes_.clear();
  std::size_t widest = 1;
  std::size_t instructions = 0;
  for (const BlockOperation& one : operations_) {
    for (const std::uint16_t given : one.gives) {
      widest = std::max({widest, item_size(one.dtype), item_size(known_[given].dtype)});
    }
    instructions += one.chain.size();
  }
  plan_.block = PartPlan::kBlockBytes / std::int64_t(std::max<std::size_t>(widest, 4));
  if (operations_.size() == 1 && instructions > 0) plan_.block = plan_.inner;
  buffer_of_.assign(known_.size(), 0);
  std::vector<std::uint16_t> free;
  std::size_t buffers = 0;
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    for (const std::uint16_t read : operations_[i].reads) {
      if (is_number(read) && !add_number(read, operations_[i].dtype)) return false;
    }
    find_buffers(i, free, buffers);
  }
  return buffers <= PartPlan::kMostBuffers && operations_.size() <= PartPlan::kMostSteps &&
         instructions <= kMostChainInstructions && known_.size() <= FusedPart::kMostValues;
}

// A chain writes onto nothing that it reads.
void PartPlanner::find_buffers(std::size_t at, std::vector<std::uint16_t>& free,
                               std::size_t& count) {
  const BlockOperation& one = operations_[at];
  const bool is_chain = !one.chain.empty();
  if (!is_chain) release(at, true, free);
  for (const std::uint16_t given : one.gives) {
    if (is_in_memory(given)) continue;
    if (free.empty()) free.push_back(std::uint16_t(count++));
    buffer_of_[given] = free.back();
    free.pop_back();
    plan_.buffers.push_back({given, buffer_of_[given]});
  }
  if (is_chain) release(at, true, free);
  release(at, false, free);
  for (const std::uint16_t given : one.gives) {
    if (!is_in_memory(given) && !is_read_after(given, at)) free.push_back(buffer_of_[given]);
  }
}

// Buffers that are read for the last time.
void PartPlanner::release(std::size_t at, bool of_equal_size, std::vector<std::uint16_t>& free) {
  const BlockOperation& one = operations_[at];
  for (std::size_t k = 0; k < one.reads.size(); ++k) {
    const std::uint16_t read = one.reads[k];
    const bool twice = std::find(one.reads.begin(), one.reads.begin() + long(k), read) !=
                       one.reads.begin() + long(k);
    const bool is_buffer = read >= part_.inputs.size() && !is_number(read) && !is_in_memory(read);
    if (!is_buffer || twice || is_read_after(read, at)) continue;
    const std::size_t given = one.gives.empty() ? 0 : item_size(known_[one.gives[0]].dtype);
    if ((item_size(known_[read].dtype) == given) == of_equal_size) free.push_back(buffer_of_[read]);
  }
}

bool PartPlanner::is_read_after(std::uint16_t value, std::size_t at) const {
  return std::any_of(
      operations_.begin() + long(at) + 1, operations_.end(),
      [&](const BlockOperation& one) { return std::ranges::count(one.reads, value) > 0; });
}

// A number has one form, so those of several dtypes are not computed in blocks.
bool PartPlanner::add_number(std::uint16_t value, DType dtype) {
  const auto found = std::ranges::find(numbers_dtypes_, value, &NumberDType::value);
  if (found != numbers_dtypes_.end()) return found->dtype == dtype;
  numbers_dtypes_.push_back({value, dtype});
  plan_.numbers.push_back({value, number_in(*part_.numbers[value], dtype)});
  return true;
}

void PartPlanner::add_step(const BlockOperation& one) {
  PartPlan::Step step{one.loop, 0, {}, {}, {}, nullptr, 0, 0};
  if (!one.chain.empty()) {
    step.chain = program_.chain(one.dtype);
    step.first = std::uint32_t(plan_.instructions.size());
    step.count = std::uint32_t(one.chain.size());
    for (const ChainStep& instruction : one.chain) {
      plan_.instructions.push_back(
          {instruction.code, instruction.value, move_of(instruction.value)});
    }
    plan_.steps.push_back(step);
    return;
  }
  const auto put = [&](std::uint16_t value) {
    const std::size_t at = step.operands++;
    const PartPlan::Tensor* const tensor = find_tensor(value);
    step.places[at] = value;
    step.moves[at] = move_of(value);
    step.steps[at] = tensor != nullptr  ? tensor->step
                     : is_number(value) ? 0
                                        : std::int64_t(item_size(known_[value].dtype));
  };
  put(one.gives[0]);
  for (const std::uint16_t read : one.reads) put(read);
  plan_.steps.push_back(step);
}

// See [In place].
void PartPlanner::find_in_place() {
  std::vector<bool> is_taken(part_.inputs.size(), false);
  for (std::size_t output = 0; output < outputs_.size(); ++output) {
    for (std::size_t input = 0; input < part_.inputs.size(); ++input) {
      if (is_taken[input]) continue;
      if (!may_be_in_place(outputs_[output], std::uint16_t(input))) continue;
      is_taken[input] = true;
      plan_.in_place.push_back({std::uint16_t(output), part_.inputs[input]});
      break;
    }
  }
}

bool PartPlanner::may_be_in_place(std::uint16_t output, std::uint16_t input) const {
  const FusedValue &of_output = known_[output], &of_input = known_[input];
  if (of_output.dtype != of_input.dtype || !is_full(of_input) ||
      !std::ranges::equal(of_output.strides, of_input.strides)) {
    return false;
  }
  bool is_written = false;
  for (const BlockOperation& one : operations_) {
    if (one.chain.empty()) {
      if (is_written && std::ranges::count(one.reads, input) > 0) return false;
      is_written = is_written || one.gives[0] == output;
      continue;
    }
    for (const ChainStep& instruction : one.chain) {
      if (is_written && instruction.code != kChainEnd && instruction.value == input) return false;
      const bool is_stored =
          instruction.code == chain_code(ChainOperation::Store, ChainOperand::Moving);
      is_written = is_written || (is_stored && instruction.value == output);
    }
  }
  return is_written;
}

// To the next block.
std::int64_t PartPlanner::move_of(std::uint16_t value) const {
  const PartPlan::Tensor* const tensor = find_tensor(value);
  return tensor != nullptr && plan_.inner > plan_.block ? tensor->step * plan_.block : 0;
}

}  // namespace opyard::jit
