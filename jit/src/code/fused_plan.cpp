// code/fused_plan.cpp: dtypes, pairs, places and lines of one kind of inputs.
//
//   1  the dtype, the sizes and the strides of each value; loops for them
//   2  pairs
//   3  a place for each value
//   4  lines
#include "code/fused_plan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace opyard::jit {
namespace {

using Key = std::vector<std::int64_t>;

template <typename Visit>
bool each_word(std::span<const Tensor* const> inputs, const Visit& visit) {
  for (const Tensor* const input : inputs) {
    const TensorImpl& impl = *input->impl();
    if (!visit(std::int64_t(impl.dtype())) || !visit(impl.own_sizes().size())) return false;
    for (const std::int64_t size : impl.own_sizes()) {
      if (!visit(size)) return false;
    }
    for (const std::int64_t stride : impl.own_strides()) {
      if (!visit(stride)) return false;
    }
  }
  return true;
}

bool is_row_major(IntSpan sizes, IntSpan strides) {
  std::int64_t next = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != next) return false;
    next *= sizes[i];
  }
  return true;
}

// What is known of a value.
struct Known {
  DType dtype = DType::Bool;
  DimVector sizes, strides;
  bool is_row_major = true;
};

struct Operation {
  BlockLoop loop;
  std::int32_t arithmetic;  // -1 behind a pair
  DType dtype;              // that it computes in
  std::vector<std::uint16_t> reads;
  std::uint16_t gives;
};

class Planner {
 public:
  Planner(const FusedProgram& program, std::span<const Tensor* const> inputs)
      : program_(program), inputs_(inputs), known_(program.value_count()) {}

  bool run() { return find_loops() && (find_pairs(), find_places()) && find_lines(); }

  FusedPlan plan;

 private:
  bool is_number(std::uint16_t value) const { return program_.numbers[value].has_value(); }
  bool is_full(const Known& one) const { return std::ranges::equal(one.sizes, plan.sizes); }
  std::optional<std::size_t> output_of(std::uint16_t value) const {
    const auto found = std::ranges::find(program_.outputs, value);
    if (found == program_.outputs.end()) return std::nullopt;
    return std::size_t(found - program_.outputs.begin());
  }

