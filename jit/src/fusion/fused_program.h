// fusion/fused_program.h: the program of a fused group, for any inputs.
//
// [Parts] Calls that use each other's results are a part; all of a part has the same sizes. A value
// of a part is an input, a number or what a step gives; values are numbered, inputs first. Without
// a tail that joins tensors, a group has one part.
//
// Depends on: fusion/fusible.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/fusible.h"

namespace opyard::jit {

struct FusedStep {
  const Operator* op;
  BlockFunction function;  // a copy: the library may be unloaded while the code stays
  std::optional<DType> converted;
  std::array<std::uint16_t, BlockFunction::kMostOperands> reads;  // values, in the loop's order
  std::uint16_t gives;
};

// See [Parts].
struct FusedPart {
  static constexpr std::size_t kMostValues = 112;  // of a row of 32 operators, and what is joined

  std::vector<std::uint16_t> inputs;                          // among those of the group
  std::vector<std::optional<detail::FusibleNumber>> numbers;  // of each value, if it is one
  std::vector<FusedStep> steps;
  std::vector<std::uint16_t> outputs;   // values, no two the same, each given by a step
  std::vector<std::uint16_t> operands;  // values that the tail takes

  std::size_t value_count() const noexcept { return numbers.size(); }
  bool is_output(std::uint16_t value) const;
};

// See jit/block_functions.h [Tails].
struct FusedTail {
  static constexpr std::size_t kMostOperands = 16;

  const Operator* op;
  BlockTail function;
  std::vector<opyard::Value> arguments;  // behind the tensors
  std::optional<std::vector<std::int64_t>> dims;
  bool keepdim;
  std::int64_t dim;
  // Which of a part's operands each of its tensors is.
  struct Operand {
    std::uint16_t part, index;
  };
  std::vector<Operand> operands;
};

struct FusedProgram {
  // An output of the group: one of a part, or what the tail gives.
  struct Output {
    std::uint16_t part, index;
    bool is_of_tail;
  };

  std::size_t inputs = 0;
  std::vector<FusedPart> parts;
  std::optional<FusedTail> tail;
  std::vector<Output> outputs;
  BlockLoop (*conversion)(DType to, DType from) = nullptr;
  decltype(BlockFunctions::chain) chain = nullptr;
  decltype(BlockFunctions::strides) strides = nullptr;
};

// Nothing for a graph with a node that is not fusible, or with too many.
std::optional<FusedProgram> make_fused_program(const Graph& graph);

}  // namespace opyard::jit
