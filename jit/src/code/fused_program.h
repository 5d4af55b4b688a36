// code/fused_program.h: what a fused group computes, whatever its inputs look like.
//
// A value of it is an input, a number or what a step gives; values are numbered, inputs first.
//
// Depends on: passes/fusible.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "passes/fusible.h"

namespace opyard::jit {

struct FusedStep {
  const Operator* op;
  BlockFunction function;  // a copy: the library may be unloaded while the code stays
  std::optional<DType> converted;
  std::array<std::uint16_t, BlockFunction::kMostOperands> reads;  // values, in the loop's order
  std::uint16_t gives;
};

struct FusedProgram {
  static constexpr std::size_t kMostValues = 96;  // of a row of 32 operators with two operands each

  std::size_t inputs = 0;
  std::vector<std::optional<detail::FusibleNumber>> numbers;  // of each value, where it is one
  std::vector<FusedStep> steps;
  std::vector<std::uint16_t> outputs;  // values, no two the same, each given by a step
  BlockLoop (*conversion)(DType to, DType from) = nullptr;
  decltype(BlockFunctions::pair) pair = nullptr;
  decltype(BlockFunctions::strides) strides = nullptr;

  std::size_t value_count() const noexcept { return numbers.size(); }
};

// Nothing for a graph with a node that is not fusible, or with too many.
std::optional<FusedProgram> make_fused_program(const Graph& graph);

}  // namespace opyard::jit