  // 1.
  bool find_loops() {
    const Tensor* full = nullptr;  // of the most elements, to which all others have to broadcast
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Tensor& input = *inputs_[i];
      if (input.numel() == 0) return false;
      known_[i] = {input.dtype(), DimVector(input.sizes()), DimVector(input.strides()),
                   input.is_contiguous()};
      if (full == nullptr || input.numel() > full->numel() ||
          (input.numel() == full->numel() && input.dim() > full->dim())) {
        full = &input;
      }
    }
    if (full == nullptr) return false;
    plan.sizes = DimVector(full->sizes());
    for (const Tensor* const input : inputs_) {
      if (!broadcasts(input->sizes())) return false;
    }
    return std::ranges::all_of(program_.steps,
                               [&](const FusedStep& step) { return find_loop(step); });
  }
  bool broadcasts(IntSpan sizes) const {
    if (sizes.size() > plan.sizes.size()) return false;
    for (std::size_t back = 1; back <= sizes.size(); ++back) {
      const std::int64_t size = sizes[sizes.size() - back];
      if (size != 1 && size != plan.sizes[plan.sizes.size() - back]) return false;
    }
    return true;
  }

  // Each result has the full sizes, so that each element is computed as often as it would be.
  bool find_loop(const FusedStep& step) {
    const std::size_t count = step.function.operands;
    std::optional<DType> dtype;
    bool any_full = false, has_float = false;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint16_t read = step.reads[i];
      if (is_number(read)) {
        has_float = has_float || !program_.numbers[read]->is_int;
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
                           step.gives});
    return true;
  }
  Known result_of(const FusedStep& step, DType dtype) const {
    Known result{dtype, plan.sizes, contiguous_strides(plan.sizes), true};
    std::array<BlockGeometry, BlockFunction::kMostOperands> operands{};
    std::size_t count = 0;
    bool all_row_major = true;
    for (std::size_t i = 0; i < step.function.operands; ++i) {
      if (is_number(step.reads[i])) continue;
      const Known& one = known_[step.reads[i]];
      operands[count++] = {one.sizes.begin(), one.strides.begin(), one.sizes.size()};
      all_row_major = all_row_major && one.is_row_major;
    }
    if (all_row_major) return result;
    program_.strides(plan.sizes.begin(), plan.sizes.size(), operands.data(), count,
                     result.strides.begin());
    result.is_row_major = is_row_major(result.sizes, result.strides);
    return result;
  }

  // 2. See [Pairs].
  void find_pairs() {
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const Operation& first = operations_[i];
      if (first.arithmetic < 0 || first.reads.size() != 2 || output_of(first.gives)) continue;
      const auto second = only_reader(first.gives);
      if (second == operations_.end() || second->arithmetic < 0 || second->dtype != first.dtype) {
        continue;
      }
      const bool is_right = second->reads[1] == first.gives;
      const BlockLoop loop =
          program_.pair(first.arithmetic, second->arithmetic, is_right, first.dtype);
      if (loop == nullptr) continue;
      const std::uint16_t other = second->reads[is_right ? 0 : 1];
      *second = {loop, -1, first.dtype, {first.reads[0], first.reads[1], other}, second->gives};
      operations_.erase(operations_.begin() + long(i--));
    }
  }
  std::vector<Operation>::iterator only_reader(std::uint16_t value) {
    auto found = operations_.end();
    for (auto one = operations_.begin(); one != operations_.end(); ++one) {
      const auto times = std::ranges::count(one->reads, value);
      if (times == 0) continue;
      if (times > 1 || found != operations_.end()) return operations_.end();
      found = one;
    }
    return found;
  }

  // 3. See [Places]. A value's number is its place.
  bool find_places() {
    plan.places = program_.value_count();
    std::size_t widest = 1;
    for (const Operation& one : operations_) {
      widest = std::max({widest, item_size(one.dtype), item_size(known_[one.gives].dtype)});
    }
    plan.block = FusedPlan::kBlockBytes / std::int64_t(std::max<std::size_t>(widest, 4));
    std::vector<std::uint16_t> free;
    std::size_t buffers = 0;
    std::vector<std::uint16_t> buffer_of(plan.places, 0);
    std::vector<bool> has_number(plan.places, false);
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const Operation& one = operations_[i];
      const auto release = [&](bool of_equal_size) {
        for (std::size_t k = 0; k < one.reads.size(); ++k) {
          const std::uint16_t read = one.reads[k];
          const bool twice = std::find(one.reads.begin(), one.reads.begin() + long(k), read) !=
                             one.reads.begin() + long(k);
          const bool is_buffer = read >= inputs_.size() && !is_number(read) && !output_of(read);
          if (!is_buffer || twice || is_read_after(read, i)) continue;
          const bool equal = item_size(known_[read].dtype) == item_size(known_[one.gives].dtype);
          if (equal == of_equal_size) free.push_back(buffer_of[read]);
        }
      };
      for (const std::uint16_t read : one.reads) {
        if (is_number(read) && !has_number[read]) {
          has_number[read] = true;
          plan.numbers.push_back({read, number_in(*program_.numbers[read], one.dtype)});
        }
        // A number has one form, so those of several dtypes are not computed in blocks.
        if (is_number(read) && number_dtype(read, one.dtype) != one.dtype) return false;
      }
      release(true);
      if (!output_of(one.gives)) {
        if (free.empty()) free.push_back(std::uint16_t(buffers++));
        buffer_of[one.gives] = free.back();
        free.pop_back();
        plan.buffers.push_back({one.gives, buffer_of[one.gives]});
      }
      release(false);
    }
    return buffers <= FusedPlan::kMostBuffers;
  }
  bool is_read_after(std::uint16_t value, std::size_t at) const {
    return std::any_of(
        operations_.begin() + long(at) + 1, operations_.end(),
        [&](const Operation& one) { return std::ranges::count(one.reads, value) > 0; });
  }
  DType number_dtype(std::uint16_t value, DType first) {
    const auto found = std::ranges::find(numbers_dtypes_, value, &NumberDType::value);
    if (found != numbers_dtypes_.end()) return found->dtype;
    numbers_dtypes_.push_back({value, first});
    return first;
  }
  static std::array<std::byte, 8> number_in(const detail::FusibleNumber& number, DType dtype) {
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

  // 4. See [Lines].
  bool find_lines() {
    for (const std::uint16_t output : program_.outputs) {
      const Known& known = known_[output];
      const bool is_plain = std::ranges::equal(known.strides, contiguous_strides(plan.sizes));
      plan.outputs.push_back({known.dtype, known.strides, is_plain});
      add_tensor(output, plan.outputs.size() - 1, true);
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) add_tensor(std::uint16_t(i), i, false);
    for (std::size_t i = plan.sizes.size(); i-- > 0;) outer_.push_back(plan.sizes[i]);
    drop_ones();
    sort();
    join();
    plan.inner = outer_.empty() ? 1 : outer_[0];
    for (FusedPlan::Tensor& tensor : plan.tensors) {
      tensor.step = tensor.steps.empty() ? 0 : tensor.steps[0];
      tensor.steps = without_first(tensor.steps);
    }
    plan.outer = without_first(outer_);
    for (const std::int64_t size : plan.outer) plan.lines *= size;
    if (plan.lines > 1 && plan.inner < FusedPlan::kShortestLine) return false;
    for (const Operation& one : operations_) plan.steps.push_back(step_of(one));
    return true;
  }
  static DimVector without_first(const DimVector& all) {
    return all.empty() ? DimVector() : DimVector(IntSpan(all).subspan(1));
  }
  void add_tensor(std::uint16_t value, std::size_t index, bool is_output) {
    const Known& known = known_[value];
    const auto item = std::int64_t(item_size(known.dtype));
    DimVector steps(plan.sizes.size(), 0);
    for (std::size_t back = 1; back <= known.sizes.size(); ++back) {
      const std::size_t from = known.sizes.size() - back;
      if (known.sizes[from] != 1) steps[back - 1] = known.strides[from] * item;
    }
    plan.tensors.push_back({value, std::uint16_t(index), is_output, 0, std::move(steps)});
  }
  void drop_ones() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < outer_.size(); ++i) {
      if (outer_[i] == 1) continue;
      outer_[kept] = outer_[i];
      for (FusedPlan::Tensor& tensor : plan.tensors) tensor.steps[kept] = tensor.steps[i];
      ++kept;
    }
    resize(kept);
  }
  void sort() {
    const DimVector& steps = plan.tensors[0].steps;
    for (std::size_t i = 1; i < outer_.size(); ++i) {
      for (std::size_t j = i; j > 0 && std::llabs(steps[j - 1]) > std::llabs(steps[j]); --j) {
        std::swap(outer_[j - 1], outer_[j]);
        for (FusedPlan::Tensor& tensor : plan.tensors) {
          std::swap(tensor.steps[j - 1], tensor.steps[j]);
        }
      }
    }
  }
  void join() {
    if (outer_.empty()) return;
    std::size_t last = 0;
    for (std::size_t i = 1; i < outer_.size(); ++i) {
      const bool seamless = std::ranges::all_of(plan.tensors, [&](const FusedPlan::Tensor& one) {
        return one.steps[i] == one.steps[last] * outer_[last];
      });
      if (seamless) {
        outer_[last] *= outer_[i];
        continue;
      }
      ++last;
      outer_[last] = outer_[i];
      for (FusedPlan::Tensor& one : plan.tensors) one.steps[last] = one.steps[i];
    }
    resize(last + 1);
  }
  void resize(std::size_t dims) {
    outer_.resize(dims, 0);
    for (FusedPlan::Tensor& tensor : plan.tensors) tensor.steps.resize(dims, 0);
  }

  FusedPlan::Step step_of(const Operation& one) const {
    FusedPlan::Step step{one.loop, std::uint32_t(one.reads.size() + 1), {}, {}};
    const auto put = [&](std::size_t at, std::uint16_t value) {
      step.places[at] = value;
      const auto tensor = std::ranges::find(plan.tensors, value, &FusedPlan::Tensor::place);
      if (tensor != plan.tensors.end()) {
        step.steps[at] = tensor->step;
      } else {
        step.steps[at] = is_number(value) ? 0 : std::int64_t(item_size(known_[value].dtype));
      }
    };
    put(0, one.gives);
    for (std::size_t i = 0; i < one.reads.size(); ++i) put(i + 1, one.reads[i]);
    return step;
  }

  struct NumberDType {
    std::uint16_t value;
    DType dtype;
  };

  const FusedProgram& program_;
  const std::span<const Tensor* const> inputs_;
  std::vector<Known> known_;
  std::vector<Operation> operations_;
  std::vector<NumberDType> numbers_dtypes_;
  DimVector outer_;
};

}  // namespace

bool FusedPlan::fits(std::span<const opyard::Tensor* const> inputs) const {
  std::size_t at = 0;
  return each_word(inputs, [&](std::int64_t word) { return key[at++] == word; });
}

std::unique_ptr<const FusedPlan> make_fused_plan(const FusedProgram& program,
                                                 std::span<const opyard::Tensor* const> inputs) {
  Planner planner(program, inputs);
  planner.plan.computes = planner.run();
  each_word(inputs, [&](std::int64_t word) {
    planner.plan.key.push_back(word);
    return true;
  });
  return std::make_unique<const FusedPlan>(std::move(planner.plan));
}

}  // namespace opyard::jit
