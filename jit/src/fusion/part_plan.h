// fusion/part_plan.h: the plan of one part of a fused group, for inputs of certain dtypes, sizes
// and strides.
//
// [Places] What a step reads and writes is a place: a number, a tensor, or a buffer of one block on
// the thread's stack. A buffer is used again behind the last use of what was in it, and by the very
// step that reads it last, if its elements have the size of what is written.
//
// [Lines] Elements are computed a line at a time: `inner` elements in the order of the first
// written tensor in memory, and of each tensor how far its line is from the line before, for each
// dimension outside. Tensors with the same steps without gaps are one line.
//
// [Chains] Operations of arithmetic of one dtype are one step, if they come one after the other or
// can be put so, and one of them takes what another one gives: see jit/block_functions.h [Chains].
// A chain has no gaps between its elements, so what has gaps is copied, by steps of their own.
// If a chain is the only step, its block is the line.
//
// [In place] An output may be written over an input of the same dtype, sizes and strides that the
// caller gives up. No element of that input is read behind the step, or the instruction of a chain,
// that writes the output.
//
// [Operands] What the tail takes is a tensor of its own: it is in the result of what is joined, or
// has the elements of a row, which are computed in row-major order. A copy is a step if the same
// value is an output, too, or an operand before.
//
// Depends on: fusion/chain.h, fusion/fused_program.h.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "fusion/chain.h"
#include "fusion/fused_program.h"
#include "opyard/tensor.h"

namespace opyard::jit {

// What a value is, before it is computed.
struct FusedValue {
  DType dtype = DType::Bool;
  DimVector sizes, strides;
  bool is_row_major = true;
  bool is_plain = true;  // strides are those that a new tensor has
};

struct PartPlan {
  static constexpr std::size_t kMostBuffers = 16;
  static constexpr std::size_t kMostSteps = 48;  // of a row of 32 operators, and copies for a tail
  static constexpr std::int64_t kBlockBytes = 2048;
  // A line of fewer elements costs more to begin than blocks save.
  static constexpr std::int64_t kShortestLine = 32;
  static constexpr std::size_t kMostOperands = 1 + BlockFunction::kMostOperands;

  // A loop, or a chain.
  struct Step {
    BlockLoop loop;
    std::uint32_t operands;  // with the written one
    std::array<std::uint16_t, kMostOperands> places;
    std::array<std::int64_t, kMostOperands> steps;  // in bytes
    std::array<std::int64_t, kMostOperands> moves;  // to the next block, in bytes; 0 for a buffer
    BlockChain chain;
    std::uint32_t first, count;  // of its instructions
  };
  struct Instruction {
    std::uint64_t code;
    std::uint16_t place;
    std::int64_t move;
  };
  enum class Role : std::uint8_t { Input, Output, Joined, Row };
  struct Tensor {
    std::uint16_t place;
    std::uint16_t index;  // among the group's inputs, this part's outputs, or its operands
    Role role;
    std::int64_t offset;  // of what is joined, in bytes
    std::int64_t step;    // within a line, in bytes
    DimVector steps;      // from line to line, as `outer`
  };
  struct Buffer {
    std::uint16_t place;
    std::uint16_t index;
  };
  // See [In place].
  struct InPlace {
    std::uint16_t output;  // among this part's
    std::uint16_t input;   // among the group's
  };
  struct Number {
    std::uint16_t place;
    alignas(8) std::array<std::byte, 8> bytes;
  };

  std::vector<Step> steps;
  std::vector<Instruction> instructions;  // of all chains
  std::vector<Tensor> tensors;
  std::vector<Buffer> buffers;
  std::vector<Number> numbers;
  std::vector<FusedValue> outputs;
  std::vector<InPlace> in_place;  // each output once, and each input
  DimVector outer;                // dimensions outside of a line, the fastest first
  std::int64_t inner = 1;
  std::int64_t lines = 1;
  std::int64_t block = 0;  // elements

  std::int64_t elements() const noexcept { return lines * inner; }
};

// Finds the plan of a part in three steps, between which the caller may look at its values.
class PartPlanner {
 public:
  // The inputs are those of the group, defined, on the CPU, and without policies.
  PartPlanner(const FusedProgram& program, const FusedPart& part,
              std::span<const opyard::Tensor* const> inputs);

  // Of each value. False if blocks cannot compute a step for such inputs.
  bool find_loops();
  const FusedValue& operand(std::size_t index) const { return known_[part_.operands[index]]; }

  // Makes an operand of the tail an output, unless it is one, or an input. Gives its index there.
  std::optional<std::size_t> add_output(std::size_t operand);
  // Has an operand written as a row, or into what is joined, where it begins at `offset` bytes and
  // has these strides. See [Operands].
  void write_operand(std::size_t operand, PartPlan::Role role, const DimVector& strides,
                     std::int64_t offset);

  // The plan, or nothing if there are too many buffers, or lines are too short.
  std::optional<PartPlan> finish();

 private:
  struct Target {
    std::uint16_t place, operand;
    PartPlan::Role role;
    DimVector strides;
    std::int64_t offset;
  };
  struct NumberDType {
    std::uint16_t value;
    DType dtype;
  };

  bool is_number(std::uint16_t value) const;
  bool is_full(const FusedValue& one) const { return std::ranges::equal(one.sizes, sizes_); }
  bool is_in_memory(std::uint16_t value) const;
  bool find_loop(const FusedStep& step);
  FusedValue result_of(const FusedStep& step, DType dtype) const;

  void find_chains();
  void append_row(std::vector<BlockOperation> row, std::span<const BlockOperation> left);
  void copy_gaps(std::vector<BlockOperation>& row, std::vector<BlockOperation>& copies);
  BlockOperation copy(std::uint16_t from, std::uint16_t to) const;
  std::uint16_t add_value_like(std::uint16_t value);
  bool has_gaps(std::uint16_t value) const;
  ChainOperand operand_of_chain(std::uint16_t value) const;
  const PartPlan::Tensor* find_tensor(std::uint16_t value) const;

  bool find_places();
  void find_buffers(std::size_t at, std::vector<std::uint16_t>& free, std::size_t& count);
  void release(std::size_t at, bool of_equal_size, std::vector<std::uint16_t>& free);
  bool is_read_after(std::uint16_t value, std::size_t at) const;
  bool add_number(std::uint16_t value, DType dtype);

  bool find_lines();
  void add_tensor(std::uint16_t place, std::size_t index, PartPlan::Role role,
                  const FusedValue& value, std::int64_t offset = 0);
  void drop_ones();
  void sort();
  void join();
  void resize(std::size_t dims);
  void add_step(const BlockOperation& one);
  void find_in_place();
  bool may_be_in_place(std::uint16_t output, std::uint16_t input) const;
  std::int64_t move_of(std::uint16_t value) const;

  const FusedProgram& program_;
  const FusedPart& part_;
  const std::span<const opyard::Tensor* const> inputs_;
  std::vector<FusedValue> known_;  // of each value, then of copies
  std::vector<BlockOperation> operations_;
  std::vector<std::uint16_t> outputs_;  // values
  std::vector<Target> targets_;
  std::vector<std::uint16_t> buffer_of_;
  std::vector<NumberDType> numbers_dtypes_;
  DimVector sizes_;  // of each result
  DimVector outer_;
  PartPlan plan_;
};

}  // namespace opyard::jit
